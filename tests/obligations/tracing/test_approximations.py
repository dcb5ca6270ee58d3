"""Functions that JAX computes by approximation are read as what they approximate, and nothing else is."""

import jax
import jax.numpy as jnp
import pytest
from jax.scipy.special import log_ndtr
from jax.scipy.stats import norm

from certgrad import certify, check, trace
from certgrad.obligations.tracing.jax_internals import approximation, program_of


def program(f, dtype=jnp.float32):
    return program_of(jax.make_jaxpr(f)(jax.ShapeDtypeStruct((3,), dtype)))


def body(f, dtype=jnp.float32):
    return program_of(program(f, dtype).jaxpr.eqns[0].params["call_jaxpr"])


def test_its_program_is_recognised_and_no_other() -> None:
    found = approximation(body(log_ndtr))
    assert found is not None
    assert found.name == "log_ndtr"
    assert approximation(body(lambda x: log_ndtr(x, series_order=2))) is None
    assert approximation(body(jax.nn.relu)) is None
    assert approximation(program(jnp.sin)) is None


def test_the_distance_is_measured_in_its_dtype() -> None:
    found = approximation(body(log_ndtr))
    assert found is not None
    assert "differ by less than 1e-06 in float32" in found.said(jnp.float32)
    assert "differ by less than 1e-10 in float64" in found.said(jnp.float64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_density_that_is_built_on_it(dtype) -> None:
    graph = trace(lambda x, s: norm.logcdf(x, 0.0, s).sum(), f"x: n:{dtype}", f"s: :{dtype}")
    certificate = certify(graph)
    assert certificate.verdict == "proved up to rounding", certificate.findings
    (said,) = {text for lemma in certificate.lemmas for text in lemma.idealisations if "approximates" in text}
    assert said.startswith("log_ndtr is read as log(erfc(−x/√2)/2), which it approximates: at 105 points")


def rule(factor):
    """x·log_ndtr(x), with its derivative's second term multiplied by a factor."""

    @jax.custom_vjp
    def f(x):
        return x * log_ndtr(x)

    def bwd(x, g):
        return (g * (log_ndtr(x) + factor * x * jnp.exp(-x * x / 2 - log_ndtr(x)) / jnp.sqrt(2 * jnp.pi)),)

    f.defvjp(lambda x: (f(x), x), bwd)
    return f


def test_a_rule_of_a_user_that_calls_it() -> None:
    assert check(rule(1.0), "n -> n", conformance=False).verdict == "proved up to rounding"


@pytest.mark.slow
@pytest.mark.parametrize("factor", [-1.0, 1.001, 0.0])
def test_a_wrong_one_is_not_proved(factor) -> None:
    assert check(rule(factor), "n -> n", conformance=False).verdict in ("refuted", "unproved")
