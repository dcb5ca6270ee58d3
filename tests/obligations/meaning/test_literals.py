"""Literals that stand for exact numbers, and the verdict of rules that are right with these."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jax import lax

from certgrad import check
from certgrad.obligations import audit
from certgrad.obligations.meaning.literals import UNITS, ClosedForm, closed_form, rounds_to, simplest_between
from tests.obligations.traps import declare

READ = {
    2**-0.5: "√2/2",
    math.sqrt(2 / math.pi): "√2/√π",
    1 / math.sqrt(2 * math.pi): "√2/(2·√π)",
    2 / math.sqrt(math.pi): "2/√π",
    math.pi**1.5: "π·√π",
    180 / math.pi: "180/π",
    1 / math.log(10): "1/log(10)",
    3 * math.log(2): "3·log(2)",
    2 / 3: "2/3",
    0.1 + 0.2: "3/10",
    math.sqrt(2 / math.pi) * 0.044715: "8943·√2/(200000·√π)",
    4.685**2 / 6: "877969/240000",
}


@pytest.mark.parametrize("value", READ)
def test_what_is_read(value):
    form = closed_form(value)
    assert form is not None
    assert form.text() == READ[value]
    assert rounds_to(form, value)


@pytest.mark.parametrize("value", [math.e, 0.5772156649015329, 1.6732632423543772, 19**0.5, 3 + 2**-50])
def test_what_is_no_such_number(value):
    assert closed_form(value) is None


@settings(max_examples=40, deadline=None)
@given(
    st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50),
    st.sampled_from([1, 2, 3, 10]),
    st.sampled_from([Fraction(k, 2) for k in range(-3, 4)]),
)
def test_a_closed_form_is_found_from_its_float(coefficient, root, pi):
    assume(root != 1 or pi or Fraction(float(coefficient)) != coefficient)  # that float has no rounding in it
    form = ClosedForm(coefficient, root, pi)
    before, ctx.prec = ctx.prec, 200
    try:
        exact = arb(coefficient.numerator) / coefficient.denominator * arb(root).sqrt()
        value = float(exact * arb.pi() ** (arb(pi.numerator) / pi.denominator))
    finally:
        ctx.prec = before
    assert closed_form(value) == form
    further = value
    for _ in range(2 * UNITS):
        further = math.nextafter(further, math.inf)
    assert not rounds_to(form, further)


@settings(max_examples=60, deadline=None)
@given(st.fractions(min_value=0, max_value=9, max_denominator=60), st.fractions(min_value=Fraction(1, 99), max_value=1))
def test_the_simplest_fraction_of_an_interval(low, width):
    found = simplest_between(low, low + width)
    assert low <= found <= low + width
    least = next(q for q in range(1, 200) if math.floor((low + width) * q) >= math.ceil(low * q))
    assert found.denominator == least


def gelu(x):
    return 0.5 * x * (1 + lax.erf(x / math.sqrt(2)))


DENSITY = 1 / math.sqrt(2 * math.pi)


def gelu_vjp(x, seed, factor=DENSITY):
    return seed * (0.5 * (1 + lax.erf(x * 0.7071067811865476)) + x * jnp.exp(-x * x / 2) * factor)


def audited(forward, vjp):
    return audit(declare("*s -> *s", forward, vjp))


def test_gelu_with_rounded_constants():
    certificate = audited(gelu, gelu_vjp)
    assert certificate.verdict == "proved up to rounding"
    assert {one.literal: one.text for one in certificate.literals} == {
        "0.3989422804014327": "√2/(2·√π)",
        "0.7071067811865476": "√2/2",
        "1.4142135623730951": "√2",
    }
    assert all(c.verdict == "proved up to rounding" for claim in certificate.claims for c in claim.cases)
    assert "0.7071067811865476 is read as √2/2" in certificate.claims[0].idealisations


@pytest.mark.parametrize(
    "factor, verdict",
    [
        (0.39894228, "refuted"),  # eight digits are meant as they are written
        (0.3989422804014327 * (1 + 1e-13), "refuted"),
        (0.3989422804014327 + 4 * math.ulp(0.3989422804014327), "refuted"),
        (-1 / math.sqrt(2 * math.pi), "refuted"),
        (2 / math.sqrt(2 * math.pi), "refuted"),
    ],
)
@pytest.mark.one_in(2)
def test_a_constant_that_is_off_by_more_than_its_rounding(factor, verdict):
    assert audited(gelu, lambda x, seed: gelu_vjp(x, seed, factor)).verdict == verdict


def test_what_32_bits_round_it_to_stands_for_nothing_in_64():
    """The forward is another program in each dtype, so that both are proved, each with its own literals."""

    def rule(c):
        def forward(x):
            return x * c + (jnp.sin(x) if x.dtype == jnp.float32 else jnp.cos(x))

        def bwd(x, seed):
            slope = jnp.cos(x) if x.dtype == jnp.float32 else -jnp.sin(x)
            return (seed * (jnp.sqrt(jnp.asarray(0.5, seed.dtype)) + slope),)

        f = jax.custom_vjp(forward)
        f.defvjp(lambda x: (forward(x), x), bwd)
        return f

    with jax.enable_x64(True):
        right = check(rule(0.5**0.5), "n -> n", conformance=False)
        wrong = check(rule(float(np.float32(0.5**0.5))), "n -> n", conformance=False)
    assert right.verdict == "proved up to rounding"
    read = right.claims[0].idealisations
    assert read == ["0.70710677 is read as √2/2", "0.7071067811865476 is read as √2/2"]
    assert wrong.verdict == "refuted"


def test_what_is_right_as_written_is_proved_as_written():
    c = math.sqrt(2 / math.pi)
    other = audited(lambda x: c * x**3, lambda x, seed: 3 * c * (x * x * seed))  # Python rounds 3·c
    assert other.verdict == "proved up to rounding"
    certificate = audited(lambda x: c * x**3, lambda x, seed: 3 * (c * x * x * seed))
    assert certificate.verdict == "proved"
    assert certificate.literals == []


def test_hypotheses_stay():
    certificate = audited(lambda x: jnp.log(x) / math.log(2), lambda x, seed: seed * 1.4426950408889634 / x)
    assert certificate.verdict == "proved up to rounding"
    assert [h.text for h in certificate.claims[0].hypotheses] == ["x > 0"]


def test_a_missing_term_is_refuted_whatever_the_literals():
    assert audited(gelu, lambda x, seed: seed * 0.5 * (1 + lax.erf(x * 0.7071067811865476))).verdict == "refuted"


@pytest.mark.parametrize(
    ("weights", "verdicts"),
    [
        ([0.5, 1.0], {"proved up to rounding"}),
        ([2**-0.5, 1.0], {"proved up to rounding"}),
        # Of a large table nothing is known but its name: an entry that is read alone as √2/2 would be two numbers.
        ([2**-0.5, *range(80)], {"unproved", "refuted"}),
    ],
)
def test_an_entry_of_an_array_is_read_as_the_same_literal_alone(weights, verdicts):
    table, three, one = np.array(weights), 3 * 2**-0.5, 2**-0.5
    certificate = audit(
        declare(
            f"b {len(table)} -> b",
            lambda x: jnp.sum(table * x, -1) + three * jnp.sum(x, -1),
            lambda x, dx: jnp.sum(table * dx, -1) + 3.0 * (one * jnp.sum(dx, -1)),
            lambda x, seed: seed[:, None] * table + 3.0 * (one * seed[:, None]),
        )
    )
    assert certificate.verdict in verdicts


@pytest.mark.parametrize(("off", "verdicts"), [(0.0, {"proved up to rounding"}), (1e-9, {"refuted", "unproved"})])
def test_tables_of_roots(off, verdicts):
    """Two forms of second degree, √15·x·y and √(5/3)·(x² − y²), by one table each, with factors in another order."""
    value = np.array([[0.0, 15**0.5, 0.0], [(5 / 3) ** 0.5, 0.0, -((5 / 3) ** 0.5)]])
    slope = np.array([[[0.0, 15**0.5], [15**0.5, 0.0]], [[15**0.5 * 2 / 3, 0.0], [0.0, -(15**0.5) / 1.5 + off]]])

    def monomials(x):
        return jnp.stack([x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 2], -1)

    certificate = audit(
        declare(
            "b 2 -> b 2",
            lambda x: monomials(x) @ value.T,
            lambda x, dx: jnp.einsum("kij,bi,bj->bk", slope, x, dx),
            lambda x, seed: jnp.einsum("kij,bi,bk->bj", slope, x, seed),
        )
    )
    assert certificate.verdict in verdicts
