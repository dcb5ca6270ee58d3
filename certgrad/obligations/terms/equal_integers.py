"""Integers that a condition makes equal: [a = b]·f(a) = [a = b]·f(b).

Where entries of integer tensors are labels, a sum over the places with the label of another one, Σ_j [s(j) = s(i)]·
f(s(j), j), is written with f(s(i), j): what depends on the label alone is then no part of the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from .atoms import Access, IndexNumber, access
from .exponents import Exponent
from .index import IntegerAtom, Ix, combine, of_atom, of_const, of_term, of_var
from .index_terms import index_condition, index_equal, index_number
from .integers import Entry
from .polynomials import Atom, Poly, monomial
from .power import UndefinedTermError
from .predicates import INDEX_PREDICATES, IxEq, IxPred
from .rewriting import replaced
from .variables import Var
from .walk import indices_of, own_indices


def at_equal_integers(factors: Sequence[tuple[Atom, Exponent]], variables: Sequence[Var]) -> Poly | None:
    """Return the product with an integer atom replaced by its value, by an equation among the factors.

    The atom depends on the variables, and the value does not. None where there is no such equation.
    """
    # Conditions stay in the sum: one before it would make a divisor 0 in a lane that does not divide by it.
    conditions = {a: e for a, e in factors if type(a) in INDEX_PREDICATES}
    rest = monomial({a: e for a, e in factors if a not in conditions})
    for equation in sorted((a for a in conditions if isinstance(a, IxEq)), key=lambda a: a.key):
        for integer, value in _solved(equation.ix, variables):
            with suppress(UndefinedTermError):  # the equation may hold nowhere
                moved = with_integer(rest, integer, value)
                if moved != rest:
                    return moved * monomial(conditions)
    return None


def _solved(ix: Ix, variables: Sequence[Var]) -> Iterator[tuple[IntegerAtom, Ix]]:
    """Yield each integer atom that depends on the variables, with its value where ix = 0, if that depends on none."""
    for t, c in ix.terms:
        if isinstance(t, IntegerAtom) and abs(c) == 1 and not t.free.isdisjoint(variables):
            value = ix.plus(of_atom(t).scaled(-c)).scaled(-c)
            if not any(v in value.free for v in variables):
                yield t, value


def with_integer(poly: Poly, integer: IntegerAtom, value: Ix) -> Poly:
    """Return the term with `value` in the place of an integer, wherever that is an index or compared."""

    def moved(ix: Ix) -> Ix:
        parts = [(1, of_const(ix.const))]
        for t, c in ix.terms:
            if not isinstance(t, IntegerAtom):
                parts.append((c, of_var(t)))
            else:
                parts.append((c, value if t == integer else t.rebuilt(tuple(map(moved, t.parts())))))
        return combine(parts)

    def replace(a: Atom) -> Poly | None:
        if isinstance(a, Access) and Entry(a.tensor, a.index) == integer:
            return index_number(value)
        if not any(_occurs(integer, ix) for ix in own_indices(a)):
            return None
        if isinstance(a, Access):
            return access(a.tensor, tuple(map(moved, a.index)))
        if isinstance(a, (IxEq, IxPred)):
            return (index_equal if isinstance(a, IxEq) else index_condition)(moved(a.ix))
        return index_number(moved(of_term(a.var))) if isinstance(a, IndexNumber) else None

    reads = isinstance(integer, Entry) or any(_occurs(integer, ix) for ix in indices_of(poly))
    return replaced(poly, replace) if reads else poly


def _occurs(integer: IntegerAtom, ix: Ix) -> bool:
    return any(t == integer or any(_occurs(integer, part) for part in t.parts()) for t in ix.atoms)
