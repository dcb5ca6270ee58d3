"""Exponentials of masked scores, masked once more: what a kernel of attention computes, and its plain form."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.obligations.laws.selections import simplified_choices
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
    assert simplified_choices(ONE, ONE, ONE) == (ONE, ONE)


def off_diagonal(x):
    return ~jnp.eye(x.shape[0], dtype=bool)


def differences(x):
    return x[:, None] - x[None, :]


def safe(d, x):
    return if_(off_diagonal(x), d, 1.0)


OFF = {
    "quotient": (lambda d, x: 1 / d, lambda d, x: 1 / safe(d, x), True),
    "perfect_square": (lambda d, x: d / (d * d), lambda d, x: 1 / safe(d, x), True),
    "cube": (lambda d, x: d / d**3, lambda d, x: 1 / safe(d, x) ** 2, True),
    "inside": (lambda d, x: exp(1 / d), lambda d, x: exp(1 / safe(d, x)), True),
    "opposite": (lambda d, x: 1 / d, lambda d, x: -1 / safe(-d, x), True),
    "sign": (lambda d, x: 1 / d, lambda d, x: 1 / safe(-d, x), False),
    "power": (lambda d, x: d / (d * d), lambda d, x: 1 / safe(d, x) ** 2, False),
    "other_lane": (lambda d, x: 1 / d, lambda d, x: 1 / if_(jnp.eye(x.shape[0], dtype=bool), d, 1.0), False),
}


@pytest.mark.parametrize("name", OFF)
def test_quotients_off_the_diagonal(name):
    """On it they are not defined, and are not looked at."""
    one, other, equal = OFF[name]

    def of(inside):
        return lambda x: jnp.sum(if_(off_diagonal(x), inside(differences(x), x), 0.0), axis=1)

    found = certgrad.equal(of(one), of(other), "n").verdict
    assert found == "proved under hypotheses" if equal else found in ("refuted", "unproved")


def potential(factor):
    """Of points that repel each other: an entry of itself has none."""

    def squares(x):
        return jnp.sum((x[:, None] - x[None, :]) ** 2, axis=-1)

    f = jax.custom_vjp(lambda x: jnp.sum(if_(off_diagonal(x), 1 / jnp.sqrt(squares(x)), 0.0)))

    def backward(x, g):
        weights = if_(off_diagonal(x), squares(x) ** -1.5, 0.0)
        return (-factor * g * jnp.sum(weights[..., None] * (x[:, None] - x[None, :]), axis=1),)

    f.defvjp(lambda x: (f(x), x), backward)
    return f


def test_a_potential():
    assert certgrad.check(potential(2), "n d").verdict == "proved under hypotheses"
    assert certgrad.check(potential(1), "n d").verdict == "refuted"
