"""Shapes of rules whose code computes with sizes, whose arguments are integers, or objects: found where it runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.obligations.terms.atoms import dimension
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.inference.infer import inferred
from certgrad.rules.inference.unify import solutions
from certgrad.rules.judging.by_name import examined
from certgrad.rules.subject.defaults import values_by_kind

from .inference.test_infer import of_jax

pytestmark = pytest.mark.usefixtures("verdicts_alone")

LENGTH = 1024


def recurrence(a: Any, b: Any) -> Any:
    return lax.associative_scan(lambda s, t: (s[0] * t[0], t[0] * s[1] + t[1]), (a, b))[1]


def in_blocks(q: Any, k: Any, v: Any) -> Any:
    """Blocks of a length that Python computes; the rows of v are cut to those of k."""
    rows = min(LENGTH, k.shape[0])
    out = jnp.zeros((q.shape[0], v.shape[-1]))
    for start in range(math.ceil(k.shape[0] / LENGTH)):
        parts = [lax.dynamic_slice(x, (start * rows, 0), (rows, x.shape[1])) for x in (k, v)]
        out = out + (q @ parts[0].T) @ parts[1]
    return out


def of_three_by_counting(x: Any, y: Any) -> Any:
    return jnp.cross(x, y) * math.ceil(x.shape[0] / LENGTH)


def nll(logp: Any, tokens: Any, lengths: Any) -> Any:
    valid = jnp.arange(tokens.shape[1])[None, :] < lengths[:, None]
    return -jnp.sum(jnp.where(valid, jnp.take_along_axis(logp, tokens[..., None], axis=-1)[..., 0], 0.0))


def backward_of_nll(residuals: Any, g: Any) -> Any:
    logp, tokens, lengths = residuals
    valid = jnp.arange(tokens.shape[1])[None, :] < lengths[:, None]
    return -g * jax.nn.one_hot(tokens, logp.shape[-1]) * valid[..., None], None, None


def product_of_sparse(data: Any, rows: Any, cols: Any, x: Any) -> Any:
    return jnp.zeros_like(x).at[rows].add(data[:, None] * x[cols])


def backward_of_sparse(residuals: Any, g: Any) -> Any:
    data, rows, cols, x = residuals
    return jnp.sum(g[rows] * x[cols], -1), None, None, jnp.zeros_like(x).at[cols].add(data[:, None] * g[rows])


def weighted(logits: Any, targets: Any, weights: Any) -> Any:
    return weights * jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]


def backward_of_weighted(residuals: Any, g: Any) -> Any:
    logits, targets, weights = residuals
    one_hot = jax.nn.one_hot(targets, logits.shape[-1])
    return g[:, None] * weights[:, None] * one_hot, None, g * jnp.sum(one_hot * logits, -1)


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (recurrence, "n d, n d"),
        (in_blocks, "n d, m d, m l"),
        (of_three_by_counting, "n 3, n 3"),
    ],
)
def test_shapes_at_which_it_runs(function: Callable[..., Any], signature: str) -> None:
    tried = inferred(of_jax(function))
    assert str(tried.found[0].signature) == signature
    assert tried.count <= 60


@pytest.mark.parametrize(
    ("function", "backward", "signatures"),
    [
        (nll, backward_of_nll, ["b n d, b n:int, b:int"]),
        (weighted, backward_of_weighted, ["n d, n:int, n"]),
        (product_of_sparse, backward_of_sparse, ["n, n:int, n:int, d m"]),
    ],
)
def test_arguments_that_are_integers(function: Any, backward: Any, signatures: list[str]) -> None:
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *args: (function(*args), args), backward)
    tried = inferred(rule)
    assert [str(d.signature) for d in tried.found] == signatures
    assert tried.count <= 70


def depthwise(x: Any, w: Any) -> Any:
    features = x.shape[-1]
    numbers = ("NWC", "WIO", "NWC")
    return lax.conv_general_dilated(
        x, w[:, None, :], (1,), "SAME", dimension_numbers=numbers, feature_group_count=features
    )


def of_three_taps(times: float) -> Callable[..., Any]:
    def bwd(residuals: Any, g: Any) -> Any:
        x, w = residuals
        padded = jnp.pad(x, ((0, 0), (1, 1), (0, 0)))
        taps = [jnp.sum(padded[:, i : i + x.shape[1]] * g, axis=(0, 1)) for i in range(3)]
        return depthwise(g, w[::-1]), times * jnp.stack(taps)

    rule = jax.custom_vjp(depthwise)
    rule.defvjp(lambda x, w: (depthwise(x, w), (x, w)), bwd)
    return rule


@pytest.mark.parametrize(("times", "verdict"), [(1.0, "proved"), (2.0, "refuted")])
def test_sizes_that_the_backward_alone_says_are_those_of_the_rule(times: float, verdict: str) -> None:
    """Of kernels of three taps, and of one filter a channel; the function runs with any."""
    report = examined(FoundRule(name="m:f", where="m.py:1", rule=of_three_taps(times)), {})[1]
    assert report is not None
    assert report.verdict == verdict
    assert report.certificate.signature == ["b n d, 3 d -> "]


def convolved(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC"))


def backward_of_three_taps(residuals: Any, g: Any) -> Any:
    x, w = residuals
    n = g.shape[1]
    dw = jnp.stack([jnp.einsum("bnc,bnd->cd", x[:, k : k + n], g) for k in range(3)])
    padded = jnp.pad(g, ((0, 0), (2, 2), (0, 0)))
    return sum(jnp.einsum("bnd,cd->bnc", padded[:, 2 - k : 2 - k + x.shape[1]], w[k]) for k in range(3)), dw


def test_a_length_that_the_backward_counts_to_is_that_of_an_axis() -> None:
    rule = jax.custom_vjp(convolved)
    rule.defvjp(lambda x, w: (convolved(x, w), (x, w)), backward_of_three_taps)
    assert str(inferred(rule).found[0].signature) == "b n+1 d, 3 d m"


def test_what_is_rounded_twice_is_solved_for_nothing() -> None:
    rounded = dimension("max(0, floordiv(n - 2, 2))", positive=False)
    assert solutions(rounded - dimension("m")) == []


@dataclass(frozen=True)
class Spring:
    k: float = 2.0

    def energy(self, x: Any) -> Any:
        return self.k * jnp.sum(x**2)


@dataclass
class Needed:
    k: float


class Heads(NamedTuple):
    count: int = 2


class Named(NamedTuple):
    k: float


SOFT = Spring(0.5)


@pytest.mark.parametrize(("factor", "verdict"), [(2.0, "proved"), (1.0, "refuted")])
def test_an_object_of_the_annotated_class_stands_in_the_module(factor: float, verdict: str) -> None:
    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def energy(model: Spring, x: Any) -> Any:
        return model.energy(x)

    energy.defvjp(lambda m, x: (m.energy(x), x), lambda m, x, g: (factor * m.k * g * x,))
    result, report = examined(FoundRule(name="m:energy", where="m.py:1", rule=energy), {})
    assert report is not None
    assert '("n d", with model = Spring(k=0.5)), as nothing declares them' in result.remarks[0].text
    assert report.verdict == verdict
    assert inferred(energy).found[0].static == {"model": SOFT}


def test_without_an_object_in_the_module_a_dataclass_or_a_named_tuple_has_its_defaults() -> None:
    def plain(spring: Spring, needed: Needed, heads: Heads, named: Named) -> None: ...

    alone = type(plain)(plain.__code__, {"__builtins__": {}, "__name__": "elsewhere"})
    alone.__annotations__ = {"spring": Spring, "needed": Needed, "heads": Heads, "named": Named}
    assert values_by_kind(alone, ["spring", "heads"]) == {"spring": [Spring()], "heads": [Heads()]}
    for name in ("needed", "named"):  # their fields have no values
        assert not {Needed, Named} & {*map(type, values_by_kind(alone, [name])[name])}
