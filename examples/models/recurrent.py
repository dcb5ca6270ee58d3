"""An LSTM over `jax.lax.scan`."""

import jax
import jax.numpy as jnp

from examples.models import Draw, Model


def lstm() -> Model:
    draw, width = Draw(), 4

    def cell(p, state, x):
        h, c = state
        gates = x @ p["W"] + h @ p["U"] + p["b"]
        i, f, g, o = jnp.split(gates, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def loss(p, xs, target):
        start = (jnp.zeros(width), jnp.zeros(width))
        _, hs = jax.lax.scan(lambda state, x: cell(p, state, x), start, xs)
        return jnp.mean((hs @ p["out"] - target) ** 2)

    params = {"W": draw(3, 16), "U": draw(4, 16), "b": draw(16), "out": draw(4, 2)}
    return loss, (params, draw(6, 3), draw(6, 2))
