"""Sums, products of matrices and extrema: many terms in an order that is not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import primitives

from certgrad.accel.rounding._error import SUM_LOSS, Error, bounded, remainder
from certgrad.accel.rounding._model import ROUNDED_UP
from certgrad.accel.rounding._values import Rounded, max_magnitude, middle, span
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import Unsupported
from certgrad.obligations.balls._evaluate import Step
from certgrad.obligations.balls._registry import RULES
from certgrad.obligations.balls._values import Array, Context, Value

_CONTEXT = Context(run=lambda jaxpr, xs: _refuse_inner_program(), keep_stopped=True)


def _refuse_inner_program() -> list[Value]:
    raise Unsupported("a program inside a sum")


def of_linear(step: Step, given: Sequence[Rounded]) -> tuple[Error, Any, Any]:
    """Return the error that a sum's operands pass on, the sum of magnitudes, and how often a term is rounded.

    The last two are the sum's own rule on the terms' magnitudes, and on ones in the place of the terms.
    """
    size = _by_rule(step.name, step, [max_magnitude(x.primal) + _size(x) if x.real else x.primal for x in given])
    count = _by_rule(step.name, step, [np.ones(x.primal.shape) if x.real else x.primal for x in given])
    if step.name == "reduce_sum":
        (x,) = given
        assert x.error is not None
        axes = tuple(step.params["axes"])
        terms, rest = x.error.terms.sum(axis=axes), x.error.rest.sum(axis=axes)
        lost = SUM_LOSS * count * x.error.size.sum(axis=axes)
        error = bounded(terms, (rest + np.where(np.isfinite(lost), lost, np.inf)) * ROUNDED_UP)
    else:
        error = remainder(_by_rule(step.name, step, [_size(x) if x.real else x.primal for x in given]) * ROUNDED_UP)
    return error, size * ROUNDED_UP, np.maximum(count - 1, 0)


def of_products(step: Step, given: Sequence[Rounded]) -> tuple[Error, Any, Any]:
    """Return the error that sums of products pass on, the sums of magnitudes, and the number of roundings.

    With middles m, radii r and errors e of the operands x and y, the error of x·y is e_x·m_y + m_x·e_y, whose terms are
    kept, and at most r_x·|e_y| + |e_x|·r_y + |e_x|·|e_y| beyond that.
    """
    x, y = given
    assert x.error is not None
    assert y.error is not None
    (mx, rx), (my, ry) = middle(x.primal), middle(y.primal)
    (ax, ay), (ex, ey) = (max_magnitude(x.primal), max_magnitude(y.primal)), (x.error.size, y.error.size)
    product = _product(step)
    count = product(np.ones(x.primal.shape), np.ones(y.primal.shape))
    if not all(np.isfinite(v).all() for v in (ax, ay, ex, ey)):
        return remainder(np.full(count.shape, np.inf)), np.full(count.shape, np.inf), count
    terms = _add_padded(
        _over_terms(lambda t: product(t, my), x.error.terms, count.shape),
        _over_terms(lambda t: product(mx, t), y.error.terms, count.shape),
    )
    rest = product(np.abs(mx), y.error.rest) + product(x.error.rest, np.abs(my))
    rest = rest + product(rx, ey) + product(ex, ry) + product(ex, ey)
    # The products of the terms are themselves rounded, in float64.
    lost = SUM_LOSS * count * (product(ax, ey) + product(ex, ay))
    return bounded(terms, (rest * (1 + 1e-9) + lost)), product(ax + ex, ay + ey) * (1 + 1e-9), count


def of_extrema(step: Step, given: Sequence[Rounded]) -> Error:
    """Return the error of a maximum or minimum: no larger than the largest error of an entry."""
    x = next(x for x in given if x.real)
    sizes = _size(x)
    if not sizes.any():
        shape = np.shape(_by_rule(step.name.replace("min", "max"), step, [sizes]))
        return remainder(np.zeros(shape))
    return remainder(np.maximum(_by_rule(step.name.replace("min", "max"), step, [sizes]), 0.0) * ROUNDED_UP)


def _size(x: Rounded) -> Any:
    assert x.error is not None
    return x.error.size


def _by_rule(name: str, step: Step, operands: Sequence[Any]) -> Any:
    """Return a primitive's result on non-negative floats, rounded up; infinite where an operand is, or it is huge."""
    rule = RULES.get(name)
    if rule is None:
        raise Unsupported(f"primitive {name}")
    reals = [isinstance(x, np.ndarray) and x.dtype == np.float64 for x in operands]
    if any(real and not np.isfinite(x).all() for real, x in zip(reals, operands, strict=True)):
        operands = [np.where(np.isfinite(x), x, 1e300) if real else x for real, x in zip(reals, operands, strict=True)]
    arguments = [Value(_exact(x)) if real else Value(x) for real, x in zip(reals, operands, strict=True)]
    result = rule(_CONTEXT, step.params, *arguments)
    assert isinstance(result, Value)
    upper = span(result.primal)[1]
    return np.where(upper >= 1e299, np.inf, upper)


def _exact(x: Any) -> Array:
    out = np.empty(x.shape, object)
    for at in np.ndindex(x.shape):
        out[at] = s.fmpq(*float(x[at]).as_integer_ratio())
    return out


def _product(step: Step) -> Any:
    """Return the step's bilinear primitive (a product or convolution) as a function of two arrays, in float64."""
    primitive = getattr(primitives, f"{step.name}_p")
    params = {**step.params, "preferred_element_type": np.dtype(np.float64), "precision": jax.lax.Precision.HIGHEST}
    if step.name == "dot_general":
        params["precision"] = None

    def product(a: Any, b: Any) -> Any:
        with jax.enable_x64(True):
            return np.asarray(primitive.bind(jnp.asarray(a, jnp.float64), jnp.asarray(b, jnp.float64), **params))

    return product


def _over_terms(function: Any, terms: Any, shape: Any) -> Any:
    """Return a linear function of arrays, applied to each column of terms; `shape` is that of its results."""
    columns = [function(terms[..., k]) for k in range(terms.shape[-1]) if terms[..., k].any()]
    places = [k for k in range(terms.shape[-1]) if terms[..., k].any()]
    out = np.zeros((*shape, terms.shape[-1]))
    for k, column in zip(places, columns, strict=True):
        out[..., k] = column
    return out


def _add_padded(a: Any, b: Any) -> Any:
    count = max(a.shape[-1], b.shape[-1])
    out = np.zeros((*a.shape[:-1], count))
    out[..., : a.shape[-1]] += a
    out[..., : b.shape[-1]] += b
    return out
