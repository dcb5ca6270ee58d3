"""The level `for all sizes`: where it is said, and that it is never said of a rule that is wrong at larger sizes."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad import exact


def everywhere(rule: Any, signature: str) -> bool:
    result = exact.check(rule, signature, one_program=True, seconds=20)
    assert result.everywhere is not bool(result.limited)
    return result.everywhere


def with_jvp(function: Callable, wrong: Callable = lambda *xs: 0.0) -> Any:
    """The function with JAX's own backward, and what is added to its first cotangent."""

    def backward(xs: Any, g: Any) -> Any:
        first, *rest = jax.vjp(function, *xs)[1](g)
        return (first + wrong(*xs), *rest)

    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *xs: (function(*xs), xs), backward)
    return rule


def e4(x: Any) -> Any:
    """24 times the sum of all products of four entries: 0 where there are three."""
    p = [jnp.sum(x**k) for k in range(5)]
    return p[1] ** 4 - 6 * p[1] ** 2 * p[2] + 3 * p[2] ** 2 + 8 * p[1] * p[3] - 6 * p[4]


def chain(x: Any) -> Any:
    """The sum of all products of four entries in their order."""
    after = jnp.arange(x.shape[0])[:, None] > jnp.arange(x.shape[0])[None, :]
    y = x
    for _ in range(3):
        y = x * jnp.sum(jnp.where(after, y[None, :], 0.0), 1)
    return jnp.sum(y)


RIGHT: list[tuple[str, Callable, str]] = [
    ("elementwise", lambda x: jnp.where(x > 0, jnp.sin(x) * jnp.exp(x), x**2), "n"),
    ("matrix product", lambda a, b: jnp.tanh(a @ b), "n k, k m"),
    ("softmax", lambda x: jax.nn.softmax(x), "b n"),
    ("log-sum-exp", lambda x: jnp.log(jnp.sum(jnp.exp(x))), "n"),
    ("layer norm", lambda x: (x - x.mean()) * jax.lax.rsqrt(x.var() + 0.1), "n"),
    ("attention", lambda q, k, v: jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[1])) @ v, "n d, m d, m e"),
    ("causal sum", lambda x: jnp.tril(jnp.ones((x.shape[0], x.shape[0]))) @ x, "n"),
    ("exponentials of causal sums", lambda x: jnp.exp(jnp.tril(jnp.ones((x.shape[0], x.shape[0]))) @ x), "n"),
    ("a layer with relu", lambda x, w, v: jax.nn.relu(x @ w) @ v, "n d, d h, h e"),
    ("leaky relu of a product", lambda x, w: jnp.where((y := x @ w) > 0, y, 0.1 * y), "n d, d h"),
    ("a norm that is clipped", lambda x, c: jnp.where((n := jnp.sqrt(jnp.sum(x * x))) > c, x / n, x / c), "n, "),
    ("huber of a sum", lambda x: jnp.where((s := jnp.sum(x)) > 1, 2 * s - 1, s * s), "n"),
    ("diagonal", lambda x: (jnp.eye(x.shape[0]) * x[:, None]) @ x, "n"),
]


@pytest.mark.parametrize("function, signature", [r[1:] for r in RIGHT], ids=[r[0] for r in RIGHT])
def test_right_rules_hold_at_all_sizes(function: Callable, signature: str) -> None:
    assert everywhere(with_jvp(function), signature)


NO_THEOREM: list[tuple[str, Callable, str, str]] = [
    (
        "window",
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (3,), (2,), "VALID"),
        "2*n+1",
        "arithmetic on indices",
    ),
    ("solve", lambda a, b: jnp.linalg.solve(a, b), "n n, n", "determined"),
    (
        "Sinkhorn",
        lambda a: (lambda b: b / b.sum(1, keepdims=True))(a / a.sum(0, keepdims=True)),
        "n m",
        "0 at some size",
    ),
    ("norm of what is chosen", lambda x: jnp.sqrt(1 + jnp.sum(jax.nn.relu(x))), "n", "chosen by comparison"),
    ("loop", lambda x: jax.lax.scan(lambda c, y: (c / 2 + y, c), 0.0, x)[1], "n", "loop"),
]


@pytest.mark.parametrize("function, signature, why", [r[1:] for r in NO_THEOREM], ids=[r[0] for r in NO_THEOREM])
def test_where_the_theorem_does_not_apply_the_reason_is_said(function: Callable, signature: str, why: str) -> None:
    result = exact.check(with_jvp(function), signature, one_program=True)
    assert (result.verdict, result.everywhere) == ("agrees", False)
    assert why in result.limited


