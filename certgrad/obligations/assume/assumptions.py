"""Which hypotheses a proof may assume, and at which entries of arrays.

A proof uses a hypothesis at the entries that a question (a term whose sign is wanted) mentions, at whatever index. So a
hypothesis is assumed only if it is required at every index at which all entries that it reads exist, and if its form
shows which indices these are: each of its index variables runs along axes, from a start on, in steps of a stride.

A hypothesis is about all entries if each of its index variables runs along non-empty axes of one size, from 0 on. It
stays true of arrays that are continued with copies of their last entry, so that using it at an entry that does not
exist does no harm. Else it is about some entries alone ("local"): x[i + 1] > x[i] says nothing at the last i. A local
hypothesis is used only for a question that mentions all entries that it reads, and has no condition on indices inside,
so that all these entries exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from certgrad.obligations.terms.atoms import Access
from certgrad.obligations.terms.determined import Matrix, Rec, carried
from certgrad.obligations.terms.index import IntegerAtom, Ix, IxTerm, of_term
from certgrad.obligations.terms.index_terms import not_negative
from certgrad.obligations.terms.integers import Chosen, Entry, Rounded
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, number
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms, own_indices

from .by_place import Shapes, beyond_axes, is_permuted
from .conditions import LOOP_STEP, PARTIAL_RANGE, Clause, of_solver, polys
from .fact import Fact
from .signs import NONZERO


def facts_of(clauses: Iterable[Clause], shapes: Shapes) -> tuple[list[Fact], tuple[Clause, ...]]:
    """Return hypotheses as assumptions: facts (signs of terms), and the clauses that are no single unguarded sign.

    `shapes` are the shapes of arrays by name. A clause that may not be assumed (see `assumed`) is left out.
    """
    facts, rest = [], []
    for clause in clauses:
        if not assumed(clause, shapes):
            continue
        local = not at_all_entries(clause, shapes)
        signs = clause.alternatives[0].signs
        if len(clause.alternatives) == 1 and not clause.guards and signs is not None:
            poly = clause.alternatives[0].poly
            facts.append(Fact(poly, signs & NONZERO if _never_zero(poly) else signs, local=local))
        else:
            rest.append(replace(clause, local=local))
    return facts, tuple(rest)


def _never_zero(poly: Poly) -> bool:
    """Return whether the term is never 0 by its form, as the inverse of a product: 1/x ≥ 0 says x > 0."""
    single = poly.single()
    return single is not None and all(e < 0 or a.positive for a, e in single[0])


def assumed(clause: Clause, shapes: Shapes) -> bool:
    """Return whether a hypothesis may be assumed.

    Three kinds may not: a condition on the steps of a loop that ends by its values, which says nothing beyond the last
    step; a condition on some places of an axis only, as an assumption is used at all of them; and the equation of a
    solver, which may be about a part of an argument's entries. Nor may one whose indices do not show where it holds.
    """
    if any(v[0] in (LOOP_STEP, PARTIAL_RANGE) for v in clause.free) or of_solver(clause):
        return False
    return at_all_entries(clause, shapes) or all(extent(v, clause, shapes) is not None for v in clause.free)


def at_all_entries(clause: Clause, shapes: Shapes) -> bool:
    """Return whether each index variable runs over whole axes of one size, and no condition on indices mentions it.

    The size is at least 1, and the variable starts at 0. The clause is then about all entries of the arrays.
    """
    for v in clause.free:
        axes = _indexed_axes(v, clause, shapes)
        if axes is None or len({a.size for a in axes}) > 1 or not all(a.whole for a in axes):
            return False
    return True


def extent(v: Var, clause: Clause, shapes: Shapes) -> Poly | None:
    """Return at how many values of an index variable, from 0 on, all entries that the clause reads exist.

    None where it is unknown: for some axis, or as none of the counts is known to be the least.
    """
    counts = [a.places for a in _indexed_axes(v, clause, shapes) or ()]
    known_counts = [n for n in counts if n is not None]
    if len(known_counts) < len(counts):
        return None
    return next((n for n in known_counts if all(not_negative(m - n) for m in known_counts)), None)


class _Axis(NamedTuple):
    """An axis along which an index variable i runs: at the index start + stride·i."""

    size: Poly | None
    """The length of the axis; None where it is not known."""
    start: Poly = ZERO
    stride: int = 1
    of_times: bool = False
    """Whether the axis is the time of a loop, which goes on as long as its steps have entries to read."""

    @property
    def whole(self) -> bool:
        """Whether the index variable takes all places of a non-empty axis, which is not the time of a loop.

        The time is excluded, as a loop cannot be continued with copies of its last entry (see above).
        """
        not_empty = self.size is not None and not_negative(self.size - ONE)
        return not_empty and self.start.is_zero and self.stride == 1 and not self.of_times

    @property
    def places(self) -> Poly | None:
        """The number of values of the index variable at which the place is on the axis; None where it is not known."""
        if self.size is None or not not_negative(self.start) or self.stride < 1:
            return None
        return _quotient(self.size - self.start + number(self.stride - 1), self.stride)


def _quotient(p: Poly, divisor: int) -> Poly | None:
    """Return ⌊p / divisor⌋ where the divisor divides all coefficients but the constant; else None."""
    parts = {m: c / divisor for m, c in p.items() if m}
    constant = p.coefficient(())
    if any(c.q != 1 for c in parts.values()) or constant.q != 1:
        return None
    return Poly(parts) + number(int(constant.p) // divisor)


def _indexed_axes(v: Var, clause: Clause, shapes: Shapes) -> list[_Axis] | None:
    """Return the axes along which an index variable runs in a clause.

    None where the variable occurs in another way too: then the axes do not show for which of its values all entries
    exist. None also where it is only the time of loops, as their steps do not show how many a clause is about.
    """
    if v in beyond_axes(clause):
        return None
    axes: list[_Axis] = []
    for axis in _in_terms(v, polys(clause), shapes):
        if axis is None:
            return None
        axes.append(axis)
    return None if axes and all(a.of_times for a in axes) else axes


def _in_terms(v: Var, terms: Iterable[Poly], shapes: Shapes) -> Iterator[_Axis | None]:
    """Yield the axes along which an index variable runs in terms, and None for any other occurrence of it."""
    yield from _of_atoms(v, (a for p in terms for a in deep_atoms(p)), shapes)


def _of_atoms(v: Var, atoms: Iterable[Atom], shapes: Shapes) -> Iterator[_Axis | None]:
    """Yield what `_in_terms` yields, for atoms."""
    for a in atoms:
        if isinstance(a, Access):
            yield from _in_entry(v, a.index, shapes.get(a.tensor, ()), shapes)
        elif isinstance(a, Matrix):
            yield from _in_entry(v, a.index, a.ranges, shapes)
        elif isinstance(a, Rec):
            yield from _in_entry(v, a.index, a.carries[a.position].ranges, shapes)
            if v in a.time.free:
                yield _times(v, a, shapes)
        else:  # a condition on indices, or an index as a number: only the place of an entry in an order is an axis
            for t in (t for ix in own_indices(a) for t, _ in ix.terms if t == v or v in of_term(t).free):
                yield from _in_index(v, t, shapes) if isinstance(t, Chosen) and is_permuted(v, t) else [None]


def _times(v: Var, a: Rec, shapes: Shapes) -> _Axis | None:
    """Return the times of a loop as an axis, where the carry's time is the index variable; None where it is not shown.

    There are as many times as the arrays that the steps read have entries along the axis of the step: the arrays have
    to agree in that size, and are read from their first entry on, one entry a step.
    """
    carry_names = {carried(a.level, k) for k in range(len(a.carries))}
    read = [b for c in a.carries for b in deep_atoms(c.step) if not (isinstance(b, Access) and b.tensor in carry_names)]
    axes = [*_of_atoms(("b", a.level, 0), read, shapes)]
    sizes = {axis.size for axis in axes if axis is not None and axis.start.is_zero and axis.stride == 1}
    if a.time.variable() != v or None in axes or len(sizes) != 1:
        return None
    return _Axis(sizes.pop(), of_times=True)


def _in_entry(v: Var, index: Sequence[Ix], sizes: Sequence[Poly], shapes: Shapes) -> Iterator[_Axis | None]:
    """Yield the axes along which an index variable runs in the index of an entry; None for another occurrence of it.

    `sizes` are those of the array's axes, or empty where they are not known.
    """
    for k, ix in enumerate(index):
        if len(ix.terms) == 1 and ix.terms[0][0] == v:
            yield _Axis(sizes[k] if len(sizes) == len(index) else None, ix.const, ix.terms[0][1])
        else:
            for t, _ in ix.terms:
                yield from _in_index(v, t, shapes)


def _in_index(v: Var, t: IxTerm, shapes: Shapes) -> Iterator[_Axis | None]:
    """Yield the axes along which an index variable runs inside a part of an index; None for another occurrence of it.

    In x[label[i]], i runs along the axis of `label`: the entry exists where label[i] does.
    """
    if t == v:
        yield None
    elif isinstance(t, Entry):
        yield from _in_entry(v, t.index, shapes.get(t.tensor, ()), shapes)
    elif isinstance(t, Chosen) and is_permuted(v, t):
        place, *rest = t.arguments
        if v in place.free:
            yield _Axis(t.room)
        orders: dict[Var, Ix] = {("p", k, 0): ix for k, ix in enumerate(rest)}
        yield from _in_terms(v, [substitute(p, orders) for p in t.comparison.bodies], shapes)
    elif isinstance(t, IntegerAtom) and v in t.free:
        if (deciding := _decided_by(t)) is None:
            yield None
        else:
            parameters: dict[Var, Ix] = {("p", k, 0): ix for k, ix in enumerate(t.parts())}
            yield from _in_terms(v, [substitute(p, parameters) for p in deciding], shapes)


def _decided_by(t: IntegerAtom) -> list[Poly] | None:
    """Return the terms, over parameters, whose values determine an integer atom; None for the other kinds of atoms."""
    if isinstance(t, Rounded):
        return [t.body]
    if isinstance(t, Chosen) and t.comparison.kind == "argmax":
        return [*t.comparison.bodies, t.comparison.where]
    return None
