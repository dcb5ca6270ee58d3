"""The bits that JAX draws from random keys, computed by numpy: JAX compiles its generator for each shape, which takes
half a second.

Keys are those of the threefry generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), with 20
rounds, at the counters that JAX uses where draws can be split over devices. Of other keys nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Words = tuple[np.ndarray, np.ndarray]
"""Two arrays of 32 bits of one shape."""
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


class OtherKeysError(Exception):
    """Keys of another generator, or drawn from in another order."""


def bits(params: dict[str, Any], keys: Any) -> np.ndarray:
    """The result of `random_bits`: unsigned integers of `bit_width` bits, of the keys' shape and then `shape`."""
    shape, width = tuple(params["shape"]), int(params["bit_width"])
    high, low = _hashed(_words(keys), shape)
    if width == 64:
        return high.astype(np.uint64) << np.uint64(32) | low
    return (high ^ low).astype(np.dtype(f"uint{width}"))


def split(params: dict[str, Any], keys: Any) -> Any:
    """Return the result of `random_split`: keys of the keys' shape and then `shape`."""
    return _keys(_hashed(_words(keys), tuple(params["shape"])), keys)


def folded(params: dict[str, Any], keys: Any, numbers: np.ndarray) -> Any:
    """Return the result of `random_fold_in`: keys that depend on a number each."""
    seeds = np.asarray(numbers).astype(np.uint32)
    return _keys(_threefry(_words(keys), (np.zeros_like(seeds), seeds)), keys)


def keys_at(keys: Any, places: np.ndarray) -> Any:
    """The keys at these places of an array of keys, in row-major order."""
    high, low = _words(keys)
    return _keys((high.reshape(-1)[places], low.reshape(-1)[places]), keys)


def _words(keys: Any) -> Words:
    divisible: bool = jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
    if str(keys.dtype) != "key<fry>" or not divisible:
        raise OtherKeysError(str(keys.dtype))
    data = np.asarray(jax.random.key_data(keys))
    return data[..., 0], data[..., 1]


def _keys(words: Words, like: Any) -> Any:
    return jax.random.wrap_key_data(jnp.asarray(np.stack(words, axis=-1)), impl=jax.random.key_impl(like))


def _hashed(keys: Words, shape: tuple[int, ...]) -> Words:
    """The hashes of the numbers of the entries of an array, in order, by each key."""
    count = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.uint64).reshape(shape)
    wide = [k.reshape(k.shape + (1,) * len(shape)) for k in keys]
    return _threefry((wide[0], wide[1]), ((count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)))


def _threefry(keys: Words, counters: Words) -> Words:
    """Return Threefry-2x32 of each pair of words of counters by each pair of keys."""
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
"""By the names of JAX's primitives."""
