"""The moduli: primes between which exp, sine and cosine are homomorphisms, and modulo which roots are exact.

`P - 1` is a multiple of `OF_EXP` and `P + 1` one of `OF_CIRCLE`: the numbers modulo P have a subgroup of `OF_EXP`
elements, and the pairs (c, s) with c² + s² = 1 one of `OF_CIRCLE` elements. All three primes are 7 modulo 8, so that
either x or −x is a square: being a square stands for being positive where a root is taken. P − 1 has none of the
factors 3, 5, 7 and 11, so that such roots exist and are unique.
"""

from __future__ import annotations

from flint import fmpz, fmpz_mod_ctx

OF_EXP = 2**127 + 1225071
OF_CIRCLE = 2**127 + 3229383
Q = OF_EXP * OF_CIRCLE
"""Exponents are numbers modulo this: a pair of one for exp and one for the circle."""
P = 0xF1EB8B4896A973E8DAB067B33C845DA5ADE1FE1D45F9432429944491D51AD2691E3B17
SQUARES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
"""Primes that are squares modulo each of the three."""
ODD_ROOTS = (3, 5, 7, 9, 11)


def _generator() -> int:
    """Return a generator of the subgroup in which exp has its values."""
    return next(g for k in range(2, 99) if (g := pow(k, (P - 1) // OF_EXP, P)) != 1)


def turned(z: tuple[int, int], w: tuple[int, int]) -> tuple[int, int]:
    """Return the product of two points (c, s) of the circle, read as c + i·s."""
    return (z[0] * w[0] - z[1] * w[1]) % P, (z[0] * w[1] + z[1] * w[0]) % P


def turned_by(z: tuple[int, int], times: int) -> tuple[int, int]:
    """Return z multiplied so many `times` by itself, as the power of c + i·s modulo P."""
    out = (1, 0)
    while times:
        if times & 1:
            out = turned(out, z)
        z, times = turned(z, z), times >> 1
    return out


def _turn() -> tuple[int, int]:
    """Return a generator of the circle's subgroup: the point that a slope gives, to the power (P + 1) / `OF_CIRCLE`."""
    for slope in range(2, 99):
        below = pow(1 + slope * slope, -1, P)
        point = (1 - slope * slope) * below % P, 2 * slope * below % P
        if (generator := turned_by(point, (P + 1) // OF_CIRCLE)) != (1, 0):
            return generator
    raise AssertionError("no generator")


G = _generator()
TURN = _turn()
_MODULO_P, _MODULO_Q = fmpz_mod_ctx(P), fmpz_mod_ctx(Q)
_ROOT_OF_UNITY = _MODULO_P(G)


def is_square(x: int) -> bool:
    """Return whether a number modulo P other than 0 is a square."""
    return bool(fmpz(x).jacobi(P) == 1)


def inverse(x: int) -> int:
    """Return 1/x modulo P."""
    return int(1 / _MODULO_P(x))


def inverse_exponent(x: int) -> int:
    """Return 1/x modulo Q."""
    return int(1 / _MODULO_Q(x))


def power(x: int, n: int) -> int:
    """Return xⁿ modulo P."""
    return int(_MODULO_P(x) ** n)


def exponential(n: int) -> int:
    """Return exp of an exponent: the generator `G` to its power."""
    return int(_ROOT_OF_UNITY**n)


def root_of_exponent(x: int) -> int | None:
    """Return the root of x modulo Q that is a square itself; None if x has no root."""
    roots = [pow(x, (q + 1) // 4, q) for q in (OF_EXP, OF_CIRCLE)]
    if any(r * r % q != x % q for r, q in zip(roots, (OF_EXP, OF_CIRCLE), strict=True)):
        return None
    first, second = roots
    return (first + OF_EXP * ((second - first) * _OF_EXP_INVERSE % OF_CIRCLE)) % Q


_OF_EXP_INVERSE = pow(OF_EXP, -1, OF_CIRCLE)
