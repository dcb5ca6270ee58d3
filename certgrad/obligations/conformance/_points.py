"""Points at which programs are evaluated and rules called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tracing.jax_internals import Program

Sizes = Mapping[str, int]
Programs = Mapping[str, Program]
"""By name: `forward`, `primal` and `reference` take the arguments, `jvp` tangents as well and `vjp` seeds."""
Called = Mapping[str, Callable[..., Any]]
"""By the same names, or `both` for `primal` and `vjp` by one call."""


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

    def rounded(self, dtype: Any) -> Point:
        """With floats of this dtype."""

        def cast(arrays: list[np.ndarray]) -> list[np.ndarray]:
            return [x.astype(dtype) if x.dtype == np.float64 else x for x in arrays]

        return Point(*map(cast, (self.args, self.tangents, self.seeds, self.scalars)))


def sized(names: Sequence[str], sizes: Mapping[str, int]) -> str:
    """Sizes in words: `n = 4`, `(n, d) = (4, 3)`."""
    if len(names) == 1:
        return f"{names[0]} = {sizes[names[0]]}"
    return f"({', '.join(names)}) = ({', '.join(str(sizes[n]) for n in names)})"
