"""Hypotheses of one family of shapes that say no more than those of the general family: they are not listed twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from certgrad.language.tree import Statement
from certgrad.obligations.assume.assumptions import Shapes, at_all_entries, extent, facts_of
from certgrad.obligations.assume.conditions import Atomic, Clause
from certgrad.obligations.assume.entailment import entailed
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.simplify import simplified
from certgrad.obligations.certificate import Hypothesis
from certgrad.obligations.generality.decisions import Fixed, at_sizes
from certgrad.obligations.generality.instances import Instance
from certgrad.obligations.terms.atoms import Access, access
from certgrad.obligations.terms.budget import FIRST_STEPS, BudgetError, limited
from certgrad.obligations.terms.index import Ix, combine, of_atom, of_const, of_term
from certgrad.obligations.terms.integers import Entry
from certgrad.obligations.terms.polynomials import ZERO, Atom, Poly
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.variables import Var
from certgrad.signatures.sizes import ONE

if TYPE_CHECKING:
    from certgrad.obligations.wording.stated import Reads


def specialised(
    clauses: Sequence[Clause], general: Instance, instance: Instance, fixed: Fixed, shapes: Shapes, there: Shapes
) -> list[Clause]:
    """Return the general family's conditions at a family of it: at fixed sizes, or where star groups have no axes.

    A group without axes is read as one axis of size 1, on which every index is 0. Empty where the family is not one of
    these.
    """
    empty = [group for group, axes in instance.groups.items() if not axes and general.groups.get(group)]
    sizes = {**fixed, **dict.fromkeys(empty, ONE)}
    if not sizes:
        return []
    gone = {
        name: {k for k, axis in enumerate(axes) if axis.name in empty}
        for name, axes in zip(shapes, general.inputs, strict=True)
    }
    without = _without_axes(gone)
    return [c.rewritten(without) for c in _clauses_at_sizes(clauses, sizes, shapes, there)]


def _clauses_at_sizes(clauses: Iterable[Clause], sizes: Fixed, shapes: Shapes, there: Shapes) -> list[Clause]:
    """Return conditions at fixed sizes, at each entry and at the first ones.

    `shapes` are those of their arrays, `there` the same at the fixed sizes.
    """
    out: list[Clause] = []
    for clause in clauses:
        found = [c for one in simplified([at_sizes(clause, sizes)], Facts()) for c in _at_first_index(one)]
        if not at_all_entries(clause, shapes):
            # Of x[i] + y[i] for i < 1 it would make x[i] + y[0], which is about all entries of x.
            known = {v: n for v in clause.free if (n := extent(v, clause, shapes)) is not None}
            known = ranges_at(known, sizes)
            found = [c for c in found if all(extent(v, c, there) == known.get(v, ZERO) for v in c.free)]
        out += found
    return out


def ranges_at(ranges: Mapping[Var, Poly], fixed: Fixed) -> dict[Var, Poly]:
    """Return ranges of variables at fixed sizes."""
    clauses = {v: at_sizes(Clause((Atomic("= 0", n),)), fixed) for v, n in ranges.items()}
    return {v: c.alternatives[0].poly for v, c in clauses.items()}


def beyond(
    listed: list[Hypothesis],
    said: set[Statement],
    clauses: Sequence[Clause],
    here: Sequence[Clause],
    read: Reads,
    integers: frozenset[str],
) -> list[Hypothesis]:
    """Return the hypotheses that do not follow from those that hold `here` and say `said`: i ≤ 1 is i ≤ n − 1 at n = 2.

    `clauses` are what is listed, as clauses over the general family's axes, where it is over those. The arrays of
    `integers` have no entry between two of them: i < 1 is i ≤ 0.
    """
    if not listed or not here:
        return listed
    signs, others = facts_of(here, read.shapes)
    facts = Facts(signs, integers)
    said = said | {read(c) for c in clauses if entailed(c, facts, others)}
    return [h for h in listed if h.tree not in said]


def not_implied(clauses: Sequence[Clause], assumed: Sequence[Clause], fixed: Fixed, read: Reads) -> list[Clause]:
    """The clauses that do not follow from the assumed ones, with dimensions set. All may be of other proofs."""
    anew = Rewriter()
    try:
        with limited(FIRST_STEPS):
            here = _clauses_at_sizes([c.rewritten(anew) for c in assumed], fixed, read.shapes, read.shapes)
            said = {read(c) for c in here}
            signs, others = facts_of(here, read.shapes)
            facts = Facts(signs)
            return [c for c in clauses if read(c) not in said and not entailed(c.rewritten(anew), facts, others)]
    except BudgetError:
        return list(clauses)


def _at_first_index(clause: Clause) -> list[Clause]:
    """Return the clause, and the clause with some of its indices 0, as along an axis of size 1."""
    free = sorted(clause.free)[:4]
    choices = [set(s) for k in range(len(free) + 1) for s in combinations(free, k)]
    return [clause.substituted({v: of_const(ZERO) for v in chosen}) for chosen in choices]


def _without_axes(dropped: Mapping[str, Collection[int]]) -> Rewriter:
    """Return the rewriter that drops the index along these axes of arguments where it is 0, in nested indices too."""

    def kept(tensor: str, index: Sequence[Ix]) -> tuple[Ix, ...]:
        places = dropped.get(tensor, ())
        inner = tuple(map(within, index))
        if not places or len(inner) <= max(places) or not all(inner[k].is_zero for k in places):
            return inner
        return tuple(ix for k, ix in enumerate(inner) if k not in places)

    def within(ix: Ix) -> Ix:
        if not ix.atoms:
            return ix
        terms = [
            (c, of_atom(Entry(v.tensor, kept(v.tensor, v.index))) if isinstance(v, Entry) else of_term(v))
            for v, c in ix.terms
        ]
        return combine([(1, of_const(ix.const)), *terms])

    def value(a: Atom) -> Poly | None:
        index = kept(a.tensor, a.index) if isinstance(a, Access) else ()
        return access(a.tensor, index) if isinstance(a, Access) and index != a.index else None

    return Rewriter(replace=value)
