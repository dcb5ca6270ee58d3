"""What is no defect of a rule: the rounding of its constants, and single points at which it has no value."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import digamma, gammaln

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")

TABLE = np.random.default_rng(0).normal(size=(3, 3))


def rule(f, bwd):
    made = jax.custom_vjp(f)
    made.defvjp(lambda x: (f(x), x), bwd)
    return made


def shifted(x):
    """By one place, as a phase in the spectrum."""
    n = x.shape[0]
    return jnp.fft.ifft(jnp.fft.fft(x) * jnp.exp(-2j * jnp.pi * jnp.arange(n) / n)).real


@pytest.mark.slow
def test_the_rounding_of_pi_refutes_nothing():
    """At a point the two sides are 3e-15 and 0: what the literal 6.283185307179586 is off by."""
    assert certgrad.check(rule(shifted, lambda x, g: (jnp.roll(g, -1),)), "n -> n").verdict != "refuted"
    assert certgrad.check(rule(shifted, lambda x, g: (jnp.roll(g, 1),)), "n -> n").verdict == "refuted"


@pytest.mark.parametrize(("digits", "verdict"), [("0.398942280401", "refuted"), ("0.3989422804014326", None)])
def test_a_literal_of_few_digits_is_meant_as_it_is_written(digits, verdict):
    """1/√(2π), once cut off and once rounded in the last place."""
    slope = float(digits)
    density = rule(
        lambda x: jnp.exp(-x * x / 2) * 0.3989422804014327, lambda x, g: (-g * x * jnp.exp(-x * x / 2) * slope,)
    )
    assert certgrad.check(density, "n -> n").verdict == (verdict or "proved up to rounding")


def test_a_table_that_is_cast_in_one_program_and_before_another_is_one_table():
    """`@` makes 32 bits of it while tracing, `einsum` in the program."""
    forward = lambda r: (r * r) @ TABLE.T
    right = rule(forward, lambda r, g: (jnp.einsum("nm,mk,nk->nk", g, TABLE, 2 * r),))
    wrong = rule(forward, lambda r, g: (jnp.einsum("nm,mk,nk->nk", g, TABLE.T, 2 * r),))
    assert certgrad.check(right, "n 3 -> n 3").verdict == "proved"
    assert certgrad.check(wrong, "n 3 -> n 3").verdict == "refuted"


def by_duplication(one):
    """4x·ψ(2 + 2x²), by a formula that the calculus does not know, times a number that is 1 where it has a value."""

    def bwd(x, g):
        u = 1 + x * x
        return (g * 4 * x * ((digamma(u) + digamma(u + 0.5)) / 2 + jnp.log(2.0)) * one(x),)

    return rule(lambda x: gammaln(2 * (1 + x * x)), bwd)


def test_a_rule_that_is_not_proved_and_has_no_value_at_a_single_point_is_refuted_there():
    report = certgrad.check(by_duplication(lambda x: x / x), "n -> n")
    assert report.verdict == "refuted"
    witness = next(c.witness for claim in report.claims for c in claim.cases if c.witness is not None)
    assert "0" in witness.inputs["x"]


def test_a_rule_without_values_on_an_open_set_is_refuted():
    assert certgrad.check(by_duplication(lambda x: jnp.log(x) / jnp.log(x)), "n -> n").verdict == "refuted"
