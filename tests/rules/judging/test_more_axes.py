"""Rules that are proved at the shapes that are inferred, and wrong with an axis more."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad.obligations.certificate import fails
from certgrad.report.findings import INFERRED
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.judging.more_axes import wrong_with_an_axis_more
from tests.rules.inference.test_known_functions import audit


def ruled(forward: Any, backward: Any) -> Any:
    rule = jax.custom_vjp(forward)
    rule.defvjp(lambda *args: (forward(*args), args), lambda args, g: backward(*args, g))
    return rule


def softmax(axis: int) -> Any:
    def backward(x: Any, g: Any) -> Any:
        y = jax.nn.softmax(x, -1)
        return (y * (g - jnp.sum(g * y, axis=axis, keepdims=True)),)

    return ruled(lambda x: jax.nn.softmax(x, -1), backward)


def scaled(axes: Any) -> Any:
    """Rows over their length, times a weight of each column."""

    def forward(x: Any, w: Any) -> Any:
        return x / jnp.sum(x * x, -1, keepdims=True) * w

    def backward(x: Any, w: Any, g: Any) -> Any:
        s = jnp.sum(x * x, -1, keepdims=True)
        h = g * w
        return h / s - 2 * x * jnp.sum(h * x, -1, keepdims=True) / s**2, jnp.sum(g * x / s, axes(x))

    return ruled(forward, backward)


def picked(axis: int) -> Any:
    def forward(x: Any, labels: Any) -> Any:
        return jnp.take_along_axis(x, labels[..., None], -1)[..., 0] - jax.nn.logsumexp(x, -1)

    def backward(x: Any, labels: Any, g: Any) -> Any:
        at = labels[..., None] == jnp.arange(x.shape[-1])
        return g[..., None] * (at - jax.nn.softmax(x, axis)), None

    return ruled(forward, backward)


def said(rule: Any) -> tuple[str, bool]:
    """What is said of the shapes that were inferred, and whether it is by default."""
    result, report = audit(rule)
    assert report is not None
    assert report.verdict in ("proved", "proved under hypotheses"), str(report)
    (remark,) = (r for r in result.remarks if r.code == INFERRED)
    return remark.text, remark.wrong_at_other_shapes


@pytest.mark.parametrize(
    ("rule", "at"), [(softmax(1), '"b n d"'), (picked(1), '"b n d, b n:int"')], ids=["softmax", "labels"]
)
def test_an_axis_that_is_counted_from_the_front_is_wrong_with_one_more(rule: Any, at: str) -> None:
    text, shown = said(rule)
    assert text.startswith(f"with {at} it is refuted; ")
    assert shown


@pytest.mark.parametrize(
    "rule", [softmax(-1), scaled(lambda x: tuple(range(x.ndim - 1))), picked(-1)], ids=["softmax", "scaled", "labels"]
)
def test_of_a_rule_that_is_right_there_nothing_is_said(rule: Any) -> None:
    text, shown = said(rule)
    assert "refuted" not in text
    assert "b n d" not in text
    assert not shown


def test_a_rule_that_fails_there_says_so_itself() -> None:
    text, shown = said(scaled(lambda x: 0))
    assert 'the function also runs with "b n d, d", where its rule fails' in text
    assert not shown


@pytest.mark.parametrize("fails", ["the rule", "the function"])
def test_the_function_is_traced_once_with_an_axis_more(fails: str) -> None:
    """And what JAX says of the rule is told without what is said around it."""
    seen = []

    def forward(x: Any) -> Any:
        seen.append(x.ndim)
        return jnp.sum(x @ jnp.ones((x.shape[-1], 2)), -1) if fails == "the rule" or x.ndim < 3 else x["a"]

    rule = jax.custom_vjp(forward)
    rule.defvjp(
        lambda x: (jnp.sum(x @ jnp.ones((x.shape[-1], 2)), -1), x), lambda x, g: (2 * g[:, None] * jnp.ones_like(x),)
    )
    text, why = wrong_with_an_axis_more(FoundRule("m:f", rule), Declaration("n d"), ())
    assert seen.count(3) == 1
    if fails == "the rule":
        assert text == "b n d"
        assert why.startswith(("TypeError: ", "ValueError: "))
        assert "symbolic shapes" not in why
    else:
        assert (text, why) == ("", "")


def test_functions_that_treat_all_axes_alike_have_one_rank() -> None:
    text, _ = said(ruled(lambda x: jnp.tanh(x), lambda x, g: (g * (1 - jnp.tanh(x) ** 2),)))
    assert "b n d" not in text


def test_a_rule_that_is_right_with_an_axis_less_is_not_refuted_and_fails() -> None:
    def weighted(logits: Any, values: Any) -> Any:
        return jnp.sum(jax.nn.softmax(logits) * values)

    def backward(logits: Any, values: Any, g: Any) -> Any:
        p = jax.nn.softmax(logits)
        return g * p * (values - jnp.sum(p * values)), g * p

    result, report = audit(ruled(weighted, backward))
    assert report is not None
    assert report.verdict == "unproved"
    (claim,) = (c for c in result.certificate.claims if c.kind == "vjp_is_adjoint")
    assert fails(claim, ("refuted",))
    assert 'with "n d, n d", and with "d, d" the rule is proved: certgrad.declare says which' in (
        claim.contradicted or ""
    )


def turned(k: Any, v: Any, angle: Any) -> Any:
    """A point around a unit axis by an angle, after Rodrigues."""
    c, s = jnp.cos(angle), jnp.sin(angle)
    return v * c + jnp.cross(k, v) * s + k * jnp.dot(k, v) * (1 - c)


@pytest.mark.parametrize(("sign", "verdict"), [(1.0, "unproved"), (-1.0, "refuted")])
def test_a_rule_that_is_right_with_a_scalar_beside_vectors_says_so(sign: float, verdict: str) -> None:
    """For three points at once the function runs too, and is another one: a product of matrices."""

    def backward(k: Any, v: Any, angle: Any, g: Any) -> Any:
        c, s = jnp.cos(angle), jnp.sin(angle)
        dk = s * jnp.cross(v, g) + (1 - c) * (g * jnp.dot(k, v) + v * jnp.dot(k, g))
        dv = c * g - sign * s * jnp.cross(k, g) + (1 - c) * k * jnp.dot(k, g)
        return dk, dv, jnp.dot(g, -v * s + jnp.cross(k, v) * c + k * jnp.dot(k, v) * s)

    report = audit(ruled(turned, backward))[1]
    assert report is not None
    assert report.verdict == verdict
    assert ('with "3, 3, ()" the rule is proved' in str(report)) is (verdict == "unproved")


def test_a_term_that_no_cotangent_multiplies_is_no_intent() -> None:
    def backward(x: Any, g: Any) -> Any:
        return (g - jax.nn.softmax(x),)

    report = audit(ruled(lambda x: jax.nn.log_softmax(x), backward))[1]
    assert report is not None
    assert report.verdict == "refuted"
    assert "surrogate" not in str(report)
    assert "a term is not multiplied by that" in str(report)
