"""Points at which programs are evaluated and rules called."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ..balls._draw import GENERIC, Domain, bounds_of, draw_direction, draw_input, nested, rounds, tops_of
from ..balls._rule import Input
from ..tracing.jax_internals import kind_of

TRIES = 60
EXACT = 1000
"""With more entries than this, points are drawn in floats and not looked at for the domain: outside of it nothing is
said where both sides are no numbers."""
_STYLES = (GENERIC, "unit", "positive", "signed unit", "above one", "eighths")


@dataclass(frozen=True)
class Point:
    """What a rule's programs take: arguments, tangents of the moving ones, seeds, and numbers that are left open."""

    args: list[np.ndarray]
    tangents: list[np.ndarray]
    seeds: list[np.ndarray]
    scalars: list[np.ndarray]

    def of(self, program: str) -> list[np.ndarray]:
        """The operands of a program by its name."""
        more = {"jvp": self.tangents, "vjp": self.seeds}.get(program, [])
        return [*self.args, *more, *self.scalars]

    def with_one_array(self) -> Point | None:
        """With one array for all arguments and cotangents that it fits; None where it fits no other."""
        first: dict[Any, np.ndarray] = {}
        args, seeds = ([first.setdefault((x.shape, x.dtype), x) for x in xs] for xs in (self.args, self.seeds))
        return replace(self, args=args, seeds=seeds) if len(first) < len(args) + len(seeds) else None

    def with_integers(self, dtype: str) -> Point:
        """With its integers in this dtype."""
        return replace(self, args=[x.astype(dtype) if kind_of(x.dtype) == "i" else x for x in self.args])

    def rounded(self, dtype: Any) -> Point:
        """With floats of this dtype."""

        def cast(arrays: list[np.ndarray]) -> list[np.ndarray]:
            return [x.astype(dtype) if x.dtype == np.float64 else x for x in arrays]

        return Point(*map(cast, (self.args, self.tangents, self.seeds, self.scalars)))


def drawn(
    inputs: Sequence[Input], shapes: Sequence[tuple[int, ...]], domain: Domain | None, rng: random.Random
) -> list[np.ndarray] | None:
    """Values of the inputs inside the domain, on no boundary; None where none was found."""
    tops = tops_of(shapes)
    if sum(map(prod, shapes)) > EXACT:
        return [_in_floats(one, shape, rng, tops[-1]) for one, shape in zip(inputs, shapes, strict=True)]
    for attempt in range(rounds(inputs, tops) * TRIES):
        styles = [_STYLES[attempt % len(_STYLES)]] * len(inputs)
        if attempt >= len(_STYLES):
            styles = [rng.choice(_STYLES) for _ in inputs]
        bounds = bounds_of(inputs, tops, attempt >= TRIES, rng)
        arrays = [
            draw_input(one, shape, style, rng, top)
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


def sized(names: Sequence[str], sizes: Mapping[str, int]) -> str:
    """Sizes in words: `n = 4`, `(n, d) = (4, 3)`."""
    if len(names) == 1:
        return f"{names[0]} = {sizes[names[0]]}"
    return f"({', '.join(names)}) = ({', '.join(str(sizes[n]) for n in names)})"
