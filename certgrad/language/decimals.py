"""Numbers as a reader knows them: a float's literal is a decimal, and not a quotient of integers of forty digits."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

LONG = 10**6
"""Integers below this stand in a quotient as they are."""
WHOLE = 10**16
"""Integers below this are written out: a float of 64 bits holds each of them."""
DIGITS = 17
"""Significant digits that distinguish a 64-bit float from all others."""


def decimal(c: Fraction, latex: bool = False) -> str:
    """Return a positive number in decimals; "" where a quotient of integers is short, or a float has fewer digits.

    >>> decimal(Fraction(11754944, 10**45))
    '1.1754944e-38'
    """
    if max(c.numerator, c.denominator) < LONG or (c.denominator == 1 and c < WHOLE):
        return ""
    # Only a denominator of twos and fives has finitely many decimals.
    rest, twos, fives = c.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return ""
    places = max(twos, fives)
    digits = str(c.numerator * 2 ** (places - twos) * 5 ** (places - fives))
    exponent = len(digits) - 1 - places
    digits = digits.rstrip("0")
    if len(digits) > DIGITS:
        return ""
    if -4 <= exponent < 7:
        return format(Decimal(digits).scaleb(exponent - len(digits) + 1), "f")
    significand = digits[0] + ("." + digits[1:] if digits[1:] else "")
    return rf"{significand} \cdot 10^{{{exponent}}}" if latex else f"{significand}e{exponent}"


def decimal_scale(numbers: Sequence[Fraction]) -> Fraction:
    """Return the positive factor that makes the first coefficient ±1, if all are decimals then; else 1.

    Return 1 also where all coefficients are short fractions already.
    """
    if not numbers or all(max(abs(c.numerator), c.denominator) < LONG for c in numbers):
        return Fraction(1)
    factor = 1 / abs(numbers[0])
    scaled = [abs(c) * factor for c in numbers]
    plain = all(decimal(c) or max(c.numerator, c.denominator) < LONG for c in scaled)
    return factor if plain else Fraction(1)
