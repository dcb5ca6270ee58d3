"""Programs evaluated at numbers."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.obligations.floats import Setting, run
from certgrad.obligations.tracing.jax_internals import abstract, trace, wide_floats


def test_what_jax_computes_is_computed_in_64_bits() -> None:
    """The largest of the windows of 1 + 1e-12, whatever the caller's configuration."""
    with wide_floats():
        program = trace(
            lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,), "VALID"), [abstract((4,), "float64")]
        )
    (found,) = run(program, [np.full(4, 1 + 1e-12)], Setting())
    assert found.tolist() == [1 + 1e-12] * 2


def _same_as_jax(function: Callable[..., Any], *arrays: np.ndarray) -> None:
    with wide_floats():
        program = trace(function, [abstract(x.shape, x.dtype.name) for x in arrays])
        expected = jax.tree.leaves(function(*map(jnp.asarray, arrays)))
    for found, wanted in zip(run(program, arrays, Setting()), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-4 if found.itemsize < 8 else 1e-12)


def test_arithmetic_of_complex_numbers() -> None:
    def function(x: Any, y: Any) -> Any:
        z = lax.complex(x, y)
        w = -z * z + jnp.conj(z) - 2j
        return (
            w.real,
            w.imag,
            jnp.stack([w, z])[::-1],
            w[jnp.array([2, 0])],
            (w + x).astype("complex64"),
            w == z,
            w != z,
        )

    _same_as_jax(function, *np.random.default_rng(2).normal(size=(2, 3)))
