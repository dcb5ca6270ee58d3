"""Surrogate gradients of spikes, as the models take them."""

import jax
import jax.numpy as jnp
from _driver import each
from slax.models.surrogates import atan, fast_sigmoid, multi_gauss

X = jnp.linspace(-1.0, 1.0, 5)


def spiked(surrogate):
    return jax.grad(lambda x: jnp.sum(surrogate(x)))(X)


each(lambda: spiked(fast_sigmoid()), lambda: spiked(atan()), lambda: spiked(multi_gauss()))
