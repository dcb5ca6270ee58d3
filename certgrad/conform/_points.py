"""Arguments at which an op is measured: ordinary ones inside the domain, and hard ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from jax import numpy as jnp

from certgrad.language.arithmetic import UnfitError
from certgrad.language.evaluate import question
from certgrad.language.floats import RoundedFloats
from certgrad.language.parse import parse
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls.statements import all_conditions_hold as certain
from certgrad.ops import Case, Op
from certgrad.ops._magnitudes import ANY_MAGNITUDE

SIZES = ((4, 3, 5), (3, 2, 4), (2, 3, 2), (2, 1, 2))
"""Sizes of the named dimensions in turn: the first choice that gives arguments of at most `ENTRIES` entries is used."""
ENTRIES = 400
GROUPS = ((2,), (), (2,), (3,), ())
RANGES = ((-3.0, 3.0), (0.0, 1.0), (0.0, 3.0), (-1.0, 1.0), (1.0, 4.0))
PARAMETERS = (0.5, 1.5, 0.25, 2.0, 0.75, 1.0, -0.5, 4.0)
"""Numbers that every dtype has."""
TRIES = 2000
ENDS = 2
"""Number of draws for each kind of point at the ends of the stated magnitudes."""
SCALES = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 15 / 16)
"""Fractions of the exponents of the largest and the smallest number of a dtype, at which NaN is searched for."""
DRAWS = 6
"""Number of draws at each exponent."""
DOMINANT = 2.0
"""Added to the diagonal of square arguments, as solvers need it and other ops allow it."""


@dataclass(frozen=True)
class Call:
    """An op at a concrete shape: the kinds and shapes of its arguments, and values of its parameters."""

    op: Op
    case: Case
    statics: dict[str, Any]
    kinds: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    parameters: tuple[float, ...]
    square: tuple[bool, ...]

    @property
    def moving(self) -> list[int]:
        """The positions of the arguments that have a tangent."""
        return [k for k, kind in enumerate(self.kinds) if kind == "float"]


@dataclass(frozen=True)
class Point:
    """The arguments at a point, floats in float64. `what` says why they are hard; "" for an ordinary point."""

    arrays: list[Any]
    what: str = ""
    stated: bool = True
    """Whether they are within the op's stated magnitudes."""


def calls(op: Op, rng: np.random.Generator) -> Iterator[Call]:
    """Yield the op at small distinct sizes, then at others, as not every signature takes the first ones."""
    case = op.cases[0]
    signature = case.signature
    kinds = tuple(spec.dtype for spec in signature.inputs)
    squares = tuple(len(spec.dims) > 1 and str(spec.dims[-1]) == str(spec.dims[-2]) for spec in signature.inputs)
    for numbers in SIZES:
        sizes = dict(zip(case.names, numbers * 8, strict=False))
        stars = signature.stars
        groups = dict.fromkeys(stars, (2, 3)) if op.broadcast else dict(zip(stars, GROUPS, strict=False))
        try:
            shapes = tuple(tuple(spec.shape(sizes, groups)) for spec in signature.inputs)
            statics = case.keywords({star: len(axes) for star, axes in groups.items()}, sizes)
        except ValueError:
            continue
        is_small = sum(map(prod, shapes)) <= ENTRIES or numbers == SIZES[-1]
        if is_small and min((n for shape in shapes for n in shape), default=1) > 0:
            yield Call(op, case, statics, kinds, shapes, _parameters(op, rng), squares)


def _parameters(op: Op, rng: np.random.Generator) -> tuple[float, ...]:
    """Return values of the op's parameters that satisfy its constraints. Raises UnfitError if none are found."""
    if not op.params:
        return ()
    for k in range(TRIES):
        drawn = [PARAMETERS[k % len(PARAMETERS)]] if len(op.params) == 1 else rng.choice(PARAMETERS, len(op.params))
        values = dict(zip(op.params, map(float, drawn), strict=True))
        if _holds([text for text in op.params.values() if text], {n: np.asarray(v) for n, v in values.items()}):
            return tuple(values.values())
    raise UnfitError(f"no parameters of {op.name} were found that satisfy its constraints")


