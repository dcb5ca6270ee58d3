"""A contrastive loss, and a step of Adam as a function of parameters, gradient and state."""

import jax
import jax.numpy as jnp
import optax

from examples.models import Draw, Model


def simclr() -> Model:
    """NT-Xent over normalised projections of two views (Chen et al. 2020)."""
    draw, count = Draw(), 3

    def loss(p, a, b):
        z = jnp.concatenate([a, b]) @ p["W"]
        z = z / jnp.sqrt(jnp.sum(z**2, axis=1, keepdims=True) + 1e-8)
        similarity = z @ z.T / 0.5
        similarity = jnp.where(jnp.eye(2 * count, dtype=bool), -1e9, similarity)
        positive = jnp.concatenate([jnp.arange(count, 2 * count), jnp.arange(count)])
        log_probabilities = jax.nn.log_softmax(similarity)
        return -jnp.mean(log_probabilities[jnp.arange(2 * count), positive])

    return loss, ({"W": draw(4, 5)}, draw(count, 4), draw(count, 4))


def adam_step() -> Model:
    """The sum of squares of the parameters after optax's update: differentiated through parameters and gradient."""
    draw = Draw()
    optimizer = optax.adam(1e-2)
    params = {"W": draw(3, 2), "b": draw(2)}
    state = optimizer.init(params)

    def loss(params, gradient):
        updates, _ = optimizer.update(gradient, state, params)
        return sum(jnp.sum(x**2) for x in jax.tree.leaves(optax.apply_updates(params, updates)))

    return loss, (params, {"W": draw(3, 2), "b": draw(2)})
