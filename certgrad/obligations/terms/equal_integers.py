"""Integers that a condition makes equal: [a = b]·f(a) = [a = b]·f(b).

An example: entries of an integer tensor s are labels, and a sum runs over the places j with the label of place i. Then
Σ_j [s(j) = s(i)]·f(s(j), j) is written with f(s(i), j), so that factors of the label alone leave the sum.
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
    """Return the product of the factors with an integer atom replaced by the value that an equation among them gives.

    The atom depends on the summed `variables`, and the value does not, so that factors of it can leave the sum. Return
    None where no equation changes the product.
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
    """Return the term with `value` in place of an integer, in indices, in conditions on indices and as a number."""

    def with_value(ix: Ix) -> Ix:
        """Return the index expression with the value in place of the integer, inside other atoms too."""
        parts = [(1, of_const(ix.const))]
        for t, c in ix.terms:
            if not isinstance(t, IntegerAtom):
                parts.append((c, of_var(t)))
            else:
                parts.append((c, value if t == integer else t.rebuilt(tuple(map(with_value, t.parts())))))
        return combine(parts)

    def replace(a: Atom) -> Poly | None:
        """Return the term for an atom in which the integer stands; None for any other atom."""
        if isinstance(a, Access) and Entry(a.tensor, a.index) == integer:
            return index_number(value)
        if not any(_occurs(integer, ix) for ix in own_indices(a)):
            return None
        if isinstance(a, Access):
            return access(a.tensor, tuple(map(with_value, a.index)))
        if isinstance(a, (IxEq, IxPred)):
            return (index_equal if isinstance(a, IxEq) else index_condition)(with_value(a.ix))
        return index_number(with_value(of_term(a.var))) if isinstance(a, IndexNumber) else None

    # An entry also occurs as a number, where it is no index expression: then every atom has to be looked at.
    may_occur = isinstance(integer, Entry) or any(_occurs(integer, ix) for ix in indices_of(poly))
    return replaced(poly, replace) if may_occur else poly


def _occurs(integer: IntegerAtom, ix: Ix) -> bool:
    """Return whether the integer atom stands in the index expression, inside other atoms too."""
    return any(t == integer or any(_occurs(integer, part) for part in t.parts()) for t in ix.atoms)
