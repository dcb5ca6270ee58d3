"""A contrastive loss."""

import jax
import jax.numpy as jnp

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
