"""`cond`, `switch` and the calls that hide a program: each branch under its guard."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import certgrad
from certgrad.obligations import audit
from tests.obligations.traps import Trap, declare, hypotheses

where = jnp.where


def leaky(x):
    return lax.cond(jnp.sum(x) > 0, lambda y: 2 * y, lambda y: y, x)


def leaky_rule(x, g):
    return where(jnp.sum(x) > 0, 2 * g, g)


def chosen(x, k):
    return lax.switch(k, [jnp.sin, jnp.exp, lambda y: y * y], x)


def chosen_slope(x, k):
    k = jnp.clip(k, 0, 2)
    return where(k == 0, jnp.cos(x), where(k == 1, jnp.exp(x), 2 * x))


def safe_log(x):
    return lax.cond(x > 0, jnp.log, lambda y: y, x)


@jax.custom_jvp
def doubled(x):
    return 2 * x


@doubled.defjvp
def _wrong(primals, tangents):
    return 2 * primals[0], 5 * tangents[0]


@jax.custom_vjp
def tripled(x):
    return 3 * x


tripled.defvjp(lambda x: (3 * x, None), lambda _, g: (7 * g,))

TRAPS = [
    Trap(
        "the branch that is not taken",
        declare("n -> n", leaky, lambda x, g: where(jnp.sum(x) > 0, g, 2 * g)),
        at=(np.array([1.0, 2.0]),),
        right=declare("n -> n", leaky, leaky_rule),
        hypotheses={"(Σi x[i]) ≠ 0"},
    ),
    Trap(
        "a cond in the rule, branches swapped",
        declare("n -> n", leaky, lambda x, g: lax.cond(jnp.sum(x) > 0, lambda v: v, lambda v: 2 * v, g)),
        at=(np.array([1.0, 2.0]),),
        right=declare("n -> n", leaky, lambda x, g: lax.cond(jnp.sum(x) > 0, lambda v: 2 * v, lambda v: v, g)),
        hypotheses={"(Σi x[i]) ≠ 0"},
    ),
    Trap(
        "switch: the order of the branches",
        declare("n, :int -> n", chosen, lambda x, k, g: g * chosen_slope(x, 2 - k)),
        at=(np.array([1.0, 2.0]), np.array(0)),
        right=declare("n, :int -> n", chosen, lambda x, k, g: g * chosen_slope(x, k)),
    ),
    Trap(
        "switch: an index out of range is clamped",
        declare(
            "n, :int -> n", chosen, lambda x, k, g: g * where(k == 0, jnp.cos(x), where(k == 1, jnp.exp(x), 2 * x))
        ),
        at=(np.array([1.0, 2.0]), np.array(-1)),
    ),
    Trap(
        "a branch's condition drops only where another branch runs",
        declare(" -> ", safe_log, lambda x, g: g / where(x > 0, x, 2.0)),
        at=(-0.5,),
        right=declare(" -> ", safe_log, lambda x, g: g / where(x > 0, x, 1.0)),
        hypotheses={"x ≠ 0"},
        fine=(0.5,),
    ),
    Trap(
        "custom rules inside a forward mean their primal; remat and jit their program",
        declare("n -> n", lambda x: jax.checkpoint(lambda y: doubled(jax.jit(tripled)(y)))(x), lambda x, g: 35 * g),
        at=(np.array([1.0]),),
        right=declare(
            "n -> n", lambda x: jax.checkpoint(lambda y: doubled(jax.jit(tripled)(y)))(x), lambda x, g: 6 * g
        ),
    ),
]


def test_the_branches_must_both_be_right():
    rule = declare(
        ", :bool -> ",
        lambda x, b: lax.cond(b, jnp.sin, jnp.exp, x),
        lambda x, b, g: g * lax.cond(b, jnp.cos, jnp.cos, x),
    )
    assert audit(rule).verdict == "refuted"


def test_a_condition_on_both_branches_stays():
    rule = declare(
        ", :bool -> ",
        lambda x, b: lax.cond(b, jnp.log, lambda y: 2 * jnp.log(y), x),
        lambda x, b, g: g * lax.cond(b, lambda y: 1 / y, lambda y: 2 / y, x),
    )
    certificate = audit(rule)
    assert certificate.verdict == "proved under hypotheses"
    assert hypotheses(certificate) >= {"x > 0"}


def test_jaxs_own_rules_of_a_cond():
    rule = declare(
        "n -> n",
        leaky,
        lambda x, g: jax.jvp(leaky, (x,), (g,))[1],
        lambda x, g: jax.vjp(leaky, x)[1](g)[0],
    )
    certificate = audit(rule)
    assert certificate.verdict == "proved under hypotheses"
    assert hypotheses(certificate) == {"(Σi x[i]) ≠ 0"}


def clipped(inside):
    """The integral of a disc's edge between two clipped bounds, as for rotation kernels of stars."""

    @jax.custom_jvp
    def rule(x):
        return jnp.arcsin(jnp.clip(x, -1.0, 1.0))

    @rule.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents
        return rule(x), jnp.where(x * x < 1.0, inside(x), 0.0) * dx

    return rule


def test_a_region_where_a_hypothesis_about_a_piecewise_term_fails_is_empty():
    report = certgrad.check(clipped(lambda x: 1 / jnp.sqrt(1 - x * x)), "n -> n")
    assert report.verdict == "proved under hypotheses"
    assert certgrad.check(clipped(lambda x: -1 / jnp.sqrt(1 - x * x)), "n -> n").verdict == "refuted"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "outside",
    [lambda x: jnp.any(x < 0), lambda x: ~jnp.all(x >= 0), lambda x: jnp.min(x) < 0],
    ids=["any", "all", "min"],
)
@pytest.mark.parametrize(("factor", "verdict"), [(2, "proved under hypotheses"), (3, "refuted")])
def test_the_support_of_a_density_of_vectors(outside, factor, verdict):
    """At the boundary of its support a log-density has no derivative: what counts entries changes where one does."""
    density = jax.custom_vjp(lambda x: where(outside(x), -jnp.inf, jnp.sum(x**2)))
    density.defvjp(lambda x: (density(x), x), lambda x, g: (factor * x * g,))
    report = certgrad.check(density, "n -> ")
    assert report.verdict == verdict
    assert factor == 3 or any("≠" in h.text or "<" in h.text for c in report.claims for h in c.hypotheses)


def at_the_half(value):
    """cos(πx²/2) by way of the remainder of x²/2, and its own branch where that is ½: there x is no single number."""

    def slope(x):
        t = jnp.fmod(jnp.abs(x), 2.0)
        r = jnp.fmod(t * (jnp.abs(x) - t / 2), 2.0)
        return where(r == 0.5, value, jnp.cos(np.pi * r))

    function = jax.custom_vjp(lambda x: jnp.sin(np.pi * x**2 / 2))
    function.defvjp(lambda x: (function(x), x), lambda x, g: (np.pi * x * slope(x) * g,))
    return certgrad.check(function, "n -> n").verdict


def test_a_branch_where_a_remainder_has_one_value():
    assert at_the_half(0.0) == "proved up to rounding"
    assert at_the_half(1.0) == "refuted"
