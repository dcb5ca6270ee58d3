"""The bits that JAX draws from random keys, computed by numpy: JAX compiles its generator for each shape, which takes
half a second.

Only keys of the threefry generator are covered (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011),
with 20 rounds, and with the counters that JAX uses where draws can be split over devices
(`jax_threefry_partitionable`). For other keys the functions raise OtherKeysError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Words = tuple[np.ndarray, np.ndarray]
"""Two arrays of 32-bit words of one shape: a key, a counter or a hash for each entry."""
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


class OtherKeysError(Exception):
    """The keys are of another generator, or JAX is set to draw from them in another order."""


def bits(params: dict[str, Any], keys: Any) -> np.ndarray:
    """Return the result of `random_bits`: for each key an array of `shape`, of unsigned `bit_width`-bit integers."""
    shape, width = tuple(params["shape"]), int(params["bit_width"])
    high, low = _hashed(_words(keys), shape)
    if width == 64:
        return high.astype(np.uint64) << np.uint64(32) | low
    return (high ^ low).astype(np.dtype(f"uint{width}"))


def split(params: dict[str, Any], keys: Any) -> Any:
    """Return the result of `random_split`: keys of the keys' shape and then `shape`."""
    return _keys(_hashed(_words(keys), tuple(params["shape"])), keys)


def folded(params: dict[str, Any], keys: Any, numbers: np.ndarray) -> Any:
    """Return the result of `random_fold_in`: for each key and number a key that depends on both."""
    seeds = np.asarray(numbers).astype(np.uint32)
    return _keys(_threefry(_words(keys), (np.zeros_like(seeds), seeds)), keys)


def keys_at(keys: Any, places: np.ndarray) -> Any:
    """Return the keys at these places of an array of keys, counted in row-major order."""
    high, low = _words(keys)
    return _keys((high.reshape(-1)[places], low.reshape(-1)[places]), keys)


def _words(keys: Any) -> Words:
    """Return the two words of each key. Raises OtherKeysError."""
    divisible: bool = jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
    if str(keys.dtype) != "key<fry>" or not divisible:
        raise OtherKeysError(str(keys.dtype))
    data = np.asarray(jax.random.key_data(keys))
    return data[..., 0], data[..., 1]


def _keys(words: Words, like: Any) -> Any:
    return jax.random.wrap_key_data(jnp.asarray(np.stack(words, axis=-1)), impl=jax.random.key_impl(like))


def _hashed(keys: Words, shape: tuple[int, ...]) -> Words:
    """Return, for each key, the hashes of the numbers 0, 1, … of the entries of an array of this shape, in order."""
    count = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.uint64).reshape(shape)
    wide = [k.reshape(k.shape + (1,) * len(shape)) for k in keys]
    return _threefry((wide[0], wide[1]), ((count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)))


def _threefry(keys: Words, counters: Words) -> Words:
    """Return the hash Threefry-2x32 of each counter by the key at its place: 20 rounds, a key word after every four."""
    schedule = (*keys, keys[0] ^ keys[1] ^ _PARITY)
    with np.errstate(over="ignore"):  # words are added modulo 2³²
        x, y = counters[0] + schedule[0], counters[1] + schedule[1]
        for k in range(5):
            for turn in _ROTATIONS[k % 2]:
                x = x + y
                y = (y << np.uint32(turn) | y >> np.uint32(32 - turn)) ^ x
            x = x + schedule[(k + 1) % 3]
            y = y + schedule[(k + 2) % 3] + np.uint32(k + 1)
    return x, y


OF_KEYS: dict[str, Callable[..., Any]] = {"random_bits": bits, "random_split": split, "random_fold_in": folded}
"""The functions for JAX's primitives, by name."""
