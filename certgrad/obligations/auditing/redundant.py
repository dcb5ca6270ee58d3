"""Hypotheses at one family of shapes that follow from those of the general family, and are not listed again."""

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
    """Return the general family's conditions at a special family: at fixed sizes, or where star groups have no axes.

    A group without axes is read as one axis of size 1, on which every index is 0. Empty if the family `instance` is
    special in neither way. `shapes` are the shapes of the arguments at the general family, `there` those at `instance`.
    """
    empty = [group for group, axes in instance.groups.items() if not axes and general.groups.get(group)]
    sizes = {**fixed, **dict.fromkeys(empty, ONE)}
    if not sizes:
        return []
    empty_axes = {
        name: {k for k, axis in enumerate(axes) if axis.name in empty}
        for name, axes in zip(shapes, general.inputs, strict=True)
    }
    drop_axes = _without_axes(empty_axes)
    return [c.rewritten(drop_axes) for c in _clauses_at_sizes(clauses, sizes, shapes, there)]


def _clauses_at_sizes(clauses: Iterable[Clause], sizes: Fixed, shapes: Shapes, there: Shapes) -> list[Clause]:
    """Return conditions at fixed sizes; each also with some of its indices 0, as along an axis of size 1.

    `shapes` are the shapes of the arrays, `there` the same shapes at the fixed sizes.
    """
    all_special: list[Clause] = []
    for clause in clauses:
        special = [c for simple in simplified([at_sizes(clause, sizes)], Facts()) for c in _at_first_index(simple)]
        if not at_all_entries(clause, shapes):
            # Without this test, x[i] + y[i] for i < 1 would also give x[i] + y[0], which is about all entries of x.
            ranges = {v: n for v in clause.free if (n := extent(v, clause, shapes)) is not None}
            ranges = ranges_at(ranges, sizes)
            special = [c for c in special if all(extent(v, c, there) == ranges.get(v, ZERO) for v in c.free)]
        all_special += special
    return all_special


def ranges_at(ranges: Mapping[Var, Poly], fixed: Fixed) -> dict[Var, Poly]:
    """Return the ranges of index variables with the fixed sizes set."""
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
    """Return the hypotheses in `listed` that do not follow from the conditions `here`: i ≤ 1 is i ≤ n − 1 at n = 2.

    Args:
        listed: the hypotheses at a special family of shapes.
        said: the statements of the conditions `here`.
        clauses: the clauses of `listed`, if they are over the general family's axes.
        here: the general conditions at this family.
        read: reads a clause as a statement.
        integers: the names of arrays of integers, of which i < 1 is i ≤ 0.
    """
    if not listed or not here:
        return listed
    signs, clauses_here = facts_of(here, read.shapes)
    facts = Facts(signs, integers)
    said = said | {read(c) for c in clauses if entailed(c, facts, clauses_here)}
    return [h for h in listed if h.tree not in said]


def not_implied(clauses: Sequence[Clause], assumed: Sequence[Clause], fixed: Fixed, read: Reads) -> list[Clause]:
    """Return the clauses that do not follow from the assumed ones with dimensions set; all of them if time is over.

    The clauses may come from proofs whose terms are forgotten: they are made anew.
    """
    remake = Rewriter()
    try:
        with limited(FIRST_STEPS):
            here = _clauses_at_sizes([c.rewritten(remake) for c in assumed], fixed, read.shapes, read.shapes)
            stated = {read(c) for c in here}
            signs, clauses_here = facts_of(here, read.shapes)
            facts = Facts(signs)
            return [
                c for c in clauses if read(c) not in stated and not entailed(c.rewritten(remake), facts, clauses_here)
            ]
    except BudgetError:
        return list(clauses)


def _at_first_index(clause: Clause) -> list[Clause]:
    """Return the clause with each choice of its indices (at most four) set to 0, as along an axis of size 1."""
    free = sorted(clause.free)[:4]
    choices = [set(s) for k in range(len(free) + 1) for s in combinations(free, k)]
    return [clause.substituted({v: of_const(ZERO) for v in chosen}) for chosen in choices]


def _without_axes(dropped: Mapping[str, Collection[int]]) -> Rewriter:
    """Return the rewriter that drops the index along these axes of arguments, if it is 0: x[i, 0] becomes x[i].

    An index that is itself an entry of an array, as in x[k[i, 0]], is rewritten as well. `dropped` has the positions of
    the axes, by argument.
    """

    def remaining(tensor: str, index: Sequence[Ix]) -> tuple[Ix, ...]:
        """Return the index of an entry without the dropped axes, or whole if it is not 0 along one of them."""
        places = dropped.get(tensor, ())
        indices = tuple(map(rewritten, index))
        if not places or len(indices) <= max(places) or not all(indices[k].is_zero for k in places):
            return indices
        return tuple(ix for k, ix in enumerate(indices) if k not in places)

    def rewritten(ix: Ix) -> Ix:
        """Return the index along one axis, with the entries of arrays that it is made of rewritten."""
        if not ix.atoms:
            return ix
        terms = [
            (c, of_atom(Entry(v.tensor, remaining(v.tensor, v.index))) if isinstance(v, Entry) else of_term(v))
            for v, c in ix.terms
        ]
        return combine([(1, of_const(ix.const)), *terms])

    def value(a: Atom) -> Poly | None:
        index = remaining(a.tensor, a.index) if isinstance(a, Access) else ()
        return access(a.tensor, index) if isinstance(a, Access) and index != a.index else None

    return Rewriter(replace=value)
