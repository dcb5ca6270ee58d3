"""A zero that is defined inside a domain."""

import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.obligations.tracing.within import UnsaidError, conditions, zero_within


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("x > 1", [2.0, 3.0], [2.0, 0.5]),
        ("x < 1/2", [0.0, -3.0], [0.75, 0.0]),
        ("x >= 1 and x <= 2", [1.0, 2.0], [1.0, 2.5]),
        ("x**2 != 4", [1.0, 3.0], [1.0, -2.0]),
        ("sqrt(x) > 1", [4.0, 9.0], [-4.0, 9.0]),
        ("x / 3 > 1 / 2", [2.0, 3.0], [1.25, 3.0]),
        ("1 / x > 2", [0.25, 0.125], [0.25, 0.75]),
    ],
)
def test_it_is_a_finite_zero_inside_and_not_finite_outside(text, inside, outside):
    said = conditions([text], ["x"])
    assert zero_within(said, {"x": jnp.asarray(inside)}, jnp.float32) == 0
    assert not np.isfinite(zero_within(said, {"x": jnp.asarray(outside)}, jnp.float32))


@pytest.mark.parametrize(
    "text",
    ["x > 0 or x < -1", "x not in integers", "x == 1", "x > 1/3", "2 / 3 * x > 1", "x > 1 / 0", "erf(x) > 0", "y > 0"],
)
def test_what_it_cannot_say(text):
    with pytest.raises(UnsaidError):
        conditions([text], ["x"])
