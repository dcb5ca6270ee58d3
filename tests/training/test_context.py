"""The runtime context: a value that says all that a step reads and writes."""

from dataclasses import FrozenInstanceError
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad.training import Context


@pytest.fixture
def context() -> Context:
    return Context(
        parameters={"W": jnp.array([[3.0, 4.0]]), "b": jnp.zeros(2)},
        gradients={"W": jnp.array([[0.0, 2.0]])},
        state={"m": {"W": jnp.zeros((1, 2))}, "t": jnp.int32(7)},
        hyperparameters={"lr": 0.1},
        key=jax.random.key(5),
        step=7,
    )


def test_it_prints_everything(context: Context) -> None:
    assert str(context).splitlines() == [
        "after 7 steps",
        "  parameter  type           norm  gradient's norm",
        "  W          float32[1, 2]  5     2",
        "  b          float32[2]     0",
        "state: m of 1 parameter, t = 7",
        "hyperparameters: lr = 0.1",
        "rng: threefry2x32 0 5",
        f"backend: {context.backend}",
    ]
    assert context.backend == f"{jax.default_backend()} (1 device), float32, jax {jax.__version__}"


def test_splitting_moves_the_key_and_changes_nothing(context: Context) -> None:
    after, draw = context.split()
    again, same = context.split()
    assert jnp.array_equal(jax.random.key_data(draw), jax.random.key_data(same))
    assert str(after) == str(again)
    assert not jnp.array_equal(jax.random.key_data(after.key), jax.random.key_data(context.key))
    assert after.step == context.step
    unset: Any = context
    with pytest.raises(FrozenInstanceError):
        unset.step = 8


@pytest.mark.slow
def test_old_keys_print_too(context: Context) -> None:
    old = Context({}, {}, {}, {}, jax.random.PRNGKey(3))
    assert "rng: 0 3\n" in str(old)
    assert str(old).startswith("after 0 steps\n  parameter  type  norm  gradient's norm\nstate: none\n")
