"""Functions that JAX computes by approximation are read as what they approximate, and nothing else is."""

import jax
import jax.numpy as jnp
import pytest
from jax.scipy import special
from jax.scipy.special import betaln, digamma, log_ndtr
from jax.scipy.stats import norm

from certgrad import certify, check, trace
from certgrad.obligations.tracing.jax_internals import (
    _approximations,
    approximation,
    inlined,
    inner_program,
    program_of,
)


def program(f, dtype=jnp.float32):
    return program_of(jax.make_jaxpr(f)(jax.ShapeDtypeStruct((3,), dtype)))


def body(f, dtype=jnp.float32):
    found = inner_program(program(f, dtype).jaxpr.eqns[0])
    assert found is not None
    return found


def test_its_program_is_recognised_and_no_other() -> None:
    found = approximation(body(log_ndtr))
    assert found is not None
    assert found.name == "log_ndtr"
    assert approximation(body(lambda x: log_ndtr(x, series_order=2))) is None
    assert approximation(body(jax.nn.relu)) is None
    assert approximation(program(jnp.sin)) is None


@pytest.mark.slow
def test_the_distance_is_measured_in_its_dtype() -> None:
    found = approximation(body(log_ndtr))
    assert found is not None
    assert "differ by less than 1e-06 in float32" in found.idealisation(jnp.float32)
    assert "differ by less than 1e-10 in float64" in found.idealisation(jnp.float64)


@pytest.mark.parametrize(
    ("function", "name", "outputs"),
    [(special.sici, "sici", 2), (special.expi, "expi", 1), (_approximations._frexp, "frexp", 2)],
)
def test_several_results_and_what_they_are_read_as(function, name, outputs) -> None:
    found = approximation(body(function))
    assert found is not None
    assert found.name == name
    ideal = found.program(body(function).jaxpr.invars[0].aval)
    assert len(ideal.jaxpr.outvars) == outputs


def test_a_program_whose_tables_are_operands() -> None:
    whole = program(special.dawsn)
    (eqn,) = whole.jaxpr.eqns
    held = dict(zip(whole.jaxpr.constvars, whole.consts, strict=True))
    tables = [held[v] for v in eqn.invars[:-1]]
    found = approximation(body(special.dawsn), tables)
    assert found is not None
    assert found.name == "dawsn"
    assert approximation(body(special.dawsn)) is None
    assert approximation(body(special.dawsn), [2 * tables[0], *tables[1:]]) is None


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_rule_of_a_user_that_calls_it() -> None:
    assert check(rule(1.0), "n -> n", conformance=False).verdict == "proved up to rounding"


@pytest.mark.slow
@pytest.mark.parametrize("factor", [-1.0, 1.001, 0.0])
def test_a_wrong_one_is_not_proved(factor) -> None:
    assert check(rule(factor), "n -> n", conformance=False).verdict in ("refuted", "unproved")


def of_two(f):
    return program_of(jax.make_jaxpr(f)(*[jax.ShapeDtypeStruct((3,), jnp.float32)] * 2))


def test_equations_that_stand_in_another_program() -> None:
    (found,) = inlined(of_two(lambda a, b: 2 * betaln(a + 1, b) - a))
    assert (found.one.name, found.first) == ("betaln", 1)
    assert len(inlined(of_two(lambda a, b: betaln(a, b) + betaln(b, a)))) == 2
    assert "at 625 points from 0.25 to 30.25 the two differ by less than 1e-06" in found.one.idealisation(jnp.float64)


def near_miss(threshold, order):
    """As betaln for small arguments."""

    def f(a, b):
        a, b = jnp.minimum(a, b), jnp.maximum(a, b)
        return jnp.where(b < threshold, jax.lax.lgamma(a) + (jax.lax.lgamma(b) - jax.lax.lgamma(a + order * b)), a)

    return f


def test_other_equations_are_not_it() -> None:
    assert inlined(of_two(jnp.minimum)) == []
    assert inlined(of_two(near_miss(8, 1))) == []
    assert inlined(of_two(lambda a, b: betaln(a, a))) == []
    changed = of_two(betaln)
    eqns = [e.replace(invars=e.invars[::-1]) if e.primitive.name == "sub" else e for e in changed.jaxpr.eqns]
    changed.jaxpr = changed.jaxpr.replace(eqns=eqns)
    assert inlined(changed) == []


def test_equations_whose_parts_are_used_elsewhere_are_not_it() -> None:
    program = of_two(lambda a, b: betaln(a, b) + 1)
    (found,) = inlined(program)
    inside = program.jaxpr.eqns[found.first].outvars[0]
    *rest, last = program.jaxpr.eqns
    program.jaxpr = program.jaxpr.replace(eqns=[*rest, last.replace(invars=[last.invars[0], inside])])
    assert inlined(program) == []


def entropy(forgotten):
    """log B(a + 1, b) by the recurrence of log B."""

    @jax.custom_vjp
    def f(a, b):
        return betaln(a + 1, b)

    def bwd(saved, g):
        a, b = saved
        both = digamma(a + b) + (0 if forgotten else 1 / (a + b))
        return g * (digamma(a) + 1 / a - both), g * (digamma(b) - both)

    f.defvjp(lambda a, b: (betaln(a, b) + jnp.log(a) - jnp.log(a + b), (a, b)), bwd)
    return f


@pytest.mark.slow
def test_a_rule_of_the_logarithm_of_a_beta_function() -> None:
    """It is that of positive numbers only, also where nothing is said of them."""
    report = check(entropy(False), "n, n -> n", conformance=False)
    assert report.verdict == "proved up to rounding"
    assert {"a > 0", "b > 0"} <= set(report.hypotheses)
    said = {text for claim in report.certificate.claims for text in claim.idealisations}
    assert any(text.startswith("betaln is read as lgamma(a) + lgamma(b) − lgamma(a + b)") for text in said), said


@pytest.mark.slow
def test_a_wrong_rule_of_it_is_refuted() -> None:
    assert check(entropy(True), "n, n -> n", domain=["a > 0", "b > 0"], conformance=False).verdict == "refuted"
