"""Bounds over a box: it is halved again and again, and the bounds are the hull of the parts' enclosures."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb

from certgrad._figures import figure
from certgrad.accel._compile import CompiledGraph
from certgrad.accel.bounds._enclose import enclose
from certgrad.errors import UsageError
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import BallError
from certgrad.obligations.balls._values import Array, Value

BITS = 128


@dataclass(frozen=True)
class Box:
    """An argument each of whose entries may be anything from `lower` to `upper`, which broadcast."""

    lower: Any
    upper: Any


@dataclass(frozen=True)
class Bounds:
    """Bounds of the outputs over a box: each entry lies between `lower` and `upper`, nested as the outputs are.

    They are infinite where nothing is known.
    """

    lower: Any
    upper: Any
    at: Any
    """The outputs at the middle of the box, computed in floats."""
    boxes: int
    """The number of boxes that were enclosed."""

    def picture(self, path: str | Path, most: int = 60) -> Path:
        """Draw the bounds of the first entries, with the values at the middle of the box: PNG, SVG or PDF, by the
        file's ending. Raises UsageError without matplotlib."""
        canvas = figure("The picture needs", 7, 3.2)
        flat = [np.concatenate([np.ravel(x) for x in jax.tree.leaves(t)]) for t in (self.lower, self.upper, self.at)]
        lower, upper, at_middle = (x[:most] for x in flat)
        bounded = np.isfinite(lower) & np.isfinite(upper)
        where = np.arange(len(lower))
        axes = canvas.subplots()
        axes.vlines(where[bounded], lower[bounded], upper[bounded], linewidth=4, alpha=0.5, label="bounds")
        axes.plot(where, at_middle, "k.", label="at the middle")
        for k in where[~bounded]:
            axes.axvline(k, color="red", alpha=0.3, label="unbounded" if k == where[~bounded][0] else None)
        axes.set_xlabel("entry")
        axes.legend()
        canvas.savefig(path)
        return Path(path)


def bounds(compiled: CompiledGraph, *args: Any, gradient: bool = False, boxes: int = 64) -> Bounds:
    """Return bounds of a certified graph's outputs where some arguments are only known to lie in a box.

    They hold for the program over the real numbers, at every point of the box, and are computed in ball arithmetic, so
    that no rounding of their own is left out. They do not cover the rounding of the program in floats.

    Args:
        compiled: from `compile_graph`.
        args: the arguments of the function, nested as they are; a `Box` in place of an array.
        gradient: bound the gradient of a scalar loss, by the certified reverse sweep, in place of its value.
        boxes: the number of boxes to enclose. More give tighter bounds; each costs an evaluation in ball arithmetic.

    Raises:
        UsageError: the arguments do not fit the specs, or a box is empty or of integers.
        BallError: a primitive has no enclosure.
    """
    traced = compiled.certified.traced
    plain = CompiledGraph(compiled.certified)
    flat = [_box(x, a.name) for x, a in zip(_flat(compiled, args), traced.specs.arguments, strict=True)]
    middles = [np.asarray(b.lower + (b.upper - b.lower) / 2 if isinstance(b, Box) else b) for b in flat]
    typed = [np.asarray(x, _canonical_dtype(d)) for x, d in zip(middles, traced.specs.dtypes, strict=True)]

    def run(*arrays: Any) -> Any:
        return plain._value_and_grad(arrays)[0][1] if gradient else plain._forward(arrays)[0]

    jaxpr = jax.make_jaxpr(run)(*typed)
    at_middle = run(*typed)
    hull, count = _hull(jaxpr, flat, boxes)
    tree = jax.tree.structure(at_middle)
    lower, upper = ([np.vectorize(side, otypes=[float])(x) for x in hull] for side in (_below, _above))
    return Bounds(jax.tree.unflatten(tree, lower), jax.tree.unflatten(tree, upper), at_middle, count)


def _canonical_dtype(dtype: Any) -> Any:
    return dtype if jax.config.read("jax_enable_x64") else jax.dtypes.canonicalize_dtype(dtype)


def _flat(compiled: CompiledGraph, args: Sequence[Any]) -> list[Any]:
    """Return the leaves of the arguments, boxes among them, checked against the specs.

    Each box is hidden in an array of its shape while the specs flatten the arguments.
    """
    kept: dict[int, Box] = {}

    def hidden(x: Any) -> Any:
        if not isinstance(x, Box):
            return x
        marked = np.broadcast_to(np.asarray(len(kept)), np.broadcast_shapes(np.shape(x.lower), np.shape(x.upper)))
        kept[id(marked)] = x
        marks.append(marked)
        return marked

    marks: list[Any] = []
    leaves = compiled.certified.traced.specs.flat(
        [jax.tree.map(hidden, a, is_leaf=lambda x: isinstance(x, Box)) for a in args]
    )
    return [kept.get(id(x), x) for x in leaves]


