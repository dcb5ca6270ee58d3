"""Small rearrangements of terms that make them easier to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import Literal

from certgrad.language import tree as t

Summands = list[tuple[Fraction, tuple[t.Term, ...]]]


def collected(terms: Iterable[tuple[Fraction, tuple[t.Term, ...]]]) -> dict[tuple[t.Term, ...], Fraction]:
    """Return the coefficient of each product of factors in a sum, without those that are 0."""
    coefficients: dict[tuple[t.Term, ...], Fraction] = {}
    for c, factors in terms:
        coefficients[factors] = coefficients.get(factors, Fraction(0)) + c
    return {factors: c for factors, c in coefficients.items() if c}


def difference(s: t.Compare) -> dict[tuple[t.Term, ...], Fraction]:
    """Return the left side minus the right side, as the coefficient of each product."""
    return collected([*t.linear(s.left), *((-c, factors) for c, factors in t.linear(s.right))])


def sum_of(terms: Iterable[tuple[Fraction, tuple[t.Term, ...]]]) -> t.Term:
    return t.sum_of_terms([t.scaled(c, list(factors)) for c, factors in terms])


def roots_together(factors: Sequence[t.Term]) -> list[t.Term]:
    """Return the factors with roots of positive whole numbers as one, at the place of the first: √2·√5 is √10."""
    radicands: dict[str, int] = {}
    for f in factors:
        if isinstance(f, t.Power) and isinstance(f.base, t.Number) and f.base.value.isdigit():
            radicands[f.exponent] = radicands.get(f.exponent, 1) * int(f.base.value)
    out: list[t.Term] = []
    for f in factors:
        if isinstance(f, t.Power) and isinstance(f.base, t.Number) and f.base.value.isdigit():
            if f.exponent not in radicands:
                continue
            f = t.Power(t.Number(str(radicands.pop(f.exponent))), f.exponent)
        out.append(f)
    return out


def in_whole_numbers(s: t.Statement) -> t.Statement:
    """Return a comparison with 0, multiplied by the least number that makes its coefficients whole."""
    if not isinstance(s, t.Compare) or s.right != t.ZERO:
        return s
    summands = t.linear(s.left)
    factor = lcm(*(c.denominator for c, _ in summands))
    return t.Compare(s.relation, sum_of((factor * c, f) for c, f in summands), t.ZERO)


def once_or_zero(statement: t.Statement) -> t.Unique | None:
    """Return the part `unique` of a statement that a maximum is attained once or is 0; None for other statements."""
    if not isinstance(statement, t.Either) or len(statement.parts) != 2:
        return None
    unique, alternative = statement.parts
    if not isinstance(unique, t.Unique):
        return None
    zero = t.Compare("=", t.Fold("maximum", unique.over, unique.body, unique.where), t.ZERO)
    return unique if alternative == zero else None


def extreme(unique: t.Unique) -> Literal["minimum", "maximum"]:
    """Return "minimum" where a maximum is of a negated term, else "maximum"."""
    return "minimum" if all(c < 0 for c, _ in t.linear(unique.body)) else "maximum"
