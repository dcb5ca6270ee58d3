"""Norms that do not overflow: x is divided by its largest entry, or by something tiny where that is smaller."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")


def scaled_norm(slope):
    @jax.custom_jvp
    def norm(x):
        largest = jnp.maximum(jnp.max(jnp.abs(x)), jnp.finfo(x.dtype).tiny)
        scaled = x / largest
        return largest * jnp.sqrt(jnp.sum(scaled * scaled, axis=-1))

    @norm.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents
        value = norm(x)
        safe = jnp.where(value > 0, value, 1)
        return value, jnp.sum(slope(x, dx) / safe[:, None], axis=-1)

    return norm


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("slope", "verdict"),
    [
        (lambda x, dx: dx * x, "proved under hypotheses"),
        (lambda x, dx: dx * abs(x), "refuted"),
        (lambda x, dx: dx * x / jnp.max(abs(x)), "refuted"),
    ],
)
def test_a_scale_that_cancels(slope, verdict):
    assert certgrad.check(scaled_norm(slope), "n d -> n").verdict == verdict
