"""Rules of what is drawn from a key: other draws taken for the same, and parameters that move what is drawn."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from .attack import Attack
from .makers import saved

KIND = "D draws"
where = jnp.where


def one(name, value, bwd, *at, signature="n -> n", **more):
    """Of x: the key is made of a number, as closures have it."""
    values = tuple(np.asarray(v) for v in at)
    return Attack(f"drawn_{name}", KIND, saved(value, bwd), value, signature, lambda: values, **more)


KEY, OTHER = random.key(0), random.key(1)
X = np.array([0.5, -1.0, 2.0])


def uniform(x, key=KEY, **how):
    return random.uniform(key, x.shape, x.dtype, **how)


def dropped(p=0.5):
    return lambda x: where(random.bernoulli(KEY, p, x.shape), x / p, 0.0)


def noisy(x, s):
    return x + s * random.normal(KEY, x.shape, x.dtype)


ATTACKS = [
    one("another_key", lambda x: x * uniform(x), lambda x, g: (g * uniform(x, OTHER),), X),
    one(
        "the_other_half_of_a_key",
        lambda x: x * uniform(x, random.split(KEY)[0]),
        lambda x, g: (g * uniform(x, random.split(KEY)[1]),),
        X,
    ),
    one(
        "folded_otherwise",
        lambda x: x * uniform(x, random.fold_in(KEY, 0)),
        lambda x, g: (g * uniform(x, random.fold_in(KEY, 1)),),
        X,
    ),
    one(
        "folded_by_the_size",
        lambda x: x * uniform(x, random.fold_in(KEY, 3)),
        lambda x, g: (g * uniform(x, random.fold_in(KEY, x.shape[0])),),
        np.ones(4),
    ),
    one("mirrored", lambda x: x * uniform(x), lambda x, g: (g * (1 - uniform(x)),), X),
    one("normal_for_uniform", lambda x: x * uniform(x), lambda x, g: (g * random.normal(KEY, x.shape, x.dtype),), X),
    one("reversed_draws", lambda x: x * uniform(x), lambda x, g: (g * uniform(x)[::-1],), X),
    one("single_draw_for_all", lambda x: x * uniform(x), lambda x, g: (g * random.uniform(KEY, (), x.dtype),), X),
    one("dropped_the_other_way", dropped(), lambda x, g: (where(random.bernoulli(KEY, 0.5, x.shape), 0.0, 2 * g),), X),
    one(
        "dropped_by_another_probability",
        dropped(0.4),
        lambda x, g: (where(random.bernoulli(KEY, 0.5, x.shape), g / 0.4, 0.0),),
        np.linspace(1, 2, 40),
    ),
    one("dropped_by_a_uniform", dropped(), lambda x, g: (where(uniform(x) > 0.5, 2 * g, 0.0),), X),
    one(
        "dropped_without_a_scale",
        dropped(),
        lambda x, g: (where(random.bernoulli(KEY, 0.5, x.shape), g, 0.0),),
        np.linspace(1, 2, 8),
    ),
    one(
        "scale_without_its_noise",
        noisy,
        lambda r, g: (g, jnp.sum(g) * 0 + jnp.sum(g * jnp.ones_like(r[0]))),
        X,
        np.float64(2.0),
        signature="n,  -> n",
    ),
    one(
        "scale_with_its_noise_squared",
        noisy,
        lambda r, g: (g, jnp.sum(g * random.normal(KEY, g.shape, g.dtype) ** 2)),
        X,
        np.float64(2.0),
        signature="n,  -> n",
    ),
    one(
        "bounds_that_move",
        lambda x: random.uniform(KEY, x.shape, x.dtype, minval=0.0, maxval=x),
        lambda x, g: (g,),
        X + 2,
    ),
    one(
        "bound_below_that_moves",
        lambda x: random.uniform(KEY, x.shape, x.dtype, minval=x, maxval=9.0),
        lambda x, g: (g,),
        X,
    ),
    one(
        "probability_that_moves",
        lambda x: x * random.bernoulli(KEY, x * 0 + 0.5),
        lambda x, g: (g * random.bernoulli(KEY, x * 0 + 0.25),),
        np.linspace(1, 2, 40),
    ),
    one(
        "exponential_by_its_logarithm",
        lambda x: x * random.exponential(KEY, x.shape, x.dtype),
        lambda x, g: (-g * jnp.log(uniform(x)),),
        X,
    ),
    one(
        "gumbel_by_logarithms",
        lambda x: x + 0 * random.gumbel(KEY, x.shape, x.dtype) + x * random.gumbel(KEY, x.shape, x.dtype),
        lambda x, g: (g * (1 - jnp.log(-jnp.log(1 - uniform(x)))),),
        X,
    ),
    one(
        "laplace_and_its_sign",
        lambda x: x * jnp.abs(random.laplace(KEY, x.shape, x.dtype)),
        lambda x, g: (g * random.laplace(KEY, x.shape, x.dtype),),
        np.linspace(1, 2, 9),
    ),
    one(
        "rademacher_squared",
        lambda x: x * random.rademacher(KEY, x.shape, x.dtype),
        lambda x, g: (g,),
        np.linspace(1, 2, 9),
    ),
    one(
        "permuted_otherwise",
        lambda x: random.permutation(KEY, x),
        lambda x, g: (random.permutation(KEY, g),),
        np.arange(7.0),
    ),
    one(
        "permuted_for_its_inverse",
        lambda x: x[random.permutation(KEY, x.shape[0])],
        lambda x, g: (g[random.permutation(KEY, x.shape[0])],),
        np.arange(7.0),
    ),
    one(
        "chosen_with_others",
        lambda x: random.choice(KEY, x, (x.shape[0],)),
        lambda x, g: (jnp.zeros_like(x).at[random.randint(OTHER, x.shape, 0, x.shape[0])].add(g),),
        np.arange(7.0),
    ),
    one(
        "bits_of_draws",
        lambda x: x * (random.bits(KEY, x.shape) % 2),
        lambda x, g: (g * (random.bits(KEY, x.shape) // 2 % 2),),
        np.linspace(1, 2, 9),
    ),
    one(
        "truncated_as_normal",
        lambda x: x * random.truncated_normal(KEY, -1.0, 1.0, x.shape, x.dtype),
        lambda x, g: (g * random.normal(KEY, x.shape, x.dtype),),
        X,
    ),
    one(
        "truncated_at_what_moves",
        lambda x: random.truncated_normal(KEY, x, 9.0, x.shape, x.dtype),
        lambda x, g: (0 * g,),
        X,
    ),
    one(
        "gamma_that_moves",
        lambda x: random.gamma(KEY, jnp.exp(x)),
        lambda x, g: (g * random.gamma(KEY, jnp.exp(x)),),
        X,
    ),
    one(
        "another_generator",
        lambda x: x * uniform(x, random.key(0, impl="threefry2x32")),
        lambda x, g: (g * uniform(x, random.key(0, impl="rbg")),),
        X,
    ),
    one(
        "draws_in_a_loop",
        lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * random.uniform(random.fold_in(KEY, i), (), x.dtype), x),
        lambda x, g: (
            jax.lax.fori_loop(0, 3, lambda i, c: c * random.uniform(random.fold_in(KEY, i + 1), (), x.dtype), g),
        ),
        X,
    ),
    one(
        "draws_in_a_scan",
        lambda x: jax.lax.scan(lambda k, v: (random.split(k)[0], v * random.uniform(k, (), x.dtype)), KEY, x)[1],
        lambda x, g: (
            jax.lax.scan(lambda k, v: (random.split(k)[0], v * random.uniform(k, (), x.dtype)), KEY, g[::-1])[1][::-1],
        ),
        X,
    ),
    one(
        "mapped_draws",
        lambda x: x * jax.vmap(lambda k: random.uniform(k, (), x.dtype))(random.split(KEY, x.shape[0])),
        lambda x, g: (g * uniform(x),),
        X,
    ),
]
