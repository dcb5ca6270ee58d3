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
        (a, b), n = g, x.shape[0]
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


def forward_of_product(x, w):
    return x.value * w.value, (x.value, w.value, None if w.perturbed else 0)


@jax.custom_vjp
def product(x, w):
    return x * w


product.defvjp(forward_of_product, lambda r, g: (g * r[1], g * r[0]), symbolic_zeros=True)


@jax.custom_vjp
def wrong_product(x, w):
    return x * w


def backward_of_wrong_product(r, g):
    x, w, alone = r
    return (g * w if alone is None else 2 * g * w), g * x


wrong_product.defvjp(forward_of_product, backward_of_wrong_product, symbolic_zeros=True)


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
