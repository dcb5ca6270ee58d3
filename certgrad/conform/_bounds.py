"""The proved bound on an op's rounding over a box around an ordinary point, beside what is measured there."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.accel.bounds import Box
from certgrad.accel.rounding._bound import bound_of
from certgrad.accel.rounding._measured import measured
from certgrad.accel.rounding._model import format_of
from certgrad.conform._points import Call, calls, ordinary
from certgrad.jaxpr.at_shapes import DoesNotTraceError
from certgrad.language.arithmetic import UnfitError
from certgrad.obligations.balls._errors import BallError
from certgrad.ops import Op

RADIUS = 2.0**-5
"""Radius of the box in each entry of the arguments and of the cotangents."""
POINTS = 25


@dataclass
class Proved:
    """A part of an op in a dtype: the proved bound and the largest measured error, or why there is no bound.

    Both are in units in the last place of the largest value.
    """

    bound: float = np.inf
    measured: float = np.nan
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the measured error is within the bound; true where nothing was measured."""
        return not self.measured > self.bound


@dataclass
class Bounded:
    """What was bounded of an op, by dtype and part."""

    op: str
    shapes: str = ""
    parts: dict[str, dict[str, Proved]] = field(default_factory=dict)
    without: str = ""
    """Why nothing was bounded."""


def bounded(op: Op, dtypes: Sequence[str] = ("float64", "float32", "bfloat16"), points: int = POINTS) -> Bounded:
    """Return proved bounds on the rounding of an op's forward and VJP, with errors measured at `points` points.

    The bound holds over a box around an ordinary point. If no small shape traces, the result says so in `without`.
    """
    out = Bounded(op.name)
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    with jax.enable_x64(True):
        chosen: tuple[Call, list[Any]] | None = None
        for call in calls(op, rng):
            with suppress(DoesNotTraceError, UnfitError, StopIteration):
                chosen = call, next(itertools.islice(ordinary(call, rng, jnp.float32), 1)).arrays
                break
        if chosen is None:
            out.without = "no small shape was found at which it traces"
            return out
        call, middle = chosen
        out.shapes = ", ".join(f"({' '.join(map(str, shape))})" for shape in call.shapes)
        for dtype in dtypes:
            out.parts[dtype] = {
                part: _prove_rounding_bound(call, middle, part, dtype, rng, points) for part in ("forward", "vjp")
            }
    return out


def _prove_rounding_bound(call: Call, centre: list[Any], part: str, dtype: str, rng: Any, points: int) -> Proved:
    """Return the proved bound on the rounding of one part (forward or vjp) over a box, beside what was measured in it.

    The box is around the arrays in `centre`. Where nothing can be bounded, the result says why.
    """
    kind = jnp.dtype(dtype)
    arrays = [_box(x, kind) if x.dtype.kind == "f" else x for x in centre]
    rules, params = call.op.rules(call.statics), list(call.parameters)
    typed = [jax.ShapeDtypeStruct(x.shape, kind if x.dtype.kind == "f" else x.dtype) for x in centre]
    boxes, count = list(arrays), len(arrays)

    def forward(*values: Any) -> Any:
        return rules.forward(list(values), params)

    function: Callable[..., Any] = forward
    try:
        if part == "vjp":
            outs = jax.tree.leaves(jax.eval_shape(forward, *typed))
            seeds = [_box(rng.uniform(-1, 1, size=y.shape), kind) for y in outs]

            def vjp(*values: Any) -> Any:
                cotangents = rules.vjp(list(values[:count]), list(values[count:]), params)
                return [x for x in cotangents if x is not None]

            function, boxes = vjp, [*arrays, *seeds]
            typed = [*typed, *(jax.ShapeDtypeStruct(y.shape, y.dtype) for y in outs)]
        bound = bound_of(function, boxes, typed, dtype)
        if not bound.bounded:
            return Proved(reason=bound.reason or "; ".join(bound.notes) or "a value is not known well enough")
        largest = [max(np.abs(a).max(initial=0), np.abs(b).max(initial=0)) for a, b in _pairs(bound.lower, bound.upper)]
        try:
            errors = measured(function, boxes, typed, dtype, points)
        except Exception:  # the bound holds, but the exact value has no rule in this dtype
            return Proved(bound.units)
        failing_output = next((k for k, (e, m) in enumerate(_pairs(bound.error, errors)) if (m > e).any()), None)
        units = _units([m.max(initial=0.0) for m in errors], largest, dtype)
        if failing_output is not None:
            return Proved(
                bound.units,
                max(units, np.nextafter(bound.units, np.inf)),
                f"output {failing_output} is beyond its bound",
            )
        return Proved(bound.units, units)
    except (BallError, UnfitError) as error:
        return Proved(reason=str(error))
    except Exception as error:  # what has no kernel in a dtype
        return Proved(reason=f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}")


def _pairs(a: Any, b: Any) -> list[tuple[Any, Any]]:
    return list(zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def _box(x: Any, kind: Any) -> Box:
    """Return a box around numbers; its ends are numbers of the dtype, as they are."""
    middle = np.asarray(jnp.asarray(x, kind), np.float64)
    lower, upper = (np.asarray(jnp.asarray(middle + side * RADIUS, kind), np.float64) for side in (-1, 1))
    return Box(np.minimum(lower, middle), np.maximum(upper, middle))


def _units(errors: Sequence[float], largest: Sequence[float], dtype: str) -> float:
    """Return the largest error in units in the last place of the `largest` value of its output."""
    format = format_of(dtype)
    tops = [max(x, format.tiny / format.u) for x in largest]
    units = [2 * format.u * 2.0 ** np.floor(np.log2(x)) if np.isfinite(x) else np.inf for x in tops]
    return max((e / unit for e, unit in zip(errors, units, strict=True)), default=0.0)
