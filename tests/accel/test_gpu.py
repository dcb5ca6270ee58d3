"""Certified graphs on a GPU. `benchmarks/gpu.py` compares every op and model there, and measures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.accel import check_sweep, compile_graph
from certgrad.graph import trace
from certgrad.training import ADAM, training_step
from tests.accel.test_compile import arguments
from tests.graph.models import MLP, mlp

pytestmark = pytest.mark.gpu


def test_the_sweep_is_that_of_jax_and_of_the_cpu() -> None:
    with jax.enable_x64(True):
        compiled = compile_graph(trace(mlp, *MLP))
        host, device = (jax.device_put(arguments(5, 3, 4, 2), d) for d in (jax.devices("cpu")[0], jax.devices()[0]))
        loss, gradients = compiled.value_and_grad(*device)
        assert loss.devices() == {jax.devices()[0]}
        assert check_sweep(compiled, *device) is None
        for wanted in (jax.grad(mlp, tuple(range(6)))(*device), compiled.value_and_grad(*host)[1]):
            for found, one in zip(gradients, wanted, strict=True):
                np.testing.assert_allclose(found, one, rtol=1e-11, atol=1e-13)


def test_a_training_step_runs_there() -> None:
    x, *parameters, target = arguments(5, 3, 4, 2)
    names = ["W1", "b1", "W2", "b2"]
    step = training_step(trace(mlp, *MLP), ADAM, names)
    context = step.start({n: p.astype(jnp.float32) for n, p in zip(names, parameters, strict=True)})
    data = {"x": x.astype(jnp.float32), "target": target.astype(jnp.float32)}
    losses = []
    for _ in range(20):
        context, value = step(context, **data)
        losses.append(float(value))
    assert losses[-1] < losses[0]
    assert context.backend.startswith(("gpu", "cuda"))
