"""Hypotheses on arrays that are put together, part by part: "x[i]·[i < n] + y[i − n]·[i ≥ n] > 0" is x > 0 and y > 0.

A condition on each entry of a padded or joined array is one clause whose index runs beyond each of the arrays that it
reads. As a statement it needs the range of that index; and where no array says what stands at a place (a padding with
0), it may not be satisfiable, which is seen at these places alone. So a clause is taken apart where the conditions on
its index change. Nothing but the wording changes: the places of the parts cover the range.
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
"""Parts of a clause, at most; one that falls into more stays whole."""
Ranges = Mapping[Var, Poly]
_Part = tuple[Clause, dict[Var, Poly]]
"""A clause, and the ranges of its indices."""


Shapes = Mapping[str, Sequence[Poly]]
"""The sizes of the axes of arrays."""


def by_place(
    clauses: Iterable[Clause], ranges: Ranges, shapes: Shapes
) -> tuple[list[Clause], list[Clause], dict[Var, Poly]]:
    """The clauses that stay whole, the parts of the others, and the ranges of the indices of the parts."""
    whole: list[Clause] = []
    parts: list[Clause] = []
    known: dict[Var, Poly] = {}
    for clause in clauses:
        found = None if of_solver(clause) else taken_apart(clause, ranges)
        if found is None:
            whole.append(clause)
        else:
            for one in found:
                part, own = _over_whole_axes(one, shapes)
                parts.append(part)
                known |= own
    return whole, parts, known


def taken_apart(clause: Clause, ranges: Ranges) -> list[_Part] | None:
    """The parts of a clause with the ranges of their indices; None where it has none, or some of unknown extent."""
    own = {v: ranges[v] for v in clause.free if v in ranges}
    done: list[_Part] = []
    left: list[_Part] = [(clause, own)]
    while left:
        part, here = left.pop()
        where = next((b for b in _boundaries(part) if b[0] in here), None)
        if where is None:
            done.append((part, here))
            continue
        v, place = where
        beyond = here[v] - place
        if not not_negative(beyond) or not not_negative(place) or len(done) + len(left) >= MOST:
            return None
        for start, size in ((ZERO, place), (place, beyond)):
            if not size.is_zero and (found := _clause_at_places(part, here, v, start, size)) is not None:
                left.append(found)
    return None if [part for part, _ in done] == [clause] else done


def _over_whole_axes(part: _Part, shapes: Shapes) -> _Part:
    """The part with other names for those of its indices that run over all of the axes which they number."""
    clause, ranges = part
    entries = [a for p in polys(clause) for a in deep_atoms(p) if isinstance(a, Access)]
    for v in sorted(v for v in clause.free if v[0] == PARTIAL_RANGE):
        read = [(a, k) for a in entries for k, ix in enumerate(a.index) if v in ix.free]
        plain = all(a.index[k].variable() == v for a, k in read)
        known = all(len(shapes.get(a.tensor, ())) == len(a.index) for a, _ in read)
        if read and plain and known and all(shapes[a.tensor][k] == ranges[v] for a, k in read):
            w = fresh("q")
            clause = clause.substituted({v: of_var(w)})
            ranges = {(w if u == v else u): n for u, n in ranges.items()}
    return clause, ranges


def _clause_at_places(clause: Clause, ranges: Ranges, v: Var, start: Poly, size: Poly) -> _Part | None:
    """Return the part of a clause at `size` places of an index from `start` on; None where it says nothing there."""
    here = {u: n for u, n in ranges.items() if u != v}
    place = of_const(start)
    if size != ONE:
        w = fresh(PARTIAL_RANGE)
        here[w] = size
        place = of_var(w).shifted(start)
    indices = Indices(here)
    found = possible(clause.substituted({v: place}).rewritten(lambda p: resolved(p, indices)))
    guards = [(g.constant(), g, value) for g, value in found.guards]
    if any(c is not None and (c != 0) != value for c, _, value in guards):
        return None
    return replace(found, guards=tuple((g, value) for c, g, value in guards if c is None)), here


def _boundaries(clause: Clause) -> Iterator[tuple[Var, Poly]]:
    """Yield places of single indices at which a condition inside a term begins or ends to hold.

    As a guard, such a condition says itself where the clause applies.
    """
    for term in clause.alternatives:
        for a in deep_atoms(term.poly):
            if isinstance(a, IxPred) and len(a.ix.terms) == 1:
                ((v, c),) = a.ix.terms
                if isinstance(v, tuple) and abs(c) == 1 and v[0] != "b":
                    yield v, a.ix.const.scale(-1) if c == 1 else a.ix.const + ONE


def beyond_axes(clause: Clause) -> set[Var]:
    """The indices on which conditions are: they may run beyond the axes that they number.

    That an entry comes to a place in an order is a condition on the place, not on the index of the entry.
    """
    atoms = (a for p in polys(clause) for a in deep_atoms(p))
    terms = (t for a in atoms if isinstance(a, (IxPred, IxEq)) for t, _ in a.ix.terms)
    return {v for t in terms for v in of_term(t).free if not (isinstance(t, Chosen) and is_permuted(v, t))}


def is_permuted(v: Var, t: Chosen) -> bool:
    """Return whether the variable is an index of the axis that is sorted, or of one along which there are several
    orders.
    """
    return t.comparison.permutes and all(ix.variable() == v for ix in t.arguments if v in ix.free)


def at_all_places(clauses: Iterable[Clause], variables: Sequence[tuple[Var, Poly]]) -> Clauses:
    """The clauses of an array's entries, those with conditions on its places under names that tell how far these run.

    The same names number the entries of other arrays, of other sizes.
    """
    names = {v for v, _ in variables}
    return tuple(
        for_all((c,), [(v, n) for v, n in variables if v in c.free])[0] if beyond_axes(c) & names else c
        for c in clauses
    )
