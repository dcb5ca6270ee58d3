"""Enclosures hold: what the ops of the library return inside a box lies in its enclosure."""

import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from certgrad.accel.bounds._bounds import Box, _above, _argument, _below
from certgrad.accel.bounds._enclose import enclose
from certgrad.conform._points import calls, ordinary
from certgrad.jaxpr.at_shapes import DoesNotTraceError, traced
from certgrad.language.arithmetic import UnfitError
from certgrad.obligations.balls import BallError
from certgrad.obligations.balls import _scalars as s
from certgrad.ops import Composed, Op, registry

OPS = [op for op in registry if not isinstance(op, Composed)]


def enclosed(program: Any, arguments: list) -> list:
    with s.precision(128):
        found = enclose(program, [_argument(x) for x in arguments])
    return [
        [
            np.vectorize(side, otypes=[float])(np.frompyfunc(lambda v: v if s.finite(v) else None, 1, 1)(x))
            for x in found
        ]
        for side in (_below, _above)
    ]


def first_call(op: Op) -> Any:
    for call in calls(op, np.random.default_rng(zlib.crc32(op.name.encode()))):
        try:
            return call, traced(op, call.statics, call.shapes, call.kinds)
        except (DoesNotTraceError, UnfitError):
            continue
    return None


@pytest.mark.one_in(200)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("radius", [1e-6, 0.3, 3.0])
def test_an_op_stays_in_its_enclosure(op: Op, radius: float) -> None:
    found = first_call(op)
    if found is None:
        pytest.skip("no small shape")
    call, programs = found
    rng = np.random.default_rng(1)
    try:
        with jax.enable_x64(True):
            point = next(ordinary(call, rng, jnp.float64))
    except UnfitError as error:
        pytest.skip(str(error))
    program, params = programs.forward, [np.asarray(p) for p in call.parameters]
    boxes = [Box(x - radius, x + radius) if k in call.moving else x for k, x in enumerate(point.arrays)]
    try:
        lower, upper = enclosed(program, [*boxes, *params])
    except BallError:
        return  # nothing is claimed
    with jax.enable_x64(True):
        run = jax.jit(jax.extend.core.jaxpr_as_fun(program))
        for _ in range(20):
            share = rng.choice([0.0, 1.0, rng.uniform()])
            inside = [
                x + radius * np.clip(rng.uniform(-1.2, 1.2, x.shape), -1, 1) * share if k in call.moving else x
                for k, x in enumerate(point.arrays)
            ]
            for low, high, value in zip(lower, upper, run(*map(jnp.asarray, [*inside, *params])), strict=True):
                y = np.asarray(value, float)
                slack = 1e-9 * (1 + np.abs(y))
                assert not np.any(y < low - slack), op.name
                assert not np.any(y > high + slack), op.name


def of(f: Any, *arguments: Any) -> list:
    shapes = [jax.ShapeDtypeStruct(np.shape(getattr(x, "lower", x)), np.float32) for x in arguments]
    boxes = [
        Box(np.asarray(x.lower, float), np.asarray(x.upper, float)) if isinstance(x, Box) else x for x in arguments
    ]
    return enclosed(jax.make_jaxpr(f)(*shapes), boxes)


@pytest.mark.parametrize(
    "f, low, high",
    [
        (lambda x: jnp.where(x > 0, x, 0.5 * x), -0.5, 1),
        (lambda x: jnp.where((x > 0) | (x < -2), 1.0, 3.0), 1, 3),
        (lambda x: jnp.where((x > 2) & (x < 3), 1.0, 3.0), 3, 3),
        (lambda x: jnp.where(~(x > 0), 1.0, 3.0), 1, 3),
        (lambda x: jnp.where((x > 0) != (x > -2), 1.0, 3.0), 1, 3),
        (lambda x: jnp.where((x > 0) == (x > 2), 1.0, 3.0), 1, 3),
        (lambda x: (x > 0).astype(jnp.float32), 0, 1),
        (jnp.sign, -1, 1),
        (jnp.abs, 0, 1),
        (lambda x: jnp.clip(x, -0.25, 0.5), -0.25, 0.5),
        (lambda x: jnp.maximum(x, 0), 0, 1),
        (lambda x: x - x, 0, 0),
    ],
)
def test_open_comparisons_take_both_branches(f: Any, low: float, high: float) -> None:
    lower, upper = of(f, Box(-1.0, 1.0))
    assert float(lower[0]) <= low + 1e-9
    assert float(upper[0]) >= high - 1e-9
    assert float(lower[0]) >= low - 1.1
    assert float(upper[0]) <= high + 1.1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jax.lax.while_loop(lambda v: v < 3, lambda v: v + 1, x),
        lambda x: jax.lax.cond(x > 0, lambda: x, lambda: 2 * x),
        lambda x: jnp.argmax(jnp.stack([x, -x])).astype(jnp.float32),
        lambda x: x.astype(jnp.int32).astype(jnp.float32),
        lambda x: jnp.asarray([1.0, 2.0])[(x > 0).astype(int)],
        lambda x: jnp.sort(jnp.stack([x, -x])),
    ],
    ids=["while", "cond", "argmax", "cast", "index", "sort"],
)
def test_what_a_truth_value_decides_otherwise_is_refused(f: Any) -> None:
    try:
        lower, upper = of(f, Box(-1.0, 1.0))
    except BallError:
        return
    for v in (-1.0, -0.5, 0.5, 1.0):  # where it is not refused, it holds
        assert np.all(np.asarray(f(jnp.float32(v))) >= lower[0] - 1e-6)
        assert np.all(np.asarray(f(jnp.float32(v))) <= upper[0] + 1e-6)


def test_ends_are_rounded_outward() -> None:
    with s.precision(128):
        third = arb(1) / 3
    assert _below(third) < 1 / 3 < _above(third)
    assert (_below(None), _above(None)) == (-np.inf, np.inf)
