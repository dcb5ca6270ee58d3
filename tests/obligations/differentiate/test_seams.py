"""Predicates on locally constant terms: [floor(x) = 2] is true on an open set, where the value is differentiated."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad
from certgrad.obligations.differentiate.seams import steady
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.polynomials import ONE
from certgrad.obligations.terms.power import fn

_NUMBERS = {
    "floor": lambda x: jnp.floor(x) == 2,
    "integer": lambda x: x.astype(jnp.int32) == 1,
    "sign_and_floor": lambda x: jnp.sign(x) * jnp.floor(x) == 2,
}
_VECTORS = {
    "sum_of_signs": lambda x: jnp.sum(jnp.sign(x)) == 2,
}
_RESTING = {
    "in_a_region": lambda x: jnp.sum(jnp.where(x > 1, jnp.floor(x) - 2, x)) == 0,
}


def _zero_gradient(value):
    @jax.custom_vjp
    def function(x):
        return value(x)

    function.defvjp(lambda x: (value(x), x), lambda x, ct: (jnp.zeros_like(x),))
    return function


def _gradient(value):
    @jax.custom_vjp
    def function(x):
        return value(x)

    function.defvjp(lambda x: (value(x), x), lambda x, ct: jax.vjp(value, x)[1](ct))
    return function


def _square_where(condition):
    return lambda x: lax.cond(condition(x), lambda x: x * x, lambda x: 0 * x, x)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [*_NUMBERS, *_VECTORS])
def test_what_a_guard_lets_through_is_differentiated(name):
    condition = {**_NUMBERS, **_VECTORS}[name]
    report = certgrad.check(_zero_gradient(_square_where(condition)), " -> " if name in _NUMBERS else "n+1 -> n+1")
    assert report.verdict in ("refuted", "unproved")
    assert "this was proved" not in str(report)


@pytest.mark.parametrize("name", ["floor", "sign_and_floor"])
def test_the_right_rule_stays_proved(name):
    condition = {**_NUMBERS, **_VECTORS}[name]
    report = certgrad.check(_gradient(_square_where(condition)), " -> " if name in _NUMBERS else "n+1 -> n+1")
    assert report.verdict.startswith("proved")


def test_nested_guards():
    def value(x):
        inner = _square_where(lambda x: jnp.floor(x) == 2)
        return lax.cond(jnp.floor(x) >= 2, inner, lambda x: 0 * x, x)

    report = certgrad.check(_zero_gradient(value), " -> ")
    assert report.verdict in ("refuted", "unproved")
    assert "this was proved" not in str(report)


@pytest.mark.parametrize("name", _RESTING)
def test_what_rests_at_zero_in_a_region_only_is_excluded(name):
    report = certgrad.check(_zero_gradient(_square_where(_RESTING[name])), "n+1 -> n+1")
    assert report.verdict == "unproved" or any(" ≠ " in h for h in map(str, report.hypotheses))


def test_a_jump_beside_a_guard_on_a_locally_constant_term_is_seen():
    """[x > 0] jumps where floor(y) = 2, an open set: no hypothesis but x ≠ 0 excludes that."""

    def value(x, y):
        return jnp.where(jnp.floor(y) == 2, jnp.where(x > 0, 1.0, 0.0), 0.0)

    @jax.custom_vjp
    def function(x, y):
        return value(x, y)

    function.defvjp(lambda x, y: (value(x, y), (x, y)), lambda r, ct: (jnp.zeros_like(r[0]), jnp.zeros_like(r[1])))
    report = certgrad.check(function, ",  -> ")
    assert "x ≠ 0" in str(report)


def test_steady():
    x = access("x", ())
    assert steady(fn("floor", x) - ONE, {"x": "dx"})
    assert not steady(fn("floor", x) - x, {"x": "dx"})
