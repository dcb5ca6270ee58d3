"""What is known of every row of an array, asked of sums over its entries in other orders."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .attack import Attack
from .makers import saved

KIND = "D facts at bound indices"


def one(name, value, bwd, signature, *at, **more):
    return Attack(
        f"bound_{name}", KIND, saved(value, bwd), value, signature, lambda: tuple(map(np.asarray, at)), **more
    )


def log_rows_and(other, pull):
    """Σ_j x_ij > 0 for every i, as the logarithm asks; beside it the modulus of another sum."""

    def value(x):
        return jnp.log(jnp.sum(x, 1)) + jnp.abs(other(x))

    def bwd(x, g):
        return (g[:, None] / jnp.sum(x, 1)[:, None] + pull(x, g),)

    return value, bwd


X = np.array([[-1.0, 5.0], [5.0, -1.0]])
ATTACKS = [
    one("trace", *log_rows_and(jnp.trace, lambda x, g: jnp.sum(g) * jnp.eye(x.shape[0])), "n n -> n", X),
    one("diagonal", *log_rows_and(jnp.diagonal, lambda x, g: jnp.diag(g)), "n n -> n", X),
    one(
        "column",
        *log_rows_and(lambda x: jnp.sum(x, 0), lambda x, g: jnp.zeros_like(x) + g),
        "n n -> n",
        np.array([[-1.0, 5.0], [-2.0, 3.0]]),
    ),
    one(
        "turned",
        *log_rows_and(
            lambda x: jnp.sum(x[:, ::-1] * jnp.eye(x.shape[0])), lambda x, g: jnp.sum(g) * jnp.eye(x.shape[0])[:, ::-1]
        ),
        "n n -> n",
        np.array([[5.0, -1.0], [-1.0, 5.0]]),
    ),
    one(
        "squares_of_the_trace",
        *log_rows_and(
            lambda x: jnp.trace(x) ** 3, lambda x, g: jnp.sum(g) * 3 * jnp.trace(x) ** 2 * jnp.eye(x.shape[0])
        ),
        "n n -> n",
        X,
    ),
]
