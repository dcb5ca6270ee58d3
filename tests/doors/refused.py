"""Backwards that JAX refuses at every shape that the function accepts."""

import jax.numpy as jnp

from tests.doors.examples import Variant, twins


def right(x, g):
    return (2 * x * g,)


summed_up, wrong_summed_up = twins("n -> n", jnp.square, right, lambda x, g: (jnp.sum(2 * x * g),))
one_too_many, wrong_one_too_many = twins("n -> n", jnp.square, right, lambda x, g: (2 * x * g, None))
misspelt, wrong_misspelt = twins("n -> n", jnp.square, right, lambda x, g: (jnp.multipy(2 * x, g),))
too_long, wrong_too_long = twins("n -> n", jnp.square, right, lambda x, g: (jnp.concatenate([x * g, x * g]),))

VARIANTS = [Variant(rule, "n -> n", jnp.square) for rule in ("summed_up", "one_too_many", "misspelt", "too_long")]
