"""A bound on the probability that different sides are taken for equal, by their degrees (docs/exact.md)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import lcm
from typing import Any

from ._model import Model
from ._primes import OF_EXP, Q, inverse_exponent

MAX_DENOMINATOR = 64
"""The largest common denominator that is tried for relations between exponents; beyond, there is no bound."""
LARGEST = 2**24
"""The largest coefficient of a relation between exponents; beyond, there is no bound."""


@dataclass(frozen=True)
class Exponents:
    """What is known of the exponents at a point, each given by its values modulo Q at several points.

    `rank` is the number of independent exponents; the others are combinations of these, with fractions of integers.
    """

    rank: int
    height: int | None
    """The largest sum of the integers' moduli in a combination; None where a coefficient is no small fraction."""


def rank(exponents: Collection[tuple[int, ...]]) -> int:
    """Return how many exponents are independent at these points."""
    return len(_reduced(exponents)[0]) if len(exponents) > 1 else len(exponents)


def related(exponents: Collection[tuple[int, ...]]) -> Exponents:
    """Return how many exponents are independent, and how large integers combine these to the others."""
    basis, combinations = _reduced(exponents)
    fractions = [_fraction(c) for row in combinations for c in row]
    if any(f is None for f in fractions):
        return Exponents(len(basis), None)
    common = lcm(1, *(f[1] for f in fractions if f is not None))
    sizes = (sum(abs(c if 2 * c < Q else c - Q) for c in (common * c % Q for c in row)) for row in combinations)
    return Exponents(len(basis), max(sizes, default=1))


def _reduced(exponents: Collection[tuple[int, ...]]) -> tuple[list[Any], list[list[int]]]:
    """Return a basis of the exponents, by Gauss's elimination modulo Q, and the coefficients of each exponent in it."""
    basis: list[tuple[int, list[int], list[int]]] = []
    """The place of a pivot, the row reduced to 1 there, and the row in terms of the exponents that were kept."""
    combinations: list[list[int]] = []
    for vector in exponents:
        row, used = list(vector), [0] * len(basis)
        for pivot, pivot_row, coefficients in basis:
            if times := row[pivot]:
                row = [(x - times * y) % Q for x, y in zip(row, pivot_row, strict=True)]
                used = [(u + times * c) % Q for u, c in zip(used, _padded(coefficients, len(used)), strict=True)]
        place = next((k for k, x in enumerate(row) if x), -1)
        if place >= 0:
            scale = inverse_exponent(row[place])
            basis.append((place, [scale * x % Q for x in row], [*(-scale * u % Q for u in used), scale]))
            used = [*([0] * (len(basis) - 1)), 1]
        combinations.append(used)
    return basis, combinations


def _padded(row: list[int], length: int) -> list[int]:
    return row + [0] * (length - len(row))


def _fraction(c: int) -> tuple[int, int] | None:
    """Return the small fraction that a number modulo Q is, as its parts; None if there is none."""
    for below in range(1, MAX_DENOMINATOR + 1):
        above = c * below % Q
        above = above - Q if 2 * above > Q else above
        if abs(above) <= LARGEST:
            return above, below
    return None


def bound(model: Model, degree: int, compared: int, attempts: int) -> int | None:
    """Return the binary logarithm of a bound on the probability of a wrong result at one point; None where there is no
    bound.

    `degree` is that of the sides of claims, `compared` the number of comparisons of sides, `attempts` the number of
    points of the field that were tried until one had all roots. Each comparison, and each pair of arguments of
    oracles, is one identity that may hold by chance.

    The bound is that of theorem 1 in docs/exact.md, attempts · chances · 4 · 2^k · h · degree / q₁: k is the number of
    roots that were drawn (`before_roots`), h the `height` of the relations among exponents. There is none where the
    exponents are independent at as many points as they were evaluated at (`width`), or have no such h.
    """
    # Were the rank as large as the width, more exponents might be independent than is seen.
    exponents = related(model.exponents)
    if exponents.rank >= model.width or exponents.height is None:
        return None
    arguments = len(model.oracles) + len(model.exponents) + len(model.atoms)
    chances = compared + model.compared + (arguments + model.width) ** 2
    total = (
        attempts
        * chances
        * 2
        * max(degree, model.degree)
        * max(1, exponents.height)
        * 2 ** (1 + len(model.before_roots))
    )
    return total.bit_length() - OF_EXP.bit_length() + 1
