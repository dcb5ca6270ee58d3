"""Rules that are nan where their function is smooth, at points that a hypothesis of theirs excludes."""

import jax.numpy as jnp

from tests.doors.examples import Variant, summed, twins

ONE, TWO = "n -> n", "n, n -> n"


def product(x, y):
    return x * y


def bent(x):
    return x * jnp.abs(x)


def square(x):
    return x * x


multiplied, wrong_multiplied = twins(
    TWO, product, lambda x, y, g: (g * y, g * x), lambda x, y, g: (g * (x * y) / x, g * x)
)
doubled, wrong_doubled = twins(
    ONE, bent, lambda x, g: (2 * g * jnp.abs(x),), lambda x, g: (2 * g * x * x / jnp.abs(x),)
)
squared, wrong_squared = twins(
    ONE, square, lambda x, g: (2 * g * x,), lambda x, g: (2 * g * jnp.exp(2 * jnp.log(jnp.abs(x))) / x,)
)
stepped, wrong_stepped = twins(ONE, square, lambda x, g: (2 * g * x,), lambda x, g: (jnp.where(x == 0, g, 2 * g * x),))
VARIANTS = [
    Variant("multiplied", TWO, product, summed, ("x: n", "y: n")),
    Variant("doubled", ONE, bent),
    Variant("squared", ONE, square),
    Variant("stepped", ONE, square),
]
