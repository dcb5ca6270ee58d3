"""Ranks that code says it needs, arguments that are None, and numbers of which a rule runs with some alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.obligations.terms.budget import auditing, budget
from certgrad.report.findings import INFERRED
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.statics import each
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.inference import infer
from certgrad.rules.inference.infer import inferred
from certgrad.rules.inference.tried import Tried
from certgrad.rules.judging import choices
from certgrad.rules.judging.by_name import examined

from .inference.test_infer import of_jax

pytestmark = pytest.mark.usefixtures("verdicts_alone")


class Segments(NamedTuple):
    q: Any
    k: Any


def unpacked(q: Any, k: Any, gate: Any) -> Any:
    b, h, n, _ = q.shape
    if gate.shape != (b, h, n):
        raise ValueError("the gate has no features")
    return jnp.einsum("bhnd,bhmd->bhnm", q, k) * gate[..., None]


def by_subscripts(q: Any, k: Any) -> Any:
    return jnp.einsum("bhnd,bhmd->bhnm", q, k)


def of_three(x: Any, y: Any) -> Any:
    a, b, c = x.shape
    return x.reshape(a, b * c) @ y


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (unpacked, "b h n d, b h m d, b h n"),
        (by_subscripts, "b h n d, b h m d"),
        (of_three, "b n d, m n*d k"),
    ],
)
def test_ranks_that_an_error_names(function: Callable[..., Any], signature: str) -> None:
    tried = inferred(of_jax(function))
    assert str(tried.found[0].signature) == signature
    assert tried.count <= 30


def scaled(x: Any, segments: Segments | None) -> Any:
    return x * 2 if segments is None else x * segments.q


def masked(x: Any, mask: jax.Array | None) -> Any:
    return x * 2 if mask is None else x * mask


def no_mask(x: Any, mask: jax.Array | None) -> Any:
    if mask is not None:
        raise NotImplementedError
    return x * 2


@pytest.mark.parametrize(
    ("function", "signature", "static"),
    [
        (scaled, "n d", {"segments": None}),
        (masked, "n d, n d", {}),
        (no_mask, "n d", {"mask": None}),
    ],
)
def test_an_argument_that_may_be_none(function: Any, signature: str, static: dict[str, None]) -> None:
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *args: (function(*args), args), lambda args, g: jax.vjp(function, *args)[1](g))
    (first, *_) = inferred(rule).found
    assert (str(first.signature), first.static) == (signature, static)


def no_segments(x: Any, segments: jax.Array | None) -> Any:
    if segments is not None:
        raise ValueError("not yet")
    return jnp.sin(x)


def test_what_is_kept_of_a_rule_is_found_with_the_same_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a second audit does, which reads the shapes from the cache."""
    monkeypatch.setattr(infer, "_KNOWN", {})
    alone = jax.custom_jvp(called_back)
    alone.defjvp(lambda p, t: (alone(*p), 3 * p[0] ** 2 * t[0]))
    none = jax.custom_vjp(no_segments)
    none.defvjp(lambda x, s: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x), None))
    for rule in (none, alone):
        first = inferred(rule).found
        infer.keep(rule, Tried([Declaration(str(d.signature)) for d in first]))
        assert [(str(d.signature), d.static) for d in inferred(rule).found] == [
            (str(d.signature), d.static) for d in first
        ]


def with_scale(backward: Callable[[Any, Any], Any]) -> Any:
    """A rule that runs with a scale of 1 alone, and of either `causal`."""

    @partial(jax.custom_vjp, nondiff_argnums=(1, 2))
    def rule(x: Any, causal: bool, scale: float) -> Any:
        return scale * (jnp.cumsum(x, 0) if causal else jnp.sin(x))

    def bwd(causal: bool, scale: float, x: Any, g: Any) -> Any:
        if scale != 1.0:
            raise NotImplementedError
        return (jnp.cumsum(g[::-1], 0)[::-1] if causal else backward(x, g),)

    rule.defvjp(lambda x, causal, scale: (rule(x, causal, scale), x), bwd)
    return rule


def test_numbers_with_which_the_rule_runs() -> None:
    found = inferred(with_scale(lambda x, g: g * jnp.cos(x))).found[0]
    assert found.static == {"causal": each(False, True), "scale": 1}


@pytest.mark.parametrize(("slope", "verdict"), [(jnp.cos, "proved"), (jnp.sin, "refuted")])
def test_each_value_is_audited(slope: Callable[[Any], Any], verdict: str) -> None:
    report = examined(
        FoundRule(name="m:f", where="m.py:1", rule=with_scale(lambda x, g: g * slope(x))), {}, conformance=False
    )[1]
    assert report is not None
    assert report.verdict == verdict


def called_back(*args: Any) -> Any:
    (x, *_) = args
    return jax.pure_callback(lambda *xs: _cube(*xs), jax.ShapeDtypeStruct(x.shape, x.dtype), *args)


def _cube(x: Any) -> Any:
    return np.asarray(x) ** 3


def test_star_args_of_which_one_alone_runs() -> None:
    rule = jax.custom_jvp(called_back)
    rule.defjvp(lambda p, t: (rule(*p), 3 * p[0] ** 2 * t[0]))
    assert [str(d.signature) for d in inferred(rule).found] == ["n d"]


def test_choices_of_ranks_for_which_no_time_is_left_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = of_jax(lambda x, y: jnp.sin(x) * y)
    of_all = examined(FoundRule(name="m:f", where="m.py:1", rule=rule), {})[0]
    monkeypatch.setattr(choices, "LOOKS", 0.0)
    of_some = examined(FoundRule(name="m:f", where="m.py:1", rule=rule), {})[0]
    all_texts, some_texts = (
        " ".join(r.text for r in result.remarks if r.code == INFERRED) for result in (of_all, of_some)
    )
    assert "it is not tried" not in all_texts
    assert "it is not tried: the other choices took 0 s" in some_texts


def test_a_search_for_shapes_ends_and_takes_no_time_from_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = of_jax(lambda x, y: jnp.sin(x) * y)
    with auditing(1e9):
        before = budget.seconds_left()
        assert inferred(rule).found
        assert budget.seconds_left() == pytest.approx(before, rel=1e-12)
    monkeypatch.setattr(infer, "SEARCH", 0.0)
    result, _ = examined(FoundRule(name="m:f", where="m.py:1", rule=rule), {})
    assert "there was no time to try more: " in result.remarks[0].text
