"""Replacements for a step of a program: times a number, another function of its operands, a part of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax

from .steps import Act, Key, Run, Step, ValueRef


def scaled(number: Fraction, places: Sequence[tuple[int, int]] = (), power: int = 1) -> Act:
    """Return the act that multiplies a step's value by a number and the sizes of some axes of arguments, or
    their inverse.
    """

    def act(r: Run, s: Step) -> Any:
        value = r.own(s)
        value = value * float(number.numerator) if abs(number.numerator) != 1 else value * number.numerator
        value = value / float(number.denominator) if number.denominator != 1 else value
        for k, axis in places:
            size = r.xp.asarray(r.inputs[k].shape[axis], value.dtype)
            value = value * size if power > 0 else value / size
        return value

    return act


def plus(number: float) -> Act:
    return lambda r, s: r.own(s) + number


def value(value: ValueRef) -> Act:
    if value.axes is None:
        return lambda r, s: r.values[value.key]
    return lambda r, s: r.xp.broadcast_to(value.value(r), r.own(s).shape)


def with_known(j: int, value: ValueRef) -> Act:
    def act(r: Run, s: Step) -> Any:
        operands = r.operands(s)
        operands[j] = value.value(r)
        if value.axes is not None:
            operands[j] = r.xp.broadcast_to(operands[j], r.own(s).shape)
        return r.apply(s.eqn, operands)[0]

    return act


def of_operand(j: int, function: str) -> Act:
    """Return the step with a function of one of its operands."""

    def act(r: Run, s: Step) -> Any:
        operands = r.operands(s)
        operands[j] = getattr(r.xp, function)(operands[j])
        return r.apply(s.eqn, operands)[0]

    return act


def accumulated(value: ValueRef | None, axis: int, backwards: bool) -> Act:
    """Return the running sum of a value, or of the step's own, from the start of an axis or from its end."""

    def act(r: Run, s: Step) -> Any:
        x = r.own(s) if value is None else value.value(r)
        if not backwards:
            return r.xp.cumsum(x, axis)
        return r.xp.flip(r.xp.cumsum(r.xp.flip(x, axis), axis), axis)

    return act


def shifted(by: int, axis: int, around: bool) -> Act:
    """Return the step's result moved along an axis: around its end, or with 0 at its start."""

    def act(r: Run, s: Step) -> Any:
        value, xp = r.own(s), r.xp
        found = xp.roll(value, by, axis)
        if around:
            return found
        places = xp.arange(value.shape[axis]).reshape([-1 if k == axis else 1 for k in range(value.ndim)])
        kept = places >= by if by > 0 else places < value.shape[axis] + by
        return xp.where(kept, found, xp.zeros((), value.dtype))

    return act


def factored_out(j: int, total: Step, product: Step, k: int, function: str) -> Act:
    """The step with Σ over one factor of the products in operand `j`, times the other factor or a function of it."""

    def act(r: Run, s: Step) -> Any:
        operands, factors = r.operands(s), r.operands(product)
        of_sum = r.xp.sum(factors[k], axis=tuple(total.eqn.params["axes"]), keepdims=True)
        other = factors[1 - k]
        operands[j] = of_sum * (getattr(r.xp, function)(other) if function else other)
        return r.apply(s.eqn, operands)[0]

    return act


def multiplied_inside(j: int, total: Step) -> Act:
    """Return a product with a sum, operand `j`, as the sum of the products."""

    def act(r: Run, s: Step) -> Any:
        products = r.operands(total)[0] * r.operands(s)[1 - j]
        found = r.xp.sum(products, axis=tuple(total.eqn.params["axes"]), keepdims=True)
        return r.xp.broadcast_to(found, r.own(s).shape)

    return act


def added_at(rows: ValueRef, places: ValueRef) -> Act:
    """Return zeros to which the rows of an array are added, each at a place."""

    def act(r: Run, s: Step) -> Any:
        x, at = rows.value(r), places.value(r)
        here = r.xp.arange(r.own(s).shape[0])[:, None] == at[None, :]
        return r.xp.tensordot(here.astype(x.dtype), x, 1)

    return act


def masked(condition: ValueRef, holds: bool) -> Act:
    def act(r: Run, s: Step) -> Any:
        value, zero = r.own(s), r.xp.zeros((), r.own(s).dtype)
        return r.xp.where(condition.value(r), *((value, zero) if holds else (zero, value)))

    return act


def moved_before(base: Key, j: int) -> Act:
    """Return operand `j` as if its other operand were applied before the operation that made it."""

    def act(r: Run, s: Step) -> Any:
        operands = r.operands(s)
        operands[j] = r.values[base]
        return r.recomputed({base: r.apply(s.eqn, operands)[0]}, [s.operands[j]])[0]

    return act


def power(exponent: int) -> Act:
    return lambda r, s: r.operands(s)[0] ** exponent


def function(name: str, backwards: bool = False) -> Act:
    return lambda r, s: getattr(r.xp, name)(*r.operands(s)[:: -1 if backwards else 1])


def scattered_sum(r: Run, s: Step) -> Any:
    """Return the same scatter with updates added to the entries."""
    return r.apply(s.eqn.replace(primitive=jax.lax.scatter_add_p), r.operands(s))[0]


def reduced(name: str, axes: tuple[int, ...]) -> Act:
    return lambda r, s: getattr(r.xp, name)(r.operands(s)[0], axis=axes)


def combined_with(name: str, value: ValueRef) -> Act:
    return lambda r, s: getattr(r.xp, name)(r.own(s), value.value(r))


def with_number(j: int, number: float | str) -> Act:
    """The act that puts a number in the place of an operand, given as a literal or by the name of a static argument."""

    def act(r: Run, s: Step) -> Any:
        operands, value = r.operands(s), r.statics[number] if isinstance(number, str) else number
        operands[j] = r.xp.asarray(value, s.operands[j].literal.aval.dtype)
        return r.apply(s.eqn, operands)[0]

    return act


def _of_matrix(part: Callable[[Any, Any], Any]) -> Act:
    """Return a part of the matrices in the last two axes of what a step gives; `part` takes them and the identity."""

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
