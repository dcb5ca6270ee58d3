"""Exponentials of masked scores, masked once more: what a kernel of attention computes, and its plain form."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.obligations.laws.selections import taken
from certgrad.obligations.terms.polynomials import ONE


def attention(masked, weight=lambda p: p):
    def scores(q, k):
        return 10.0 * q @ k.T - 10.0

    def shares(q, k, m):
        e = jnp.where(m, jnp.exp(jnp.where(m, scores(q, k), masked)), 0.0)
        return e, jnp.sum(e, axis=-1, keepdims=True) + 1e-10

    @jax.custom_vjp
    def function(q, k, v, m):
        e, total = shares(q, k, m)
        return e @ v / total

    def forward(q, k, v, m):
        e, total = shares(q, k, m)
        out = e @ v / total
        return out, (q, k, v, m, out, total)

    def backward(residuals, seed):
        q, k, v, m, out, total = residuals
        p = jnp.where(m, jnp.exp(scores(q, k)), 0.0) / total
        ds = 10.0 * weight(p) * (seed @ v.T - jnp.sum(seed * out, axis=-1, keepdims=True))
        return ds @ k, ds.T @ q, p.T @ seed, None

    function.defvjp(forward, backward)
    return function


SIGNATURE = "n d, m d, m c, m:bool -> n c"


def test_masked_twice_is_masked_once():
    assert certgrad.check(attention(-1e5), SIGNATURE).verdict == "proved"
    assert certgrad.check(attention(-1e5, lambda p: p * p), SIGNATURE).verdict == "refuted"


if_ = jnp.where
exp = jnp.exp


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (lambda x, m: if_(m, exp(if_(m, x, -9.0)), 0.0), lambda x, m: if_(m, exp(x), 0.0), True),
        (lambda x, m: if_(m, 0.0, exp(if_(m, -9.0, x))), lambda x, m: if_(m, 0.0, exp(x)), True),
        (lambda x, m: if_(~m, exp(if_(m, x, 1.0)), 0.0), lambda x, m: if_(m, 0.0, exp(1.0 + 0 * x)), True),
        (lambda x, m: if_(m, 0.0, exp(if_(m, x, 0.0))), lambda x, m: if_(m, 0.0, exp(x)), False),
        (lambda x, m: if_(m[::-1], exp(if_(m, x, 0.0)), 0.0), lambda x, m: if_(m[::-1], exp(x), 0.0), False),
    ],
)
@pytest.mark.one_in(2)
def test_each_choice_is_read_where_it_is_taken(one, other, equal):
    in_divisor = [lambda x, m, f=f: 1 / (1 + jnp.sum(f(x @ x.T, m), axis=-1)) for f in (one, other)]
    found = certgrad.equal(*in_divisor, "n n, n:bool -> n").verdict
    assert found.startswith("proved") if equal else found == "refuted", found


def test_a_condition_that_is_no_predicate_says_nothing():
    assert taken(ONE, ONE, ONE) == (ONE, ONE)
