"""Points of a subject's domain, in floats of 64 bits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from certgrad._subject import Subject

from .balls import Input
from .balls._draw import GENERIC, Domain, bounds_of, draw_direction, draw_input, nested, rounds, tops_of
from .balls.statements import compared_with, inside
from .generality.instances import Instance
from .prove.problem import Shapes
from .tracing.jax_internals import keys_from

TRIES = 60
"""Draws of a point, at most, until one is inside the domain; then there is none."""
EXACT = 1000
"""Entries beyond which points are drawn in floats and not compared with the domain."""
_STYLES = (GENERIC, "unit", "positive", "signed unit", "above one", "eighths")


def arguments(op: Subject, instance: Instance, shapes: Shapes, rng: random.Random) -> list[np.ndarray] | None:
    """Return a point of the domain: arrays with floats of 64 bits, then open parameters; None where none is found."""
    inputs = [
        Input(
            name,
            dims,
            {"held": "float", "key": "int"}.get(dtype, dtype),  # type: ignore[arg-type]
            told=compared_with(op.domain, (*op.arg_names, *op.params), name) if dtype == "int" else (),
            structure=op.structures.get(name),
        )
        for name, dims, dtype in zip(op.arg_names, instance.inputs, instance.dtypes, strict=True)
    ] + [Input(p) for p in op.params]
    conditions = (*op.domain, *(c for c in op.params.values() if c))
    values = drawn(inputs, [*shapes.inputs, *[()] * len(op.params)], partial(inside, conditions), rng)
    if values is None:
        return None
    whole = [np.dtype(e) if e and d == "int" else None for e, d in zip(shapes.exact, shapes.dtypes, strict=False)]
    values[: len(whole)] = [x if t is None else x.astype(t) for x, t in zip(values, whole, strict=False)]
    count = len(op.arg_names)
    values[:count] = [keys_from(x) if d == "key" else x for x, d in zip(values[:count], shapes.dtypes, strict=True)]
    return values


def drawn(
    inputs: Sequence[Input], shapes: Sequence[tuple[int, ...]], domain: Domain | None, rng: random.Random
) -> list[np.ndarray] | None:
    """Return values of the inputs inside the domain and off all boundaries; None where none is found."""
    tops = tops_of(shapes)
    if sum(map(prod, shapes)) > EXACT:
        return [
            one.structured(_in_floats(one, shape, rng, tops[-1])) for one, shape in zip(inputs, shapes, strict=True)
        ]
    for attempt in range(rounds(inputs, tops) * TRIES):
        styles = [_STYLES[attempt % len(_STYLES)]] * len(inputs)
        if attempt >= len(_STYLES):
            styles = [rng.choice(_STYLES) for _ in inputs]
        bounds = bounds_of(inputs, tops, attempt >= TRIES, rng)
        arrays = [
            one.structured(draw_input(one, shape, style, rng, top))
            for one, shape, style, top in zip(inputs, shapes, styles, bounds, strict=True)
        ]
        if domain is None or domain({one.name: nested(x) for one, x in zip(inputs, arrays, strict=True)}):
            return [_floats(x) for x in arrays]
    return None


def directions(shapes: Sequence[tuple[int, ...]], rng: random.Random) -> list[np.ndarray]:
    """Tangents or seeds."""
    large = sum(map(prod, shapes)) > EXACT
    return [
        _in_floats(Input("direction"), shape, rng, 2) if large else _floats(draw_direction(shape, rng))
        for shape in shapes
    ]


def _floats(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64) if values.dtype == object else values


def _in_floats(one: Input, shape: tuple[int, ...], rng: random.Random, top: int) -> np.ndarray:
    generator = np.random.default_rng(rng.getrandbits(64))
    if one.kind == "bool":
        return generator.random(shape) < 0.5
    if one.kind == "int":
        return generator.integers(0, max(top, 1), shape)
    return np.asarray(generator.integers(1, 3000, shape) / 997.0)
