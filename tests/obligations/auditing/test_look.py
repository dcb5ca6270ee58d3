"""The last look: what was proved is evaluated inside the hypotheses as they are listed."""

import time

import jax
import jax.numpy as jnp
import msgspec
import pytest

import certgrad
from certgrad.obligations.auditing import audit as auditing
from certgrad.obligations.auditing import look
from certgrad.obligations.auditing.look import looked_at
from certgrad.obligations.certificate import Certificate, sealed
from certgrad.obligations.generality.traces import Traces
from certgrad.ops import registry
from certgrad.rules.subject.user_rule import UserRule


def forged(certificate: Certificate, **changes: object) -> Certificate:
    """A certificate that says `proved` of every claim, with the changes in each case."""
    change = msgspec.structs.replace
    changes = {"verdict": "proved", **changes}
    claims = [
        change(c, verdict="proved", cases=[change(k, **changes) for k in c.cases])  # type: ignore[arg-type]
        for c in certificate.claims
    ]
    return sealed(change(certificate, verdict="proved", claims=claims))


def looked(subject, monkeypatch, **changes):
    """What the last look makes of a forged certificate of the subject."""
    found = []
    audited = auditing._audited
    monkeypatch.setattr(auditing, "_audited", lambda t: found.append((t, c := audited(t))) or c)
    auditing.audit(subject)
    ((traces, certificate),) = found
    return looked_at(traces, forged(certificate, **changes))


def with_backward(f, backward):
    rule = jax.custom_vjp(f)
    rule.defvjp(lambda *x: (f(*x), x), backward)
    return rule


@pytest.mark.parametrize("name", ["log", "relu", "sqrt"])
def test_a_hypothesis_that_was_lost(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = looked(registry.get(name), monkeypatch, hypotheses=[])
    assert found.verdict == "unproved"
    (reason,) = {k.reason for c in found.claims for k in c.cases if k.reason}
    assert reason.startswith("defect: this was proved, and does not hold at x = ")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["softmax", "layer_norm", "huber", "sort"])
def test_what_is_right_stays_proved(name: str) -> None:
    assert certgrad.audit_op(name).verdict in ("proved", "proved under hypotheses")


@pytest.mark.parametrize(
    "backward",
    [
        lambda x, g: (3 * x[0] * g,),
        lambda x, g: (jnp.where(x[0] > 0, 2 * x[0] * g, jnp.nan),),
        lambda x, g: (2 * x[0] * g * x[0] / x[0],),
    ],
)
def test_a_wrong_rule_without_a_jvp(backward, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = UserRule(with_backward(lambda x: x * x, backward), "n -> n")
    assert looked(rule, monkeypatch, hypotheses=[]).verdict == "unproved"


def test_seams_that_are_none_need_no_hypothesis() -> None:
    def f(x):
        return jnp.where(jnp.abs(x) < 1, 0.5 * x * x, jnp.abs(x) - 0.5)

    rule = with_backward(f, lambda x, g: (jnp.clip(x[0], -1, 1) * g,))
    assert certgrad.check(rule, "n -> n").verdict == "proved"


def test_traces_at_numbers_are_those_of_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(auditing, "looked_at", lambda t, c: seen.append(t) or c)
    auditing.audit(registry.get("matmul"))
    traces: Traces = seen[0]
    made = len(traces._made)
    shapes = [t.shapes.inputs for t, _ in traces.at_numbers(0)]
    assert shapes
    assert all(isinstance(n, int) for inputs in shapes for shape in inputs for n in shape)
    assert len(traces._made) == made


def test_no_evaluation_is_begun_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a boundary can take seconds, and there are many: what is wrong is found in the time that is there."""

    class Time:
        def __init__(self, left: float) -> None:
            self.left = left

        def until(self, seconds: float, least: float) -> float:
            return time.thread_time() + self.left

    for left, verdict in ((-1.0, "proved"), (60.0, "unproved")):
        monkeypatch.setattr(look, "budget", Time(left))
        assert looked(registry.get("log"), monkeypatch, hypotheses=[]).verdict == verdict
