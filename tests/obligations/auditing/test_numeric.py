"""The numeric check of what is not proved: a point at a kink says nothing."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from certgrad.obligations.auditing.numeric import numeric
from certgrad.obligations.generality.instances import family
from certgrad.rules.subject.user_rule import UserRule


def largest_two(slope: float) -> UserRule:
    """The sum of the two largest entries; at points of few values two of them are often equal."""

    def f(x: jax.Array) -> jax.Array:
        return jax.lax.top_k(jnp.round(x), 2)[0].sum(-1) + jax.lax.top_k(x, 2)[0].sum(-1)

    def bwd(x: jax.Array, g: jax.Array) -> tuple[jax.Array]:
        places = jax.lax.top_k(x, 2)[1]
        return (slope * g[:, None] * jax.nn.one_hot(places, x.shape[-1]).sum(1),)

    rule = jax.custom_vjp(f)
    rule.defvjp(lambda x: (f(x), x), bwd)
    return UserRule(rule, "n d+1")


@pytest.mark.parametrize(("slope", "differs"), [(1.0, False), (2.0, True)])
def test_where_the_slopes_to_both_sides_differ_nothing_is_compared(slope: float, differs: bool) -> None:
    rule = largest_two(slope)
    found = numeric(rule, family(rule, rule.cases[0]).prove[0], "vjp_is_adjoint")
    assert bool(found.differs) is differs
    assert bool(found.agreed) is not differs


def determinant(share: float) -> UserRule:
    """Of a 2 by 2 matrix. Where its first column is 0 the rule returns a share of the derivative."""

    def f(x: jax.Array) -> jax.Array:
        return x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]

    def bwd(x: jax.Array, g: jax.Array) -> tuple[jax.Array]:
        cofactors = jnp.array([[x[1, 1], -x[1, 0]], [-x[0, 1], x[0, 0]]])
        return (g * cofactors * jnp.where((x[0, 0] == 0) & (x[1, 0] == 0), share, 1),)

    rule = jax.custom_vjp(f)
    rule.defvjp(lambda x: (f(x), x), bwd)
    return UserRule(rule, "2 2")


@pytest.mark.parametrize(
    ("share", "differs"), [(1.0, ""), (0.0, "and 0 at x = [[0.0,"), (jnp.nan, "and nan at x = [[0.0,")]
)
def test_columns_of_zeros_are_looked_at(share: float, differs: str) -> None:
    rule = determinant(share)
    found = numeric(rule, family(rule, rule.cases[0]).prove[0], "vjp_is_adjoint")
    assert differs in found.differs
    assert bool(found.differs) is bool(differs)
