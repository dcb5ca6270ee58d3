"""Hypotheses on concatenated or padded arrays, split by array: "x[i]·[i < n] + y[i − n]·[i ≥ n] > 0" is x > 0, y > 0.

A condition on each entry of such an array is one clause, whose index runs beyond each of the arrays that it reads. As a
statement it would need the range of that index. And it may be unsatisfiable at some places alone: at those of a padding
with 0, where no array is read. So a clause is split where the conditions on its index change. Only the wording changes:
together the parts cover the range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from certgrad.obligations.terms.atoms import Access
from certgrad.obligations.terms.index import of_const, of_term, of_var
from certgrad.obligations.terms.index_terms import not_negative
from certgrad.obligations.terms.integers import Chosen
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly
from certgrad.obligations.terms.predicates import IxEq, IxPred
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import deep_atoms

from .conditions import PARTIAL_RANGE, Clause, Clauses, of_solver, polys
from .index_cases import Indices, resolved
from .simplify import possible
from .tensor import for_all

MOST = 8
"""Most parts of one clause; a clause that falls into more stays whole."""
Ranges = Mapping[Var, Poly]
_Part = tuple[Clause, dict[Var, Poly]]
"""A clause, and the ranges of its indices."""


Shapes = Mapping[str, Sequence[Poly]]
"""The sizes of the axes of arrays, by the array's name."""


def by_place(
    clauses: Iterable[Clause], ranges: Ranges, shapes: Shapes
) -> tuple[list[Clause], list[Clause], dict[Var, Poly]]:
    """Return the clauses that stay whole, the parts of the others, and the ranges of the indices of the parts.

    `ranges` are those of the clauses' indices. The equation of a solver is not split.
    """
    whole: list[Clause] = []
    parts: list[Clause] = []
    part_ranges: dict[Var, Poly] = {}
    for clause in clauses:
        clause_parts = None if of_solver(clause) else taken_apart(clause, ranges)
        if clause_parts is None:
            whole.append(clause)
        else:
            for clause_part in clause_parts:
                part, ranges_of_part = _over_whole_axes(clause_part, shapes)
                parts.append(part)
                part_ranges |= ranges_of_part
    return whole, parts, part_ranges


def taken_apart(clause: Clause, ranges: Ranges) -> list[_Part] | None:
    """Return the parts of a clause, each with the ranges of its indices; None where it is not split.

    The range of an index is cut at the first place where a condition on it changes, until no part has such a place.
    None also where a cut is not known to be inside the range at all sizes, or there are too many parts.
    """
    own_ranges = {v: ranges[v] for v in clause.free if v in ranges}
    done: list[_Part] = []
    left: list[_Part] = [(clause, own_ranges)]
    while left:
        part, part_ranges = left.pop()
        boundary = next((b for b in _boundaries(part) if b[0] in part_ranges), None)
        if boundary is None:
            done.append((part, part_ranges))
            continue
        v, place = boundary
        beyond = part_ranges[v] - place
        if not not_negative(beyond) or not not_negative(place) or len(done) + len(left) >= MOST:
            return None
        for start, size in ((ZERO, place), (place, beyond)):
            if not size.is_zero and (piece := _clause_at_places(part, part_ranges, v, start, size)) is not None:
                left.append(piece)
    return None if [part for part, _ in done] == [clause] else done


def _over_whole_axes(part: _Part, shapes: Shapes) -> _Part:
    """Return the part with new names for those of its indices that run over whole axes after all.

    An index of the kind `PARTIAL_RANGE` becomes an ordinary quantified one, if it stands alone in every index that
    mentions it, and its range is the size of each of these axes.
    """
    clause, ranges = part
    entries = [a for p in polys(clause) for a in deep_atoms(p) if isinstance(a, Access)]
    for v in sorted(v for v in clause.free if v[0] == PARTIAL_RANGE):
        read = [(a, k) for a in entries for k, ix in enumerate(a.index) if v in ix.free]
        alone = all(a.index[k].variable() == v for a, k in read)
        has_shapes = all(len(shapes.get(a.tensor, ())) == len(a.index) for a, _ in read)
        if read and alone and has_shapes and all(shapes[a.tensor][k] == ranges[v] for a, k in read):
            w = fresh("q")
            clause = clause.substituted({v: of_var(w)})
            ranges = {(w if u == v else u): n for u, n in ranges.items()}
    return clause, ranges


def _clause_at_places(clause: Clause, ranges: Ranges, v: Var, start: Poly, size: Poly) -> _Part | None:
    """Return a clause at the values start ≤ v < start + size of an index; None where a guard excludes them all."""
    part_ranges = {u: n for u, n in ranges.items() if u != v}
    place = of_const(start)
    if size != ONE:
        w = fresh(PARTIAL_RANGE)
        part_ranges[w] = size
        place = of_var(w).shifted(start)
    indices = Indices(part_ranges)
    part = possible(clause.substituted({v: place}).rewritten(lambda p: resolved(p, indices)))
    guards = [(g.constant(), g, value) for g, value in part.guards]
    if any(c is not None and (c != 0) != value for c, _, value in guards):
        return None
    return replace(part, guards=tuple((g, value) for c, g, value in guards if c is None)), part_ranges


def _boundaries(clause: Clause) -> Iterator[tuple[Var, Poly]]:
    """Yield pairs (index variable, place) at which a condition inside a term begins or ends to hold.

    Conditions in guards are left out: a guard is itself a statement of where the clause applies.
    """
    for term in clause.alternatives:
        for a in deep_atoms(term.poly):
            if isinstance(a, IxPred) and len(a.ix.terms) == 1:
                ((v, c),) = a.ix.terms
                if isinstance(v, tuple) and abs(c) == 1 and v[0] != "b":
                    yield v, a.ix.const.scale(-1) if c == 1 else a.ix.const + ONE


def beyond_axes(clause: Clause) -> set[Var]:
    """Return the index variables on which the clause has conditions: they may run beyond the axes that they index.

    A condition on an entry's place in an order is not one on the index of the entry.
    """
    atoms = (a for p in polys(clause) for a in deep_atoms(p))
    terms = (t for a in atoms if isinstance(a, (IxPred, IxEq)) for t, _ in a.ix.terms)
    return {v for t in terms for v in of_term(t).free if not (isinstance(t, Chosen) and is_permuted(v, t))}


def is_permuted(v: Var, t: Chosen) -> bool:
    """Return whether v is an argument of a permutation as it is: the index on the sorted axis, or on another axis.

    Every argument that mentions v has to be v alone.
    """
    return t.comparison.permutes and all(ix.variable() == v for ix in t.arguments if v in ix.free)


def at_all_places(clauses: Iterable[Clause], variables: Sequence[tuple[Var, Poly]]) -> Clauses:
    """Return the clauses of an array's entries; those with conditions on the indices get fresh, ranged variables.

    `variables` are the array's index variables with their sizes. Other arrays, of other sizes, use the same variables,
    so that without fresh names the range of a condition's index would be lost.
    """
    names = {v for v, _ in variables}
    return tuple(
        for_all((c,), [(v, n) for v, n in variables if v in c.free])[0] if beyond_axes(c) & names else c
        for c in clauses
    )
