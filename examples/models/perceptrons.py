"""A multilayer perceptron."""

import jax
import jax.numpy as jnp

from examples.models import Draw, Model


def mlp() -> Model:
    """Two layers, relu, mean squared error."""
    draw = Draw()

    def loss(params, x, target):
        h = jax.nn.relu(x @ params["W1"] + params["b1"])
        return jnp.mean((h @ params["W2"] + params["b2"] - target) ** 2)

    params = {"W1": draw(4, 8), "b1": draw(8), "W2": draw(8, 3), "b2": draw(3)}
    return loss, (params, draw(5, 4), draw(5, 3))
