"""Recurrent networks over `jax.lax.scan`: an LSTM in jax.numpy, a GRU of Equinox."""

import equinox as eqx
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


def gru() -> Model:
    draw = Draw()
    cell = eqx.nn.GRUCell(3, 4, key=jax.random.key(0))

    def loss(cell, xs, target):
        h, _ = jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(4), xs)
        return jnp.sum((h - target) ** 2)

    return loss, (cell, draw(6, 3), draw(4))
