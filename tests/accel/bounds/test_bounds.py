"""Bounds over a box: they hold, more boxes are tighter, and what is wrong with a box is said."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.accel import compile_graph
from certgrad.accel.bounds import Box, bounds
from certgrad.errors import UsageError

RANDOM = np.random.default_rng(0)
PARAMS = {"W": RANDOM.normal(size=(2, 6)).astype(np.float32), "V": RANDOM.normal(size=6).astype(np.float32)}


def loss(params: Any, x: Any) -> Any:
    return jnp.mean((jax.nn.relu(x @ params["W"]) @ params["V"]) ** 2)


@pytest.fixture(scope="module")
def compiled() -> Any:
    return compile_graph(certgrad.trace(loss, {"W": "d h", "V": "h"}, "x: n d"))


def inside(found: Any, values: Any) -> bool:
    pairs = zip(jax.tree.leaves(found.lower), jax.tree.leaves(values), jax.tree.leaves(found.upper), strict=True)
    return all(np.all(low <= v + 1e-5) and np.all(v - 1e-5 <= high) for low, v, high in pairs)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("gradient", [False, True], ids=["value", "gradient"])
def test_bounds_hold_and_more_boxes_are_tighter(compiled: Any, gradient: bool) -> None:
    x = np.array([[0.3, -0.2], [0.1, 0.4]])
    found = [bounds(compiled, PARAMS, Box(x - 0.2, x + 0.2), gradient=gradient, boxes=n) for n in (1, 60)]
    for _ in range(50):
        y = (x + RANDOM.uniform(-0.2, 0.2, x.shape)).astype(np.float32)
        value, gradients = compiled.value_and_grad(PARAMS, y)
        assert all(inside(b, gradients if gradient else value) for b in found)
    width = [sum(np.sum(h - l) for h, l in zip(*map(jax.tree.leaves, (b.upper, b.lower)), strict=True)) for b in found]
    assert width[1] < width[0]
    assert found[1].boxes >= 60


def test_a_parameter_may_lie_in_a_box(compiled: Any) -> None:
    x = np.ones((1, 2), np.float32)
    found = bounds(compiled, {"W": Box(PARAMS["W"] - 0.01, PARAMS["W"] + 0.01), "V": PARAMS["V"]}, x)
    assert inside(found, compiled.forward(PARAMS, x))
    point = bounds(compiled, PARAMS, x)
    assert point.upper - point.lower < 1e-12


@pytest.mark.slow
def test_where_nothing_is_known_the_bounds_are_infinite(tmp_path: Path) -> None:
    inverse = compile_graph(certgrad.trace(lambda x: 1 / x, "n"))
    found = bounds(inverse, Box(np.array([-1.0, 1.0]), np.array([1.0, 2.0])), boxes=4)
    assert found.lower[0] == -np.inf
    assert found.upper[0] == np.inf
    assert 0.49 < found.lower[1] <= 0.5
    pytest.importorskip("matplotlib")
    assert found.picture(tmp_path / "bounds.png").read_bytes().startswith(b"\x89PNG")


def test_boxes_that_are_none(compiled: Any) -> None:
    with pytest.raises(UsageError, match="The box of x is empty or not finite"):
        bounds(compiled, PARAMS, Box(np.ones((1, 2)), np.zeros((1, 2))))
    with pytest.raises(UsageError, match="Pass arrays whose dimensions agree"):
        bounds(compiled, PARAMS, Box(np.zeros((1, 3)), np.ones((1, 3))))
