"""Rules as people write them."""

from functools import partial

import jax
import jax.numpy as jnp


@jax.custom_jvp
def square(x):
    return x * x


square.defjvp(lambda p, t: (p[0] * p[0], 2 * p[0] * t[0]))


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def power(x, k):
    return x**k


@power.defjvp
def _(k, primals, tangents):
    (x,), (dx,) = primals, tangents
    return power(x, k), k * x ** (k - 1) * dx


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def weighted(options, x):
    return options["c"] * x


weighted.defvjp(lambda o, x: (weighted(o, x), None), lambda o, r, g: (o["c"] * g,))


@jax.custom_vjp
def affine(p, x):
    return x @ p["w"] + p["b"]


def _affine_bwd(res, g):
    p, x = res
    return {"w": x.T @ g, "b": g.sum(0)}, g @ p["w"].T


affine.defvjp(lambda p, x: (affine(p, x), (p, x)), _affine_bwd)


def make(axis, factor=1.0):
    """A rule made anew in each call."""

    @jax.custom_vjp
    def total(x):
        return jnp.sum(x, axis=axis)

    def bwd(x, g):
        return (factor * jnp.expand_dims(g, axis) * jnp.ones_like(x),)

    total.defvjp(lambda x: (total(x), x), bwd)
    return total


@jax.custom_vjp
def never(x):
    return x


never.defvjp(lambda x: (x, None), lambda r, g: (g,))


@jax.custom_vjp
def dropout(x, key):
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0.0)


dropout.defvjp(
    lambda x, key: (dropout(x, key), key),
    lambda key, g: (jnp.where(jax.random.bernoulli(key, 0.5, g.shape), g, 0), None),
)


def _of_two(factor):
    @jax.custom_vjp
    def energy(x):
        assert x.shape[-1] & (x.shape[-1] - 1) == 0, "a power of 2"
        return jnp.sum(x**2)

    energy.defvjp(lambda x: (energy(x), x), lambda x, g: (factor * g * x,))
    return energy


of_two, of_two_wrong = _of_two(2), _of_two(3)
