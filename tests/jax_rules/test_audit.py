"""The audit of JAX: right rules are proved, wrong ones planted in JAX are refuted, and nothing else is claimed."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.interpreters import ad

from certgrad.jax_rules import audit
from certgrad.jax_rules._audit import NOT_RUN, JaxRule, audit_configurations
from certgrad.jax_rules._configuration import configurations
from certgrad.jax_rules._enumerate import FUNCTION, PRIMITIVE, Subject
from certgrad.obligations.certificate import Certificate
from certgrad.report import json

PROVED = ("proved", "proved under hypotheses")
SIN = Subject("sin", PRIMITIVE)
VECTOR = configurations("sin", lax.sin, "n")


def one(program: Callable[..., Any], signature: str, kind: str = FUNCTION, name: str = "f") -> Certificate:
    return audit_configurations(Subject(name, kind), configurations(name, program, signature))


def reasons(certificate: Certificate) -> set[str]:
    return {case.reason for claim in certificate.claims for case in claim.cases}


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "name, verdict",
    [
        ("mul", "proved"),
        ("dot_general", "proved"),
        ("abs", "proved under hypotheses"),
        ("jax.nn.relu", "proved under hypotheses"),
        ("jax.scipy.special.xlogy", "proved under hypotheses"),
    ],
)
def test_right_rules_are_proved(name: str, verdict: str) -> None:
    certificate = audit(name)
    assert certificate.verdict == verdict
    assert [c.kind for c in certificate.claims] == ["jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward"]
    assert all(len(c.cases) == len(certificate.signature) for c in certificate.claims)


def test_hypotheses_and_what_jax_returns_at_kinks() -> None:
    certificate = audit("abs")
    assert {h.text for c in certificate.claims for h in c.hypotheses} == {"x ≠ 0"}
    assert [(c.point, c.rule) for c in certificate.conventions] == [("x = 0", "1")]
    assert certificate.claims[0].cases[0].scope == "all shapes, any rank"


def test_a_proof_ends_with_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JaxRule, "steps", 3)
    certificate = audit("logistic")
    assert certificate.verdict == "unproved"
    assert "budget: the proof exceeded its steps" in reasons(certificate)


def test_a_constant_that_jax_rounded_is_said() -> None:
    certificate = audit("cbrt")
    assert certificate.verdict == "proved up to rounding"
    assert [(one.literal, one.text) for one in certificate.literals] == [("0.3333333333333333", "1/3")]


def test_a_wrong_jvp_planted_in_jax_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ad.primitive_jvps, lax.sin_p, lambda p, t, **_: (lax.sin(*p), 2 * t[0] * lax.cos(*p)))
    certificate = audit_configurations(SIN, VECTOR)
    assert certificate.claims[0].verdict == "refuted"
    witness = certificate.claims[0].cases[0].witness
    assert witness is not None
    assert witness.relative_gap == "0.500"


def test_a_wrong_transpose_planted_in_jax_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ad.primitive_transposes, lax.neg_p, lambda ct, x: [ct])
    certificate = audit_configurations(Subject("neg", PRIMITIVE), configurations("neg", lax.neg, "n"))
    assert [c.verdict for c in certificate.claims] == ["proved", "refuted", "proved"]


def test_a_rule_of_jax_that_is_wrong_at_one_size_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """What JAX's own code asks of dimensions is not trusted here: the rules below pass for a file of JAX."""
    rule = "def rule(p, t, **_):\n    return sin(*p), (2 if {} else 1) * t[0] * cos(*p)\n"
    for asked in ("t[0].shape[0] == 11", "t[0].shape[0] % 11 == 0"):
        code: dict[str, Any] = {"sin": lax.sin, "cos": lax.cos}
        exec(compile(rule.format(asked), jax.__file__, "exec"), code)
        monkeypatch.setitem(ad.primitive_jvps, lax.sin_p, code["rule"])
        assert audit_configurations(SIN, VECTOR).claims[0].verdict not in PROVED
    monkeypatch.setattr(JaxRule, "suspects_library", False)  # elsewhere a number is looked at, and multiples are not
    assert audit_configurations(SIN, VECTOR).claims[0].verdict == "proved"


@pytest.mark.slow
def test_a_finding_in_jax_the_gradient_of_a_clipped_scatter() -> None:
    """x.at[k].max(y, mode="clip") is defined for k out of range; its JVP drops the mode and divides by 0 there."""
    x, y, k = jnp.array([1.0]), jnp.array([2.0]), jnp.array([1])
    tangent = jax.jvp(lambda y: x.at[k].max(y, mode="clip"), (y,), (y,))[1]
    certificate = audit("scatter-max")
    if bool(jnp.isnan(tangent[0])):
        assert certificate.verdict == "refuted"
    else:  # a version of JAX without the defect
        assert certificate.verdict != "refuted"


def test_the_worst_configuration_decides() -> None:
    both = [
        *VECTOR,
        *configurations("sin", lambda x: lax.sin(x) + jax.pure_callback(lambda y: y, x, x), "n", form="no"),
    ]
    certificate = audit_configurations(SIN, both)
    assert certificate.verdict == "unproved"
    assert [case.verdict for case in certificate.claims[0].cases] == ["proved", "unproved"]
    assert [case.statics for case in certificate.claims[0].cases] == [{}, {"form": "no"}]


def test_what_does_not_trace_is_unproved_with_the_reason_of_jax() -> None:
    certificate = one(lambda x: lax.cumprod(x, 0), "n")
    assert certificate.verdict == "unproved"
    assert all("associative scan over axis of non-constant size" in r and len(r) < 220 for r in reasons(certificate))
    assert reasons(one(lambda x: x.nonsense, "n")) != {""}


def test_a_configuration_must_run_its_primitive() -> None:
    assert reasons(one(lax.exp, "n", PRIMITIVE, "sin")) == {NOT_RUN}


def test_a_primitive_without_configuration_has_a_reason() -> None:
    assert reasons(audit("ragged_all_to_all")) == {"a collective over devices"}


@pytest.mark.slow
def test_a_certificate_is_the_same_twice() -> None:
    assert json.encode(audit("clamp")) == json.encode(audit("clamp"))
