"""Linear bounds hold at every point of the box that is drawn, and are tighter than intervals where boxes are small."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.accel import compile_graph
from certgrad.accel.bounds import Box, LinearBounds, bounds, linear_bounds
from certgrad.errors import UsageError
from certgrad.graph import trace
from certgrad.obligations.balls._errors import BallError

RANDOM = np.random.default_rng(1)


def smooth(x: Any, W: Any, V: Any) -> Any:
    return jnp.mean((jnp.tanh(x @ W) @ V - x[:, :2]) ** 2)


def kinked(x: Any, W: Any, V: Any) -> Any:
    return jnp.sum(jax.nn.relu(x @ W) @ V)


def around(array: Any, radius: float) -> Box:
    return Box(array - radius, array + radius)


ARGS = [np.round(RANDOM.normal(size=shape) * 8) / 8 for shape in ((2, 3), (3, 4), (4, 2))]


def inside(found: LinearBounds, f: Any, names: list, boxes: list) -> None:
    for _ in range(200):
        drawn = [
            b.lower + (b.upper - b.lower) * np.round(RANDOM.uniform(size=b.lower.shape) * 4) / 4
            if isinstance(b, Box)
            else b
            for b in boxes
        ]
        with jax.enable_x64(True):
            value = float(f(*map(jnp.asarray, drawn)))
        line = sum(
            float((found.slope[n] * (x - found.middle[n])).sum())
            for n, x in zip(names, drawn, strict=True)
            if n in found.slope
        )
        assert line + found.below - 1e-12 <= value <= line + found.above + 1e-12
        assert found.lower - 1e-12 <= value <= found.upper + 1e-12


@pytest.mark.one_in(4)
@pytest.mark.parametrize("f", [smooth, kinked])
@pytest.mark.parametrize("radius", [0.5, 1 / 64])
def test_the_value_is_between_the_lines(f: Any, radius: float, tmp_path: Any) -> None:
    compiled = compile_graph(
        trace(f, "x: n d", "W: d h", "V: h c") if f is kinked else trace(f, *map(jnp.asarray, ARGS))
    )
    given = (around(ARGS[0], radius), *ARGS[1:])
    found = linear_bounds(compiled, *given)
    assert list(found.slope) == ["x"]
    inside(found, f, ["x", "W", "V"], list(given))
    plain = bounds(compiled, *given, boxes=1)
    if radius < 0.1:
        assert found.upper - found.lower <= (1 + 1e-6) * (float(plain.upper) - float(plain.lower))
        assert found.above - found.below < 0.3 * (found.upper - found.lower)
    pytest.importorskip("matplotlib")
    assert found.picture(compiled, given, tmp_path / "lines.png").read_bytes().startswith(b"\x89PNG")


def test_several_boxes() -> None:
    compiled = compile_graph(trace(smooth, *map(jnp.asarray, ARGS)))
    given = tuple(around(a, 1 / 64) for a in ARGS)
    found = linear_bounds(compiled, *given)
    assert list(found.slope) == ["x", "W", "V"]
    inside(found, smooth, ["x", "W", "V"], list(given))


def test_what_jumps_has_no_lines() -> None:
    def jump(x: Any) -> Any:
        return jnp.sum(jnp.where(x > 1, x + 1, x))

    compiled = compile_graph(trace(jump, "x: n"))
    with pytest.raises(BallError, match="gt is open over the box"):
        linear_bounds(compiled, Box(np.zeros(2), np.full(2, 2.0)))
    found = linear_bounds(compiled, Box(np.full(2, 1.5), np.full(2, 2.0)))
    assert found.lower <= 5 <= 6 <= found.upper


def test_what_is_asked_wrongly() -> None:
    compiled = compile_graph(trace(smooth, *map(jnp.asarray, ARGS)))
    with pytest.raises(UsageError, match="No argument is a box"):
        linear_bounds(compiled, *ARGS)
    several = compile_graph(trace(lambda x: x * 2, "x: n"))
    with pytest.raises(UsageError, match="does not return one real number"):
        linear_bounds(several, Box(np.zeros(2), np.ones(2)))