WRONG: list[tuple[str, Callable]] = [
    ("products of four entries", e4),
    ("a function of them", lambda x: jnp.tanh(e4(x))),
    ("their exponential", lambda x: jnp.exp(e4(x)) - 1),
    ("their root", lambda x: jnp.sqrt(1 + e4(x) ** 2) - 1),
    ("over a sum", lambda x: e4(x) / (1 + jnp.sum(x**2))),
    ("the logarithm of a sum", lambda x: jnp.log1p(e4(x) ** 2)),
    ("of the largest", lambda x: e4(jnp.exp(x - jnp.max(x)))),
    ("of what is positive", lambda x: e4(jax.nn.relu(x))),
    ("in their order", chain),
    ("a function of these", lambda x: jnp.tanh(chain(x))),
    ("entry by entry", lambda x: jnp.sum(x * jnp.cos(e4(x) * x)) - jnp.sum(x)),
]


def test_an_exponential_of_one_logarithm_or_another_has_the_width_of_both() -> None:
    def function(x: Any) -> Any:
        z = jnp.log(jnp.sum(jnp.exp(x)))
        return jnp.exp(jnp.where(x > 0, z, -z) - x)

    result = exact.check(with_jvp(function), "n", one_program=True)
    assert (result.verdict, result.everywhere) == ("agrees", False)
    assert "a power of a sum" in result.limited


def left(x: Any) -> Any:
    """Above 0 where there are few entries."""
    return 9.5 - jnp.sum(jnp.tanh(x))


def above(x: Any) -> Any:
    """How many entries stand before each."""
    n = x.shape[0]
    return jnp.sum(jnp.where(jnp.arange(n)[:, None] > jnp.arange(n)[None, :], 1.0, 0.0), 1)


OTHERWISE: list[tuple[str, Callable, Callable, str]] = [
    ("a count", lambda x: jnp.where(jnp.sum(jnp.ones_like(x)) > 9.5, 2.0, 1.0) * jnp.sum(x), jnp.sum, "compares a sum"),
    (
        "a size beside data",
        lambda x: jnp.where(x.shape[0] + 0 * x[0] > 9.5, 2.0, 1.0) * x,
        lambda x: x,
        "compares a sum",
    ),
    ("places as counts", lambda x: jnp.where(above(x) > 8.5, 2.0, 1.0) * x, lambda x: x, "compares a sum"),
    (
        "a clipped sum",
        lambda x: jnp.minimum(jnp.sum(jnp.tanh(x)), 9.5),
        lambda x: jnp.sum(jnp.tanh(x)),
        "compares a sum",
    ),
    ("a clipped norm", lambda x: x / jnp.maximum(1.0, jnp.sqrt(jnp.sum(x * x)) / 1e3), lambda x: x, "compares a sum"),
    ("a root of a square", lambda x: jnp.sqrt(left(x) ** 2), left, "of a power"),
    ("a root of a product", lambda x: jnp.sqrt(left(x) * left(x)), left, "a product of sums"),
    ("a logarithm of a square", lambda x: jnp.log(left(x) ** 2), lambda x: 2 * jnp.log(left(x)), "of a power"),
    (
        "a pole at a size",
        lambda x: x,
        lambda x: x * (jnp.sum(jnp.ones_like(x)) - 9) / (jnp.sum(jnp.ones_like(x)) - 9),
        "0 at some size",
    ),
]


@pytest.mark.parametrize("function, other, why", [o[1:] for o in OTHERWISE], ids=[o[0] for o in OTHERWISE])
def test_what_falls_out_otherwise_at_larger_sizes_has_no_theorem(function: Callable, other: Callable, why: str) -> None:
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda x: (other(x), x), lambda x, g: jax.vjp(other, x)[1](g))
    result = exact.check(rule, "n", one_program=True)
    assert not result.everywhere
    assert why in result.limited


def count(x: Any) -> Any:
    """Below 0 where there are few entries, and above where there are many."""
    return jnp.sum(jax.nn.sigmoid(x)) - 9.5


WITH_SIGNS: dict[str, Callable] = {
    "above a number": lambda x: jnp.where(count(x) > 0, 1.0, 0.0),
    "what is above it": lambda x: jax.nn.relu(count(x)),
    "a function of that": lambda x: jnp.tanh(jax.nn.relu(count(x))),
    "an absolute value": lambda x: jnp.abs(count(x)) + count(x),
    "a sign": lambda x: jnp.sign(count(x)) + 1,
    "twice": lambda x: jnp.where(count(x) > 0, jnp.where(count(x) >= 0, 1.0, 0.0), 0.0),
    "not": lambda x: 1 - jnp.where(~(count(x) > 0), 1.0, 0.0),
    "or": lambda x: jnp.where((count(x) > 0) | (count(x) > 1), 1.0, 0.0),
    "products of five entries": lambda x: jnp.where(e4(x) > 0, 1.0, 0.0) - jnp.where(0 * e4(x) > -1, 0.0, 1.0),
    "for each entry": lambda x: jnp.where(x * x < 1e4 + count(x) - 1e4, x, 0.0),
}


@pytest.mark.parametrize("name", WITH_SIGNS)
@pytest.mark.parametrize("function", [jnp.sin, lambda x: jax.nn.relu(jnp.sum(x)) * x], ids=["plain", "relu"])
def test_what_is_wrong_where_a_sum_is_larger_is_not_said_to_hold(name: str, function: Callable) -> None:
    rule = with_jvp(function, WITH_SIGNS[name])
    assert exact.check(rule, "2").verdict == "agrees"
    assert not everywhere(rule, "n")


