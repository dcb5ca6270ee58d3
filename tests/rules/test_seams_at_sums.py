"""Seams where a sum is 0, which determines no entry: forms that meet smoothly there ask nothing of it."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def of(z, *, above, below):
    return jnp.where(z > 0, above(z), below(z))


def dot(f):
    return lambda q, n: f(q @ n)


def total(f):
    return lambda q, n: jnp.sum(f(jnp.sum(q * n, axis=1)))


def in_a_scan(f):
    def step(n, x):
        n = n + x
        return n, f(x @ n)

    return lambda q, k: jax.lax.scan(step, jnp.zeros(q.shape[1]), q * k)[1]


SMOOTH = {
    "below another maximum": lambda z: 1 / jnp.maximum(jnp.abs(z), 1.0),
    "r·|r|": lambda z: z * jnp.abs(z),
    "squares that are cut": lambda z: jnp.maximum(z, 0.0) ** 2,
    "equal slopes": lambda z: of(z, above=lambda z: z + z**2, below=lambda z: z + 3 * z**2),
}
NOT_SMOOTH = {
    "the modulus": jnp.abs,
    "the modulus below another maximum": lambda z: jnp.maximum(jnp.abs(z), -1.0),
    "r + |r|/1000": lambda z: z + jnp.abs(z) / 1000,
    "other slopes": lambda z: of(z, above=lambda z: z + z**2, below=lambda z: 2 * z + z**2),
    "a jump": lambda z: of(z, above=lambda z: z**2, below=lambda z: z**2 + 1),
    "a cut": lambda z: jnp.maximum(z, 0.0),
}
FORMS = {"dot": (dot, "d, d -> "), "total": (total, "t d, t d -> "), "in a scan": (in_a_scan, "t d, t d -> t")}


def is_0(text):
    return text.split(" where ")[0].endswith("≠ 0")


def hypotheses(function, signature):
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *a: (function(*a), a), lambda saved, g: jax.vjp(function, *saved)[1](g))
    report = certgrad.check(rule, signature)
    assert report.verdict in ("proved", "proved under hypotheses"), str(report)
    return report.hypotheses


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["dot", "in a scan"])
@pytest.mark.parametrize("name", SMOOTH)
def test_forms_that_meet_smoothly_ask_nothing(name, form):
    made, signature = FORMS[form]
    assert not any(map(is_0, hypotheses(made(SMOOTH[name]), signature)))


def test_in_each_row_of_a_sum():
    made, signature = FORMS["total"]
    assert not any(map(is_0, hypotheses(made(SMOOTH["below another maximum"]), signature)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NOT_SMOOTH)
def test_others_ask_that_the_sum_is_not_0(name, form):
    made, signature = FORMS[form]
    assert any(map(is_0, hypotheses(made(NOT_SMOOTH[name]), signature)))
