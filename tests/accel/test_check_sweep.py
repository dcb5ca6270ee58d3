"""The equations of backprop at an executed sweep: they hold, and a sweep that drops or doubles a term breaks one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.accel import CompiledGraph, Sweep, check_sweep, compile_graph
from certgrad.graph import trace

X = np.linspace(-1.0, 1.0, 12).reshape(4, 3)


def looping(x, c):
    carry, rows = jax.lax.scan(lambda h, row: (jnp.tanh(h * c + row), h * row), jnp.zeros_like(c), x)
    return jnp.sum(carry * rows[0] + c), rows


@pytest.fixture(scope="module")
def compiled() -> CompiledGraph:
    return compile_graph(trace(looping, "x: n d", "c: d"))


@pytest.mark.slow
def test_a_sweep_satisfies_its_equations(compiled: CompiledGraph) -> None:
    assert check_sweep(compiled, X, X[0]) is None
    assert check_sweep(compiled, X.astype(np.float32), X[0].astype(np.float32)) is None


@pytest.mark.one_in(3)
@pytest.mark.parametrize("factor", [0.0, 2.0, 1 + 1e-3])
def test_what_a_node_gives_is_changed_on_its_way(
    compiled: CompiledGraph, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    right, runs = Sweep.backward, compiled.at(X, X[0]).certified.induction

    def wrong(sweep, values, seeds):
        found = right(sweep, values, seeds)
        if sweep.induction is runs:
            found[1, 0] = found[1, 0] * factor
        return found

    monkeypatch.setattr(Sweep, "backward", wrong)
    assert (check_sweep(compiled, X, X[0]) or "").startswith("the cotangent of node 1 (c) is not the sum of what ")
