"""What hypotheses exclude of a declared domain is said, and `--strict` fails on it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.report.audited import conditions
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.judging.by_name import examined

pytestmark = pytest.mark.usefixtures("proofs_alone")


def ramp(domain):
    made = jax.custom_vjp(lambda x: jnp.maximum(x, 0.0))
    made.defvjp(lambda x: (jnp.maximum(x, 0.0), x), lambda x, g: (jnp.where(x > 0, g, 0.0),))
    return certgrad.declare("n -> n", domain=domain)(made)


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        ("x > -2", ["inside the declared domain, the claim holds only where x ≠ 0"]),
        ("x > 0", []),  # all of the domain is proved
        ("x != 0", []),
        (None, []),  # the author says nothing, and the hypothesis is what there is to say
    ],
)
def test_a_part_of_the_domain_that_is_excluded_is_a_remark(domain, said):
    result, _ = examined(FoundRule("m:ramp", ramp(domain)), {}, conformance=False)
    assert [r.text for r in result.remarks if r.code == "CG204"] == said


def test_what_the_author_did_not_say_comes_first():
    result, _ = examined(FoundRule("m:ramp", ramp("x > -2")), {}, conformance=False)
    assert conditions(result.certificate)[0] == "x ≠ 0"


def with_slope(function, slope):
    made = jax.custom_vjp(lambda x: function(x))
    made.defvjp(lambda x: (function(x), x), lambda x, g: (g * slope(x),))
    return made


LOG = with_slope(jnp.log, lambda x: 1 / x)
MAGNITUDE = with_slope(jnp.abs, jnp.ones_like)  # right where x > 0


@pytest.mark.parametrize(
    ("rule", "domain", "expected"),
    [
        (LOG, "1/x >= 0", ["x > 0"]),
        (LOG, "log(x) + log(x) > 0", ["2·log(x) > 0"]),
        (LOG, "sqrt(x) >= 0", ["x > 0", "√x ≥ 0"]),  # √0 is defined, and log 0 is not
        (LOG, "1/x**2 >= 0", ["1/x^2 ≥ 0", "x > 0"]),
        (MAGNITUDE, "1/x >= 0", ["1/x ≥ 0"]),
        (MAGNITUDE, "sqrt(x) >= 0", ["x ≠ 0", "√x ≥ 0"]),
        (MAGNITUDE, "log(x) + log(x) > 0", ["2·log(x) > 0"]),
        (MAGNITUDE, "1/x <= 0", None),
        (MAGNITUDE, "1/x**2 >= 0", None),
        (MAGNITUDE, "sqrt(x*x) >= 0", None),
        (MAGNITUDE, "log(x*x) > 0", None),
        (MAGNITUDE, "sqrt(x) >= 0 or x < 1", None),  # of one of two nothing follows
    ],
)
def test_what_a_condition_speaks_of_is_defined(rule, domain, expected):
    report = certgrad.check(rule, "n", domain=[domain], conformance=False)
    if expected is None:
        assert report.verdict not in ("proved", "proved under hypotheses")
    else:
        assert (report.verdict, sorted(report.hypotheses)) == ("proved under hypotheses", sorted(expected))
