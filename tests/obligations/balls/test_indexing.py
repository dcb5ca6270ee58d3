"""Which entries gather reads and scatter writes, against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from certgrad.obligations.floats import Setting, run
from certgrad.obligations.tracing.jax_internals import program_of

MODES = ("clip", "fill", "promise_in_bounds")
READS: dict[str, Callable[..., Any]] = {
    "rows": lambda x, i, mode: x.at[i].get(mode=mode),
    "columns": lambda x, i, mode: x.at[:, i].get(mode=mode),
    "entries": lambda x, i, mode: x.at[i, i[::-1]].get(mode=mode),
    "a window": lambda x, i, mode: x.at[1:, i[:, None]].get(mode=mode),
    "of each row": lambda x, i, mode: jax.vmap(lambda row, k: row.at[k].get(mode=mode))(x, jnp.stack([i] * len(x))),
    "windows": lambda x, i, mode: jax.vmap(lambda k: jax.lax.dynamic_slice(x, (k, 0), (2, 3)))(i),
}
WRITES: dict[str, Callable[..., Any]] = {
    "set": lambda x, y, i, mode: x.at[jnp.arange(3) + i[0]].set(y[:3], mode=mode),
    "add": lambda x, y, i, mode: x.at[i].add(y, mode=mode),
    "add to entries": lambda x, y, i, mode: x.at[i, i[::-1]].add(y[:, 0], mode=mode),
    "multiply": lambda x, y, i, mode: x.at[i].multiply(y, mode=mode),
    "max": lambda x, y, i, mode: x.at[:, i].max(y.T[:, : len(i)][:1], mode=mode),
    "min of each row": lambda x, y, i, mode: jax.vmap(lambda row, k: row.at[k].min(k.astype(x.dtype), mode=mode))(
        x, jnp.stack([i] * len(x))
    ),
    "windows": lambda x, y, i, mode: jax.vmap(lambda k: jax.lax.dynamic_update_slice(x, y[:2, :2], (k, 1)))(i),
}
DTYPES = (np.float32, ml_dtypes.bfloat16, np.int8, np.uint8, np.bool_, np.complex64)
NUMBERS = (np.float32, ml_dtypes.bfloat16, np.int8, np.uint8)


def _array(random: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    return random.integers(0, 5, shape).astype(dtype)


def _index(random: np.random.Generator, mode: str, size: int) -> np.ndarray:
    """Four indices into an axis, also beyond it unless the mode promises that there are none."""
    return random.integers(0, size, 4) if mode == "promise_in_bounds" else random.integers(-9, 9, 4)


def _same(program: Any, *args: np.ndarray) -> None:
    (found,) = run(program_of(jax.make_jaxpr(program)(*args)), list(args), Setting())
    expected = np.asarray(program(*map(jnp.asarray, args)))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.astype(np.complex64), expected.astype(np.complex64))


@pytest.mark.one_in(16)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_what_is_read(dtype: Any, mode: str) -> None:
    random = np.random.default_rng(0)
    for read in READS.values():
        for _ in range(2):
            index = _index(random, mode, 4)
            x = _array(random, dtype, (4, 5))
            _same(lambda x, i, read=read: read(x, i, mode), x, index)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: np.dtype(d).name)
def test_what_is_written(dtype: Any, mode: str) -> None:
    random = np.random.default_rng(1)
    for write in WRITES.values():
        for _ in range(2):
            index = _index(random, mode, 3)
            index[0] = 1 if mode == "promise_in_bounds" else index[0]
            x, y = _array(random, dtype, (5, 5)), _array(random, dtype, (4, 5))
            _same(lambda x, y, i, write=write: write(x, y, i, mode), x, y, index)


@pytest.mark.slow
def test_unsigned_indices_are_no_negative_ones() -> None:
    x = np.arange(4.0, dtype=np.float32)
    for mode in ("clip", "fill"):
        _same(lambda x, i, mode=mode: x.at[i].get(mode=mode), x, np.array([0, 255, 3], np.uint8))
