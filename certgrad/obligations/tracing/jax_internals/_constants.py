"""Constants of numpy's, in 64 and in 32 bits.

JAX remembers for each array of numpy's what it becomes in a program, and forgets to ask how wide floats are then.
A constant that was traced with 64 bits stays of 64: the same function fails in XLA, or in a user's next call, with 32.
From 0.11 on a table that was met with 32 bits is rounded in the 64 of a later call.
Here each width has a memory of its own.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import jax
import numpy as np
from jax._src import abstract_arrays as _arrays
from jax._src import dtypes as _dtypes


class _Memory:
    """What JAX does with an array, with a memory as JAX has one: of arrays that are still there, by which they are."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[weakref.ref, weakref.ref]] = {}

    def canonical(self, x: np.ndarray) -> Any:
        array, value = self.known.get(id(x), (None, None))
        found = value() if array is not None and value is not None and array() is x else None
        if found is None:
            found = _arrays.literals.TypedNdArray(np.asarray(x, _dtypes.canonicalize_dtype(x.dtype)))
            gone = partial(self._forget, id(x))
            self.known[id(x)] = weakref.ref(x, gone), weakref.ref(found)
        return found

    def _forget(self, key: int, _: weakref.ref) -> None:
        self.known.pop(key, None)


def keep_widths_apart() -> None:
    """Have JAX remember constants of numpy's by the width of floats as well."""
    memories = {True: _Memory(), False: _Memory()}
    wide = partial(jax.config.read, "jax_enable_x64")
    _dtypes.register_canonicalize_value_handler(np.ndarray, lambda x: memories[bool(wide())].canonical(x))
