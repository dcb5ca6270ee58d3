"""Models in plain jax.numpy, Equinox, Flax and optax, each a loss with its arguments, for the corpus.

None of them uses certgrad.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

Model = tuple[Callable[..., Any], tuple[Any, ...]]
"""A loss and its arguments."""


class Draw:
    """Arrays of normal entries, the same at every run."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)

    def __call__(self, *shape: int, scale: float = 0.3) -> Any:
        return jax.numpy.asarray(self.random.normal(size=shape) * scale)

    def integers(self, high: int, *shape: int) -> Any:
        return jax.numpy.asarray(self.random.integers(0, high, size=shape))
