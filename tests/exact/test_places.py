"""`for all sizes` where entries are read at places that are computed, and that it is never said of a rule that is wrong
at larger sizes alone: at a far place, from some size on, at one size, at one difference of two sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad import exact
from tests.exact.test_widths import e4, everywhere, with_jvp


def shifted(x: Any, by: int = 1) -> Any:
    return jnp.concatenate([jnp.zeros(by), x])[: x.shape[0]]


RIGHT: dict[str, tuple[Callable, str]] = {
    "a shift": (lambda x: shifted(x) * x, "n"),
    "differences": (lambda x: (x[1:] - x[:-1]) ** 2, "n"),
    "padded": (lambda x: jnp.pad(x, (2, 1)), "n"),
    "reversed": (lambda x: x[::-1] * x, "n"),
    "cumulative": (lambda x: jnp.cumsum(jnp.sin(x)), "n"),
    "from behind": (lambda x: jax.lax.cumsum(x, reverse=True) * x, "n"),
    "positions": (lambda x: x * jnp.arange(x.shape[0]), "n"),
    "a triangle": (lambda x: jnp.tril(x), "n m"),
    "one behind the other": (lambda x, y: jnp.concatenate([x, y]) ** 2, "n, m"),
    "both halves": (lambda x: x[: x.shape[0] // 2] * jnp.tanh(x[x.shape[0] // 2 :]), "2*n"),
    "the last": (lambda x: x[-1] * x, "n"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_rules(name: str) -> None:
    assert everywhere(with_jvp(RIGHT[name][0]), RIGHT[name][1])


def of_labels(function: Callable, wrong: Callable = lambda *xs: 0.0) -> Any:
    """A rule of an array and of places in it."""

    def backward(saved: Any, g: Any) -> Any:
        x, k = saved
        return jax.vjp(lambda x: function(x, k), x)[1](g)[0] + wrong(x, k), None

    rule = jax.custom_vjp(function)
    rule.defvjp(lambda x, k: (function(x, k), (x, k)), backward)
    return rule


LABELS: dict[str, tuple[Callable, str]] = {
    "rows": (lambda x, k: x[k] ** 2, "n d, b:int"),
    "one of each row": (lambda x, k: jnp.take_along_axis(x, k[:, None], 1)[:, 0], "b n, b:int"),
    "cross entropy": (
        lambda x, k: jax.nn.logsumexp(x, 1) - jnp.take_along_axis(x, k[:, None], 1)[:, 0],
        "b n, b:int",
    ),
    "sums of segments": (lambda x, k: jnp.zeros_like(x).at[k].add(x), "n, n:int"),
}


@pytest.mark.parametrize("name", LABELS)
def test_places_that_integers_give(name: str) -> None:
    assert everywhere(of_labels(LABELS[name][0]), LABELS[name][1])


def places(x: Any) -> Any:
    return jnp.arange(x.shape[0])


def truth(x: Any) -> Any:
    return jnp.where(x, 1.0, 0.0)


def far(x: Any, by: int) -> Any:
    """A product of as many entries that stand behind one another."""
    y = x
    for _ in range(by):
        y = x * shifted(y)
    return jnp.sum(y)


WRONG: dict[str, Callable] = {
    "from a place on": lambda x: truth(places(x) >= 7) * x,
    "at a place": lambda x: truth(places(x) == 6),
    "at a place from behind": lambda x: truth(places(x) == x.shape[0] - 8),
    "in the middle": lambda x: truth(places(x) == x.shape[0] - 7 - places(x)),
    "across the middle": lambda x: jnp.sum(
        jnp.where(places(x)[:, None] + places(x) == x.shape[0] - 9, x[:, None] * x, 0.0)
    ),
    "at a size": lambda x: truth(jnp.asarray(x.shape[0]) == 9) * x,
    "from a size on": lambda x: truth(jnp.asarray(x.shape[0]) > 8) * x,
    "far shifts": lambda x: shifted(x, 8),
    "products of what is behind one another": lambda x: far(x, 5),
    "a place that is read by a number": lambda x: jnp.sum(jnp.where(places(x) == places(x)[::-1] + 9, x, 0.0)),
    "a product of places": lambda x: jnp.prod(jnp.stack([places(x) - k for k in range(6)]), 0) * x,
    "a function of places": lambda x: jnp.tanh(jnp.prod(jnp.stack([(places(x) - k) / 9 for k in range(5)]), 0) * x),
    "a sum of shifts": lambda x: e4(shifted(x)),
    "a count of what is before": lambda x: truth(jnp.cumsum(jnp.ones_like(x)) > 8.5),
    "read where a size chooses": lambda x: x[jnp.where(jnp.asarray(x.shape[0]) > 8, 0, places(x))] - x,
    "read where twice a place chooses": lambda x: x[jnp.where(2 * places(x) > x.shape[0] + 14, 0, places(x))] - x,
    "compared where a count chooses": lambda x: truth(
        places(x) == jnp.where(jnp.sum(jnp.ones_like(x)) > 8.5, places(x), -1)
    ),
    "far in a table": lambda x: jnp.asarray([0.0] * 6 + [1.0])[jnp.minimum(places(x), 6)] * x,
    "beside both ends": lambda x: truth((places(x) > 5) & (places(x) < x.shape[0] - 6)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_at_large_sizes_or_at_one_is_not_said_to_hold(name: str) -> None:
    rule = with_jvp(jnp.sin, WRONG[name])
    assert exact.check(rule, "4").verdict == "agrees"
    assert not exact.check(rule, "n", one_program=True).everywhere


OF_TWO: dict[str, Callable] = {
    "one is longer": lambda x, y: truth(jnp.asarray(x.shape[0]) > jnp.asarray(y.shape[0]) + 4) * x,
    "a place of both": lambda x, y: jnp.where(places(x) == y.shape[0] + 4, x, 0.0),
    "in one behind the other": lambda x, y: jnp.where(
        jnp.arange(x.shape[0] + y.shape[0]) == 8, jnp.concatenate([x, y]), 0.0
    )[: x.shape[0]],
}


@pytest.mark.parametrize("name", OF_TWO)
def test_what_is_wrong_where_two_sizes_differ_by_much(name: str) -> None:
    rule = with_jvp(lambda x, y: jnp.sin(x) * jnp.sum(y), OF_TWO[name])
    assert exact.check(rule, "4, 4").verdict == "agrees"
    assert not exact.check(rule, "n, m", one_program=True).everywhere


OF_LABELS: dict[str, Callable] = {
    "a label as a number": lambda x, k: jnp.sum(jnp.prod(jnp.stack([k - j for j in range(-9, 9)]), 0)) * x,
    "labels that differ by much": lambda x, k: jnp.sum(truth(k[:, None] > k + 9)) * x,
    "products of four": lambda x, k: e4(x[k]) + 0 * x,
    "a label that is far": lambda x, k: jnp.sum(truth(k > 8)) * x,
}


@pytest.mark.parametrize("name", OF_LABELS)
def test_what_is_wrong_of_labels_at_large_sizes(name: str) -> None:
    rule = of_labels(lambda x, k: x[k] ** 2, OF_LABELS[name])
    assert not exact.check(rule, "n, b:int", one_program=True, domain="k >= 0 and k < n").everywhere


HALVES: dict[str, Callable] = {
    "far": lambda x, y: shifted(x, 6),
    "at a place": lambda x, y: truth(places(x) > 5) * y,
    "apart": lambda x, y: jnp.sum(jnp.where(places(x)[:, None] > places(x) + 5, y, 0.0), 1),
}


@pytest.mark.parametrize("name", HALVES)
def test_what_is_wrong_in_large_halves(name: str) -> None:
    def wrong(x: Any) -> Any:
        n = x.shape[0] // 2
        return jnp.concatenate([HALVES[name](x[:n], x[n:]), 0 * x[n:]])

    assert not exact.check(with_jvp(jnp.sin, wrong), "2*n", one_program=True).everywhere


POSITIVE: dict[str, Callable] = {
    "at one place": lambda x: 1 - truth((places(x) - 9.0) ** 2 * x**2 > 0),
    "at one size": lambda x: 1 - truth((jnp.sum(jnp.ones_like(x)) - 9) ** 2 * jnp.sum(x**2) > 0),
    "where nothing is": lambda x: truth(jnp.sum(shifted(x, 8) ** 2) > 0),
    "behind a place": lambda x: truth(jnp.sum(jnp.where(places(x) > 8, jnp.exp(x), 0.0)) > 0),
    "equal at a place": lambda x: truth(((places(x) - 9.0) * x) ** 2 == 0),
}


@pytest.mark.parametrize("name", POSITIVE)
def test_what_looks_positive_and_is_0_somewhere(name: str) -> None:
    assert not exact.check(with_jvp(jnp.sin, POSITIVE[name]), "n", one_program=True).everywhere


def test_what_is_positive_decides_how_it_compares() -> None:
    rule = with_jvp(lambda x: jnp.where((s := jnp.sum(x * x)) > 0, jnp.sqrt(jnp.where(s > 0, s, 1.0)), 0.0))
    assert everywhere(rule, "n")


def test_a_pole_at_a_place() -> None:
    rule = with_jvp(jnp.sin, lambda x: 0 / (jnp.cumsum(jnp.ones_like(x)) - 9))
    assert not exact.check(rule, "n", one_program=True).everywhere


NOT_FOLLOWED: dict[str, tuple[Callable, str]] = {
    "twice an index": (lambda x: jnp.where(2 * places(x) < x.shape[0], x, 0.0), "n"),
    "products of sizes": (lambda x: jnp.reshape(x, (-1,)), "n m"),
    "what is sorted": (jnp.sort, "n"),
    "an integer of real numbers": (lambda x: x[jnp.int32(jnp.abs(x)) % x.shape[0]], "n"),
}


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_other_places_have_no_theorem(name: str) -> None:
    function, signature = NOT_FOLLOWED[name]
    assert not exact.check(with_jvp(function), signature, one_program=True).everywhere
