"""What a model is: a scalar function and the arrays that it is called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

KEY = jax.random.key(0)
_RANDOM = np.random.default_rng(0)

Made = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Model:
    """`make` gives the function and its arguments."""

    name: str
    library: str
    special: str
    make: Callable[[], Made]


MODELS: dict[str, Model] = {}


def model(library: str, special: str = "") -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Registers a function that makes one; its docstring's first line is what the model is."""

    def register(make: Callable[[], Made]) -> Callable[[], Made]:
        MODELS[make.__name__] = Model(make.__name__, library, special, make)
        return make

    return register


def real(*shape: int, dtype: Any = jnp.float32) -> Any:
    return jnp.asarray(_RANDOM.normal(size=shape), dtype)


def whole(below: int, *shape: int, dtype: Any = jnp.int32) -> Any:
    return jnp.asarray(_RANDOM.integers(0, below, shape), dtype)


def mean_square(y: Any) -> Any:
    return jnp.mean(y.astype(jnp.float32) ** 2)
