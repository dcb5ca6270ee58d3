"""What rules may do beside their derivatives: integer outputs, bound arguments, odd structures, programs that end."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.errors import CertgradError

from .judging.test_check import custom_vjp


def with_output(function, in_fwd):
    """x², and an output without a derivative, in the function and in its fwd."""
    return custom_vjp(lambda x: (x**2, function(x)), lambda x: ((x**2, in_fwd(x)), x), lambda x, g: (2 * x * g[0],))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("function", "in_fwd", "verdict"),
    [
        (jnp.argmax, jnp.argmax, "proved"),
        (jnp.argmax, lambda x: jnp.argmax(x) + 1, "refuted"),
        (lambda x: x > 0, lambda x: x > 0, "proved"),
        (lambda x: x > 0, lambda x: x >= 0, "refuted"),
    ],
)
def test_the_fwd_returns_integer_outputs_too(function, in_fwd, verdict):
    report = certgrad.check(with_output(function, in_fwd), "n")
    assert {c.kind: c.verdict for c in report.claims} == {"vjp_is_adjoint": "proved", "rule_runs_forward": verdict}
    if verdict == "refuted":
        assert report.claims[1].cases[0].reason.startswith("an integer output: the two sides differ")
        assert report.claims[1].cases[0].witness is not None
        assert "jnp.issubdtype" not in report.reproduction


def test_outputs_that_no_claim_speaks_of():
    key = jax.random.key(0)
    rule = custom_vjp(lambda x: (x, key), lambda x: ((x, key), x), lambda x, g: (g[0],))
    report = certgrad.check(rule, "n")
    assert report.verdict == "unproved"
    assert "an output is of key<fry>" in report.claims[0].cases[0].reason


def test_a_complex_output_with_another_imaginary_part():
    rule = custom_vjp(lambda x: x + 1j, lambda x: (x + 2j, x), lambda x, g: (g.real,))
    report = certgrad.check(rule, "n")
    assert {c.kind: c.verdict for c in report.claims} == {"vjp_is_adjoint": "proved", "rule_runs_forward": "refuted"}


def power_rule():
    return custom_vjp(
        lambda x, p=2: x**p, lambda x, p: (x**p, x), lambda p, x, g: (p * x ** (p - 1) * g,), nondiff_argnums=(1,)
    )


def scaled_rule(factor=1):
    return custom_vjp(
        lambda k, x, y: k * x * y,
        lambda k, x, y: (k * x * y, (x, y)),
        lambda k, r, g: (factor * k * g * r[1], k * g * r[0]),
        nondiff_argnums=(0,),
    )


@pytest.mark.parametrize(
    ("function", "signature", "verdict"),
    [
        (partial(power_rule(), p=3), "n", "proved"),
        (partial(scaled_rule(), 3.0), "n, n", "proved"),
        (partial(scaled_rule(), k=3.0), "n, n", "proved"),
        (jax.jit(partial(scaled_rule(), 3.0)), "n, n", "proved"),
        (partial(scaled_rule(2), 3.0), "n, n", "refuted"),
    ],
)
@pytest.mark.one_in(2)
def test_arguments_that_a_partial_gives(function, signature, verdict):
    assert certgrad.check(function, signature).verdict == verdict


def test_no_cause_is_named_where_the_shapes_that_are_tried_are_right():
    def deep(x):
        return x if x.ndim > 3 else 2 * x

    report = certgrad.check(custom_vjp(deep, lambda x: (deep(x), None), lambda _, g: (2 * g,)), "*s")
    assert (report.verdict, report.cause) == ("refuted", "")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("bwd", "verdict", "said"),
    [
        (lambda _, g: exit(3), "unproved", "the rule ends the program: sys.exit(3)"),
        (lambda _, g: 1 / 0, "refuted", "the function runs and its rule fails: ZeroDivisionError: division by zero"),
        (lambda _, g: 2 * g, "refuted", "must produce an output with the same container"),
        (
            lambda _, g: (float(g[0]),),
            "refuted",
            "type float32[] corresponding to an input of type float32[2]",
        ),
    ],
)
def test_a_rule_that_fails(bwd, verdict, said):
    report = certgrad.check(custom_vjp(lambda x: 2 * x, lambda x: (2 * x, None), bwd), "n")
    assert report.verdict == verdict
    assert said in report.claims[0].cases[0].reason


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (3, {}, "3 is no function"),
        (lambda x: x, {"static": {"q": 1}}, "no argument named 'q'; it has x"),
        (lambda x: x, {"differentiable": ["q"]}, "'q' is no float argument"),
        (lambda x: x, {"domain": "z > 0"}, "names 'z', but there is only x"),
        (lambda x: x, {"domain": "import os"}, "is not a formula"),
        (lambda x, c: c * x, {"static": {"c": certgrad.real("d > 0")}}, "names 'd', but there is only c"),
        (lambda: jnp.ones(3), {}, "takes 0 array arguments"),
    ],
)
def test_a_declaration_that_does_not_fit(function, options, said):
    with pytest.raises(CertgradError, match=said):
        certgrad.check(function, "n", **options)


def test_a_wrong_value_of_a_fwd_that_jax_may_run_again():
    rule = jax.custom_vjp(lambda x: x**2)
    rule.defvjp(lambda x: (x**3, x), lambda x, g: (2 * x * g,), optimize_remat=True)
    report = certgrad.check(rule, "n")
    assert {c.kind: c.verdict for c in report.claims} == {"vjp_is_adjoint": "proved", "rule_runs_forward": "refuted"}
