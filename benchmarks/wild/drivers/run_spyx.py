"""Surrogate gradients of spiking neurons, as the README's activations use them."""

import jax
import jax.numpy as jnp
from _driver import each
from spyx import axn
from spyx.experimental import compress, stochastic

X = jnp.linspace(-1.0, 1.0, 5)


def summed(f, *args):
    return jax.grad(lambda x: jnp.sum(f(x, *args)))(X)


def packed():
    spikes, weight = (X > 0).astype(jnp.float32)[None], jnp.ones((5, 3))
    jax.grad(lambda w: jnp.sum(compress.packed_spike_dense(spikes, w)))(weight)


each(
    lambda: summed(axn.superspike()),
    lambda: summed(axn.tanh()),
    lambda: summed(axn.arctan()),
    packed,
    lambda: summed(stochastic.sigmoid_bernoulli(), jax.random.PRNGKey(0)),
    lambda: summed(stochastic.refractory_sigmoid_bernoulli(), jax.random.PRNGKey(0)),
)
