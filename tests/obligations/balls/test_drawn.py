"""The structural primitives against JAX's numerics, values and derivatives, at drawn shapes, layouts and parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from tests.obligations.balls.test_primitives import agree, spread

Case = tuple[Callable[..., Any], tuple[np.ndarray, ...]]
Draw = Callable[..., Any]


def shapes(least: int = 1, most: int = 3, size: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(1, size), min_size=least, max_size=most).map(tuple)


def floats(shape: tuple[int, ...], salt: int = 0) -> np.ndarray:
    return spread(shape, -2, 2, salt)


def each(draw: Draw, shape: tuple[int, ...], low: int, high: int) -> list[int]:
    return [draw(st.integers(low, high)) for _ in shape]


def slices(draw: Draw) -> Case:
    x = floats(draw(shapes()))
    starts = [draw(st.integers(0, n - 1)) for n in x.shape]
    limits = [draw(st.integers(a + 1, n)) for a, n in zip(starts, x.shape, strict=True)]
    strides = each(draw, x.shape, 1, 3)
    return lambda x: lax.slice(x, starts, limits, strides), (x,)


def pads(draw: Draw) -> Case:
    x = floats(draw(shapes(most=2)))
    config = []
    for n in x.shape:
        low, inner = draw(st.integers(-n, 2)), draw(st.integers(0, 2))
        full = n + (n - 1) * inner
        config.append((low, draw(st.integers(max(-full, -full - low), 2)), inner))
    return lambda x: lax.pad(x, 0.5, config), (x,)


def concatenations(draw: Draw) -> Case:
    shape = draw(shapes())
    axis = draw(st.integers(0, len(shape) - 1))
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    parts = tuple(floats((*shape[:axis], n, *shape[axis + 1 :]), salt=n) for n in sizes)
    return lambda *xs: lax.concatenate(xs, axis), parts


def layouts(draw: Draw) -> Case:
    x = floats(draw(shapes(least=2)))
    order = draw(st.permutations(range(x.ndim)))
    axes = draw(st.sets(st.integers(0, x.ndim - 1)))
    shape = draw(st.permutations(x.shape))
    return lambda x: lax.rev(lax.transpose(x, order), sorted(axes)).reshape(shape), (x,)


def dynamic_slices(draw: Draw) -> Case:
    x = floats(draw(shapes()))
    sizes = [draw(st.integers(1, n)) for n in x.shape]
    starts = np.array(each(draw, x.shape, -3, 5))
    update = floats(tuple(sizes), salt=1)

    def function(x: Any, y: Any, i: Any) -> Any:
        places = [i[k] for k in range(x.ndim)]
        return lax.dynamic_slice(x, places, sizes), lax.dynamic_update_slice(x, y, places)

    return function, (x, update, starts)


def convolutions(draw: Draw) -> Case:
    spatial = draw(shapes(most=2))
    groups, batch_groups = draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
    kernel = tuple(draw(st.integers(1, min(2, n))) for n in spatial)
    features = draw(st.integers(1, 2))
    image = floats((draw(st.integers(1, 2)) * batch_groups, features * groups, *spatial))
    outs = draw(st.integers(1, 2)) * groups * batch_groups
    weights = floats((outs, features, *kernel), salt=1)
    strides, holes, wide = (each(draw, spatial, 1, 2) for _ in range(3))
    padding = [(draw(st.integers(0, 2)), draw(st.integers(1, 2))) for _ in spatial]
    last = draw(st.booleans())
    letters = "HW"[: len(spatial)]
    numbers = (
        (f"N{letters}C", f"{letters}IO", f"N{letters}C") if last else (f"NC{letters}", f"OI{letters}", f"NC{letters}")
    )
    if last:
        image, weights = np.moveaxis(image, 1, -1), np.moveaxis(np.moveaxis(weights, 0, -1), 0, -2)

    def function(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, strides, padding, holes, wide, numbers, groups, batch_groups)

    return function, (image, weights)


def windows(draw: Draw) -> Case:
    x = floats(draw(shapes(most=2)))
    window = tuple(draw(st.integers(1, n)) for n in x.shape)
    strides, wide = (tuple(each(draw, x.shape, 1, 2)) for _ in range(2))
    dilation = tuple(draw(st.integers(1, 2)) if (k - 1) * 2 < n else 1 for k, n in zip(window, x.shape, strict=True))
    padding = [(draw(st.integers(0, k - 1)), draw(st.integers(0, k - 1))) for k in window]
    start, fold = draw(st.sampled_from([(0.0, lax.add), (-np.inf, lax.max), (np.inf, lax.min)]))
    return lambda x: lax.reduce_window(x, start, fold, window, strides, padding, wide, dilation), (x,)


def pooling_gradients(draw: Draw) -> Case:
    x = floats(draw(shapes(most=2)))
    window = tuple(draw(st.integers(1, n)) for n in x.shape)
    strides = tuple(each(draw, x.shape, 1, 2))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, window, strides, padding)
    seed = floats(jax.eval_shape(pool, x).shape, salt=2)
    return lambda x, g: jax.vjp(pool, x)[1](g), (x, seed)


def gathers(draw: Draw) -> Case:
    x = floats(draw(shapes()))
    axis = draw(st.integers(0, x.ndim - 1))
    count = draw(shapes(least=0, most=2, size=3))
    index = np.random.default_rng(draw(st.integers(0, 99))).integers(-6, 6, count)
    mode = draw(st.sampled_from(["clip", "wrap", "fill"]))
    return lambda x, i: jnp.take(x, i, axis=axis, mode=mode, fill_value=0), (x, index)


def gathers_along(draw: Draw) -> Case:
    x = floats(draw(shapes()))
    axis = draw(st.integers(0, x.ndim - 1))
    shape = (*x.shape[:axis], draw(st.integers(1, 3)), *x.shape[axis + 1 :])
    index = np.random.default_rng(draw(st.integers(0, 99))).integers(-x.shape[axis], x.shape[axis], shape)
    return lambda x, i: jnp.take_along_axis(x, i, axis=axis), (x, index)


def scatters(draw: Draw) -> Case:
    x = floats(draw(shapes(most=2)))
    index = np.random.default_rng(draw(st.integers(0, 99))).integers(-5, 5, draw(st.integers(1, 4)))
    updates = floats((*index.shape, *x.shape[1:]), salt=1)
    mode = draw(st.sampled_from(["drop", "clip", "promise_in_bounds"]))
    safe = mode == "promise_in_bounds"
    return lambda x, y, i: x.at[i % x.shape[0] if safe else i].add(y, mode=mode), (x, updates, index)


def segment_sums(draw: Draw) -> Case:
    x = floats(draw(shapes(most=2)))
    ids = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 3, x.shape[0])
    return lambda x, i: jax.ops.segment_sum(x, i, 3), (x, ids)


def orders(draw: Draw) -> Case:
    x = floats(draw(shapes()))
    axis = draw(st.integers(0, x.ndim - 1))
    k = draw(st.integers(1, x.shape[-1]))
    return lambda x: (jnp.sort(x, axis), jnp.argsort(x, axis), jnp.argmax(x, axis), x.max(axis), lax.top_k(x, k)), (x,)


def cumulations(draw: Draw) -> Case:
    x = floats(draw(shapes()))
    axis, turned = draw(st.integers(0, x.ndim - 1)), draw(st.booleans())
    fold = draw(st.sampled_from([lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp]))
    return lambda x: fold(x, axis, reverse=turned), (x,)


def reductions(draw: Draw) -> Case:
    x = floats(draw(shapes()))
    axes = tuple(sorted(draw(st.sets(st.integers(0, x.ndim - 1)))))
    return lambda x: (x.sum(axes), x.max(axes), x.min(axes), x.prod(axes)), (x,)


def contractions(draw: Draw) -> Case:
    batch, left, right, inner = (draw(shapes(least=0, most=1, size=3)) for _ in range(4))
    x, y = floats((*batch, *left, *inner)), floats((*batch, *right, *inner), salt=1)
    b, i = tuple(range(len(batch))), len(inner)
    over = tuple(range(x.ndim - i, x.ndim)), tuple(range(y.ndim - i, y.ndim))
    return lambda x, y: lax.dot_general(x, y, (over, (b, b))), (x, y)


def scans(draw: Draw) -> Case:
    x = floats(draw(shapes(most=2)))
    carry = floats(x.shape[1:], salt=1)
    turned, unroll = draw(st.booleans()), draw(st.integers(1, 2))

    def function(x: Any, c: Any) -> Any:
        return lax.scan(lambda c, y: (jnp.tanh(c * y + 0.5), c * c), c, x, reverse=turned, unroll=unroll)

    return function, (x, carry)


def scan_gradients(draw: Draw) -> Case:
    function, inputs = scans(draw)
    return lambda x, c: jax.grad(lambda x: function(x, c)[0].sum())(x), inputs


def loops(draw: Draw) -> Case:
    x = floats(draw(shapes(most=2)))
    steps = draw(st.integers(0, 3))
    return lambda x: lax.fori_loop(0, steps, lambda i, c: lax.cond(i % 2 == 0, jnp.sin, jnp.cos, c) + i, x), (x,)


def associative_scans(draw: Draw) -> Case:
    x = floats(draw(shapes(most=2, size=6)))
    turned = draw(st.booleans())
    return lambda x: lax.associative_scan(lambda a, b: a * b + a + b, x, reverse=turned), (x,)


def triangular(draw: Draw) -> Case:
    n, m = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    batch = draw(shapes(least=0, most=1, size=2))
    left, lower, turned, unit = (draw(st.booleans()) for _ in range(4))
    a = floats((*batch, n, n)) + 3 * np.eye(n)
    b = floats((*batch, n, m) if left else (*batch, m, n), salt=1)

    def function(a: Any, b: Any) -> Any:
        return lax.linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=turned, unit_diagonal=unit)

    return function, (a, b)


def factors(draw: Draw) -> Case:
    n = draw(st.integers(1, 3))
    a = floats((*draw(shapes(least=0, most=1, size=2)), n, n))

    def function(a: Any) -> Any:
        square = a @ jnp.swapaxes(a, -1, -2) + 2 * jnp.eye(n)
        return jnp.linalg.cholesky(square), jnp.linalg.inv(square), jnp.linalg.slogdet(square)[1]

    return function, (a,)


def masks(draw: Draw) -> Case:
    x = floats(draw(shapes(least=2, most=2)))
    k = draw(st.integers(-2, 2))
    return lambda x: (jnp.tril(x, k), jnp.triu(x, k), jnp.roll(x, k, 1), jnp.repeat(x, 2, 0), jnp.diagonal(x)), (x,)


CASES = [
    slices, pads, concatenations, layouts, dynamic_slices, convolutions, windows, pooling_gradients, gathers,
    gathers_along, scatters, segment_sums, orders, cumulations, reductions, contractions, scans, scan_gradients, loops,
    associative_scans, triangular, factors, masks,
]  # fmt: skip


@pytest.mark.one_in(25)
@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_agrees_with_jax(make: Callable[[Draw], Case], data: st.DataObject) -> None:
    function, inputs = make(data.draw)
    agree(function, *inputs)
