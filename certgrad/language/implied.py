"""Comparisons that others imply: beside x > 1, x² > 1 says nothing.

A polynomial p of one term x is compared with 0, and x with a number c. Where x > c, x is c + t with t > 0, and p > 0 if
no coefficient of p(c + t) is negative and one is not 0. Of several terms, x may be a combination: y − z in y ≠ z.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from . import tree as t
from .forms import difference

Polynomial = dict[int, Fraction]
LARGEST = 12
"""Powers above this are no part of a polynomial."""
_ASKS = {">": (1, True), ">=": (1, False), "<": (-1, True), "<=": (-1, False)}


def unsaid(statements: Sequence[t.Statement]) -> set[int]:
    """Return the places of statements that another one implies; of two equal ones the first is kept."""
    forms = [(_univariate_relation(s), _combination(s)) for s in statements]
    out: set[int] = set()
    for k, (relation, combination) in reversed([*enumerate(forms)]):
        for known_relation, known_combination in (o for j, o in enumerate(forms) if j != k and j not in out):
            by_one = known_relation is not None and relation is not None and _implies(known_relation, relation)
            if by_one or (
                known_combination is not None
                and combination is not None
                and _combinations_imply(known_combination, combination)
            ):
                out.add(k)
                break
    return out


Scope = tuple[tuple[t.Range, ...], frozenset[t.Statement]]
"""The variables for all of whose values a comparison is stated, and the guards under which it is."""
Read = tuple[Scope, t.Term, Polynomial, str]


def _comparison(statement: t.Statement) -> tuple[Scope, t.Compare] | None:
    """Return the comparison in a statement and its scope; None for other statements.

    None also where a variable's range is not stated: in two statements it may run over other places.
    """
    over = statement.over if isinstance(statement, t.ForAll) else ()
    holds = statement.holds if isinstance(statement, t.ForAll) else statement
    guards = holds.guards if isinstance(holds, t.Where) else ()
    compared = holds.then if isinstance(holds, t.Where) else holds
    if not isinstance(compared, t.Compare) or any(r.size == t.UNKNOWN for r in over):
        return None
    return (over, frozenset(guards)), compared


def _univariate_relation(statement: t.Statement) -> Read | None:
    """Return the polynomial, the term that it is of, and the relation to 0 of a comparison."""
    if (scoped := _comparison(statement)) is None:
        return None
    over, holds = scoped
    atoms: list[t.Term] = []
    left, right = _polynomial(holds.left, atoms), _polynomial(holds.right, atoms)
    if left is None or right is None or len(atoms) != 1:
        return None
    return over, atoms[0], _sum(left, {k: -c for k, c in right.items()}), holds.relation


Combination = tuple[Scope, dict[tuple[t.Term, ...], Fraction], str]


def _combination(statement: t.Statement) -> Combination | None:
    """Return the combination of products and the relation to 0 of a comparison."""
    if (scoped := _comparison(statement)) is None:
        return None
    over, holds = scoped
    return over, difference(holds), holds.relation


def _combinations_imply(known: Combination, asked: Combination) -> bool:
    """Return whether a comparison of a combination c with 0 implies that of r·c + s with 0, for numbers r and s."""
    (over, parts, relation), (asked_over, asked_parts, asked_relation) = known, asked
    first = next((factors for factors in parts if factors), None)
    if first is None or over != asked_over or parts.keys() - {()} != asked_parts.keys() - {()}:
        return False
    ratio = asked_parts[first] / parts[first]
    if any(asked_parts[factors] != ratio * c for factors, c in parts.items() if factors):
        return False
    line = {0: parts.get((), Fraction(0)), 1: Fraction(1)}
    polynomial = {0: asked_parts.get((), Fraction(0)), 1: ratio}
    return _implies((over, t.ZERO, line, relation), (over, t.ZERO, polynomial, asked_relation))


def _implies(known: Read, asked: Read) -> bool:
    """Return whether a comparison of a term x with a number c implies one of a polynomial p(x) with 0.

    Where x is above c (or below), x is c + t (or c − t) with t > 0: all coefficients of p in t must have one sign.
    """
    over, atom, line, relation = known
    if (over, atom) != asked[:2] or set(line) - {0, 1} or 1 not in line or relation not in _ASKS:
        return False
    side, strict = _ASKS[relation]
    side = side if line[1] > 0 else -side
    bound = -line.get(0, Fraction(0)) / line[1]
    shifted = _taylor_shift(asked[2], bound, side)
    if asked[3] in ("<", "<="):
        shifted = {k: -c for k, c in shifted.items()}
    signs = {1 if c > 0 else -1 for k, c in shifted.items() if c}
    at_bound = shifted.get(0, Fraction(0)) != 0
    if asked[3] == "!=":
        return len(signs) == 1 and (strict or at_bound)
    if asked[3] in (">", "<"):
        return signs == {1} and (strict or at_bound)
    return asked[3] in (">=", "<=") and signs <= {1}


def _taylor_shift(polynomial: Polynomial, bound: Fraction, side: int) -> Polynomial:
    """Return p(bound + side·t) as a polynomial of t."""
    out: Polynomial = {}
    for k, c in polynomial.items():
        out = _sum(out, {j: c * comb(k, j) * bound ** (k - j) * side**j for j in range(k + 1)})
    return out


def _sum(one: Polynomial, two: Polynomial) -> Polynomial:
    out = dict(one)
    for k, c in two.items():
        out[k] = out.get(k, Fraction(0)) + c
    return {k: c for k, c in out.items() if c}


def _product(one: Polynomial, two: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for j, a in one.items():
        out = _sum(out, {j + k: a * b for k, b in two.items()})
    return out


def _polynomial(term: t.Term, atoms: list[t.Term]) -> Polynomial | None:
    """Return the term as a polynomial in one atom, which is added to `atoms`; None where it is none, or has two."""
    if isinstance(term, t.Number):
        value = Fraction(term.value)
        return {0: value} if value else {}
    if isinstance(term, (t.Add, t.Mul)):
        out: Polynomial | None = {} if isinstance(term, t.Add) else {0: Fraction(1)}
        for part in term.terms if isinstance(term, t.Add) else term.factors:
            part_polynomial = _polynomial(part, atoms)
            if part_polynomial is None or out is None:
                return None
            out = _sum(out, part_polynomial) if isinstance(term, t.Add) else _product(out, part_polynomial)
            if max(out, default=0) > LARGEST:
                return None
        return out
    if isinstance(term, t.Power) and term.exponent.isdecimal():
        base, power = _polynomial(term.base, atoms), int(term.exponent)
        if base is None or power * max(base, default=0) > LARGEST:
            return None
        result: Polynomial = {0: Fraction(1)}
        for _ in range(power):
            result = _product(result, base)
        return result
    if isinstance(term, t.Power) and "/" not in term.exponent:  # 1/x: a polynomial of x may stand beside it
        return None
    if term not in atoms:
        atoms.append(term)
    return {1: Fraction(1)} if atoms == [term] else None
