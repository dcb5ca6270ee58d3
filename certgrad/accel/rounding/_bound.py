"""A bound on what rounding does to a function, or to its VJP, over a box of inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from certgrad.accel.bounds._bounds import Box, _argument, _box
from certgrad.accel.rounding._error import zero
from certgrad.accel.rounding._model import MODEL, Format, format_of
from certgrad.accel.rounding._run import Rounding
from certgrad.accel.rounding._values import Rounded, span
from certgrad.errors import UsageError
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import BallError
from certgrad.obligations.balls._jaxpr import of_reals

BITS = 192
DTYPES = ("float64", "float32", "bfloat16", "float16")


@dataclass(frozen=True)
class RoundingBound:
    """A bound on rounding: each computed entry is within `error` of the exact one, for every input of the box.

    `error` is nested as the outputs, and infinite where nothing is known; `notes` and `reason` say why.
    """

    dtype: str
    error: Any
    lower: Any
    """A lower bound of the exact values over the box."""
    upper: Any
    """An upper bound of the exact values over the box."""
    notes: list[str]
    """Notes on operations that may overflow, and comparisons that may fall either way."""
    reason: str = ""
    """Why there is no bound at all; "" where there is one."""
    model: tuple[str, ...] = field(default=MODEL, repr=False)
    """The assumptions on the arithmetic."""

    @property
    def bounded(self) -> bool:
        """Whether every entry has a bound."""
        return not self.reason and all(np.isfinite(e).all() for e in jax.tree.leaves(self.error))

    @property
    def units(self) -> float:
        """Return the largest error of any output, in units in the last place of the output's largest value."""
        if self.reason:
            return np.inf
        triples = zip(*(jax.tree.leaves(t) for t in (self.error, self.lower, self.upper)), strict=True)
        return max((_units(e, a, b, format_of(self.dtype)) for e, a, b in triples), default=0.0)

    def __str__(self) -> str:
        if self.reason:
            return f"not bounded in {self.dtype}: {self.reason}"
        text = f"within {self.units:.3g} units of {self.dtype}" if self.bounded else f"not bounded in {self.dtype}"
        return "; ".join([text, *self.notes])


def rounding_bound(
    function: Callable[..., Any], *args: Any, dtype: str = "float32", seeds: Any = None, vjp: bool = False
) -> RoundingBound:
    """Return a bound on the rounding of a function where some arguments are only known to lie in a box.

    The exact value is that of the traced program over the reals at the same inputs, numbers of the dtype. The bound
    holds for every arithmetic that satisfies the listed assumptions (`model`), and for every input of the box. It is
    found by intervals (of `arb`) and affine arithmetic, so that an error that is subtracted from itself cancels.

    Args:
        function: of arrays, traceable by JAX.
        args: its arguments; a `Box` in place of an array of floats.
        dtype: the dtype of its floats, among `DTYPES`.
        seeds: with `vjp`, the cotangents of the outputs, or boxes; anything from −1 to 1 if None.
        vjp: bound the cotangents of the arguments of floats in place of the outputs.

    Raises:
        UsageError: an unknown dtype; a box that is empty or of integers.
    """
    if dtype not in DTYPES:
        raise UsageError(f"There is no bound in {dtype}; there are {', '.join(DTYPES)}.")
    flat, tree = jax.tree.flatten(args, is_leaf=lambda x: isinstance(x, Box))
    with jax.enable_x64(dtype == "float64" or bool(jax.config.read("jax_enable_x64"))):
        typed = [_typed(x, dtype) for x in flat]

        def nested(*leaves: Any) -> Any:
            return function(*jax.tree.unflatten(tree, leaves))

        if not vjp:
            return bound_of(nested, flat, typed, dtype)
        outs, shape = jax.tree.flatten(jax.eval_shape(nested, *typed))
        seed_leaves = (
            [_unit(x) for x in outs] if seeds is None else jax.tree.leaves(seeds, is_leaf=lambda x: isinstance(x, Box))
        )
        moving = [k for k, x in enumerate(typed) if np.issubdtype(x.dtype, np.floating) or x.dtype == dtype]

        def cotangents_of(*leaves: Any) -> Any:
            arrays, cotangents = leaves[: len(flat)], leaves[len(flat) :]

            def of_moving(*some: Any) -> Any:
                moved = dict(zip(moving, some, strict=True))
                return nested(*[moved.get(k, x) for k, x in enumerate(arrays)])

            return jax.vjp(of_moving, *[arrays[k] for k in moving])[1](jax.tree.unflatten(shape, cotangents))

        return bound_of(cotangents_of, [*flat, *seed_leaves], [*typed, *(_typed(x, dtype) for x in seed_leaves)], dtype)


