"""Angles: when a combination of asin, acos, atan, atan2 and π is 0.

Each of these functions is the angle arg z ∈ (−π, π] of a complex number z = x + i·y that is not 0:

    atan2(y, x) = arg(x + i·y),  asin p = arg(√(1 − p²) + i·p),  acos p = arg(p + i·√(1 − p²)),  atan p = arg(1 + i·p).

Let φ = Σ c·arg z + d·π with rational c and d, and n a whole number for which every n·c is whole. Then n·φ is the angle,
up to a multiple of 2π, of w = e^(i·n·d·π)·Π z^(n·c). If w is a positive number, n·φ is a multiple of 2π; and if the
signs of the x and y bound n·φ strictly between −2π and 2π, then φ = 0. Both must be shown from what is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm

from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, POS, ZERO
from certgrad.obligations.terms.atoms import Fn
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, mono_key
from certgrad.obligations.terms.power import power

from .grouped import by_cofactor
from .logarithms import MOST_FACTORS
from .multiple_angles import HALF, Direction, half_turns, of_half_turns, times, to_power

ONCE = Fraction(1)
_NAMES = frozenset({"asin", "acos", "atan", "atan2"})
Range = tuple[Fraction, Fraction, bool, bool]
"""An interval of angles: its ends as multiples of π, and whether the lower and the upper end are left out."""


def is_angle(a: Atom) -> bool:
    return isinstance(a, Fn) and a.name in _NAMES


def angles_cancel(
    poly: Poly, facts: Facts, simplified: Callable[[Poly], Poly], vanishes: Callable[[Poly], bool]
) -> bool:
    """Return whether the term is Σ cofactor·φ with combinations φ of angles and π that are all shown to be 0.

    φ is 0 if the w that `_direction_of` returns for it has the imaginary part 0 and a positive real part. `simplified`
    returns a term that is equal to its argument under the assumptions, `vanishes` whether its argument is 0 under them.
    """
    groups, rest = by_cofactor(poly, is_angle)
    if not groups:
        return False
    turns: dict[str, Fraction] = {}  # the d of d·π, by the key of the cofactor
    for mono, c in rest.items():
        cofactor = {a: e for a, e in mono if half_turns(((a, e),), c) is None}
        if len(cofactor) == len(mono):
            return False
        turns[mono_key(tuple(cofactor.items()))] = Fraction(int(c.p), int(c.q))
    if turns.keys() - groups.keys():
        return False
    for key, parts in groups.items():
        direction = _direction_of(parts, turns.get(key, Fraction(0)), facts)
        if direction is None or not vanishes(direction[1]) or facts.signs(simplified(direction[0])) != POS:
            return False
    return True


def _direction_of(parts: list[tuple[Atom, Fraction]], turns: Fraction, facts: Facts) -> Direction | None:
    """Return the real and imaginary part of w (see the head of the file), or None.

    None where n·φ is not shown to lie strictly between −2π and 2π, or w would have too many factors. φ is Σ c·angle
    over the (angle, c) in `parts`, plus `turns`·π.
    """
    n = lcm(*(c.denominator for _, c in parts))
    start = of_half_turns(n * turns)
    if start is None or sum(abs(c) * n for _, c in parts) > MOST_FACTORS:
        return None
    product, lowest, highest = start, n * turns, n * turns
    open_low = open_high = False
    for a, c in parts:
        point = _point(a, facts)
        if point is None:
            return None
        k = int(n * c)
        product = times(product, to_power(point, k))
        low, high, without_low, without_high = _range(point, facts)
        if k < 0:  # the multiple −|k| exchanges the ends
            low, high, without_low, without_high = high, low, without_high, without_low
        lowest, highest = lowest + k * low, highest + k * high
        open_low, open_high = open_low or without_low, open_high or without_high
    within = (lowest > -2 or (lowest == -2 and open_low)) and (highest < 2 or (highest == 2 and open_high))
    return product if within else None


def _point(a: Atom, facts: Facts) -> Direction | None:
    """Return a complex number x + i·y as (x, y), shown not to be 0, whose angle the function is; else None."""
    assert isinstance(a, Fn)
    if a.name == "atan2":
        y, x = a.args
        return None if facts.signs(x) & ZERO and facts.signs(y) & ZERO else (x, y)
    p = a.args[0]
    if a.name == "atan":
        return ONE, p
    radicand = ONE - p * p
    root = power(radicand, HALF) if not radicand.is_zero else radicand
    return (root, p) if a.name == "asin" else (p, root)


def _range(point: Direction, facts: Facts) -> Range:
    """Return bounds of the angle of a point (x, y) that is not 0, by the signs of x and y."""
    x, y = facts.signs(point[0]), facts.signs(point[1])
    low, high, without_low, without_high = -ONCE, ONCE, True, False
    if not x & NEG:
        low, high = -HALF, HALF
        without_low = without_high = not x & ZERO
    if not y & NEG:
        low, without_low = Fraction(0), not y & ZERO
        if x == NEG:
            low, without_low = HALF, True
    elif y == NEG:
        high, without_high = Fraction(0), True
        if x == NEG:
            high, without_high = -HALF, True
    return low, high, without_low, without_high