POLES: dict[str, Callable] = {
    "a size": lambda x: jnp.sum(jnp.ones_like(x)) - 9,
    "entries that cancel": lambda x: jnp.sum(x - x + 1) - 9,
    "0 times entries": lambda x: jnp.sum(0 * x + 1) - 9,
    "times a sum": lambda x: (jnp.sum(jnp.ones_like(x)) - 9) * jnp.sum(x),
    "times an entry": lambda x: (jnp.sum(jnp.ones_like(x)) - 9) * x,
    "its square, and that of 0": lambda x: (0 * x) ** 2 + (jnp.sum(jnp.ones_like(x)) - 9) ** 2,
    "its exponential": lambda x: jnp.exp(jnp.sum(jnp.ones_like(x))) - jnp.exp(9.0),
    "where a sum is large": lambda x: jnp.where(count(x) > 0, 0.0, 1.0),
    "0 times an entry there": lambda x: jnp.where(count(x) > 0, 0 * x, x),
    "relu of a sum": lambda x: jax.nn.relu(-count(x)),
}


@pytest.mark.parametrize("name", POLES)
def test_a_rule_that_is_undefined_at_a_size_is_not_said_to_hold(name: str) -> None:
    pole = POLES[name]
    rule = jax.custom_vjp(jnp.sin)
    rule.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) * pole(x) / pole(x),))
    assert not everywhere(rule, "n")


BEYOND: dict[str, Callable] = {
    "a logarithm": lambda x: jnp.log(9.5 - jnp.sum(jnp.tanh(x) ** 2)),
    "a root": lambda x: jnp.sqrt(9.5 - jnp.sum(jnp.tanh(x) ** 2)),
    "a root of a function of a sum": lambda x: jnp.sqrt(jnp.tanh(9.5 - jnp.sum(0 * x + 1))),
    "another function": lambda x: jnp.arccos(jnp.exp(jnp.sum(0 * x + 1) - 9.5)),
    "where a sum is large": lambda x: jnp.sqrt(jnp.where(count(x) > 0, -1.0, 1.0)),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_rule_that_leaves_a_domain_at_a_size_is_not_said_to_hold(name: str) -> None:
    rule = jax.custom_vjp(jnp.sin)
    rule.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) + 0 * BEYOND[name](x),))
    result = exact.check(rule, "n", one_program=True)
    assert (result.verdict, result.everywhere) == ("agrees", False)


def test_what_the_domain_says_is_above_0_counts() -> None:
    rule = with_jvp(lambda x, c: x / jnp.sqrt(jnp.sum(x * x) + c))
    assert not everywhere(rule, "n, ")
    assert exact.check(rule, "n, ", domain="c > 0", one_program=True).everywhere


NO_POLES: dict[str, Callable] = {
    "a sum": jnp.sum,
    "of squares": lambda x: jnp.sum(x * x),
    "of exponentials": lambda x: jnp.sum(jnp.exp(x)),
    "a variance, and more": lambda x: x.var() + 0.1,
    "a product": lambda x: jnp.sum(x**2) * jnp.mean(jnp.exp(x)),
}


@pytest.mark.parametrize("name", NO_POLES)
def test_what_is_0_at_no_size_is_divided_by(name: str) -> None:
    pole = NO_POLES[name]
    assert everywhere(with_jvp(lambda x: jnp.sin(x) / pole(x)), "n")


@pytest.mark.parametrize("wrong", [w[1] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_is_wrong_from_four_entries_on_is_not_said_to_hold(wrong: Callable) -> None:
    """All that it computes at one, two and three entries is right."""
    rule = with_jvp(lambda x: jnp.sin(x), wrong)
    assert exact.check(rule, "3").verdict == "agrees"
    assert not everywhere(rule, "n")


def test_a_factor_that_vanishes_at_small_sizes_is_seen() -> None:
    def wrong(x: Any) -> Any:
        n = jnp.asarray(x.shape[0], x.dtype)
        return math.prod([n - k for k in range(1, 9)])

    assert exact.check(with_jvp(jnp.sin, wrong), "n", one_program=True).everywhere is False


@pytest.mark.parametrize("wrong", [lambda x: jnp.where(jnp.arange(x.shape[0]) > 9, x, 0.0),
                                   lambda x: x * (x.shape[0] > 9)])  # fmt: skip
def test_what_looks_at_positions_or_sizes_has_no_theorem(wrong: Callable) -> None:
    assert not everywhere(with_jvp(jnp.sin, wrong), "n")


def test_without_the_promise_that_there_is_one_program_sizes_are_named() -> None:
    result = exact.check(with_jvp(jnp.sin), "n")
    assert (result.everywhere, exact.level(result)) == (False, "exact at sizes ≤ 4")
    assert exact.level(exact.check(with_jvp(jnp.sin), "n", one_program=True)) == "exact for all sizes"
