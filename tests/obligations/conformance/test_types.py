"""Code that asks for the type of a value: JAX hands on numbers of Python's and arrays of numpy's as they are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.obligations.conformance import NARROW


def rule(forward, backward, fwd=None):
    made = jax.custom_vjp(forward)
    made.defvjp(fwd or (lambda *args: (forward(*args), args)), backward)
    return made


def power(x, k):
    return x**k


def shortcut(residuals, g):
    x, k = residuals
    if isinstance(k, int) and k == 0:  # x⁰ is 1, and its derivative 0
        return g, None
    return g * k * x ** (k - 1), None


def as_array(residuals, g):
    x, k = residuals
    if not isinstance(k, jax.Array):
        k = jnp.asarray(k)
    return g * k * x ** (k - 1), None


def take(x, i):
    return x[i]


def from_zero(residuals, g):
    x, i = residuals
    if isinstance(i, np.ndarray):
        i = np.maximum(i, 0)
    return jnp.zeros_like(x).at[i].add(g), None


def scattered(residuals, g):
    x, i = residuals
    return jnp.zeros_like(x).at[i].add(g), None


def counted_from_one(x, i):
    residuals = x, i
    i += 1  # in place, for an array of numpy's
    return x[i - 1], residuals


def by_type(residuals, g):
    x, i = residuals
    return jnp.zeros_like(x).at[np.maximum(i, 0) if type(i) in (np.ndarray,) else i].add(g), None


def by_scalar(residuals, g):
    x, k = residuals
    return g * (1.0 if np.isscalar(k) and k == 80 else k * x ** (k - 1)), None


def by_match(residuals, g):
    x, k = residuals
    match k:
        case int():
            k = abs(k)
    return g * k * x ** (k - 1), None


def by_shape(residuals, g):
    x, k = residuals
    if not hasattr(k, "shape"):
        k = abs(k)
    return g * k * x ** (k - 1), None


def by_flags(residuals, g):
    x, i = residuals
    if hasattr(i, "flags"):
        i = np.maximum(i, 0)
    return jnp.zeros_like(x).at[i].add(g), None


def by_dtype(residuals, g):
    x, k = residuals
    dtype = k.dtype if hasattr(k, "dtype") else jnp.int32
    return g * jnp.asarray(k, dtype) * x ** (k - 1), None


CASES = {
    "a question of numpy's": (rule(power, by_scalar), "n, :int -> n", "by_scalar asks whether a value is traced"),
    "a pattern": (rule(power, by_match), "n, :int -> n", "by_match compares the type of a value"),
    "a number of Python's": (rule(power, shortcut), "n, :int -> n", "it asks for the type of a value"),
    "an array of numpy's": (rule(take, from_zero), "n, m:int -> m", "it asks for the type of a value"),
    "indices that are changed in place": (
        rule(take, scattered, counted_from_one), "n, m:int -> m", "calls change the arrays of numpy's"),
    "a type that is compared": (rule(take, by_type), "n, m:int -> m", "by_type compares the type of a value"),
    "an attribute": (rule(power, by_shape), "n, :int -> n", "called at n = 3 in float64"),
    "an attribute of numpy's": (rule(take, by_flags), "n, m:int -> m", "it asks for the type of a value"),
    "an attribute that changes nothing": (rule(power, by_dtype), "n, :int -> n", ""),
    "what is made an array": (rule(power, as_array), "n, :int -> n", ""),
    "indices as they are": (rule(take, scattered), "n, m:int -> m", ""),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("function", "signature", "reason"), CASES.values(), ids=CASES)
def test_what_another_type_makes_of_it(function, signature, reason):
    report = certgrad.check(function, signature, domain="x > 0")
    case = report.claims[0].cases[0]
    assert report.verdict.startswith("unproved" if reason else "proved")
    assert case.reason.startswith(reason)


@pytest.mark.parametrize(("wrong_at", "verdict"), [("raise", "unproved"), ("warn", "unproved"), ("", "proved")])
def test_a_setting_of_several_values(wrong_at, verdict):
    """As of libraries that write broadcasts out where JAX may refuse them."""

    def backward(residuals, g):
        (x,) = residuals
        setting = jax.config.jax_numpy_rank_promotion
        return (g * (2.0 if setting == wrong_at else 1.0) * jnp.cos(x),)

    report = certgrad.check(rule(jnp.sin, backward), "n -> n")
    assert report.verdict == verdict


def drawn(dtype):
    def backward(residuals, g):
        _, key = residuals
        kept = jax.random.uniform(key, g.shape, dtype(g)) < 0.75
        return jnp.where(kept, g / 0.75, 0), None

    def forward(x, key):
        return jnp.where(jax.random.uniform(key, x.shape, x.dtype) < 0.75, x / 0.75, 0)

    return rule(forward, backward)


@pytest.mark.parametrize("dtype", [lambda g: g.dtype, lambda g: float], ids=["its own", "the default"])
def test_of_float32_while_jax_computes_in_64_bits_a_claim_says_that_it_is_not_about_it(dtype):
    """The default dtype is then another one than that of the argument."""
    report = certgrad.check(drawn(dtype), "n d, :key -> n d")
    assert report.verdict == "proved"
    assert NARROW in report.limits
