"""Rules that compute with a dimension outside JAX's symbolic arithmetic, proved for all shapes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad

from .judging.test_check import custom_vjp

pytestmark = pytest.mark.usefixtures("proofs_alone")


def rule(f, bwd):
    return custom_vjp(f, lambda x: (f(x), x), bwd)


RIGHT = {
    "power": (lambda x: x * x.shape[-1] ** -0.5, lambda x, g: (g * x.shape[-1] ** -0.5,)),
    "math.sqrt": (lambda x: x / math.sqrt(x.shape[-1]), lambda x, g: (g * x.shape[-1] ** -0.5,)),
    "np.sqrt": (lambda x: x / np.sqrt(x.shape[-1]), lambda x, g: (g / math.sqrt(x.shape[-1]),)),
    "exact": (lambda x: (x * x.shape[-1] ** -0.5) ** 2, lambda x, g: (2 * g * x / x.shape[-1],)),
    "reciprocal": (lambda x: x * (1 / x.shape[0]), lambda x, g: (g / x.shape[0],)),
    "negative": (lambda x: x * x.shape[0] ** -2, lambda x, g: (g / x.shape[0] ** 2,)),
    "whole power": (lambda x: x * x.shape[0] ** 2.0, lambda x, g: (g * x.shape[0] ** 2,)),
    "logarithm": (lambda x: x * math.log(x.shape[-1]), lambda x, g: (g * math.log(x.shape[-1]),)),
    "len": (lambda x: x / len(x), lambda x, g: (g / len(x),)),
    "math.ceil": (
        lambda x: jnp.pad(x, ((0, math.ceil(len(x) / 4) * 4 - len(x)), (0, 0)))[: len(x)] ** 2,
        lambda x, g: (2 * x * g,),
    ),
    "math.floor": (
        lambda x: x * math.floor(x.shape[0] / 3),
        lambda x, g: (g * (x.shape[0] // 3),),
    ),
    "a scan of a length": (
        lambda x: jax.lax.scan(lambda c, _: (c + x, None), jnp.zeros_like(x), None, length=x.shape[0])[0],
        lambda x, g: (x.shape[0] * g,),
    ),
    "a scan of rows and a length": (
        lambda x: jax.lax.scan(lambda c, row: (c, row**2), 0.0, x, length=len(x))[1],
        lambda x, g: (2 * x * g,),
    ),
    "np.zeros": (lambda x: x + np.zeros(x.shape), lambda x, g: (g + np.zeros(x.shape),)),
    "np.tril": (lambda x: x * np.tril(np.ones(x.shape)), lambda x, g: (g * np.tril(np.ones(x.shape)),)),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", RIGHT)
def test_proved_for_all_shapes(name):
    report = certgrad.check(rule(*RIGHT[name]), "n d -> n d")
    assert report.verdict == "proved"
    assert report.claims[0].cases[0].scope == "all shapes"


def test_attention_with_its_scale():
    def scores(q, k):
        return jax.nn.softmax(q @ k.T * q.shape[-1] ** -0.5, -1)

    def bwd(r, g):
        q, k, v, p = r
        dp = g @ v.T
        ds = p * (dp - jnp.sum(dp * p, -1, keepdims=True)) / math.sqrt(q.shape[-1])
        return ds @ k, ds.T @ q, p.T @ g

    f = custom_vjp(lambda q, k, v: scores(q, k) @ v, lambda q, k, v: (scores(q, k) @ v, (q, k, v, scores(q, k))), bwd)
    assert certgrad.check(f, "n d, m d, m e -> n e").verdict == "proved"


def test_a_wrong_power_is_refuted():
    f = rule(lambda x: x / math.sqrt(x.shape[-1]), lambda x, g: (g / x.shape[-1],))
    assert certgrad.check(f, "n d -> n d").verdict == "refuted"


WRONG = {
    "len of the other axis": (lambda x: x / len(x), lambda x, g: (g / len(x.T),)),
    "math.ceil for math.floor": (
        lambda x: x * math.floor(x.shape[0] / 3),
        lambda x, g: (g * math.ceil(x.shape[0] / 3),),
    ),
    "a step too few": (
        lambda x: jax.lax.scan(lambda c, _: (c + x, None), jnp.zeros_like(x), None, length=x.shape[0])[0],
        lambda x, g: ((x.shape[0] - 1) * g,),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_size_is_refuted(name):
    assert certgrad.check(rule(*WRONG[name]), "n d -> n d").verdict == "refuted"


def half_spectrum(halved):
    """`rfft`, whose backward takes half of the inner frequencies, as `irfft` doubles them: and of the last one too,
    where `halved` says so, which is its own partner if there are evenly many entries."""

    def bwd(x, g):
        n, k = x.shape[-1], jnp.arange(g.shape[-1])
        edge = (k == 0) if halved else (k == 0) | (2 * k == n)
        return (n * jnp.fft.irfft(jnp.conj(jnp.where(edge, g, g / 2)), n),)

    return rule(lambda x: jnp.fft.rfft(x), bwd)


def test_an_inverse_transform_to_an_open_length():
    report = certgrad.check(half_spectrum(False), "b n")
    assert report.verdict == "proved"
    assert report.claims[0].cases[0].scope == "all shapes"
    assert certgrad.check(half_spectrum(True), "b n").verdict == "refuted"


def test_a_scan_of_another_length_than_its_rows_does_not_trace():
    def f(x):
        return jax.lax.scan(lambda c, row: (c, row**2), 0.0, x, length=len(x) + 1)[1]

    report = certgrad.check(rule(f, lambda x, g: (2 * x * g,)), "n d -> n d")
    assert report.verdict == "unproved"
    assert "'n + 1' used in a context" in report.claims[0].cases[0].reason


def test_a_branch_on_such_a_number_is_not_decided():
    def f(x):
        return x * (1.0 if math.sqrt(x.shape[-1]) > 3 else 2.0)

    report = certgrad.check(rule(f, lambda x, g: (g * (1.0 if math.sqrt(x.shape[-1]) > 3 else 2.0),)), "n d -> n d")
    assert report.verdict == "proved at sizes"
    assert "boolean conversion" in report.claims[0].cases[0].reason


def test_a_number_that_only_concrete_sizes_see_is_not_proved():
    def scale(x):
        d = x.shape[-1]
        return d**-0.5 if isinstance(d, int) else d**-1.0

    f = rule(lambda x: x * x.shape[-1] ** -1.0, lambda x, g: (g * scale(x),))
    assert certgrad.check(f, "n d -> n d").verdict == "refuted"


def test_tracing_leaves_the_libraries_as_they_were():
    before = (math.sqrt, np.zeros, np.sqrt)
    certgrad.check(rule(*RIGHT["np.zeros"]), "n d -> n d")
    assert (math.sqrt, np.zeros, np.sqrt) == before


def test_a_product_of_sizes_is_one_only_where_each_is():
    @jax.custom_jvp
    def length(x):
        return jnp.abs(x.reshape(())) if x.size == 1 else jnp.sqrt(jnp.sum(x**2))

    length.defjvp(lambda p, t: (length(p[0]), jnp.sum(p[0] * t[0]) / length(p[0])))
    report = certgrad.check(length, "n d -> ")
    assert report.verdict == "proved under hypotheses"
    assert not certgrad.check(wrong_at_one(), "n d -> ").proved


def wrong_at_one():
    @jax.custom_jvp
    def length(x):
        return 2 * jnp.abs(x.reshape(())) if x.size == 1 else jnp.sqrt(jnp.sum(x**2))

    length.defjvp(lambda p, t: (length(p[0]), jnp.sum(p[0] * t[0]) / jnp.sqrt(jnp.sum(p[0] ** 2))))
    return length
