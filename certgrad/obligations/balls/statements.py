"""Statements evaluated at points by balls, so that an answer of true or false is proved."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from flint import arb, fmpq

from certgrad import language
from certgrad.language.arithmetic import UnfitError
from certgrad.language.tree import Compare, Number, Statement, arrays, walk
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._elementwise import atan2, real_power
from certgrad.obligations.balls._errors import Undecided
from certgrad.obligations.balls._functions import FUNCTIONS, polygamma
from certgrad.obligations.balls._scalars import Real

if TYPE_CHECKING:
    from certgrad.language.evaluate import Question


@dataclass(frozen=True)
class Balls:
    """The arithmetic of exact rationals and rigorous balls, by which a statement is evaluated."""

    undecided: ClassVar[tuple[type[Exception], ...]] = (Undecided,)

    def number(self, value: int | Fraction) -> Real:
        return s.rational(value)

    def entry(self, value: Any) -> Real:
        if isinstance(value, int | Fraction):
            return s.rational(Fraction(value))
        return fmpq(int(value)) if isinstance(value, np.generic) else value

    def constant(self, name: str) -> Real:
        if name in _CONSTANTS:
            return _CONSTANTS[name]()
        raise UnfitError(f"the number '{name}'")

    def add(self, a: Real, b: Real) -> Real:
        return s.add(a, b)

    def mul(self, a: Real, b: Real) -> Real:
        return s.mul(a, b)

    def power(self, a: Real, e: Fraction) -> Real:
        return real_power(a, s.rational(e))

    def maximum(self, a: Real, b: Real) -> Real:
        return s.maximum(a, b)

    def apply(self, function: str, arguments: Sequence[Real]) -> Real:
        known_function = _OWN.get(function) or (FUNCTIONS if len(arguments) == 1 else _of_several()).get(function)
        return known_function(*arguments) if known_function is not None else _enclosed(function, arguments)

    def order(self, a: Real, b: Real) -> int | None:
        return s.compare(a, b)

    def is_whole(self, a: Real) -> bool:
        return s.is_integer(a)

    def index(self, a: Real) -> int:
        return s.as_int(a)


def _enclosed(function: str, arguments: Sequence[Real]) -> Real:
    """Return a ball around the value of a function that only the language encloses, such as Lambert's W."""
    try:
        enclosure = language.functions.ball(function)
    except KeyError:
        raise UnfitError(f"'{function}' is no known function") from None
    if any(x is s.UNKNOWN or not s.finite(x) for x in arguments):
        return s.UNKNOWN
    return s.if_finite(enclosure(*map(s.ball, arguments)))


def _of_several() -> Mapping[str, Callable[..., Real]]:
    from certgrad.obligations.balls._special import OF_SEVERAL  # imported late, as few statements need it

    return OF_SEVERAL


def _of_bits(operation: Callable[[int, int], int]) -> Callable[[Real, Real], Real]:
    """Return an operation on the bits of integers as one on scalars."""
    return lambda a, b: fmpq(operation(s.as_int(a), s.as_int(b)))


_CONSTANTS: dict[str, Callable[[], Real]] = {"pi": arb.pi, "∞": lambda: s.inf, "−∞": lambda: -s.inf}
_OWN: dict[str, Callable[..., Real]] = {
    "abs": lambda x: s.maximum(x, s.neg(x)),
    "atan2": atan2,
    "bitwise and": _of_bits(operator.and_),
    "bitwise or": _of_bits(operator.or_),
    "bitwise xor": _of_bits(operator.xor),
    "floor": s.floor,
    "is finite": s.finite,
    "polygamma": lambda order, x: polygamma(s.as_int(order), x),
    "square": lambda x: s.mul(x, x),
    **dict.fromkeys(("integer power", "real power", "whole power"), real_power),
}
"""Functions that the tables of smooth functions lack."""
BALLS = Balls()


def question(statement: Statement) -> Question:
    """Return the statement, ready to be evaluated at points. Raises UnfitError where balls cannot evaluate it."""
    return language.evaluate.question(statement, BALLS)


def evaluate(statement: Statement, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> bool | None:
    """Return whether the statement holds at a point; None where it is undefined.

    Arrays hold exact rationals, balls or integers; where the statement has indices, each star group is one axis. Raises
    UnfitError where the statement does not fit the arrays or no arithmetic can decide it, Undecided where more
    precision is needed.
    """
    return language.evaluate.evaluate(statement, arrays, sizes, BALLS)


def compared_with(conditions: Sequence[str], names: Sequence[str], name: str) -> tuple[int, ...]:
    """Return the integers, each with both signs, in those comparisons of the users' conditions that name the array."""
    parts = [part for text in conditions for part in walk(language.parse.parse(text, tuple(names)))]
    comparisons = [part for part in parts if isinstance(part, Compare) and name in arrays(part)]
    values = {Fraction(x.value) for part in comparisons for x in walk(part) if isinstance(x, Number)}
    return tuple(sorted({sign * int(v) for v in values if v.denominator == 1 for sign in (1, -1)}))


def all_conditions_hold(conditions: Sequence[str], values: Mapping[str, Any]) -> bool:
    """Return whether every condition, as a user writes them, certainly holds at every entry."""
    names = tuple(values)
    arrays = {name: np.array(value, dtype=object) for name, value in values.items()}
    try:
        return all(question(language.parse.parse(text, names)).holds(arrays, {}) for text in conditions)
    except Undecided:
        return False
