"""Exponents: rational numbers, the whole ones as integers."""

from __future__ import annotations

from fractions import Fraction

from .session import Memo

Exponent = int | Fraction


class FractionalExponent(Fraction):
    """An exponent that is not a whole number. It stores its hash, as monomials are hashed all the time."""

    __slots__ = ("_hash",)
    _hash: int

    def __new__(cls, numerator: int, denominator: int) -> FractionalExponent:
        self = super().__new__(cls, numerator, denominator)
        self._hash = Fraction.__hash__(self)
        return self

    def __hash__(self) -> int:  # type: ignore[override]
        return self._hash


_fractional: Memo[tuple[int, int], FractionalExponent] = Memo()


def exponent(e: Exponent) -> Exponent:
    """Return the exponent in its one form: an int where it is whole, else a `FractionalExponent`."""
    if type(e) is not Fraction:
        return e
    ratio = e.as_integer_ratio()
    if ratio[1] == 1:
        return ratio[0]
    fraction = _fractional.table.get(ratio)
    if fraction is None:
        fraction = _fractional.table[ratio] = FractionalExponent(*ratio)
    return fraction
