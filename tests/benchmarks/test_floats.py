"""What `benchmarks/floats.py` says of an op is what it is: a rule that cancels is told from one that does not."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.floats import apart, measured


def test_units_are_those_of_the_dtype() -> None:
    exact = np.array([Fraction(1), Fraction(3, 2), Fraction(1, 1024)], object)
    found = np.array([1, 1.5, 2.0**-10], np.float32)
    assert apart(found, exact, jnp.float32) == 0
    found[1] += 10 * np.float32(2.0**-23)
    assert apart(found, exact, jnp.float32) == 10
    assert apart(np.array([1, np.inf, 0], np.float32), exact, jnp.float32) == np.inf


@pytest.mark.parametrize("name, most", [("exp", 2), ("matmul", 4)])
def test_ops_that_are_accurate(name: str, most: float) -> None:
    row = measured(name, ["float32", "bfloat16"])
    assert not row.without
    assert {*row.ulps["float32"]} == {"forward", "jvp", "vjp"}
    assert all(ulp <= most for ulp in row.ulps["float32"].values())
    assert not row.beyond()
