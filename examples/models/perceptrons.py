"""Multilayer perceptrons: in jax.numpy, and from Equinox with a loss of optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from examples.models import Draw, Model


def mlp() -> Model:
    """Two layers, relu, mean squared error."""
    draw = Draw()

    def loss(params, x, target):
        h = jax.nn.relu(x @ params["W1"] + params["b1"])
        return jnp.mean((h @ params["W2"] + params["b2"] - target) ** 2)

    params = {"W1": draw(4, 8), "b1": draw(8), "W2": draw(8, 3), "b2": draw(3)}
    return loss, (params, draw(5, 4), draw(5, 3))


def classifier() -> Model:
    """`eqx.nn.MLP` with gelu under `jax.vmap`, cross-entropy of optax."""
    model = eqx.nn.MLP(4, 3, 8, 2, activation=jax.nn.gelu, key=jax.random.key(0))

    def loss(model, x, labels):
        logits = jax.vmap(model)(x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    draw = Draw()
    return loss, (model, draw(5, 4), draw.integers(3, 5))
