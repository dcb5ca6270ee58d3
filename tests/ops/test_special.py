"""Special functions against scipy, on both sides of 0."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

scipy_special = pytest.importorskip("scipy.special")
X = np.asarray([-3.3, -1.5, -0.4, 0.3, 1.0, 4.5])
UNIT = np.asarray([-0.99, -0.5, 0.1, 0.9])


def polygamma(n):
    return lambda x: ops.polygamma(n, x)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "f, points, value, slope",
    [
        (ops.erf, X, scipy_special.erf, lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x)),
        (ops.erfc, X, scipy_special.erfc, lambda x: -2 / np.sqrt(np.pi) * np.exp(-x * x)),
        (ops.erf_inv, UNIT, scipy_special.erfinv, lambda x: np.sqrt(np.pi) / 2 * np.exp(scipy_special.erfinv(x) ** 2)),
        (ops.lgamma, X, scipy_special.gammaln, scipy_special.digamma),
        (ops.digamma, X, scipy_special.digamma, lambda x: scipy_special.polygamma(1, x)),
        (polygamma(2), X[X > 0], lambda x: scipy_special.polygamma(2, x), lambda x: scipy_special.polygamma(3, x)),
    ],
    ids=["erf", "erfc", "erf_inv", "lgamma", "digamma", "polygamma"],
)
def test_value_and_slope(f, points, value, slope, x64):
    got, tangent = jax.jvp(f, (jnp.asarray(points),), (jnp.ones(len(points)),))
    np.testing.assert_allclose(got, value(points), rtol=1e-9)
    np.testing.assert_allclose(tangent, slope(points), rtol=1e-9)


def test_erf_is_flat_far_out():
    assert jax.grad(ops.erf)(1e20) == 0.0
    assert jax.grad(ops.erfc)(-1e20) == 0.0
