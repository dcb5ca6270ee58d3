"""An integer of the code that means "none": labels that are it are part of what is claimed, and others are bounded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.rules.inference.infer import inferred
from certgrad.rules.subject.defaults import NUMBERS, values_by_kind


def loss(logits: Any, labels: Any, ignore_index: int) -> Any:
    """The mean over labels that are not ignored."""
    keep = labels != ignore_index
    safe = jnp.where(keep, labels, 0)
    nll = -jnp.take_along_axis(jax.nn.log_softmax(logits, -1), safe[:, None], -1)[:, 0]
    return jnp.sum(jnp.where(keep, nll, 0.0)) / jnp.maximum(jnp.sum(keep), 1)


def right(ignore_index: int, residuals: Any, g: Any) -> Any:
    logits, labels = residuals
    keep = labels != ignore_index
    p = jax.nn.softmax(logits, -1) - jax.nn.one_hot(jnp.where(keep, labels, 0), logits.shape[-1])
    return jnp.where(keep[:, None], p, 0.0) * g / jnp.maximum(jnp.sum(keep), 1), None


def forgets_what_is_ignored(ignore_index: int, residuals: Any, g: Any) -> Any:
    logits, labels = residuals
    keep = labels != ignore_index
    p = jax.nn.softmax(logits, -1) - jax.nn.one_hot(labels, logits.shape[-1])
    return p * g / jnp.maximum(jnp.sum(keep), 1), None


def counts_what_is_ignored(ignore_index: int, residuals: Any, g: Any) -> Any:
    logits, labels = residuals
    keep = labels != ignore_index
    p = jax.nn.softmax(logits, -1) - jax.nn.one_hot(jnp.where(keep, labels, 0), logits.shape[-1])
    return jnp.where(keep[:, None], p, 0.0) * g / labels.shape[0], None


def rule(backward: Callable[..., Any]) -> Callable[..., Any]:
    made = partial(jax.custom_vjp, nondiff_argnums=(2,))(loss)
    made.defvjp(lambda logits, labels, k: (loss(logits, labels, k), (logits, labels)), backward)
    return made


def test_labels_that_are_ignored_stay_in_the_claim() -> None:
    report = certgrad.check(rule(right), "n d, n:int", static={"ignore_index": -100})
    assert report.verdict == "proved under hypotheses"
    assert report.assumed == ["labels >= 0 or labels == -100"]
    assert sorted(report.hypotheses) == ["labels ≤ d − 1", "labels ≥ 0 or labels = −100"]
    again = certgrad.check(rule(right), "n d, n:int", static={"ignore_index": -100}, domain=report.assumed)
    assert (again.verdict, again.assumed) == ("proved under hypotheses", [])


@pytest.mark.parametrize("backward", [forgets_what_is_ignored, counts_what_is_ignored])
def test_a_rule_that_is_wrong_for_ignored_labels_is_refuted(backward: Callable[..., Any]) -> None:
    assert certgrad.check(rule(backward), "n d, n:int", static={"ignore_index": -100}).verdict == "refuted"


def test_what_is_no_label_means_none_by_no_number() -> None:
    def plain(ignore_index: int, ignored_label: int, pad_id: int, ignore_nan: int) -> None: ...

    names = ["ignore_index", "ignored_label", "pad_id", "ignore_nan"]
    assert [values_by_kind(plain, names)[n] for n in names] == [[-100], [-100], [0], [*NUMBERS]]


def test_a_number_that_means_none_has_one_value() -> None:
    assert inferred(rule(right)).found[0].static == {"ignore_index": -100}
