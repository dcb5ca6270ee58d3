"""Points of a subject's domain, in floats of 64 bits."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from math import prod
from typing import Any

import numpy as np

from certgrad._subject import Subject

from .balls import Input
from .balls._draw import GENERIC, Domain, bounds_of, draw_direction, draw_input, nested, rounds, tops_of
from .balls.statements import all_conditions_hold, compared_with
from .generality.instances import Instance
from .prove.problem import Shapes
from .tracing.jax_internals import keys_from

TRIES = 60
"""Draws in one round, at most, until a point is inside the domain; after the last round no point is returned."""
EXACT = 1000
"""If the arrays have more entries together, points are drawn in floats and not compared with the domain."""
_STYLES = (GENERIC, "unit", "positive", "signed unit", "above one", "eighths")


def inputs_of(op: Subject, instance: Instance) -> list[Input]:
    """Return what the search for points needs to know of each argument, then of each real parameter of the op."""
    return [
        Input(
            name,
            dims,
            "float" if dtype == "held" else dtype,  # type: ignore[arg-type]
            differentiable=dtype == "float",
            told=compared_with(op.domain, (*op.arg_names, *op.params), name) if dtype == "int" else (),
            exact=exact if dtype == "int" else "",
            structure=op.structures.get(name),
        )
        for name, dims, dtype, exact in zip(
            op.arg_names, instance.inputs, instance.dtypes, instance.exact or repeat(""), strict=False
        )
    ] + [Input(p, (), "float", differentiable=False) for p in op.params]


def inside_domain(op: Subject, values: Mapping[str, Any]) -> bool:
    """Return whether the point satisfies the op's domain and its parameters' constraints, exactly over rationals."""
    return all_conditions_hold((*op.domain, *(c for c in op.params.values() if c)), values)


def arguments(op: Subject, instance: Instance, shapes: Shapes, rng: random.Random) -> list[np.ndarray] | None:
    """Return a point of the domain: the arguments, then the real parameters; None if no draw is inside.

    Floats have 64 bits; integers have the dtypes of the shapes, where these name some, and keys are JAX's.
    """
    inputs = [replace(spec, kind="int") if spec.kind == "key" else spec for spec in inputs_of(op, instance)]
    values = drawn(inputs, [*shapes.inputs, *[()] * len(op.params)], partial(inside_domain, op), rng)
    if values is None:
        return None
    exact_dtypes = [
        np.dtype(e) if e and d == "int" else None for e, d in zip(shapes.exact, shapes.dtypes, strict=False)
    ]
    values[: len(exact_dtypes)] = [x if t is None else x.astype(t) for x, t in zip(values, exact_dtypes, strict=False)]
    count = len(op.arg_names)
    values[:count] = [keys_from(x) if d == "key" else x for x, d in zip(values[:count], shapes.dtypes, strict=True)]
    return values


def drawn(
    inputs: Sequence[Input], shapes: Sequence[tuple[int, ...]], domain: Domain | None, rng: random.Random
) -> list[np.ndarray] | None:
    """Return values of the inputs inside the domain and off all boundaries; None if no draw is inside.

    Each draw takes a style of floats ("positive", "above one", …): the first draws take one style for all inputs, the
    later ones a random style for each input.
    """
    tops = tops_of(shapes)
    if sum(map(prod, shapes)) > EXACT:
        return [
            spec.structured(_in_floats(spec, shape, rng, tops[-1])) for spec, shape in zip(inputs, shapes, strict=True)
        ]
    for attempt in range(rounds(inputs, tops) * TRIES):
        styles = [_STYLES[attempt % len(_STYLES)]] * len(inputs)
        if attempt >= len(_STYLES):
            styles = [rng.choice(_STYLES) for _ in inputs]
        # In the second round integers may be indices of shorter axes, too.
        bounds = bounds_of(inputs, tops, attempt >= TRIES, rng)
        arrays = [
            spec.structured(draw_input(spec, shape, style, rng, top))
            for spec, shape, style, top in zip(inputs, shapes, styles, bounds, strict=True)
        ]
        if domain is None or domain({spec.name: nested(x) for spec, x in zip(inputs, arrays, strict=True)}):
            return [_floats(x) for x in arrays]
    return None


def directions(shapes: Sequence[tuple[int, ...]], rng: random.Random) -> list[np.ndarray]:
    """Return one random direction (a tangent or a seed) for each shape; large ones are drawn in floats at once."""
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
