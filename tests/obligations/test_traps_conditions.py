"""Conditions: divisions that cancel, branches that are not selected, guards, domains of functions."""

import jax.numpy as jnp
from jax import lax

from tests.obligations.traps import Trap, declare

where = jnp.where


def on_identity(slope, **options):
    """An op whose forward is the identity and whose rules multiply by `slope(x)`."""
    return declare("*s -> *s", lambda x: x, lambda x, g: slope(x) * g, **options)


def product(vjp):
    return declare("*s, *s -> *s", lambda x, y: x * y, lambda x, y, dx, dy: dx * y + x * dy, vjp)


DIVISIONS = [
    Trap(
        "x*y: g*(x*y)/x is 0/0 at x = 0",
        product(lambda x, y, g: (where(x != 0, g * (x * y) / where(x != 0, x, 1.0), 0.0), g * x)),
        at=(0.0, 2.0),
        right=product(lambda x, y, g: (g * y, g * x)),
    ),
    Trap(
        "x/x is not 1 at 0: times 0 does not drop the condition",
        on_identity(lambda x: where(x == 0, 0.0, 1.0) + 0 / where(x == 0, 1.0, x)),
        at=(0.0,),
        right=on_identity(lambda x: x / x, domain=("x != 0",)),
        hypotheses={"x ≠ 0"},
        fine=(2.0,),
    ),
    Trap(
        "the lane that is not selected keeps its value when a denominator vanishes there",
        on_identity(lambda x: where(x > 0, x / where(x > 0, x, 0.0), 5.0)),
        at=(-1.0,),
        right=on_identity(lambda x: where(x > 0, x / where(x > 0, x, 1.0), 1.0)),
    ),
    Trap(
        "a sum of masked terms as denominator",
        on_identity(lambda x: where(x > 0, (x + 1) / (where(x > 0, x, 0.0) + where(x > 0, 1.0, 0.0)), 5.0)),
        at=(-1.0,),
        right=on_identity(lambda x: where(x > 0, (x + 1) / (where(x > 0, x, 0.0) + where(x > 0, 1.0, 1.0)), 1.0)),
    ),
    Trap(
        "a masked cube root as denominator",
        on_identity(lambda x: where(x > 0, jnp.cbrt(x) / jnp.cbrt(where(x > 0, x, 0.0)), 5.0)),
        at=(-1.0,),
        right=on_identity(lambda x: where(x > 0, jnp.cbrt(x) / jnp.cbrt(where(x > 0, x, 1.0)), 1.0)),
    ),
    Trap(
        "a masked reciprocal root",
        on_identity(lambda x: where(x > 0, jnp.sqrt(where(x > 0, x, 1.0)) * lax.rsqrt(where(x > 0, x, 0.0)), 5.0)),
        at=(-1.0,),
        right=on_identity(
            lambda x: where(x > 0, jnp.sqrt(where(x > 0, x, 1.0)) * lax.rsqrt(where(x > 0, x, 1.0)), 1.0)
        ),
    ),
    Trap(
        "the lane under a sum",
        declare(
            "n -> ",
            lambda x: jnp.sum(x),
            lambda x, dx: jnp.sum(where(x > 0, x / where(x > 0, x, 0.0), 5.0) * dx),
            lambda x, g: g * where(x > 0, x / where(x > 0, x, 0.0), 5.0),
        ),
        at=([1.0, -1.0],),
        right=declare(
            "n -> ",
            lambda x: jnp.sum(x),
            lambda x, dx: jnp.sum(where(x > 0, x / where(x > 0, x, 1.0), 1.0) * dx),
            lambda x, g: g * where(x > 0, x / where(x > 0, x, 1.0), 1.0),
        ),
    ),
    Trap(
        "the mask is a boolean argument",
        declare(
            "*s, *s:bool -> *s", lambda x, m: x, lambda x, m, g: where(m, 1 / where(m, x * x + 1, 0.0), 5.0) * g * x
        ),
        at=(2.0, False),
        right=declare(
            "*s, *s:bool -> *s",
            lambda x, m: x,
            lambda x, m, g: where(m, (x * x + 1) / where(m, x * x + 1, 1.0), 1.0) * g,
        ),
    ),
    Trap(
        "nested selections: the inner denominator vanishes in an outer lane",
        on_identity(
            lambda x: where(x > 1, x / where(x > 1, x, 0.0), where(x > 0, (x + x) / where(x > 0, x, 0.0), 1.0))
        ),
        at=(0.5,),
        right=on_identity(
            lambda x: where(x > 1, x / where(x > 1, x, 2.0), where(x > 0, x / where(x > 0, x, 3.0), 1.0))
        ),
    ),
    Trap(
        "1/where(...) hides the pole in another lane",
        on_identity(lambda x: 1 / where(x > 0, 1.0, where(x < 0, 1.0, 2.0))),
        at=(0.0,),
        right=on_identity(lambda x: 1 / where(x > 0, 1.0, where(x < 0, 1.0, 1.0))),
    ),
]

GUARDS = [
    Trap(
        "where(x > 0, sqrt(x), 0) with the plain chain rule is NaN for x <= 0",
        declare(
            "*s -> *s",
            lambda x: where(x > 0, jnp.sqrt(where(x > 0, x, 1.0)), 0.0),
            lambda x, g: where(x > 0, 1.0, 0.0) * g / (2 * jnp.sqrt(x)),
        ),
        at=(-1.0,),
        needs={"x > 0"},
        right=declare(
            "*s -> *s",
            lambda x: where(x > 0, jnp.sqrt(where(x > 0, x, 1.0)), 0.0),
            lambda x, g: where(x > 0, g / (2 * jnp.sqrt(where(x > 0, x, 1.0))), 0.0),
        ),
        hypotheses={"x ≠ 0"},
    ),
    Trap(
        "a guard that leaves the boundary in",
        declare(
            "*s -> *s",
            lambda x: where(x >= 0, jnp.sqrt(jnp.abs(x)) * x, 0.0),
            lambda x, g: where(x >= 0, 1.5 * x / jnp.sqrt(jnp.abs(x)), 0.0) * g,
            domain="x >= 0",
        ),
        at=(0.0,),
        needs={"x ≠ 0"},
    ),
    Trap(
        "multiplying by a mask does not guard a logarithm",
        declare(
            "*s -> *s",
            lambda x: where(x > 0, jnp.log(where(x > 0, x, 1.0)), 0.0),
            lambda x, g: jnp.log(x) * 0.0 + where(x > 0, g / where(x > 0, x, 1.0), 0.0),
        ),
        at=(-1.0,),
        needs={"x > 0"},
        right=declare(
            "*s -> *s",
            lambda x: where(x > 0, jnp.log(where(x > 0, x, 1.0)), 0.0),
            lambda x, g: where(x > 0, g / where(x > 0, x, 1.0), 0.0),
        ),
        hypotheses={"x ≠ 0"},
    ),
]
