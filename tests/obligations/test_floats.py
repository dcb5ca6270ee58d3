"""Operations that are evaluated by BLAS and LAPACK at once give what JAX gives, where it has no value as well."""

from __future__ import annotations

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.obligations.floats import Setting, run
from certgrad.obligations.tracing.jax_internals import trace, wide_floats

CHOICES = [*product((False, True), (False, True), (False, True), (False, True))]


def both(function: Any, *args: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with wide_floats():
        program = trace(function, tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args))
        return np.asarray(function(*map(jnp.asarray, args))), run(program, args, Setting())[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize(("left", "lower", "transposed", "unit"), CHOICES)
def test_triangular_solve(left: bool, lower: bool, transposed: bool, unit: bool, batch: Any, dtype: Any) -> None:
    draw = np.random.default_rng(0).normal
    a = (draw(size=(*batch, 3, 3)) + 3 * np.eye(3)).astype(dtype)
    b = draw(size=(*batch, *((3, 2) if left else (2, 3)))).astype(dtype)

    def solve(a: Any, b: Any) -> Any:
        return jax.lax.linalg.triangular_solve(
            a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit
        )

    by_jax, ours = both(solve, a, b)
    assert ours.dtype == by_jax.dtype
    np.testing.assert_allclose(ours, by_jax, rtol=1e-4 if dtype == np.float32 else 1e-11)


def test_triangular_solve_without_a_solution() -> None:
    by_jax, ours = both(
        lambda a, b: jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
        np.zeros((2, 2)),
        np.ones((2, 1)),
    )
    np.testing.assert_array_equal(ours, by_jax)
    assert not np.isfinite(ours).all()


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_cholesky(batch: Any) -> None:
    m = np.random.default_rng(1).normal(size=(*batch, 3, 3))
    definite = m @ np.swapaxes(m, -1, -2) + np.eye(3)
    by_jax, ours = both(jnp.linalg.cholesky, definite)
    np.testing.assert_allclose(ours, by_jax, rtol=1e-11, atol=1e-13)
    by_jax, ours = both(jnp.linalg.cholesky, -definite)
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(by_jax))
    assert np.isnan(ours).any()
