"""Rounded real numbers and counts as indices: a pixel is read at the place ⌊x⌋, and its neighbour at ⌊x⌋ + 1."""

from __future__ import annotations

from math import lcm, prod
from typing import TypeGuard

from flint import fmpq

from .atoms import Access, Fn, IndexNumber, Sum, access
from .determined import CARRY
from .functions import WHOLE_VALUED
from .index import Ix, combine, of_const, of_var
from .index_terms import as_index
from .integers import RANK, Chosen, Rounded, quotient, undone
from .polynomials import ONE, ZERO, Accumulator, Atom, Poly, number, poly_of
from .predicates import PREDICATES
from .rewriting import replaced, substitute, variables_as_parameters, without_stops
from .session import Memo, intern
from .variables import Var, fresh
from .walk import atoms_of, indices_of, tensors_in


def as_rounded_index(poly: Poly, quotients: bool = True) -> Ix | None:
    """Return the term as an index expression that may have rounded numbers and counts in it, else None.

    It extends `as_index`. Without `quotients`, counts and floors of fractions such as ⌊p/2⌋ are refused: their signs
    say more than conditions on indices would. A term that reads carries of a loop is refused too, as an index is not
    rewritten where the step of a loop is substituted.
    """
    index = as_index(poly)
    if index is not None or not any(map(_is_rounded, atoms_of(poly))):
        return index
    plain = without_stops(poly)
    if any(name.startswith(("#", CARRY)) for a in atoms_of(plain) for name in tensors_in(a)):
        return None
    total, parts = Accumulator(), []
    for mono, c in plain.items():
        single = mono[0][0] if len(mono) == 1 and mono[0][1] == 1 else None
        place = _quotient(single) if single is not None and c.q == 1 else None
        if place is not None:
            parts.append((int(c.p), place))
        elif not quotients and any(is_number_of_places(a) or (_is_rounded(a) and _has_fractions(a)) for a, _ in mono):
            return None
        elif single is not None and _is_rounded(single):
            total.add_poly(_number(single), c)
        else:
            total.add(mono, c)
    rest = as_index(total.poly())
    return combine([(1, rest), *parts]) if rest is not None else None


def _quotient(a: Atom) -> Ix | None:
    """Return ⌊k/m⌋ as an index for an atom floor(k/m), where k has rounded numbers in it; None for other atoms."""
    if not (isinstance(a, Fn) and a.name == "floor" and _has_fractions(a)):
        return None
    (p,) = a.args
    m = lcm(*(int(c.q) for _, c in p.items()))
    inner = as_rounded_index(p.scale(m))
    return (
        quotient(inner, number(m)) if inner is not None and any(isinstance(t, Rounded) for t in inner.atoms) else None
    )


def _is_rounded(a: Atom) -> bool:
    """Return whether the atom is a whole number: a whole-valued function such as floor, or a count of places."""
    return (isinstance(a, Fn) and a.name in WHOLE_VALUED) or is_number_of_places(a)


def is_number_of_places(a: Atom | None) -> TypeGuard[Sum]:
    """Return whether an atom counts places: it is a sum over predicates alone."""
    return isinstance(a, Sum) and all(type(b) in PREDICATES for b, _ in a.body)


_bounds: Memo[Sum, tuple[Poly, Poly]] = Memo()


def bounds_of_number(a: Atom | None) -> tuple[Poly, Poly] | tuple[None, None]:
    """Return the least and the largest value of a count of places; (None, None) for other atoms.

    The least is 1 where one place is sure to count (see `_has_a_place`), else 0; the largest is the number of places.
    """
    if not is_number_of_places(a):
        return None, None
    bounds = _bounds.table.get(a)
    if bounds is None:
        bounds = _bounds.table[a] = ONE if _has_a_place(a) else ZERO, prod(a.ranges, start=ONE)
    return bounds


def _has_a_place(a: Sum) -> bool:
    """Return whether a count is at least 1 for sure: the first or the last entry of an order counts.

    The orders tried are those whose ranks the predicates read.
    """
    if len(a.vars) > 1 or not a.structured:
        return False
    (v,), (n,), body = a.vars, a.ranges, Poly({a.body: fmpq(1)})
    ranks = {
        t.key: t for ix in indices_of(body) for t in ix.atoms if isinstance(t, Chosen) and t.comparison.kind == RANK
    }
    ends = (of_const(ZERO), of_const(n - ONE))
    ordered = [t for _, t in sorted(ranks.items()) if t.room == n and t.arguments[0].variable() == v]
    return n.positive and any(substitute(body, {v: undone(t, end)}) == ONE for t in ordered for end in ends)


def _has_fractions(a: Atom) -> bool:
    return any(c.q != 1 for p in a.parts() for _, c in p.items())


def _number(a: Atom) -> Poly:
    """Return a rounded number or a count as an integer atom, a function of the indices in it."""
    body, indices = _abstract_indices(poly_of(a))
    (body,), variables = variables_as_parameters([body], body.free)
    return poly_of(
        intern(IndexNumber(Rounded(body, tuple(indices[v] if v in indices else of_var(v) for v in variables))))
    )


def _abstract_indices(body: Poly) -> tuple[Poly, dict[Var, Ix]]:
    """Return the term with a fresh variable for each index of an entry that is no variable, and the index of each.

    Then ⌊x[i]⌋ and ⌊x[⌊k/2⌋]⌋ are one function at different places, whatever is substituted later.
    """
    names: dict[Ix, Var] = {}

    def name(ix: Ix) -> Ix:
        if ix.variable() is not None or any(v[0] == "b" for v in ix.free):
            return ix
        return of_var(names.setdefault(ix, fresh()))

    body = replaced(body, lambda a: access(a.tensor, tuple(map(name, a.index))) if isinstance(a, Access) else None)
    return body, {v: ix for ix, v in names.items()}
