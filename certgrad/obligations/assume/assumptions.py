"""Which hypotheses are assumed, and of what.

A hypothesis is used at the entries that a question mentions, wherever these are. So it is assumed only if it is asked
at every place at which all that it reads is there, and if its indices tell where that is: each numbers axes, from a
start on, in steps of a stride.

Where an index numbers axes of one size, which are not empty, from 0 on, it says something at all of their entries: it
stays true of arrays that go on with their last entry, so that an assumption on entries that are not there is one on
copies of some that are.
Else it says something at some entries alone: that x[i + 1] > x[i] is nothing on the last one. It is then used on what
mentions all that it reads, with no condition on places inside, so that all of this is there.
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
    """Hypotheses as assumptions: signs where a clause is one unguarded relation, the others as they are.

    What is asked at the steps of a loop that ends by its values is not assumed: it says nothing beyond its last step.
    Nor is what is asked at some places of an axis, as an assumption is one on all.
    Nor is the equation of a solver, which may be about a part of an argument's entries alone.
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
    """Return whether the term is the inverse of a product, which is 0 nowhere: 1/x ≥ 0 says x > 0."""
    single = poly.single()
    return single is not None and all(e < 0 or a.positive for a, e in single[0])


def assumed(clause: Clause, shapes: Shapes) -> bool:
    """Return whether a hypothesis is one of those that are assumed."""
    if any(v[0] in (LOOP_STEP, PARTIAL_RANGE) for v in clause.free) or of_solver(clause):
        return False
    return at_all_entries(clause, shapes) or all(extent(v, clause, shapes) is not None for v in clause.free)


def at_all_entries(clause: Clause, shapes: Shapes) -> bool:
    """Return whether each index numbers axes of one size, which is at least 1, from 0 on, and no condition on places
    names it.
    """
    for v in clause.free:
        axes = _indexed_axes(v, clause, shapes)
        if axes is None or len({a.size for a in axes}) > 1 or not all(a.whole for a in axes):
            return False
    return True


def extent(v: Var, clause: Clause, shapes: Shapes) -> Poly | None:
    """Return at how many values of an index, from 0 on, all entries that the clause reads exist; None where that is
    unknown.
    """
    counts = [a.places for a in _indexed_axes(v, clause, shapes) or ()]
    known = [n for n in counts if n is not None]
    if len(known) < len(counts):
        return None
    return next((n for n in known if all(not_negative(other - n) for other in known)), None)


class _Axis(NamedTuple):
    """An axis that an index numbers: from a start on, in steps of a stride."""

    size: Poly | None
    """None where it is not known."""
    start: Poly = ZERO
    stride: int = 1
    of_times: bool = False
    """The times of a loop: what it carries makes sense at as many as there are entries of what its steps read."""

    @property
    def whole(self) -> bool:
        """Whether the index numbers an axis from its first entry on, which exists. A loop does not go on with its last
        entry.
        """
        there = self.size is not None and not_negative(self.size - ONE)
        return there and self.start.is_zero and self.stride == 1 and not self.of_times

    @property
    def places(self) -> Poly | None:
        """The number of places; None where it is not known."""
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
    """The axes that an index numbers.

    None where it does something else too, so that these do not tell where it makes sense.
    """
    if v in beyond_axes(clause):
        return None
    axes: list[_Axis] = []
    for one in _in_terms(v, polys(clause), shapes):
        if one is None:
            return None
        axes.append(one)
    # How many steps of a loop a clause is about, the entries beside it tell.
    return None if axes and all(a.of_times for a in axes) else axes


def _in_terms(v: Var, terms: Iterable[Poly], shapes: Shapes) -> Iterator[_Axis | None]:
    """The axes that an index numbers in terms; None for what else it does."""
    yield from _of_atoms(v, (a for p in terms for a in deep_atoms(p)), shapes)


def _of_atoms(v: Var, atoms: Iterable[Atom], shapes: Shapes) -> Iterator[_Axis | None]:
    for a in atoms:
        if isinstance(a, Access):
            yield from _in_entry(v, a.index, shapes.get(a.tensor, ()), shapes)
        elif isinstance(a, Matrix):
            yield from _in_entry(v, a.index, a.ranges, shapes)
        elif isinstance(a, Rec):
            yield from _in_entry(v, a.index, a.carries[a.position].ranges, shapes)
            if v in a.time.free:
                yield _times(v, a, shapes)
        else:  # places in an order, or what else an index does in a condition or as a number
            for t in (t for ix in own_indices(a) for t, _ in ix.terms if t == v or v in of_term(t).free):
                yield from _in_index(v, t, shapes) if isinstance(t, Chosen) and is_permuted(v, t) else [None]


def _times(v: Var, a: Rec, shapes: Shapes) -> _Axis | None:
    """Return the times of a loop as an axis that an index numbers.

    They are as many as the axes have entries of which a step reads one, where these are of one size and read from the
    first entry on.
    """
    own = {carried(a.level, k) for k in range(len(a.carries))}
    read = [b for c in a.carries for b in deep_atoms(c.step) if not (isinstance(b, Access) and b.tensor in own)]
    axes = [*_of_atoms(("b", a.level, 0), read, shapes)]
    sizes = {one.size for one in axes if one is not None and one.start.is_zero and one.stride == 1}
    if a.time.variable() != v or None in axes or len(sizes) != 1:
        return None
    return _Axis(sizes.pop(), of_times=True)


def _in_entry(v: Var, index: Sequence[Ix], sizes: Sequence[Poly], shapes: Shapes) -> Iterator[_Axis | None]:
    """Yield the axes that an index numbers in an entry of an array."""
    for k, ix in enumerate(index):
        if len(ix.terms) == 1 and ix.terms[0][0] == v:
            yield _Axis(sizes[k] if len(sizes) == len(index) else None, ix.const, ix.terms[0][1])
        else:
            for t, _ in ix.terms:
                yield from _in_index(v, t, shapes)


def _in_index(v: Var, t: IxTerm, shapes: Shapes) -> Iterator[_Axis | None]:
    """Yield the axes that an index numbers in a part of an index: x[label[i]] makes sense where label[i] does."""
    if t == v:
        yield None
    elif isinstance(t, Entry):
        yield from _in_entry(v, t.index, shapes.get(t.tensor, ()), shapes)
    elif isinstance(t, Chosen) and is_permuted(v, t):
        place, *others = t.arguments
        if v in place.free:
            yield _Axis(t.room)
        orders: dict[Var, Ix] = {("p", k, 0): ix for k, ix in enumerate(others)}
        yield from _in_terms(v, [substitute(p, orders) for p in t.comparison.bodies], shapes)
    elif isinstance(t, IntegerAtom) and v in t.free:
        if (terms := _decided_by(t)) is None:
            yield None
        else:
            parameters: dict[Var, Ix] = {("p", k, 0): ix for k, ix in enumerate(t.parts())}
            yield from _in_terms(v, [substitute(p, parameters) for p in terms], shapes)


def _decided_by(t: IntegerAtom) -> list[Poly] | None:
    """Return the terms in parameters that determine an integer; None where it depends on more than entries of them."""
    if isinstance(t, Rounded):
        return [t.body]
    if isinstance(t, Chosen) and t.comparison.kind == "argmax":
        return [*t.comparison.bodies, t.comparison.where]
    return None
