"""Surrogate gradients of spikes."""

import jax
import jax.numpy as jnp
from _driver import each
from snnax.functional.surrogate import piecewise_surrogate, sigmoid_surrogate, superspike_surrogate

X = jnp.linspace(-1.0, 1.0, 5)


def spiked(surrogate):
    return jax.grad(lambda x: jnp.sum(surrogate(x)))(X)


each(
    lambda: spiked(superspike_surrogate()),
    lambda: spiked(sigmoid_surrogate()),
    lambda: spiked(piecewise_surrogate()),
)
