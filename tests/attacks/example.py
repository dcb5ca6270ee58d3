"""How an attack is written: two that any version refutes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .attack import Attack


def custom(function, fwd, bwd):
    """`function` with a backward rule of its own."""
    rule = jax.custom_vjp(function)
    rule.defvjp(fwd, bwd)
    return rule


ATTACKS = [
    Attack(
        "factor_of_two",
        "5 plain mistakes",
        lambda: custom(lambda x: x * x, lambda x: (x * x, x), lambda x, g: (x * g,)),
        lambda x: x * x,
        "n -> n",
        lambda: (np.array([1.0, 2.0]),),
    ),
    Attack(
        "square_root_of_a_square",
        "5 sqrt(x²) is |x|",
        lambda: custom(lambda x: jnp.sqrt(x * x), lambda x: (jnp.sqrt(x * x), x), lambda x, g: (g,)),
        lambda x: jnp.sqrt(x * x),
        "n -> n",
        lambda: (np.array([-1.0, 2.0]),),
    ),
]
