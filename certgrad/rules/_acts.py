"""What a step of a program gives instead: times a number, another function of what it takes, a part of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ._steps import Act, Key, Run, Step


def times(number: Fraction) -> Act:
    def act(r: Run, s: Step) -> Any:
        value = r.own(s)
        value = value * float(number.numerator) if abs(number.numerator) != 1 else value * number.numerator
        return value / float(number.denominator) if number.denominator != 1 else value

    return act


def by_sizes(places: Sequence[tuple[int, int]], power: int) -> Act:
    def act(r: Run, s: Step) -> Any:
        value = r.own(s)
        for k, axis in places:
            size = r.xp.asarray(r.inputs[k].shape[axis], value.dtype)
            value = value * size if power > 0 else value / size
        return value

    return act


def plus(number: float) -> Act:
    return lambda r, s: r.own(s) + number


def known(key: Key) -> Act:
    return lambda r, s: r.values[key]


def power(exponent: int) -> Act:
    return lambda r, s: r.operands(s)[0] ** exponent


def function(name: str, backwards: bool = False) -> Act:
    return lambda r, s: getattr(r.xp, name)(*r.operands(s)[:: -1 if backwards else 1])


def reduced(name: str, axes: tuple[int, ...]) -> Act:
    return lambda r, s: getattr(r.xp, name)(r.operands(s)[0], axis=axes)


def joined(name: str, key: Key) -> Act:
    return lambda r, s: getattr(r.xp, name)(r.own(s), r.values[key])


def with_number(j: int, number: float) -> Act:
    def act(r: Run, s: Step) -> Any:
        operands = r.operands(s)
        operands[j] = r.xp.asarray(number, operands[j].dtype if hasattr(operands[j], "dtype") else None)
        return r.apply(s.eqn, operands)[0]

    return act


def _of_matrix(part: Callable[[Any, Any], Any]) -> Act:
    """A part of the matrices in the last two axes of what a step gives; `part` takes them and the identity."""

    def act(r: Run, s: Step) -> Any:
        value = r.own(s)
        return part(value, r.xp.eye(value.shape[-1], dtype=value.dtype))

    return act


def _turned(matrices: Any) -> Any:
    return matrices.swapaxes(-1, -2)


OF_MATRICES = {
    "with half its diagonal": _of_matrix(lambda m, eye: m - m * eye / 2),
    "without its diagonal": _of_matrix(lambda m, eye: m - m * eye),
    "less the identity": _of_matrix(lambda m, eye: m - eye),
    "with the identity added": _of_matrix(lambda m, eye: m + eye),
    "transposed": _of_matrix(lambda m, eye: _turned(m)),
    "in its symmetric part alone": _of_matrix(lambda m, eye: (m + _turned(m)) / 2),
    "in its lower triangle alone": lambda r, s: r.xp.tril(r.own(s)),
    "below its diagonal alone": lambda r, s: r.xp.tril(r.own(s), -1),
    "in its upper triangle alone": lambda r, s: r.xp.triu(r.own(s)),
    "above its diagonal alone": lambda r, s: r.xp.triu(r.own(s), 1),
}
"""What is made of square matrices in the place of a step's value, in words."""
