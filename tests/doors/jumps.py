"""Literals on a jump: √3 rounded down, of which the square is below 3. What the wrong rules say of it holds of √3."""

import jax.numpy as jnp

from tests.doors.examples import Variant, twins

ROOT = 1.7320508075688772


def identity(x):
    return x


def times(slope):
    return lambda x, g: (g * slope(jnp.square(ROOT + 0 * x)),)


compared, wrong_compared = twins(
    "n -> n",
    identity,
    times(lambda three: jnp.where(three >= 2.9, 1.0, 5.0)),
    times(lambda three: jnp.where(three >= 3, 1.0, 5.0)),
)
floored, wrong_floored = twins(
    "n -> n",
    identity,
    times(lambda three: jnp.floor(three + 0.5) - 2),
    times(lambda three: jnp.floor(three) - 2),
)
signed, wrong_signed = twins(
    "n -> n",
    identity,
    times(lambda three: 2 - jnp.sign(three - 2.9)),
    times(lambda three: 1 - jnp.sign(three - 3)),
)
looked_up, wrong_looked_up = twins(
    "n -> n",
    identity,
    times(lambda three: jnp.array([4.0, 3.0, 2.0, 1.0])[(three + 0.5).astype(int)]),
    times(lambda three: jnp.array([4.0, 3.0, 2.0, 1.0])[three.astype(int)]),
)

VARIANTS = [Variant(rule, "n -> n", identity) for rule in ("compared", "floored", "signed", "looked_up")]