def bound_of(function: Callable[..., Any], flat: Sequence[Any], typed: Sequence[Any], dtype: str) -> RoundingBound:
    """Return the bound of a function of arrays: `flat` are the arguments, boxes among them, `typed` their types.

    Where nothing can be bounded, the result has the reason.
    """
    format = format_of(dtype)
    jaxpr = jax.make_jaxpr(function)(*typed)
    tree = jax.tree.structure(jax.eval_shape(function, *typed))
    run = Rounding(format)
    try:
        with s.precision(BITS), np.errstate(over="ignore", invalid="ignore"):
            arguments = [
                _started(_box(x, f"argument {k}"), t, format) for k, (x, t) in enumerate(zip(flat, typed, strict=True))
            ]
            outputs = run.run(of_reals(jaxpr, typed), arguments)
    except BallError as problem:
        return RoundingBound(dtype, None, None, None, list(run.notes), str(problem))
    parts: list[list[Any]] = [[], [], []]
    for x in outputs:
        lower, upper = span(x.primal) if x.error is not None else (x.primal, x.primal)
        size = x.error.size if x.error is not None else np.zeros(x.primal.shape)
        for part, value in zip(parts, (size, lower, upper), strict=True):
            part.append(value)
    error, low, high = (jax.tree.unflatten(tree, part) for part in parts)
    return RoundingBound(dtype, error, low, high, list(run.notes))


def _typed(x: Any, dtype: str) -> jax.ShapeDtypeStruct:
    """Return an argument's shape and dtype, where all floats and boxes have the given dtype."""
    if isinstance(x, Box):
        shape = np.broadcast_shapes(np.shape(x.lower), np.shape(x.upper))
        return jax.ShapeDtypeStruct(shape, jax.numpy.dtype(dtype))
    array = np.asarray(x)
    real = array.dtype.kind == "f" or array.dtype.kind == "V" or str(array.dtype) in DTYPES
    wanted = jax.numpy.dtype(dtype) if real else jax.dtypes.canonicalize_dtype(array.dtype)
    return jax.ShapeDtypeStruct(array.shape, wanted)


def _unit(x: Any) -> Any:
    return Box(np.full(x.shape, -1.0), np.full(x.shape, 1.0))


def _started(x: Any, typed: Any, format: Format) -> Rounded:
    """Return an argument without an error: it holds numbers of the dtype."""
    if not isinstance(x, Box):
        array = np.asarray(x)
        if str(typed.dtype) != format.name:
            return Rounded(array.astype(typed.dtype))
        x = Box(array.astype(np.float64), array.astype(np.float64))
    value = _argument(x)
    return Rounded(value.primal, zero(value.primal.shape), format)


def _units(error: Any, lower: Any, upper: Any, format: Format) -> float:
    if not np.size(error):
        return 0.0
    largest = max(float(np.abs(lower).max()), float(np.abs(upper).max()), format.tiny / format.u)
    unit = 2 * format.u * 2.0 ** np.floor(np.log2(largest)) if np.isfinite(largest) else np.inf
    return float(np.max(error)) / unit if np.isfinite(np.max(error)) else np.inf
