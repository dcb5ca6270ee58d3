"""Approximations that are near their ideal at one order, or in one half of the arguments, and elsewhere are not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import certgrad

from .attack import Attack
from .written import reverse

KIND = "D orders of approximations"
where = jnp.where


def at(*values):
    found = tuple(np.asarray(v) for v in values)
    return lambda: found


def shifted_cosine(x, k):
    return jnp.cos(x + k * jnp.pi / 2)


def table(value, domain=(), declared=0):
    """cos(x + k·π/2) at the order that is declared; what `value` says at others."""

    def make():
        f = jax.custom_jvp(lambda x, k: jnp.cos(x) if k == 0 else value(x, k), nondiff_argnums=(1,))
        f.defjvp(lambda k, p, t: (f(*p, k), f(*p, k + 1) * t[0]))
        said = {"static": {"k": declared}, "domain": domain, "approximates": shifted_cosine}
        return certgrad.declare("n -> n", **said)(f)

    return make


def cosine_by(value, order=1, **how):
    """The cosine, whose backward takes the value of another order."""

    def make():
        f = table(value, **how)()
        sign = 1 if order == 1 else -1
        return reverse(lambda x: jnp.cos(x), lambda x, g: sign * g * f(x, order))

    return make


def one(name, make, x, domain=(), **more):
    return Attack(
        f"order_{name}",
        KIND,
        make,
        jnp.cos,
        "n -> n",
        at(np.array(x)),
        domain=domain,
        declared={"approximates": jnp.cos},
        **more,
    )


ATTACKS = [
    one("right_below_zero", cosine_by(lambda x, k: where(x > 0, 1.0, -1.0) * jnp.sin(x)), [2.0]),
    one("right_above_zero", cosine_by(lambda x, k: where(x < 0, 1.0, -1.0) * jnp.sin(x)), [-2.0]),
    one("right_near_zero", cosine_by(lambda x, k: where(jnp.abs(x) > 1, 0.0, -1.0) * jnp.sin(x)), [2.0]),
    one("right_far_away", cosine_by(lambda x, k: where(jnp.abs(x) < 1, 0.0, -1.0) * jnp.sin(x)), [0.5]),
    one(
        "right_at_first_entries",
        cosine_by(lambda x, k: where(jnp.arange(x.shape[0]) < 2, -1.0, 1.0) * jnp.sin(x)),
        [1.0, 2.0, 3.0],
    ),
    one("right_by_a_series", cosine_by(lambda x, k: -x + x**3 / 6 - x**5 / 120), [4.0]),
    one("right_to_the_third_digit", cosine_by(lambda x, k: -jnp.sin(x) * (1 + 0.2 * x)), [4.0]),
    one("order_minus_one", cosine_by(lambda x, k: where(x > 0, -1.0, 1.0) * jnp.sin(x), order=-1), [2.0]),
    one("far_orders", cosine_by(lambda x, k: -jnp.sin(x) * where(x == 2, 3.0, 1.0)), [2.0]),
]
