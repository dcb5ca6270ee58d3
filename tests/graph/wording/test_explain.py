"""Why a hypothesis is discharged or kept, from which facts, and which of them floats can break."""

import jax
import jax.numpy as jnp
import pytest

from certgrad.graph import GraphCertificate, certify, trace
from certgrad.graph.wording.explain import Explanation, broken_in_floats, explanations, lines
from certgrad.graph.wording.report import render_markdown, render_text

pytestmark = pytest.mark.usefixtures("proofs_alone")


def model(x, W, y):
    """A softmax and its loss by hand; a root of what may be 0; a root of a mean square plus ε."""
    z = x @ W
    p = jnp.exp(z) / jnp.sum(jnp.exp(z), axis=1, keepdims=True)
    scale = jnp.sqrt(jnp.mean(x * x) + 1e-5)
    return -jnp.mean(jnp.log(p) * y) / scale + jnp.sum(jnp.sqrt(jnp.abs(x)))


@pytest.fixture(scope="module")
def certificate() -> GraphCertificate:
    return certify(trace(model, "x: n d", "W: d c", "y: n c"))


def about(certificate: GraphCertificate, name: str) -> list[Explanation]:
    return [e for e in explanations(certificate) if e.place.startswith(f"{name} at test_explain.py:")]


def test_a_kept_hypothesis_says_what_is_known(certificate: GraphCertificate) -> None:
    (absolute,) = about(certificate, "abs")
    assert absolute.reason == "kept: nothing is known of the sign of `x`. It fails on a set of measure zero."
    root = about(certificate, "sqrt")[-1]
    assert root.reason.startswith("kept: `abs(x)` ≥ 0 is known, which does not decide it. ")
    assert not root.discharged
    assert root.where[0].startswith("x = `abs(x)` (%")


def test_a_discharged_one_names_its_facts(certificate: GraphCertificate) -> None:
    (softmax,) = [e for e in about(certificate, "div") if "exp" in e.reason]
    assert softmax.reason == "`sum(exp(x @ W))` > 0"
    assert [f.because for f in softmax.facts] == [
        "broadcast_in_dim of it",
        "reduce_sum of it",
        "exp(x) = Σ_{k≥0} xᵏ/k!",
    ]
    assert [bool(f.in_floats) for f in softmax.facts] == [False, False, True]
    mean = next(e for e in about(certificate, "div") if "`d*n` > 0" in e.reason)
    assert mean.facts[-1].because == "a size is at least 1"


def test_what_floats_can_break(certificate: GraphCertificate) -> None:
    found = broken_in_floats(certificate)
    assert any(text.startswith("`exp(x @ W)` > 0 (%") and "underflow" in text for text in found)
    assert not any("1e-05" in text for text in found), "ε keeps it away from 0 in floats, too"
    assert not any("d*n" in text for text in found)


def test_a_literal_0_holds_nothing_up() -> None:
    held = certify(trace(lambda x: jnp.log(jnp.maximum(jnp.exp(x), 1e-3)), "x: n"))
    assert broken_in_floats(held) == []
    fell = certify(trace(lambda x: jnp.log(jnp.exp(x) + 0.0 * jnp.abs(x)), "x: n"))
    assert any("log" in e.place and e.discharged for e in explanations(fell))
    assert any("each of the terms can be 0" in text for text in broken_in_floats(fell))


def test_inside_a_loop() -> None:
    def f(x):
        return jax.lax.scan(lambda c, row: (c + jnp.sum(jnp.log(1.0 + jnp.exp(row)) + jnp.abs(row)), None), 0.0, x)[0]

    found = explanations(certify(trace(f, "x: n d")))
    places = [e.place for e in found]
    assert all(" in the body of %" in place for place in places)
    assert {(e.place.split()[0], e.discharged) for e in found} == {("log", True), ("abs", False)}


def test_in_the_reports(certificate: GraphCertificate) -> None:
    text = render_text(certificate, explain=True)
    assert "\n\nevery hypothesis of a lemma at its node, and why it is discharged or kept\n  div at" in text
    assert "\n\nused above, true of real numbers, and for floating point to break\n  `exp(x @ W)` > 0" in text
    assert "every hypothesis" not in render_text(certificate)
    assert "\n- `exp(x @ W)` > 0" in render_markdown(certificate)
    assert "\n  - `exp(x @ W)` > 0" in render_markdown(certificate, explain=True)
    told = lines(certificate)
    assert len(told) == len(set(told)), "a fact is explained once"
    assert lines(certify(trace(lambda x: x, "n"))) == ["no lemma asks for anything"]
