"""What is said beside `unproved`: a numeric check, and for a solver the declaration that it lacks."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.cli._policy import failed, failing
from certgrad.obligations.auditing import attempts, witnesses
from certgrad.obligations.auditing.numeric import numeric
from certgrad.obligations.certificate import fails
from certgrad.obligations.generality.instances import family
from certgrad.report.audited import Audit, RuleResult
from certgrad.report.problems import Level, problems
from certgrad.rules.subject.user_rule import UserRule

PROVES_NOTHING = "which proves nothing"


def rule(value, slope):
    made = jax.custom_vjp(value)
    made.defvjp(lambda x: (value(x), x), lambda x, g: (g * slope(x),))
    return made


def unknown(x):
    """Beyond the calculus, and beyond ball arithmetic."""
    return jnp.sum(jax.lax.nextafter(x, x + 1) * x)


def test_a_right_rule_that_is_unproved_agrees_at_points():
    report = certgrad.check(rule(unknown, lambda x: 2 * x), "n", sizes=None)
    assert report.verdict == "unproved"
    (said,) = report.claims[0].measured
    assert said.startswith("a numeric check in floats agrees at ")
    assert said.endswith(PROVES_NOTHING)
    assert said in " ".join(str(report).replace("\n           ", " ").split())


def test_a_wrong_rule_that_is_unproved_differs_and_is_not_refuted_by_floats():
    report = certgrad.check(rule(unknown, lambda x: 3 * x), "n", sizes=None)
    assert report.verdict == "unproved", "floats refute nothing"
    assert report.claims[0].measured == []
    said = report.claims[0].contradicted
    assert said.startswith("a numeric check in floats differs: ")
    assert said in " ".join(str(report).replace("\n           ", " ").split())
    assert "at x = [" in said
    assert fails(report.claims[0], {"refuted"})
    assert not fails(report.claims[0], {"surrogate"})
    right = certgrad.check(rule(unknown, lambda x: 2 * x), "n", sizes=None)
    assert not fails(right.claims[0], {"refuted"})


@pytest.mark.parametrize(
    ("factor", "options", "level"),
    [(3.0, {}, Level.error), (2.0, {}, Level.warning), (3.0, {"fail_on": ["surrogate"]}, Level.warning)],
)
def test_an_audit_fails_on_what_floats_contradict(factor, options, level):
    report = certgrad.check(rule(unknown, lambda x: factor * x), "n", sizes=None)
    own = RuleResult(name="m:f", certificate=report.certificate)
    audit = Audit([own], failing=failing(options.get("fail_on", []), strict=False))
    assert failed(audit) == (level is Level.error)
    assert [p.level for p in problems(audit) if p.code == "CG102"] == [level]


def test_a_difference_that_ball_arithmetic_confirms_is_a_refutation(monkeypatch):
    monkeypatch.setattr(witnesses, "search", lambda *args, **options: None)
    monkeypatch.setattr(
        "certgrad.obligations.auditing.attempts.prove", lambda *args: (_ for _ in ()).throw(RecursionError("deep"))
    )
    report = certgrad.check(rule(jnp.sin, jnp.sin), "n", sizes=None)
    assert report.verdict == "refuted"
    assert report.witness is not None
    assert float(report.witness.relative_gap) > 1e-3
    assert report.reproduction
    right = certgrad.check(rule(jnp.sin, jnp.cos), "n", sizes=None)
    assert right.verdict == "unproved"
    assert PROVES_NOTHING in right.claims[0].measured[0]


@pytest.mark.parametrize(("factor", "differs"), [(3.0, True), (2.0, False)])
def test_sizes_at_which_the_function_has_no_value_are_passed_over(factor, differs):
    """As those of a quadratic program with more equations than unknowns."""

    def value(x):
        return jnp.sqrt(-((x.shape[0] - 4.0) ** 2)) + jnp.sum(x * x)

    of = UserRule(rule(value, lambda x: factor * x), "n")
    found = numeric(of, family(of, of.cases[0]).prove[0], "vjp_is_adjoint")
    assert bool(found.witness or found.differs) == differs
    assert bool(found.agreed) != differs
    if found.witness is not None:
        assert found.witness.dims == {"n": 4}


def test_a_difference_that_is_not_confirmed_at_one_size_is_looked_for_at_others():
    """At small sizes an operation is used that ball arithmetic has no rule for."""

    def value(x):
        return unknown(x) if isinstance(x.shape[0], int) and x.shape[0] < 4 else jnp.sum(x * x)

    of = UserRule(rule(value, lambda x: 3 * x), "n")
    found = numeric(of, family(of, of.cases[0]).prove[0], "vjp_is_adjoint")
    assert found.witness is not None
    assert found.witness.dims["n"] >= 4


def test_a_loop_without_end_ends():
    """For a < 0 Newton's steps never meet the test."""

    def root(a):
        return jax.lax.while_loop(
            lambda x: jnp.any(jnp.abs(x * x - a) > 1e-9), lambda x: 0.5 * (x + a / x), jnp.ones_like(a)
        )

    instance = of_rule(root)
    assert numeric(instance, family(instance, instance.cases[0]).prove[0], "vjp_is_adjoint").agreed < 12


def of_rule(value):
    made = jax.custom_vjp(value)
    made.defvjp(lambda a: (value(a), value(a)), lambda y, g: (g / (2 * y),))
    return UserRule(made, "n")


def steps(a):
    return jax.lax.fori_loop(0, 3, lambda _, x: 0.5 * (x + a / x), jnp.ones_like(a))


def until(a):
    def go_on(state):
        return jnp.any(jnp.abs(state[0] ** 2 - a) > 1e-3) & (state[1] < 50)

    return jax.lax.while_loop(go_on, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (jnp.ones_like(a), 0))[0]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("solver", [steps, until])
def test_a_solver_that_is_not_marked_is_pointed_to_it(monkeypatch, solver):
    monkeypatch.setattr(attempts, "_limits", lambda op: (2000, 1.0))
    root = jax.custom_vjp(solver)
    root.defvjp(lambda a: (solver(a), solver(a)), lambda y, g: (g / (3 * y),))
    report = certgrad.check(root, "n", domain="a > 0", sizes=None)
    assert not report.proved
    assert "say which by certgrad.solves" in report.reason
    cumulative = rule(lambda x: jax.lax.scan(lambda c, y: (c + y, c * y), 0.0, x)[1].sum(), lambda x: 0 * x)
    assert "certgrad.solves" not in certgrad.check(cumulative, "n", sizes=None).reason
