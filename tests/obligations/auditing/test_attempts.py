"""A first attempt that is too short, a search for a witness, and the long attempt: together they say what one would."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.obligations import audit
from certgrad.obligations.auditing import attempts as _attempts
from certgrad.rules.subject.examine import apply_examination, examine
from certgrad.rules.subject.user_rule import UserRule


@pytest.fixture(autouse=True)
def _no_first_attempt(monkeypatch):
    monkeypatch.setattr(_attempts, "FIRST_STEPS", -1)


RULES = {
    "undefined where x is 0": (
        ("*s, *s -> *s", lambda x, y: x * y, lambda x, y, g: (g * (x * y) / x, g * x)),
        "refuted",
    ),
    "a kink": (
        ("*s -> *s", lambda x: jnp.maximum(x, 0), lambda x, g: (jnp.where(x > 0, g, 0 * g),)),
        "proved under hypotheses",
    ),
    "an inverse": (
        ("n n -> ", lambda a: jnp.linalg.det(a), lambda a, g: (g * jnp.linalg.det(a) * jnp.linalg.inv(a).T,)),
        "proved under hypotheses",
    ),
    "labels in range": (
        ("n, b:int -> b", lambda x, i: x[i], lambda x, i, g: (jnp.zeros_like(x).at[i].add(g), None)),
        "proved under hypotheses",
    ),
    "no hypothesis": (("*s -> *s", lambda x: x**3, lambda x, g: (3 * x * x * g,)), "proved"),
    "wrong": (("*s -> *s", lambda x: x**3, lambda x, g: (2 * x * x * g,)), "refuted"),
    "wrong at one point": (
        ("*s -> *s", lambda x: x**3, lambda x, g: (jnp.where(x == 3, 0 * g, 3 * x * x * g),)),
        "refuted",
    ),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", RULES)
def test_the_verdict(name):
    (signature, function, backward), verdict = RULES[name]
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *args: (function(*args), args), lambda args, g: backward(*args, g))
    assert certgrad.check(rule, signature).verdict == verdict


def asked_of(rule, signature: str, monkeypatch) -> list[str]:
    """The obligations that an audit tries to prove, in order."""
    asked: list[str] = []
    proves = _attempts.prove

    def prove(problem, kind):
        asked.append(kind)
        return proves(problem, kind)

    monkeypatch.setattr(_attempts, "FIRST_STEPS", 30_000)
    monkeypatch.setattr(_attempts, "prove", prove)
    subject = UserRule(rule, signature)
    apply_examination(subject, examine(subject))
    assert audit(subject).verdict == "refuted"
    return asked


def test_a_law_that_is_refuted_is_not_tried_at_other_shapes(monkeypatch):
    wrong = jax.custom_vjp(lambda x: jnp.sum(x * x))
    wrong.defvjp(lambda x: (jnp.sum(x * x), x), lambda x, g: (3 * x * g,))
    asked = asked_of(wrong, "*s -> ", monkeypatch)
    assert asked.count("vjp_is_adjoint") == 1


def test_another_law_of_a_refuted_rule_is_still_refuted(monkeypatch):
    wrong = jax.custom_vjp(lambda x: jnp.sum(x * x))
    wrong.defvjp(lambda x: (jnp.sum(x), x), lambda x, g: (3 * x * g,))
    assert {"vjp_is_adjoint", "rule_runs_forward"} == set(asked_of(wrong, "*s -> ", monkeypatch))
    report = certgrad.check(wrong, "*s -> ")
    assert {c.kind: c.verdict for c in report.claims} == dict.fromkeys(
        ("vjp_is_adjoint", "rule_runs_forward"), "refuted"
    )


def test_a_long_program_is_evaluated_before_its_terms_are_made(monkeypatch):
    """The whole program as terms is not made for a rule that is wrong at a point; a right one is proved as ever."""
    made: list[int] = []
    builds = _attempts.build

    def build(*args):
        made.append(_attempts.FIRST_STEPS)
        return builds(*args)

    monkeypatch.setattr(_attempts, "FIRST_STEPS", 10)
    monkeypatch.setattr(_attempts, "build", build)
    verdicts, counts = [], []
    for factor in (2, 3):
        rule = jax.custom_vjp(lambda x: x * x)
        rule.defvjp(lambda x: (x * x, x), lambda x, g, factor=factor: (factor * x * g,))
        subject = UserRule(rule, "n -> n")
        apply_examination(subject, examine(subject))
        made.clear()
        verdicts.append(audit(subject).verdict)
        counts.append(len(made))
    assert verdicts == ["proved", "refuted"]
    assert counts[1] < counts[0]


def test_a_rule_that_needs_what_holds_nowhere_is_refuted_and_a_function_that_does_is_not() -> None:
    """What comes before the first entry is an empty sum: its quotient by itself has no value, wherever."""

    def before(x):
        return jnp.cumsum(x) - x

    def own(x):
        return jnp.sin(x) * before(x) / before(x)

    wrong, right, undefined = jax.custom_vjp(jnp.sin), jax.custom_vjp(jnp.sin), jax.custom_vjp(own)
    wrong.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) * before(x) / before(x),))
    right.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))
    undefined.defvjp(lambda x: (own(x), x), lambda x, g: (g * jnp.cos(x) * before(x) / before(x),))
    assert [certgrad.check(f, "n").verdict for f in (wrong, right, undefined)] == ["refuted", "proved", "unproved"]
