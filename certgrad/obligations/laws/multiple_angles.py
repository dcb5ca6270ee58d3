"""Sine and cosine of sums, of multiples and of inverse functions, over the angles that the parts of a term have.

An angle is a sum Σ c·m of monomials with rational coefficients. With D a common denominator of the coefficients in a
term, each angle is a sum of whole multiples of the m/D, and

    cos(a + b) + i·sin(a + b) = (cos a + i·sin a)·(cos b + i·sin b)

makes its sine and cosine polynomials in those of the m/D: terms that are equal by the addition theorems, by those of
multiple and half angles, and by sin² = 1 − cos², are then the same. Multiples of π/4 and π/6 have values that are roots
of numbers. Where m is asin p, acos p, atan p or atan2(y, x), its sine and cosine are algebraic in p:

    sin(asin p) = p = cos(acos p)      for −1 ≤ p ≤ 1, and their other function is √(1 − p²), which is ≥ 0
    tan(atan p) = p                    for all p, with a cosine that is > 0
    atan2(y, x)                        has the direction (x, y)/√(x² + y²), where (x, y) ≠ (0, 0) is shown

All hold wherever both functions are defined, with no other condition.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from flint import fmpq

from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import ZERO
from certgrad.obligations.terms.atoms import Fn, Num
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, number
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import fn, power
from certgrad.obligations.terms.rewriting import replaced
from certgrad.obligations.terms.walk import deep_atoms

HALF = Fraction(1, 2)
MOST = 12
"""The largest multiple of an angle, or the finest part, that is written out."""
Direction = tuple[Poly, Poly]
"""Cosine and sine of an angle."""
_AHEAD: Direction = (ONE, NOTHING)


def over_single_angles(poly: Poly, facts: Facts) -> Poly:
    """Return the term with sines and cosines of sums and multiples of angles written out."""
    angles = [a.args[0] for a in deep_atoms(poly) if isinstance(a, Fn) and a.name in ("sin", "cos")]
    parts = lcm(*(int(c.q) for angle in angles for m, c in angle.items() if half_turns(m, c) is None))
    if parts > MOST:
        return poly

    def value(a: Atom) -> Poly | None:
        if not isinstance(a, Fn) or a.name not in ("sin", "cos"):
            return None
        direction = _direction(a.args[0], parts, facts)
        return None if direction is None else direction[a.name == "sin"]

    return replaced(poly, value)


def half_turns(mono: tuple, c: fmpq) -> Fraction | None:
    """Return c where the summand c·mono of an angle is c·π; else None."""
    alone = mono[0] if len(mono) == 1 else None
    if alone is None or not isinstance(alone[0], Num) or alone[0].name != "pi" or alone[1] != 1:
        return None
    return Fraction(int(c.p), int(c.q))


def _direction(angle: Poly, parts: int, facts: Facts) -> Direction | None:
    """Return cosine and sine of an angle by those of its summands' parts; None where there is nothing to expand.

    A summand c·m is a multiple of π with known values, a multiple of an inverse function, a whole multiple of m/D with
    D = `parts`, or stays as it is.
    """
    out, unchanged = _AHEAD, len(angle) == 1
    for mono, c in angle.sorted_items():
        turns = half_turns(mono, c)
        if turns is not None and (exact := of_half_turns(turns)) is not None:
            out, unchanged = times(out, exact), False
            continue
        times_part = c * parts
        inverse = of_inverse(mono[0][0], facts) if c.q == 1 and len(mono) == 1 and mono[0][1] == 1 else None
        if inverse is not None and abs(c) <= MOST:
            out, unchanged = times(out, to_power(inverse, int(c.p))), False
        elif times_part.q == 1 and abs(times_part) <= MOST:
            part = Poly({mono: fmpq(1, parts)})
            unchanged = unchanged and times_part == 1
            out = times(out, to_power((fn("cos", part), fn("sin", part)), int(times_part.p)))
        else:
            part = Poly({mono: c})
            out = times(out, (fn("cos", part), fn("sin", part)))
    return None if unchanged else out


def times(a: Direction, b: Direction) -> Direction:
    """Return (a₀ + i·a₁)·(b₀ + i·b₁): cosine and sine of the sum of both angles."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def to_power(a: Direction, k: int) -> Direction:
    """Return the k-th power; for k < 0 the |k|-th power of the conjugate, which has the same angle and a length > 0."""
    base, out = (a if k >= 0 else (a[0], -a[1])), _AHEAD
    for _ in range(abs(k)):
        out = times(out, base)
    return out


def of_half_turns(c: Fraction) -> Direction | None:
    """Return (cos(c·π), sin(c·π)) for multiples of π/4 and π/6; else None."""
    x, y = _cosine(c), _cosine(HALF - c)
    return None if x is None or y is None else (x, y)


_COSINES = {
    Fraction(0): (1, 1),
    Fraction(1, 6): (2, 3),
    Fraction(1, 4): (2, 2),
    Fraction(1, 3): (2, 1),
    Fraction(1, 2): (1, 0),
}
"""The cosine of a multiple of π up to π/2, as √b/a."""


def _cosine(c: Fraction) -> Poly | None:
    c = abs(c) % 2
    c = min(c, 2 - c)
    fraction = _COSINES.get(min(c, 1 - c))
    if fraction is None:
        return None
    below, above = fraction
    value = power(number(above), HALF).scale(fmpq(1, below)) if above else NOTHING
    return value if c <= HALF else -value


def of_inverse(a: Atom, facts: Facts) -> Direction | None:
    """Return cosine and sine of the angle that an inverse function is; None for other atoms.

    Both are algebraic in the function's arguments. None also for an atan2 whose arguments may both be 0.
    """
    if not isinstance(a, Fn):
        return None
    if a.name in ("asin", "acos", "atan"):
        p = a.args[0]
        if a.name == "atan":
            length = power(ONE + p * p, -HALF)
            return length, p * length
        radicand = ONE - p * p
        root = power(radicand, HALF) if not radicand.is_zero else NOTHING
        return (root, p) if a.name == "asin" else (p, root)
    if a.name == "atan2":
        y, x = a.args
        if facts.signs(x) & ZERO and facts.signs(y) & ZERO:
            return None
        length = power(x * x + y * y, -HALF)
        return x * length, y * length
    return None
