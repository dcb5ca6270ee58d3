"""Duals at the points where a derivative is in danger: ties, jumps, edges of domains, unselected lanes."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations.balls import KINK, UNKNOWN, evaluate


def pushed(function: Callable[..., Any], x: list[Any], dx: list[Any] | None = None, **options: Any) -> list[Any]:
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(function)(np.zeros(len(x)))
    got = evaluate(jaxpr, [x], [[1] * len(x) if dx is None else dx], **options)
    return got.tangents[0].ravel().tolist()


KINKS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "relu": (jax.nn.relu, [0]),
    "abs": (jnp.abs, [0]),
    "abs of a square root": (lambda x: jnp.sqrt(x * x), [0]),
    "sign": (jnp.sign, [0]),
    "floor": (jnp.floor, [2]),
    "round": (jnp.round, [2.5]),
    "max": (lambda x: x.max(), [1, 1]),
    "where": (lambda x: jnp.where(x > 0, x + 1, x), [0]),
    "mask": (lambda x: (x > 0) * x, [0]),
    "mask through booleans": (lambda x: jnp.where((x > 0) | (x < -1), x, 0), [0]),
    "sqrt": (jnp.sqrt, [0]),
    "cbrt": (jnp.cbrt, [0]),
    "asin": (jnp.arcsin, [1]),
    "power": (lambda x: x**0.5, [0]),
    "clip": (lambda x: jnp.clip(x, -1, 1), [1]),
    "argmax": (lambda x: x[jnp.argmax(x)] * x, [2, 2]),
    "sort": (jnp.sort, [1, 1]),
    "cummax": (lambda x: lax.cummax(x)[1:], [1, 1]),
    "top_k": (lambda x: lax.top_k(x, 1)[0], [1, 1]),
    "to int": (lambda x: x.astype(int) * x, [3]),
    "rem": (lambda x: lax.rem(x, 2.0), [4]),
    "atan2": (lambda x: jnp.arctan2(x, -1.0), [0]),
    "index": (lambda x: x[jnp.floor(x).astype(int)], [0.0]),
    "cond": (lambda x: lax.cond(x[0] > 0, lambda y: y, lambda y: -y, x), [0]),
    "jump compared": (lambda x: jnp.where(jnp.sign(x) > 0.5, 1.0, 2.0), [0]),
    "jump in a maximum": (lambda x: jnp.maximum(jnp.sign(x), -0.5), [0]),
    "jump rounded": (lambda x: jnp.floor(0.7 * jnp.sign(x) + 0.1), [0]),
    "pooling": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "VALID"), [1, 1]),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks_are_marked(name: str) -> None:
    function, x = KINKS[name]
    assert any(d is KINK for d in pushed(function, x, list(range(1, len(x) + 1))))


def test_one_direction_does_not_tell_what_kind_of_tie_it_is() -> None:
    """Along (1, 1), max(x, y) at x = y looks as min(x, clip(x)) does, which has no kink there."""
    assert pushed(lambda x: x.max(), [1, 1], [1, 1]) == [UNKNOWN]
    assert pushed(lambda x: jnp.minimum(x, jnp.clip(x, -1, 1)), [0], [1]) == [UNKNOWN]
    assert pushed(lambda x: jnp.where(jnp.clip(x, -1, 1) > x, x, 2 * x), [0], [1]) == [UNKNOWN]
    assert pushed(lambda x: jnp.maximum(x, -x), [0], [1]) == [KINK]


SMOOTH: dict[str, tuple[Callable[..., Any], list[Any], list[float]]] = {
    "relu beside its kink": (jax.nn.relu, [1e-30], [1]),
    "unselected square root": (lambda x: jnp.where(x > 0, jnp.sqrt(jnp.abs(x)), 3 * x), [-1], [3]),
    "unselected logarithm": (lambda x: jnp.where(x > 0, jnp.log(x), 3 * x), [-1], [3]),
    "unselected infinity": (lambda x: jnp.exp(jnp.where(jnp.arange(2) > 0, x, -jnp.inf)), [0, 0], [0, 1]),
    "unselected division": (lambda x: jnp.where(x < 5, x, 1 / (x - x)), [1], [1]),
    "floor": (jnp.floor, [2.5], [0]),
    "truncation near zero": (lambda x: x.astype(int) + x, [0], [1]),
    "constant tie": (lambda x: x + jnp.maximum(jnp.ones(1), jnp.ones(1)), [1], [1]),
    "constant jump": (lambda x: jnp.where(jnp.floor(x) == 2, x, 0), [2.5], [1]),
    "isnan of itself": (lambda x: jnp.where(x != x, 0, x), [1], [1]),
    "maximum of distinct": (lambda x: x.max(), [1, 2, 0], [1]),
    "cube at zero": (lambda x: x**3, [0], [0]),
    "zeroth power": (lambda x: x**0, [0], [0]),
    "square root of a square": (lambda x: jnp.sqrt(x * x), [-3], [-1]),
    "same branches": (lambda x: x + jnp.where(x > 0, 1.0, 1.0), [0], [1]),
    "stopped maximum": (lambda x: x - lax.stop_gradient(x.max()), [1, 1], [1, 1]),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_points_have_derivatives(name: str) -> None:
    function, x, want = SMOOTH[name]
    assert [0.0 if d is None else float(d) for d in pushed(function, x)] == want


def test_constants_have_no_tangent() -> None:
    assert pushed(lambda x: jnp.zeros(2) + jnp.sign(x), [1, -2]) == [None, None]
    assert pushed(lambda x: jnp.concatenate([x, jnp.ones(1)]), [1])[1] is None


def test_zero_tangent_is_not_a_constant() -> None:
    assert pushed(jnp.abs, [0], [0]) == [UNKNOWN], "as one direction does not tell a kink from 0 all around"
    assert pushed(lambda x: jnp.abs(x[:1] - x[1:]), [1, 1], [1, 1]) == [UNKNOWN]
    assert pushed(lambda x: jnp.abs(x[:1] - x[1:]), [1, 1], [1, 2]) == [KINK]


def test_keep_stopped_differentiates_through() -> None:
    assert [float(d) for d in pushed(lambda x: x * lax.stop_gradient(x), [3], keep_stopped=True)] == [6.0]
    assert [float(d) for d in pushed(lambda x: x * lax.stop_gradient(x), [3])] == [3.0]


def test_an_incomplete_gamma_of_what_is_no_number() -> None:
    assert all(d is KINK for d in pushed(lambda x: lax.igamma(1 + x * x, jnp.log(x)), [-1, -2]))
