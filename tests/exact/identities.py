"""Drawn identities: one number made in two ways, by laws of fields, exp, log, roots, sine and cosine."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

from flint import arb, fmpq

from certgrad.exact._model import Model
from certgrad.exact._number import Number

Pair = tuple[Number, Number]
HALF = Fraction(1, 2)


class Identities:
    """Draws pairs of equal values at a point of a model."""

    def __init__(self, model: Model, rng: Random) -> None:
        self.rng = rng
        reals = [arb(fmpq(rng.choice((-1, 1)) * rng.randint(1, 2**30), 2**29)) for _ in range(4)]
        self.variables = [model.variable(("x", k), x) for k, x in enumerate(reals)]

    def pair(self, depth: int) -> Pair:
        """A value in two ways."""
        if depth == 0:
            one = self.rng.choice(self.variables)
            return one, one
        return self.rng.choice(LAWS)(self, depth - 1)

    def plain(self, depth: int) -> Pair:
        """A rational function in two ways: in an exponent, the laws of fields are known and no others."""
        if depth == 0:
            return self.pair(0)
        return self.rng.choice(OF_FIELDS)(self, depth - 1, True)

    def inner(self, depth: int, plain: bool) -> Pair:
        return self.plain(depth) if plain else self.pair(depth)

    def square(self) -> Pair:
        """The square of a variable, in two ways."""
        a, b = self.pair(0)
        return (a * a) * 2, b**2 + b * b

    def positive(self, depth: int) -> Pair:
        """An exponential or a square, in two ways."""
        a, b = self.plain(depth)
        return (a.of("exp"), b.of("exp")) if self.rng.random() < 0.5 else ((a * a) * 2, b**2 + b * b)


def _sum(of: Identities, d: int, plain: bool = False) -> Pair:
    (a, b), (c, e) = of.inner(d, plain), of.inner(d, plain)
    return a + c, e + b


def _distributed(of: Identities, d: int, plain: bool = False) -> Pair:
    (a, b), (c, e), (f, g) = of.inner(d, plain), of.pair(0), of.inner(d, plain)
    return a * (c + f), e * b + b * g


def _squares(of: Identities, d: int, plain: bool = False) -> Pair:
    (a, b), (c, e) = of.inner(d, plain), of.pair(0)
    return (a - c) * (a + c), b * b - e**2


def _quotient(of: Identities, d: int, plain: bool = False) -> Pair:
    (a, b), (c, e), (f, g) = of.inner(d, plain), of.pair(0), of.square()
    return (a + c) / f, b * (1 / g) + e / g


def _exp_of_sum(of: Identities, d: int) -> Pair:
    (a, b), (c, e) = of.plain(d), of.plain(0)
    return (a - c).of("exp"), b.of("exp") / e.of("exp")


def _exp_of_twice(of: Identities, d: int) -> Pair:
    a, b = of.plain(d)
    return (2 * a).of("exp"), b.of("exp") ** 2


def _exp_of_log(of: Identities, d: int) -> Pair:
    (a, b), (c, e) = of.positive(d), of.plain(0)
    return (a.of("log") + c).of("exp"), b * e.of("exp")


def _log_of_product(of: Identities, d: int) -> Pair:
    (a, b), (c, e) = of.positive(0), of.plain(d)
    return (a * c.of("exp")).of("log"), e + b.of("log")


def _sine_of_sum(of: Identities, d: int) -> Pair:
    (a, b), (c, e) = of.plain(d), of.plain(0)
    return (a + c).of("sin"), b.of("sin") * e.of("cos") + b.of("cos") * e.of("sin")


def _cosine_of_twice(of: Identities, d: int) -> Pair:
    a, b = of.plain(d)
    return (2 * a).of("cos"), 1 - 2 * b.of("sin") ** 2


def _tanh(of: Identities, d: int) -> Pair:
    a, b = of.plain(d)
    return a.of("tanh"), 1 - 2 / ((2 * b).of("exp") + 1)


def _root_of_square(of: Identities, d: int) -> Pair:
    (a, b), (c, e) = of.plain(d), of.plain(0)
    return ((a - c) ** 2) ** HALF, (e - b).of("abs")


def _odd(of: Identities, d: int) -> Pair:
    a, b = of.plain(d)
    return (-a).of("erf"), -(b.of("erf"))


OF_FIELDS: tuple[Callable[..., Pair], ...] = (_sum, _distributed, _squares, _quotient)
LAWS: tuple[Callable[..., Pair], ...] = (
    *OF_FIELDS,
    _exp_of_sum,
    _exp_of_twice,
    _exp_of_log,
    _log_of_product,
    _sine_of_sum,
    _cosine_of_twice,
    _tanh,
    _root_of_square,
    _odd,
)
