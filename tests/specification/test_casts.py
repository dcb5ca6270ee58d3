"""What a claim says of integers that go through floats and back."""

import jax
import jax.numpy as jnp
import pytest

import certgrad.exact


def rule(dtype):
    """x², whose rule multiplies by what is 1 where an integer goes through the dtype and back unchanged."""
    square = jax.custom_vjp(lambda x, k: x * x)
    square.defvjp(
        lambda x, k: (x * x, (x, k)),
        lambda saved, g: (2 * saved[0] * g * (1 + saved[1] - saved[1].astype(dtype).astype(jnp.int32)), None),
    )
    return square


@pytest.mark.parametrize("dtype, exact", [(jnp.bfloat16, 8), (jnp.float16, 11), (jnp.float32, 24)])
def test_a_claim_says_up_to_which_size_integers_are_exact_in_floats(dtype, exact):
    report = certgrad.check(rule(dtype), "n, n:int -> n")
    assert report.verdict == "proved"
    text = f"integers are in the range of int32, and below 2^{exact} where they come from {jnp.dtype(dtype)}"
    assert text in report.rests_on


def test_real_numbers_in_unsigned_integers_are_cast_to_integers():
    """The number of squarings of a matrix exponential is such a one."""
    result = certgrad.exact.check(jax.scipy.linalg.expm, "2 2 -> 2 2")
    assert result.verdict == "outside"
    assert "wrap around" in result.reason


def test_float64_holds_each_integer_of_32_bits():
    report = certgrad.check(rule(jnp.float64), "n, n:int -> n")
    assert "integers are in the range of int32" in report.rests_on
