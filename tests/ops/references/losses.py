"""References of the losses."""

import jax
import jax.numpy as jnp

from ._reference import Reference


def reduced(losses, reduction):
    return {"none": lambda x: x, "mean": jnp.mean, "sum": jnp.sum}[reduction](losses)


def of_difference(loss):
    """The reference of a loss of x - target, with a parameter or without."""
    return Reference(lambda x, target, *, reduction, **params: reduced(loss(x - target, **params), reduction))


def cross_entropy_logits(x, target, *, reduction):
    return reduced(-jnp.sum(target * jax.nn.log_softmax(x), -1), reduction)


def binary_cross_entropy_with_logits(x, target, *, reduction):
    return reduced(-target * jax.nn.log_sigmoid(x) - (1 - target) * jax.nn.log_sigmoid(-x), reduction)


def cosine_similarity_loss(x, target, *, eps, reduction):
    norms = jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(target, axis=-1)
    return reduced(1 - jnp.sum(x * target, -1) / jnp.maximum(norms, eps), reduction)


def huber(d, *, delta):
    return jnp.where(jnp.abs(d) <= delta, d * d / 2, delta * (jnp.abs(d) - delta / 2))


def smooth_l1(d, *, beta):
    return jnp.where(jnp.abs(d) < beta, d * d / (2 * beta), jnp.abs(d) - beta / 2)


REFERENCES = {
    "binary_cross_entropy_with_logits": Reference(binary_cross_entropy_with_logits),
    "cosine_similarity_loss": Reference(cosine_similarity_loss),
    "cross_entropy_logits": Reference(cross_entropy_logits),
    "huber": of_difference(huber),
    "mae": of_difference(jnp.abs),
    "mse": of_difference(jnp.square),
    "smooth_l1": of_difference(smooth_l1),
}
