"""Points at which a case is evaluated: random rationals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
from flint import fmpq

from certgrad.obligations.balls import _draw
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import SCHEDULE, STYLES, draw_input, generic_direction
from certgrad.obligations.balls._gaps import Point
from certgrad.obligations.balls._rule import Input
from certgrad.obligations.balls._values import Array, lifted

TRIES = 200
"""At most this many draws of a point until one satisfies the hypotheses."""
GENERIC = SCHEDULE.index("eighths")
"""The number of a point whose entries are rarely equal or 0."""
WITHOUT_COINCIDENCES = _draw.GENERIC
"""The style of a point whose entries are equal to each other or to numbers of the program only by a rare chance."""


@dataclass(frozen=True, eq=False)
class Space:
    """What points are drawn from: kinds and shapes of the arguments, parameters included, and shapes of the outputs."""

    kinds: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    parameters: int
    """How many of the arguments, the last ones, are parameters."""
    outputs: tuple[tuple[int, ...], ...]
    told: tuple[tuple[int, ...], ...] = ()
    """For each argument, integers that the domain names, such as a label to ignore: they are drawn as entries."""

    @property
    def moving(self) -> list[int]:
        """The positions of the arguments that have a tangent."""
        return [k for k in range(len(self.kinds) - self.parameters) if self.kinds[k] == "float"]

    def draw(self, k: int | str, rng: Random, fits: Callable[[list[Array]], bool], tries: int = TRIES) -> Point | None:
        """Return the k-th point whose arguments fit, or a point of the style `k`; None if no draw fits.

        After a first draw that does not fit, the k-th point is drawn in random styles.
        """
        top = max((n for shape in self.shapes for n in shape), default=2)
        styles = [SCHEDULE[k % len(SCHEDULE)] if isinstance(k, int) else k] * len(self.kinds)
        for attempt in range(tries):
            if attempt and isinstance(k, int):
                styles = [rng.choice([*STYLES, "equal", "mixed"]) for _ in self.kinds]
            inputs = [
                _exact(draw_input(Input("", (), kind, told=named_integers), shape, style, rng, top))  # type: ignore[arg-type]
                for kind, shape, style, named_integers in zip(
                    self.kinds, self.shapes, styles, self.told or [()] * len(self.kinds), strict=True
                )
            ]
            if fits(inputs):
                tangents = [generic_direction(self.shapes[i], rng, fmpq) for i in self.moving]
                return Point(inputs, tangents, [generic_direction(shape, rng, fmpq) for shape in self.outputs])
        return None


def coincides(k: int) -> bool:
    """Return whether entries of the k-th point are likely to be equal, or 0."""
    return SCHEDULE[k % len(SCHEDULE)] in ("plain", "special", "equal", "mixed")


def _exact(array: Array) -> Array:
    """Return rationals as exact scalars; integers and booleans as they are."""
    return lifted(s.rational, 1)(array) if array.dtype == object else array


def collapsed(arrays: Mapping[str, Array], axes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Return the arrays reshaped to these axes, where each star group is one axis: so statements with indices count."""
    return {name: np.reshape(x, axes[name]) if name in axes else x for name, x in arrays.items()}
