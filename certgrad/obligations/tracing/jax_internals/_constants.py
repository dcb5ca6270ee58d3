"""Constants of numpy's, in 64 and in 32 bits.

jax 0.10 remembers for each array of numpy's what it becomes in a program, and forgets to ask how wide floats are then.
A constant that was traced with 64 bits stays of 64: the same function fails in XLA, or in a user's next call, with 32.
Here each width has a memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax._src import abstract_arrays as _arrays
from jax._src import dtypes as _dtypes


def _remembering() -> Callable[[np.ndarray], Any]:
    """What JAX does with an array, with a memory as JAX has one: of arrays that are still there."""

    @_arrays.weakref_lru_cache.weak_key_weak_value_cache
    def canonical(x: np.ndarray) -> Any:
        return _arrays.literals.TypedNdArray(np.asarray(x, _dtypes.canonicalize_dtype(x.dtype)))

    return canonical


def keep_widths_apart() -> None:
    """Have JAX remember constants of numpy's by the width of floats as well, in a version that remembers them."""
    if not hasattr(_arrays, "weakref_lru_cache"):  # from 0.11 on it does not
        return
    memories = {True: _remembering(), False: _remembering()}
    wide = partial(jax.config.read, "jax_enable_x64")
    _dtypes.register_canonicalize_value_handler(np.ndarray, lambda x: memories[bool(wide())](x))
