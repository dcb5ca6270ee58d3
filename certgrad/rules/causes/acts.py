"""Replacements for a step of a program: times a number, another function of its operands, a part of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax

from .steps import Act, Key, Run, Step, ValueRef


def scaled(number: Fraction, places: Sequence[tuple[int, int]] = (), power: int = 1) -> Act:
    """Return the act that multiplies a step's value by `number` and the sizes at `places`; power < 0 divides by these.

    Each of the `places` is an argument's position and one of its axes.
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
    """Return the act that applies the step with a known value in the place of operand `j`."""

    def act(r: Run, s: Step) -> Any:
        operands = r.operands(s)
        operands[j] = value.value(r)
        if value.axes is not None:
            operands[j] = r.xp.broadcast_to(operands[j], r.own(s).shape)
        return r.apply(s.eqn, operands)[0]

    return act


def of_operand(j: int, function: str) -> Act:
    """Return the act that applies the step with numpy's `function` of operand `j` in the place of that operand."""

    def act(r: Run, s: Step) -> Any:
        operands = r.operands(s)
        operands[j] = getattr(r.xp, function)(operands[j])
        return r.apply(s.eqn, operands)[0]

    return act


def accumulated(value: ValueRef | None, axis: int, backwards: bool) -> Act:
    """Return the act that gives the running sum along an axis, from its end if `backwards`.

    The sum is that of `value`, or of the step's own value if it is None.
    """

    def act(r: Run, s: Step) -> Any:
        x = r.own(s) if value is None else value.value(r)
        if not backwards:
            return r.xp.cumsum(x, axis)
        return r.xp.flip(r.xp.cumsum(r.xp.flip(x, axis), axis), axis)

    return act


def shifted(by: int, axis: int, around: bool) -> Act:
    """Return the act that moves the step's value by `by` entries along an axis.

    If `around`, entries that leave at one end enter at the other; else 0 enters.
    """

    def act(r: Run, s: Step) -> Any:
        value, xp = r.own(s), r.xp
        rolled = xp.roll(value, by, axis)
        if around:
            return rolled
        places = xp.arange(value.shape[axis]).reshape([-1 if k == axis else 1 for k in range(value.ndim)])
        kept = places >= by if by > 0 else places < value.shape[axis] + by
        return xp.where(kept, rolled, xp.zeros((), value.dtype))

    return act


def factored_out(j: int, total: Step, product: Step, k: int, function: str) -> Act:
    """Return the act that replaces operand `j` of a step, a sum Σ a·b, by (Σ a)·b, or by (Σ a)·f(b).

    Args:
        j: the operand's place.
        total: the step that sums.
        product: the step that multiplies a by b.
        k: which operand of the product a is; b is the other operand.
        function: f by numpy's name; "" for b itself.
    """

    def act(r: Run, s: Step) -> Any:
        operands, factors = r.operands(s), r.operands(product)
        of_sum = r.xp.sum(factors[k], axis=tuple(total.eqn.params["axes"]), keepdims=True)
        unsummed = factors[1 - k]
        operands[j] = of_sum * (getattr(r.xp, function)(unsummed) if function else unsummed)
        return r.apply(s.eqn, operands)[0]

    return act


def multiplied_inside(j: int, total: Step) -> Act:
    """Return the act that gives Σ (a·b) instead of a·(Σ b), where operand `j` is the sum, made by the step `total`."""

    def act(r: Run, s: Step) -> Any:
        products = r.operands(total)[0] * r.operands(s)[1 - j]
        sums = r.xp.sum(products, axis=tuple(total.eqn.params["axes"]), keepdims=True)
        return r.xp.broadcast_to(sums, r.own(s).shape)

    return act


def added_at(rows: ValueRef, places: ValueRef) -> Act:
    """Return the act that gives zeros to which each row of `rows` is added, at its index in `places`."""

    def act(r: Run, s: Step) -> Any:
        x, at = rows.value(r), places.value(r)
        one_hot = r.xp.arange(r.own(s).shape[0])[:, None] == at[None, :]
        return r.xp.tensordot(one_hot.astype(x.dtype), x, 1)

    return act


def masked(condition: ValueRef, holds: bool) -> Act:
    """Return the act that keeps the step's value where the condition is `holds`, and gives 0 elsewhere."""

    def act(r: Run, s: Step) -> Any:
        value, zero = r.own(s), r.xp.zeros((), r.own(s).dtype)
        return r.xp.where(condition.value(r), *((value, zero) if holds else (zero, value)))

    return act


def moved_before(base: Key, j: int) -> Act:
    """Return the act that applies the step earlier: to the value `base`, from which operand `j` is then recomputed.

    From sin(x)·c, with base x, it makes sin(x·c).
    """

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
    """Return the value of a scatter that adds the step's updates to the entries, and does not replace them."""
    return r.apply(s.eqn.replace(primitive=jax.lax.scatter_add_p), r.operands(s))[0]


def reduced(name: str, axes: tuple[int, ...]) -> Act:
    return lambda r, s: getattr(r.xp, name)(r.operands(s)[0], axis=axes)


def combined_with(name: str, value: ValueRef) -> Act:
    return lambda r, s: getattr(r.xp, name)(r.own(s), value.value(r))


def with_number(j: int, number: float | str) -> Act:
    """Return the act that puts a number in the place of literal `j`; a str names the static argument that holds it."""

    def act(r: Run, s: Step) -> Any:
        operands, value = r.operands(s), r.statics[number] if isinstance(number, str) else number
        operands[j] = r.xp.asarray(value, s.operands[j].literal.aval.dtype)
        return r.apply(s.eqn, operands)[0]

    return act


def _of_matrix(part: Callable[[Any, Any], Any]) -> Act:
    """Return the act that gives `part(m, identity)`, where m are the matrices in the last two axes of a value."""

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
"""Acts for a step whose value is square matrices, by the words that end `the product is to be taken …`."""
