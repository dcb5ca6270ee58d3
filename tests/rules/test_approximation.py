"""`approximates=ideal`: the derivative is claimed of the ideal function, the value of the one that runs."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.errors import CertgradError
from certgrad.rules._by_name import examined
from certgrad.rules._declaration import Declaration
from certgrad.rules._find import Found
from certgrad.testing import assert_certified

from .test_check import custom_vjp


def pade(x):
    """exp near 0."""
    return (12 + 6 * x + x**2) / (12 - 6 * x + x**2)


def custom_jvp(tangent, primal=pade):
    rule = jax.custom_jvp(pade)
    rule.defjvp(lambda p, t: (primal(p[0]), tangent(p[0], t[0])))
    return rule


def right():
    return custom_jvp(lambda x, dx: jnp.exp(x) * dx)


NEAR_0 = ["x > -1", "x < 1"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "rule",
    [right(), custom_vjp(pade, lambda x: (pade(x), x), lambda x, g: (g * jnp.exp(x),))],
    ids=["custom_jvp", "custom_vjp"],
)
def test_the_rule_is_proved_for_the_ideal_function(rule):
    assert certgrad.check(rule, "*s -> *s").verdict == "refuted"
    report = certgrad.check(rule, "*s -> *s", domain=NEAR_0, approximates=jnp.exp)
    assert report.proved
    about, *_, value = report.claims
    assert "d/dt jax.numpy.exp(x + t·dx)" in about.statement
    assert about.idealisations == [report.approximates]
    assert value.statement.endswith("the rule's primal output is pade(x)")
    assert value.idealisations == []
    assert report.approximates in str(report)


@pytest.mark.slow
def test_the_distance_is_measured_in_the_domain():
    report = certgrad.check(right(), "*s -> *s", domain=NEAR_0, approximates=jnp.exp)
    assert "which the function approximates; at 300 drawn values they differ by at most 0.00" in report.approximates
    assert report.approximates.endswith("(measured, not proved)")
    wider = certgrad.check(right(), "*s -> *s", approximates=jnp.exp)
    assert "differ by at most 7.31e+43" in wider.approximates


def test_code_that_looks_at_bits_is_measured_in_floats():
    def fast(x):
        """x², with x's own bits taken and put back."""
        kind = jnp.int64 if x.dtype == jnp.float64 else jnp.int32
        again = jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(x, kind), x.dtype)
        return x * again + 0.25

    rule = jax.custom_jvp(fast)
    rule.defjvp(lambda p, t: (fast(p[0]), 2 * p[0] * t[0]))
    report = certgrad.check(rule, "n -> n", approximates=lambda x: x**2)
    assert report.proved
    assert "the derivative is that of ideal, which the function approximates" in report.approximates
    assert "differ by at most 0.250 " in report.approximates
    assert report.approximates.endswith("(measured in float64, not proved)")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("rule", "ideal"),
    [
        (right(), jnp.sin),
        (right(), lambda x: jnp.exp(x) + 1e-9 * x),
        (custom_jvp(lambda x, dx: pade(x) * dx), jnp.exp),  # by a gap as small as the approximation is good
        (custom_vjp(pade, lambda x: (pade(x), x), lambda x, g: (jnp.exp(x),)), jnp.exp),
    ],
    ids=["another function", "by a little", "the approximation's value", "not linear"],
)
def test_a_rule_that_is_not_its_derivative_is_refuted(rule, ideal):
    report = certgrad.check(rule, "n -> n", domain=NEAR_0, approximates=ideal)
    wrong, *_, value = report.claims
    assert (wrong.verdict, value.verdict, report.verdict) == ("refuted", "proved under hypotheses", "refuted")
    assert report.witness is not None


def test_the_primal_must_still_be_the_function_that_runs():
    """Returning the ideal's value under differentiation is another value than without."""
    report = certgrad.check(custom_jvp(lambda x, dx: jnp.exp(x) * dx, primal=jnp.exp), "n", approximates=jnp.exp)
    assert {c.kind: c.verdict for c in report.claims} == {
        "jvp_is_derivative": "proved",
        "vjp_is_adjoint": "proved",
        "rule_runs_forward": "refuted",
    }


def test_hypotheses_of_the_ideal_function_belong_to_the_claim():
    rule = custom_vjp(lambda x: x - x**2 / 2, lambda x: (x - x**2 / 2, x), lambda x, g: (g / (1 + x),))
    report = certgrad.check(rule, "n -> n", approximates=jnp.log1p)
    assert report.hypotheses == ["x > −1"]


def test_arguments_that_the_ideal_function_takes_too():
    """Arrays in order; of the others, those that it names."""
    rule = custom_vjp(
        lambda x, y, k, terms: k * (x * y + 1e-6 * x),
        lambda x, y, k, terms: (k * (x * y + 1e-6 * x), (x, y)),
        lambda k, terms, r, g: (k * g * r[1], k * g * r[0]),
        nondiff_argnums=(2, 3),
    )
    static = {"k": certgrad.real(), "terms": 3}
    report = certgrad.check(rule, "n, n -> n", static=static, approximates=lambda a, b, *, k: k * a * b)
    assert report.verdict == "proved"
    wrong = certgrad.check(rule, "n, n -> n", static=static, approximates=lambda a, b, *, k: a * b)
    assert wrong.verdict == "refuted"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"approximates": 3}, "pade .* approximates is no function, but 3"),
        ({"approximates": "jax.numpy:expp"}, "'jax.numpy:expp' names no function such as"),
        ({"approximates": jnp.exp, "surrogate": "no"}, "say one"),
        ({"approximates": jnp.add}, "jax.numpy.add, which pade .* approximates, cannot be called as that is"),
        ({"approximates": lambda x: jnp.sum(x)}, r"returns float32 \(\), and not float32 \(n\) as that does"),
    ],
)
def test_a_declaration_that_does_not_fit(options, said):
    with pytest.raises(CertgradError, match=said):
        certgrad.check(right(), "n -> n", **options)


def test_it_is_a_remark_of_an_audit():
    declared = Declaration("n -> n", domain=NEAR_0, approximates="jax.numpy:exp")
    result = examined(Found("mypkg:pade", right()), {"mypkg:pade": (declared,)})
    (remark,) = result.remarks
    assert remark.code == "CG207"
    assert remark.text == result.report.approximates
    assert assert_certified(right(), "n -> n", domain=NEAR_0, approximates=jnp.exp).proved


def test_the_reproduction_differentiates_the_ideal_function(tmp_path):
    report = certgrad.check(right(), "n -> n", approximates=jnp.sin)
    lines = report.reproduction.replace("from tests.rules.test_approximation import pade", "")
    script = lines.replace("function = pade", "from tests.rules.test_approximation import right\nfunction = right()")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, expected, _, returned = done.stdout.split()
    assert float(expected) == pytest.approx(0.5403, abs=1e-3)
    assert float(returned) == pytest.approx(2.71828, abs=1e-3)
