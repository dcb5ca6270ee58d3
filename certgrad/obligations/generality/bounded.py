"""Maxima and minima that are one of their operands on all of a declared domain: max(x, 0) is x where x > 1.

Rules clip an argument to the domain in which it lies anyway, before they call the function again. A bound in code is a
float, and is read as the number that its literal means (0.1 as 1/10): it has to hold for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certgrad.jaxpr.kinds import KEEPS_CONSTANTS
from certgrad.language import tree as t
from certgrad.language.relations import SWAPPED
from certgrad.obligations.tracing.jax_internals import genuine, is_literal, literal_value
from certgrad.obligations.tracing.jax_internals._numbering import Value
from certgrad.obligations.tracing.within import UnsaidError, conditions, constant

Bounds = tuple[Fraction | None, Fraction | None]


def idle_clamp_finder(domain: Sequence[str], arguments: Mapping[str, Value]) -> Callable[[Any, list[Any]], Any]:
    """Return a function of an equation and its operands that returns the operand to which the equation's `max` or
    `min` is equal on all of the domain; None where it is equal to neither.
    """
    bounds = _bounds(domain, arguments)

    def is_operand(eqn: Any, operands: list[Any]) -> Any:
        """Return x of max(x, c) where the domain gives x ≥ c, and of min(x, c) where it gives x ≤ c; else None."""
        if eqn.primitive.name not in ("max", "min") or not genuine(eqn.primitive) or len(operands) != 2:
            return None
        (out,) = eqn.outvars
        for x, bound in (operands, operands[::-1]):
            if not isinstance(x, Value) or x not in bounds or (x.aval.shape, x.aval.dtype) != _shape(out):
                continue
            low, high = bounds[x]
            numbers = _numbers(bound)
            if eqn.primitive.name == "max" and numbers and low is not None and max(numbers) <= low:
                return x
            if eqn.primitive.name == "min" and numbers and high is not None and min(numbers) >= high:
                return x
        return None

    return is_operand


def _shape(var: Any) -> tuple[Any, Any]:
    return var.aval.shape, var.aval.dtype


def _bounds(domain: Sequence[str], arguments: Mapping[str, Value]) -> dict[Value, Bounds]:
    """Return the lower and the upper bound that the domain gives for all entries of an argument; None: no bound."""
    try:
        statements = conditions(domain, [*arguments])
    except UnsaidError:
        return {}
    bounds: dict[Value, Bounds] = {}
    for comparison in statements:
        assert isinstance(comparison, t.Compare)
        # Either side may be the argument: `0 < x` is read as `x > 0`.
        for left, right, relation in (
            (comparison.left, comparison.right, comparison.relation),
            (comparison.right, comparison.left, SWAPPED[comparison.relation]),
        ):
            argument = arguments.get(left.name) if isinstance(left, t.Array) else None
            number = constant(right)
            if argument is None or number is None:
                continue
            low, high = bounds.get(argument, (None, None))
            if relation in (">", ">="):
                low = number if low is None else max(low, number)
            elif relation in ("<", "<="):
                high = number if high is None else min(high, number)
            bounds[argument] = low, high
    return bounds


def _numbers(operand: Any) -> list[Fraction]:
    """Return the number with which an operand is filled, as its literal means it and as a float; [] if there is none.

    A cast of such a constant to another float dtype adds the numbers rounded to that dtype.
    """
    if not is_literal(operand):
        if operand.step is not None:
            (source,) = operand.step.operands if len(operand.step.operands) == 1 else (None,)
            keeps_numbers = operand.step.eqn.primitive.name in KEEPS_CONSTANTS and genuine(operand.step.eqn.primitive)
            numbers = _numbers(source) if source is not None and keeps_numbers else []
            dtype = operand.aval.dtype
            return [*numbers, *(_exact(dtype.type(float(x))) for x in numbers)] if dtype.kind == "f" else []
        data = np.asarray(operand.constant) if operand.constant is not None else None
        if data is None or data.size != 1 or data.dtype.kind != "f" or not np.isfinite(data).all():
            return []
        value = data.reshape(())[()]
    else:
        value = operand.val
        if np.ndim(value) or np.asarray(value).dtype.kind != "f" or not np.isfinite(value):
            return []
    meant = literal_value(value)
    return [] if meant is None else [meant, _exact(value)]


def _exact(value: Any) -> Fraction:
    return Fraction(float(value))
