"""An infinity that is passed by is to have a value all the same: −∞·exp(log x) is none for x < 0."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad


def low(x):
    return -np.inf * jnp.exp(jnp.log(x))


THROUGH = {
    "maximum": lambda x, g: jnp.maximum(g, low(x)),
    "minimum": lambda x, g: jnp.minimum(g, -low(x)),
    "above": lambda x, g: jnp.where(g > low(x), g, 0.0),
    "two of them": lambda x, g: jnp.where(low(x) < -low(x), g, 0.0),
}


@pytest.mark.parametrize("name", THROUGH)
def test_a_cotangent_that_passes_by_an_infinity(name):
    f = jax.custom_vjp(lambda x: x * x / 2)
    f.defvjp(lambda x: (x * x / 2, x), lambda x, g: (x * THROUGH[name](x, g),))
    found = certgrad.check(f, "n -> n")
    assert (found.verdict, [str(h) for h in found.hypotheses]) == ("proved under hypotheses", ["x > 0"]), found


def test_one_entry_that_is_raised_to_an_infinity():
    """`exp(−∞)` is a number, and its slope is not that of the entry without its mask."""

    def value(x, y, kept):
        return jnp.exp(-x.at[0].max(jnp.where(kept, y, np.inf)))

    def back(r, g):
        x, y = r
        more = jnp.where(x[0] > y, 1.0, 0.0)
        g = -jnp.exp(-x.at[0].max(y)) * g
        return g.at[0].multiply(more), g[0] * (1 - more), None

    f = jax.custom_vjp(value)
    f.defvjp(lambda x, y, kept: (value(x, y, kept), (x, y)), back)
    found = certgrad.check(f, "n, , :bool -> n")
    assert "kept > 0" in [str(h) for h in found.hypotheses] or not found.proved, found
