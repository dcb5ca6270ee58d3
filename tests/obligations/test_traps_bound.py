"""What is known of an array is asked at other places than it is known of: at bound indices, and past an equation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import certgrad


def rule(value, pull):
    f = jax.custom_vjp(value)
    f.defvjp(lambda x: (value(x), x), lambda x, g: (pull(x, g),))
    return f


def logarithms_and_trace(cubed):
    """log Σ_j x_ij says that rows have positive sums, and nothing of the trace."""

    def value(x):
        return jnp.log(jnp.sum(x, 1)) + jnp.abs(jnp.trace(x) ** 3)

    def pull(x, g):
        return g[:, None] / jnp.sum(x, 1)[:, None] + jnp.sum(g) * cubed(jnp.trace(x)) * jnp.eye(x.shape[0])

    return rule(value, pull)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("cubed", "verdict"),
    [(lambda t: 3 * t * jnp.abs(t), "proved under hypotheses"), (lambda t: 3 * t**2, "refuted")],
)
def test_a_fact_about_rows_at_a_bound_index(cubed, verdict) -> None:
    assert certgrad.check(logarithms_and_trace(cubed), "n n -> n").verdict == verdict


def solved_and_the_last(pull):
    """exp z = x of all but the last entry, which is any number."""
    log = certgrad.solves(lambda z, x: jnp.exp(z) - x[:-1])(lambda x: jnp.log(x[:-1]))

    def back(x, g):
        return jnp.concatenate([g / jnp.exp(log(x)), pull(x[-1], g)[None]])

    return rule(lambda x: log(x) + jnp.abs(x[-1]), back)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("pull", "verdict"),
    [(lambda last, g: jnp.sum(g) * jnp.sign(last), "proved under hypotheses"), (lambda _, g: jnp.sum(g), "refuted")],
)
def test_an_equation_says_nothing_of_entries_beyond_its_unknowns(pull, verdict) -> None:
    assert certgrad.check(solved_and_the_last(pull), "n+1 -> n").verdict == verdict


@pytest.mark.parametrize(
    ("again", "under"), [(lambda x, y: x * y / y, {"y ≠ 0"}), (lambda x, y: x + y - y, set()), (lambda x, y: x, set())]
)
def test_a_solution_that_is_asked_for_again_is_defined_where_its_arguments_are(again, under) -> None:
    third = certgrad.solves(lambda z, x: 3 * z - x)(lambda x: x / 3)
    f = jax.custom_vjp(lambda x, y: third(x))
    f.defvjp(lambda x, y: (third(x), (x, y)), lambda r, g: (g / 3 + 0 * third(again(*r)), jnp.zeros_like(r[1])))
    report = certgrad.check(f, "n, n -> n")
    assert report.verdict == "proved under hypotheses"
    assert {h for h in map(str, report.hypotheses) if "solves" not in h} == under
