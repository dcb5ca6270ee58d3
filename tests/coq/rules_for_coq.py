"""Rules in code for the tests: right ones and, under names that begin with `wrong`, mistakes."""

from functools import partial

import jax
import jax.numpy as jnp

import certgrad


def rule(signature, function, vjp, **options):
    """The function with a VJP in terms of its arguments and the seed."""
    made = jax.custom_vjp(function)
    made.defvjp(lambda *xs: (function(*xs), xs), lambda xs, g: vjp(*xs, g))
    return certgrad.declare(signature, **options)(made)


softplus = rule("n", lambda x: jnp.log(1 + jnp.exp(x)), lambda x, g: (g / (1 + jnp.exp(-x)),))
scores = rule("n d, d -> n", lambda x, w: x @ w, lambda x, w, g: (jnp.outer(g, w), x.T @ g))
log_softmax = rule(
    "n d",
    lambda x: jax.nn.log_softmax(x, axis=1),
    lambda x, g: (g - jax.nn.softmax(x, axis=1) * jnp.sum(g, axis=1, keepdims=True),),
)
logarithm = rule("n", jnp.log, lambda x, g: (g / x,), domain="x > 0")
names = rule(
    "n, n, n -> n", lambda x, dx, seed: x * dx * seed, lambda x, dx, seed, g: (g * dx * seed, g * x * seed, g * x * dx)
)

wrong_softplus = rule("n", lambda x: jnp.log(1 + jnp.exp(x)), lambda x, g: (g / (1 + jnp.exp(x)),))
wrong_scores = rule("n n, n -> n", lambda x, w: x @ w, lambda x, w, g: (jnp.outer(w, g), x.T @ g))
wrong_log_softmax = rule(
    "n d",
    lambda x: jax.nn.log_softmax(x, axis=1),
    lambda x, g: (g - jax.nn.softmax(x, axis=1) * jnp.mean(g, axis=1, keepdims=True),),
)
wrong_logarithm = rule("n", jnp.log, lambda x, g: (g / (x + 1e-6),), domain="x > 0")
wrong_names = rule("n, n -> n", lambda x, dx: x * dx, lambda x, dx, g: (g * x, g * dx))


@certgrad.declare("n -> n", static={"a": certgrad.real("a > 0")})
@partial(jax.custom_jvp, nondiff_argnums=(1,))
def scaled(x, a):
    """x³ / a."""
    return x**3 / a


scaled.defjvp(lambda a, xs, dxs: (scaled(xs[0], a), 3 * xs[0] ** 2 * dxs[0] / a))
