"""Rules that see symbolic zeros: which cotangents are, and which inputs are perturbed. Each with a right twin."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from tests.doors.examples import Variant


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


def first(rule):
    return lambda x: jnp.square(rule(x)[0])


def second_in_a_comparison(rule):
    def run(x):
        a, b = rule(x)
        return jnp.where(b > 1, a, 2 * a)

    return run


def second_stopped(rule):
    def run(x):
        a, b = rule(x)
        return a * (1 + jnp.floor(jax.lax.stop_gradient(b) * 0))

    return run


def in_a_scan(rule):
    return lambda x: jax.lax.scan(lambda c, _: (c + rule(c * x)[0], None), jnp.sum(x), None, length=2)[0]


def in_a_carry(rule):
    """The second output is handed on, to no use: JAX may make its cotangent an array of zeros, or drop it."""
    return lambda x: jax.lax.scan(lambda c, _: (rule(c[0] * x), None), (jnp.sum(x), 0.0 * jnp.sum(x)), None, length=2)[
        0
    ][0]


def in_a_vmap(rule):
    return lambda x: jnp.sum(jax.vmap(lambda row: rule(row)[0])(x))


def in_jit(rule):
    return lambda x: jax.jit(rule)(x)[0]


def in_remat(rule):
    return lambda x: jax.checkpoint(lambda y: rule(y)[0])(x)


def in_a_branch(rule):
    return lambda x: jax.lax.cond(jnp.sum(x) > 0, lambda y: rule(y)[0], jnp.sum, x)


def w_held(rule):
    return lambda x: jnp.sum(rule(x, jax.lax.stop_gradient(jnp.ones_like(x))))


def w_held_in_a_scan(rule):
    return lambda x: jnp.sum(jax.lax.scan(lambda c, row: (rule(c, row), None), x, jnp.ones((2, *x.shape)))[0])


def both_move(rule):
    return lambda x, w: jnp.sum(rule(x, w))


OF_TWO, PRODUCT = "n -> , ", "n, n -> n"
VARIANTS = [
    Variant("moments", OF_TWO, both_moments, first),
    Variant("spread", OF_TWO, both_moments, first),
    Variant("product", PRODUCT, jnp.multiply, w_held),
    Variant("pushed", PRODUCT, jnp.multiply, w_held),
    Variant("moments", OF_TWO, both_moments, second_in_a_comparison),
]
ELSEWHERE = [
    Variant("moments", OF_TWO, both_moments, second_stopped),
    Variant("moments", OF_TWO, both_moments, in_a_scan),
    Variant("moments", OF_TWO, both_moments, in_a_carry),
    Variant("moments", OF_TWO, both_moments, in_a_vmap, ("x: m n",)),
    Variant("moments", OF_TWO, both_moments, in_jit),
    Variant("moments", OF_TWO, both_moments, in_remat),
    Variant("moments", OF_TWO, both_moments, in_a_branch),
    Variant("spread", OF_TWO, both_moments, in_remat),
    Variant("product", PRODUCT, jnp.multiply, w_held_in_a_scan),
    Variant("product", PRODUCT, jnp.multiply, both_move, ("x: n", "w: n")),
    Variant("pushed", PRODUCT, jnp.multiply, both_move, ("x: n", "w: n")),
]
"""Inside of what else a node may be: for one door to graphs."""
