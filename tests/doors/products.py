"""Complex products, of which a call gives −2e−17 for −0. JAX's cotangent is the output's times the derivative."""

import jax.numpy as jnp

from tests.doors.examples import Variant, twins

ONE, TWO = "n:complex -> n:complex", "n:complex, n:complex -> n:complex"


def square(z):
    return z * z


def quotient(z, w):
    return z / w


def with_conjugate(z, w):
    return z * jnp.conj(w)


def modulus(z):
    return (z * jnp.conj(z)).real


squared, wrong_squared = twins(ONE, square, lambda z, g: (2 * g * z,), lambda z, g: (2 * g * jnp.conj(z),))
divided, wrong_divided = twins(
    TWO, quotient, lambda z, w, g: (g / w, -g * z / (w * w)), lambda z, w, g: (g / w, g * z / (w * w))
)
conjugated, wrong_conjugated = twins(
    TWO,
    with_conjugate,
    lambda z, w, g: (g * jnp.conj(w), jnp.conj(g * z)),
    lambda z, w, g: (g * jnp.conj(w), g * z),
)
measured, wrong_measured = twins(
    "n:complex -> n", modulus, lambda z, g: (2 * g * jnp.conj(z),), lambda z, g: (2 * g * z,)
)


def of_parts(rule):
    """A real function of the parts of a complex array."""
    return lambda x, y: jnp.sum(jnp.real(rule(x + 1j * y)) ** 2)


def of_parts_twice(rule):
    def run(x, y):
        z = rule(x + 1j * y, 1 + x * y - 2j * x)
        return jnp.sum(z.real + 2 * z.imag * x)

    return run


PARTS = ("x: n", "y: n")
VARIANTS = [
    Variant("squared", ONE, square, of_parts, PARTS),
    Variant("divided", TWO, quotient, of_parts_twice, PARTS),
    Variant("conjugated", TWO, with_conjugate, of_parts_twice, PARTS),
    Variant("measured", "n:complex -> n", modulus, of_parts, PARTS),
]