def is_in_domain(call: Call, arrays: Sequence[Any], dtype: Any) -> bool:
    """Return whether the arguments are in the op's declared domain: exactly, and in the dtype's arithmetic.

    A domain such as "a + b is none of 0, −1, …" is also tested with the rounded sum, as the op computes that one.
    """
    values = dict(zip(call.op.arg_names, arrays, strict=True))
    values |= {n: np.asarray(v) for n, v in zip(call.op.params, call.parameters, strict=True)}
    return _holds(call.op.domain, values) and _holds_rounded(call.op.domain, values, dtype)


def _holds(texts: Sequence[str], values: dict[str, Any]) -> bool:
    return certain(texts, {n: exactly(x) if np.asarray(x).dtype.kind == "f" else x for n, x in values.items()})


def _holds_rounded(texts: Sequence[str], values: dict[str, Any], dtype: Any) -> bool:
    arithmetic = RoundedFloats(np.dtype(dtype))
    with np.errstate(all="ignore"):
        return all(question(parse(text, tuple(values)), arithmetic).holds(values, {}) for text in texts)


def exactly(x: Any) -> Any:
    """Return an array of floats as exact rational numbers."""
    array = np.asarray(x, np.float64)
    out = np.empty(array.shape, object)
    for at in np.ndindex(array.shape):
        numerator, denominator = float(array[at]).as_integer_ratio()
        out[at] = s.fmpq(numerator, denominator)
    return out


def rounded(arrays: Sequence[Any], dtype: Any) -> list[Any]:
    """Return floats as the dtype has them, in float64: infinite where they are beyond it."""
    with np.errstate(over="ignore"):
        return [
            np.asarray(jnp.asarray(x, dtype), np.float64) if np.asarray(x).dtype.kind == "f" else np.asarray(x)
            for x in arrays
        ]


def ordinary(call: Call, rng: np.random.Generator, dtype: Any) -> Iterator[Point]:
    """Yield points inside the domain, each array uniform in one of a few ranges, rounded to the dtype."""
    for attempt in range(TRIES):
        # The ranges take turns: a domain may contain points of one of them alone.
        low, high = RANGES[attempt % len(RANGES)]
        arrays = rounded([_drawn(call, k, rng, low, high) for k in range(len(call.kinds))], dtype)
        if is_in_domain(call, arrays, dtype):
            yield Point(arrays)


def _drawn(call: Call, k: int, rng: np.random.Generator, low: float, high: float) -> Any:
    """Return an array for the k-th argument; a square one is dominated by its diagonal. Raises UnfitError for a key."""
    kind, shape = call.kinds[k], call.shapes[k]
    if kind == "bool":
        mask = rng.uniform(size=shape) > 0.4
        if mask.ndim:
            mask[..., 0] = True  # a row of a mask keeps an entry
        return mask
    if kind == "int":
        return rng.integers(0, 2, size=shape)
    if kind != "float":
        raise UnfitError(f"an argument of kind {kind} is not drawn here")
    drawn = rng.uniform(low, high, size=shape)
    return drawn / 2 + DOMINANT * np.eye(shape[-1]) if call.square[k] else drawn


