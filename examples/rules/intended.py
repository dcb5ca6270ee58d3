"""Rules that deliberately are not the derivative, declared and undeclared."""

from functools import partial

import jax
import jax.numpy as jnp

import certgrad


@certgrad.declare("*s -> *s", surrogate="straight-through")
@jax.custom_vjp
def rounded(x):
    """Rounded, with the gradient passed through."""
    return jax.lax.round(x)


rounded.defvjp(lambda x: (jax.lax.round(x), None), lambda _, g: (g,))


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def wrong_undeclared_sign(x):
    """Straight-through, and nobody says so."""
    return jnp.sign(x)


wrong_undeclared_sign.defvjp(lambda x: (jnp.sign(x), None), lambda _, g: (g,))


@certgrad.declare("*s -> *s", surrogate="domain-adversarial training")
@jax.custom_vjp
def reversed_gradient(x):
    """The identity, with the gradient negated."""
    return x


reversed_gradient.defvjp(lambda x: (x, None), lambda _, g: (-g,))


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def wrong_undeclared_reversal(x):
    """The same, undeclared."""
    return x


wrong_undeclared_reversal.defvjp(lambda x: (x, None), lambda _, g: (-g,))


@certgrad.declare("*s -> *s", static={"limit": 1.0}, surrogate="clips the gradient")
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def clipped_gradient(x, limit):
    """The identity, with the gradient clipped."""
    return x


clipped_gradient.defvjp(lambda x, limit: (x, None), lambda limit, _, g: (jnp.clip(g, -limit, limit),))


@certgrad.declare("n d, d -> n d")
@jax.custom_vjp
def frozen_scale(x, w):
    """x·w, where w is not trained: no gradient, said by None."""
    return x * w


frozen_scale.defvjp(lambda x, w: (x * w, w), lambda w, g: (g * w, None))
