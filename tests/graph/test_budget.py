"""The budget of a certification: of each lemma, and of all those together that come to no proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad.graph import certify, trace
from certgrad.graph.certifying import certify as _certify
from certgrad.graph.certifying.certify import certification
from certgrad.graph.induction.induction import Shared
from certgrad.graph.lemmas import lemma
from certgrad.graph.lemmas.lemma import MORE_A_LEMMA, SHARE, Lemmas
from certgrad.obligations.terms.budget import AUDIT_SECONDS, HOW_A_GRAPH_GETS_MORE, auditing
from certgrad.process.threads import Kept

pytestmark = pytest.mark.usefixtures("proofs_alone")


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("_proved", "_instances", "_same", "_signs"):
        monkeypatch.setattr(lemma, table, Kept())


def own(factor: float) -> Callable[[Any], Any]:
    """A square whose rule is right where the factor is 2."""
    f = jax.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, g: (factor * x * g,))
    return f


def traced(fn: Callable[..., Any], *specs: str) -> Any:
    return trace(fn, *(specs or ("x: n d",)))


def test_a_lemma_that_its_budget_ends_is_unproved_and_says_what_gives_it_more() -> None:
    found = certify(traced(own(2.0)), seconds=1e-4)
    assert found.verdict == "unproved"
    (finding,) = found.findings
    assert finding.startswith("%1 ")
    assert "budget: the proof exceeded its" in finding
    assert "its share of the 5e-05 s of a lemma" in finding
    assert finding.endswith(HOW_A_GRAPH_GETS_MORE)


def test_a_wrong_rule_is_not_refuted_for_want_of_time() -> None:
    assert certify(traced(own(3.0)), seconds=1e-4).verdict == "unproved"
    assert certify(traced(own(3.0))).verdict == "refuted"


def test_what_a_budget_ended_is_no_lemma_of_the_next_certification() -> None:
    graph = traced(lambda x: jnp.tanh(x) @ x.T)
    assert certify(graph, seconds=1e-4).verdict == "unproved"
    assert certify(graph).verdict == "proved"
    assert certify(graph, seconds=1e-4).verdict == "proved", "what is proved is known"


def test_an_audit_around_ends_lemmas_for_itself_alone() -> None:
    graph = traced(jnp.cos)
    with auditing(1e-4):
        assert certify(graph).verdict == "unproved"
    assert certify(graph).verdict == "proved"


def test_lemmas_that_come_to_no_proof_are_charged_and_others_give_a_little() -> None:
    shared = Shared()
    whole = shared.lemmas.left
    assert whole == SHARE * AUDIT_SECONDS
    certification(traced(lambda x: jnp.sin(x) * x), shared=shared)
    assert shared.lemmas.left == pytest.approx(whole + 2 * MORE_A_LEMMA)
    certification(traced(own(3.0)), shared=shared)
    assert shared.lemmas.left < whole + 2 * MORE_A_LEMMA


def test_a_long_chain_is_not_charged() -> None:
    def chain(x: Any) -> Any:
        for _ in range(300):
            x = jnp.sin(x) + x
        return x

    shared = Shared(Lemmas(seconds=1.0))
    found = certification(traced(chain, "x: n"), shared=shared).certificate
    assert found.verdict == "proved"
    assert len(found.steps) == 601
    assert shared.lemmas.left == pytest.approx(0.5 + 2 * MORE_A_LEMMA)


def test_no_lemma_is_begun_once_those_that_came_to_no_proof_took_their_time() -> None:
    shared = Shared()
    assert certification(traced(jnp.sin), shared=shared).certificate.verdict == "proved"
    shared.lemmas.left = -1.0  # which known lemmas do not make up for
    found = certification(traced(lambda x: jnp.sin(x) + jnp.cos(x)), shared=shared).certificate
    assert found.verdict == "unproved"
    assert [f.split(" at ")[0] for f in found.findings] == ["%2 cos", "%3 add"], "what is known is no matter of time"
    assert all("budget: lemmas that came to no proof took 10 s and more before this one" in f for f in found.findings)
    assert all(f.endswith(HOW_A_GRAPH_GETS_MORE) for f in found.findings)


def test_nothing_is_called_a_surrogate_where_no_time_was_left_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def softmax(x: Any) -> Any:
        e = jnp.exp(x - jax.lax.stop_gradient(jnp.max(x, axis=1, keepdims=True)))
        return e / jnp.sum(e, axis=1, keepdims=True)

    shared = Shared()
    with_regions = _certify.with_regions

    def without_time(graph: Any, shared: Shared) -> Any:
        left, shared.lemmas.left = shared.lemmas.left, 0.0
        try:
            return with_regions(graph, shared)
        finally:
            shared.lemmas.left = left

    monkeypatch.setattr(_certify, "with_regions", without_time)
    found = certification(traced(softmax), shared=shared).certificate
    assert max(s.verdict for s in found.steps) == "surrogate"
    assert found.verdict == "unproved"
    assert found.findings[-1] == shared.lemmas.not_begun
    monkeypatch.undo()
    assert certify(traced(softmax)).verdict == "proved", "what was not begun is no lemma of the next certification"
