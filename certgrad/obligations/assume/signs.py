"""Signs as sets of possibilities, one bit for each of −, 0 and +. A sign that cannot be excluded stays in the set."""

from __future__ import annotations

NEG, ZERO, POS = 1, 2, 4
ANY_SIGN, NONNEG, NONPOS, NONZERO = 7, 6, 3, 5


def negated(signs: int) -> int:
    """Return the possible signs of −p, for those of p."""
    return (signs & ZERO) | (POS if signs & NEG else 0) | (NEG if signs & POS else 0)


def times(a: int, b: int) -> int:
    """Return the possible signs of a product, for those of its factors."""
    out = (a & b & ZERO) | ((a | b) & ZERO if a and b else 0)
    if (a & POS and b & POS) or (a & NEG and b & NEG):
        out |= POS
    if (a & POS and b & NEG) or (a & NEG and b & POS):
        out |= NEG
    return out


def signs_of_product(factors: int) -> int:
    """Return the possible signs of a product of any number of factors with these signs; an empty product is 1."""
    if factors == POS:
        return POS
    return (ANY_SIGN if factors & NEG else NONNEG) & (ANY_SIGN if factors & ZERO else NONZERO)


def plus(a: int, b: int) -> int:
    """Return the possible signs of a sum, for those of its summands."""
    if a == ZERO:
        return b
    if b == ZERO:
        return a
    out = 0
    for s, t in ((a, b), (b, a)):
        if s & POS:
            out |= POS if not t & NEG else ANY_SIGN
        if s & NEG:
            out |= NEG if not t & POS else ANY_SIGN
    return out | (ZERO if a & b & ZERO else 0)
