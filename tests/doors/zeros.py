"""Rules that see symbolic zeros: which cotangents are, and which inputs are perturbed. Each with a right twin."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero


def zero(t):
    return t is None or isinstance(t, SymbolicZero)


def array(t, like):
    return jnp.zeros_like(like) if zero(t) else t


def both_moments(x):
    return jnp.mean(x), jnp.mean(x * x)


def backward_of_moments(forgets):
    def bwd(x, g):
        (a, b), n = g, x.size
        if zero(b):
            return (jnp.broadcast_to(a if forgets else a / n, x.shape),)
        return ((array(a, b) + 2 * x * b) / n,)

    return bwd


@jax.custom_vjp
def moments(x):
    return both_moments(x)


moments.defvjp(lambda x: (both_moments(x.value), x.value), backward_of_moments(False), symbolic_zeros=True)


@jax.custom_vjp
def wrong_moments(x):
    return both_moments(x)


wrong_moments.defvjp(lambda x: (both_moments(x.value), x.value), backward_of_moments(True), symbolic_zeros=True)


def forward_of_product(factor):
    def fwd(x, w):
        return x.value * w.value, (x.value, w.value if w.perturbed else factor * w.value)

    return fwd


@jax.custom_vjp
def product(x, w):
    return x * w


product.defvjp(forward_of_product(1), lambda r, g: (g * r[1], g * r[0]), symbolic_zeros=True)


@jax.custom_vjp
def wrong_product(x, w):
    return x * w


wrong_product.defvjp(forward_of_product(2), lambda r, g: (g * r[1], g * r[0]), symbolic_zeros=True)


@eqx.filter_custom_vjp
def spread(x):
    return both_moments(x)


@spread.def_fwd
def _(perturbed, x):
    return both_moments(x), None


@spread.def_bwd
def _(residuals, g, perturbed, x):
    return backward_of_moments(False)(x, g)[0]


@eqx.filter_custom_vjp
def wrong_spread(x):
    return both_moments(x)


@wrong_spread.def_fwd
def _(perturbed, x):
    return both_moments(x), None


@wrong_spread.def_bwd
def _(residuals, g, perturbed, x):
    return backward_of_moments(True)(x, g)[0]


@jax.custom_jvp
def pushed(x, w):
    return x * w


@jax.custom_jvp
def wrong_pushed(x, w):
    return x * w


def forward_mode(factor):
    def push(primals, tangents):
        (x, w), (dx, dw) = primals, tangents
        if zero(dw):
            return x * w, factor * array(dx, x) * w
        return x * w, array(dx, x) * w + x * dw

    return push


pushed.defjvp(forward_mode(1), symbolic_zeros=True)
wrong_pushed.defjvp(forward_mode(3), symbolic_zeros=True)