def _box(x: Any, name: str) -> Any:
    """Return a box with ends of equal shape, another argument as an array. Raises UsageError for an empty box."""
    if not isinstance(x, Box):
        return np.asarray(x)
    lower, upper = np.broadcast_arrays(np.asarray(x.lower, np.float64), np.asarray(x.upper, np.float64))
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all()):
        raise UsageError(f"The box of {name} is empty or not finite. Give finite numbers, the lower ones first.")
    return Box(lower, upper)


Part = tuple[list[Array], list[Array]]
"""The lower and the upper ends of the arguments that are boxes."""


def _hull(jaxpr: Any, flat: Sequence[Any], most: int) -> tuple[list[Any], int]:
    """Return the hull of a program's outputs over a box, and the number of boxes enclosed on the way, about `most`.

    The box is split: the part with the widest result is halved next. `flat` are the arguments, boxes among them. An
    entry of the hull is None where nothing is known. Raises BallError.
    """
    varied = [k for k, x in enumerate(flat) if isinstance(x, Box)]
    order = itertools.count()
    start: Part = [flat[k].lower for k in varied], [flat[k].upper for k in varied]

    def enclosed(part: Part) -> tuple[float, int, Part, list[Any] | None]:
        arguments = [_argument(x) for x in flat_with(part)]
        outs: list[Any] | None = None
        try:
            with s.precision(BITS):
                outs = [_finite(x) for x in enclose(jaxpr, arguments)]
        except BallError:
            if all((low == high).all() for low, high in zip(*part, strict=True)) or not _splits(part):
                raise
        width = math.inf if outs is None else max((_width(x) for out in outs for x in out.flat), default=0.0)
        return -width, next(order), part, outs

    def flat_with(part: Part) -> list[Any]:
        all_args = list(flat)
        for k, low, high in zip(varied, *part, strict=True):
            all_args[k] = Box(low, high)
        return all_args

    heap = [enclosed(start)]
    count = 1
    while heap and count < most and heap[0][0] < 0 and _splits(heap[0][2]):
        _, _, part, _ = heapq.heappop(heap)
        for half in _halves(part):
            heapq.heappush(heap, enclosed(half))
            count += 1
    results = [outs for _, _, _, outs in heap if outs is not None]
    if len(results) < len(heap):  # some part has no enclosure: nothing is known over the box
        return [np.full(v.aval.shape, None, object) for v in jaxpr.jaxpr.outvars], count
    with s.precision(BITS):
        return [_united([outs[k] for outs in results]) for k in range(len(results[0]))], count


def _argument(x: Any) -> Value:
    """Return an array as exact scalars, a box as balls around its intervals, integers and booleans as they are."""
    if not isinstance(x, Box) and not jnp.issubdtype(x.dtype, jnp.floating):
        return Value(x)
    lower, upper = (x.lower, x.upper) if isinstance(x, Box) else (np.asarray(x, np.float64),) * 2
    out = np.empty(lower.shape, object)
    for at in np.ndindex(lower.shape):
        low, high = (s.fmpq(*float(e[at]).as_integer_ratio()) for e in (lower, upper))
        out[at] = low if low == high else arb(low).union(arb(high))
    return Value(out)


def _splits(part: Part) -> bool:
    return any((high > low).any() for low, high in zip(*part, strict=True))


def _halves(part: Part) -> list[Part]:
    """Return the two halves of a box, cut across its widest side."""
    lows, highs = part
    which = max(range(len(lows)), key=lambda k: float((highs[k] - lows[k]).max(initial=0.0)))
    at = np.unravel_index(int((highs[which] - lows[which]).argmax()), lows[which].shape)
    middle = lows[which][at] + (highs[which][at] - lows[which][at]) / 2
    below, above = highs[which].copy(), lows[which].copy()
    below[at] = above[at] = middle
    return [
        (lows, [*highs[:which], below, *highs[which + 1 :]]),
        ([*lows[:which], above, *lows[which + 1 :]], highs),
    ]


def _finite(x: Array) -> Array:
    """Return entries as finite scalars, or None where nothing is known."""
    if x.dtype != object:
        return np.frompyfunc(lambda v: s.rational(int(v)), 1, 1)(x)
    return np.asarray(np.frompyfunc(lambda v: v if s.finite(v) else None, 1, 1)(x), object)


def _width(x: Any) -> float:
    return math.inf if x is None else float(s.ball(x).rad())


def _united(arrays: Sequence[Array]) -> Array:
    """Return the entrywise hull of arrays of enclosures; None where one of them is None."""

    def join(a: Any, b: Any) -> Any:
        return None if a is None or b is None else s.ball(a).union(s.ball(b))

    out = arrays[0]
    for x in arrays[1:]:
        out = np.asarray(np.frompyfunc(join, 2, 1)(out, x), object)
    return out


def _below(x: Any) -> float:
    """Return a float that is certainly not above the ball; −∞ for None."""
    return -math.inf if x is None else math.nextafter(float(s.ball(x).lower().mid()), -math.inf)


def _above(x: Any) -> float:
    return math.inf if x is None else math.nextafter(float(s.ball(x).upper().mid()), math.inf)
