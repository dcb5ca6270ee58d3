"""Cauchy and Schwarz: a variance is not negative, however it is written."""

import jax
import jax.numpy as jnp
import pytest

from certgrad import check


def normalised(variance):
    """x over its standard deviation, with a rule in what the forward keeps."""

    def forward(x, r):
        z = x + r
        inverse = 1 / jnp.sqrt(variance(z) + 1e-5)
        return (z - jnp.mean(z)) * inverse, inverse

    @jax.custom_vjp
    def f(x, r):
        return forward(x, r)[0]

    def bwd(kept, g):
        y, inverse = kept
        dz = inverse * (g - jnp.mean(g) - y * jnp.mean(g * y))
        return dz, dz

    f.defvjp(lambda x, r: (forward(x, r)[0], forward(x, r)), bwd)
    return f


@pytest.mark.parametrize(
    "variance",
    [jnp.var, lambda z: jnp.mean(z**2) - jnp.mean(z) ** 2, lambda z: (z @ z - jnp.sum(z) * jnp.mean(z)) / z.shape[0]],
)
def test_it_needs_no_hypothesis(variance):
    assert check(normalised(variance), "n, n", conformance=False).verdict == "proved"


def positive(inside):
    root = jax.custom_vjp(lambda x: jnp.sqrt(inside(x) + 1))
    root.defvjp(lambda x: jax.vjp(lambda x: jnp.sqrt(inside(x) + 1), x), lambda back, g: back(g))
    return root


def test_more_than_a_variance_is_taken_away():
    assert check(positive(lambda x: jnp.mean(x**2) - jnp.mean(x) ** 2), "n", conformance=False).verdict == "proved"
    for factor, of in ((1.5, 1), (1, 2)):
        found = check(
            positive(lambda x, factor=factor, of=of: jnp.mean(x**2) / of - factor * jnp.mean(x) ** 2),
            "n",
            conformance=False,
        )
        assert found.verdict == "proved under hypotheses"
        assert found.hypotheses
