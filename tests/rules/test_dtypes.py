"""Rules that look at the dtype: float32 and float64 are proved on their own, and the claim names them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad


def rule(scale, returned=None):
    forward = lambda x: x * scale(x.dtype)
    function = jax.custom_vjp(forward)
    function.defvjp(lambda x: (forward(x), x), lambda x, g: (g * (returned or scale)(x.dtype),))
    return function


def of_width(dtype):
    return 2.0 if dtype == np.float64 else 3.0


def test_both_programs_are_proved():
    report = certgrad.check(rule(of_width), "n")
    assert report.verdict == "proved"
    assert report.dtypes.startswith("float32 and float64")
    assert "for float32 and float64" in str(report)


def test_a_rule_that_is_wrong_in_one_of_them_is_refuted():
    for wrong in (lambda d: 2.0, lambda d: 3.0):
        report = certgrad.check(rule(of_width, wrong), "n")
        assert report.verdict == "refuted"


def test_a_rule_for_float32_alone():
    @jax.custom_vjp
    def only(x):
        if x.dtype != jnp.float32:
            raise ValueError("float32 only")
        return 2 * x

    only.defvjp(lambda x: (only(x), None), lambda _, g: (2 * g,))
    report = certgrad.check(only, "n")
    assert report.verdict == "proved"
    assert report.dtypes.startswith("float32 only")


def test_an_impure_rule_is_not_a_rule_of_two_dtypes():
    count = iter(range(1, 1000))
    impure = jax.custom_vjp(lambda x: x * of_width(x.dtype))

    def backward(x, g):
        return (g * of_width(x.dtype) * (1.0 + 0 * next(count)) + 0.0 * g * next(count),)

    impure.defvjp(lambda x: (x * of_width(x.dtype), x), backward)
    assert not certgrad.check(impure, "n").proved


def test_a_rule_of_every_dtype_says_nothing_of_dtypes():
    double = jax.custom_vjp(lambda x: 2.0 * x)
    double.defvjp(lambda x: (2.0 * x, None), lambda _, g: (2.0 * g,))
    assert certgrad.check(double, "n").dtypes == ""


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (lambda x, d: jnp.ones(x.shape).astype(d).astype(x.dtype), "proved"),
        (lambda x, d: (17 * jnp.ones(x.shape, int)).astype(d).astype(x.dtype), "proved"),
        (lambda x, d: (18 * jnp.ones(x.shape, int)).astype(d).astype(x.dtype), "unproved"),
        (lambda x, d: ((7 * jnp.ones(x.shape, int)).astype(d) + jnp.asarray(7, d)).astype(x.dtype) / 14, "unproved"),
        (lambda x, d: jnp.take(jnp.ones(x.shape).astype(d), jnp.arange(x.shape[0]) + 1).astype(x.dtype), "unproved"),
    ],
    ids=["cast", "wrapped to 1", "wrapped to 2", "a sum that wraps", "filled in"],
)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [jnp.int4, jnp.uint2], ids=str)
def test_integers_of_two_and_four_bits(factor, verdict, dtype):
    sine = jax.custom_vjp(jnp.sin)
    sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) * factor(x, dtype),))
    assert certgrad.check(sine, "n").verdict == verdict