def hard(call: Call, start: Point, rng: np.random.Generator, dtype: Any, numbers: Sequence[float]) -> Iterator[Point]:
    """Yield points that are hard for floats, made of the ordinary point `start`, where they lie in the domain.

    They have huge and tiny numbers, numbers near those that bound regions (`numbers`), arguments that cancel, and the
    ends of the op's stated magnitudes.
    """
    info = jnp.finfo(dtype)
    largest, smallest, eps = float(info.max), float(info.tiny), float(info.eps)

    def scaled(by: float) -> list[Any]:
        return [x * by if k in call.moving else x for k, x in enumerate(start.arrays)]

    candidates: list[tuple[str, list[Any]]] = []
    for power in (1 / 16, 1 / 8, 1 / 4, 1 / 2, 15 / 16):
        candidates.append((f"arguments near ±{largest**power:.1g}", scaled(largest**power)))
        candidates.append((f"arguments near ±{smallest**power:.1g}", scaled(smallest**power)))
    for number in numbers:
        for distance in (2.0**-4, 4 * eps):
            close_to_number = [
                number + (abs(number) or 1.0) * distance * rng.choice([-1.0, 1.0, 2.0], size=x.shape)
                if k in call.moving
                else x
                for k, x in enumerate(start.arrays)
            ]
            candidates.append((f"arguments within {distance:.1g} of {number:g}", close_to_number))
    for centre in (1.0, 1000.0):
        nearly_equal = [
            centre * (1 + 4 * eps * rng.integers(-3, 4, size=x.shape)) if k in call.moving else x
            for k, x in enumerate(start.arrays)
        ]
        candidates.append((f"arguments equal to {centre:g} but for a few units", nearly_equal))
    # A candidate that overflows in the dtype, or leaves the domain, says nothing of the op.
    for what, arrays in candidates:
        in_dtype = rounded(arrays, dtype)
        finite = all(np.isfinite(x).all() for x in in_dtype)
        if finite and any(prod(x.shape) for x in in_dtype) and is_in_domain(call, in_dtype, dtype):
            yield Point(in_dtype, what, call.op.magnitudes.holds([in_dtype[k] for k in call.moving], dtype))
    yield from ends(call, start, rng, dtype)


def scattered(call: Call, start: Point, rng: np.random.Generator, dtype: Any) -> Iterator[Point]:
    """Yield points of all magnitudes inside the domain.

    The entries of a point differ by a factor of up to sixteen. Their signs are those of the ordinary point `start` and
    random ones in turn.
    """
    info: Any = jnp.finfo(dtype)
    for scale in SCALES:
        for exponent in (int(scale * info.maxexp), int(scale * info.minexp)):
            for k in range(DRAWS):
                arrays = list(start.arrays)
                for j in call.moving:
                    x = start.arrays[j]
                    negative = rng.uniform(size=x.shape) < 0.5 if k % 2 else x < 0
                    magnitudes = 2.0 ** (exponent + rng.uniform(-2, 2, size=x.shape))
                    arrays[j] = np.where(negative, -magnitudes, magnitudes)
                in_dtype = rounded(arrays, dtype)
                if all(np.isfinite(x).all() for x in in_dtype) and is_in_domain(call, in_dtype, dtype):
                    stated = call.op.magnitudes.holds([in_dtype[j] for j in call.moving], dtype)
                    yield Point(in_dtype, f"arguments near ±{2.0**exponent:.1g}", stated)


def ends(call: Call, start: Point, rng: np.random.Generator, dtype: Any) -> Iterator[Point]:
    """Yield arguments at the least and at the largest magnitude that the op states.

    All entries have that magnitude, then magnitudes that differ by a factor of up to four; each with the signs of the
    ordinary point `start`, then with random signs.
    """
    low, high = call.op.magnitudes.ends(dtype)
    for _ in range(ENDS if call.op.magnitudes != ANY_MAGNITUDE else 0):
        for spread in (0.0, 1.0):
            for same_signs in (True, False):
                signs = [
                    np.where((x < 0) if same_signs else rng.uniform(size=x.shape) < 0.5, -1.0, 1.0)
                    for x in start.arrays
                ]
                sizes = [2.0 ** (spread * rng.uniform(0, 2, size=x.shape)) for x in start.arrays]
                candidates = []
                if low > 0:
                    candidates.append((f"arguments of the least stated, {low:.2g}", low, sizes))
                if high < np.inf:
                    candidates.append((f"arguments of the most stated, {high:.2g}", high, [1 / x for x in sizes]))
                for what, end, scales in candidates:
                    arrays = rounded(_scaled_arguments(call, start, signs, scales, end), dtype)
                    if is_in_domain(call, arrays, dtype):
                        stated = call.op.magnitudes.holds([arrays[k] for k in call.moving], dtype)
                        yield Point(arrays, what, stated)


def _scaled_arguments(call: Call, start: Point, signs: list[Any], sizes: list[Any], by: float) -> list[Any]:
    return [by * signs[k] * sizes[k] if k in call.moving else x for k, x in enumerate(start.arrays)]
