"""Each row of ONNX's table: what onnxruntime computes is what JAX computes."""

from typing import Any

import jax
import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from certgrad.exports._flat import flatten
from certgrad.exports._onnx._export import TABLE, graph_of, model_of
from certgrad.obligations.tracing.jax_internals import program_of

from .cases import CASES, UNREACHED


def outcomes(fn: Any, args: Any) -> tuple[list[Any], list[Any], set[str]]:
    """What the model returns, what JAX returns, and which primitives are in the model."""
    import onnxruntime

    closed = jax.make_jaxpr(fn)(*args)
    flat = flatten(program_of(closed))
    names = [f"x{k}" for k in range(len(flat.inputs))]
    returned = [f"y{k}" for k in range(len(flat.outputs))]
    graph = graph_of(flat, names, returned, "case", lambda step: "here", {})
    session = onnxruntime.InferenceSession(model_of(graph, {}).SerializeToString())
    found = session.run(None, dict(zip(names, map(np.asarray, args), strict=True)))
    return found, jax.tree.leaves(jax.jit(fn)(*args)), {step.primitive for step in flat.steps}


@pytest.mark.one_in(44)
@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_computes_what_jax_computes(name: str) -> None:
    for k, (fn, args) in enumerate(CASES[name]):
        found, expected, primitives = outcomes(fn, args)
        assert name in primitives, (k, primitives)
        for x, y in zip(found, expected, strict=True):
            assert x.dtype == y.dtype, k
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5, err_msg=f"case {k}")


def test_every_row_has_a_case() -> None:
    assert set(TABLE) - UNREACHED - set(CASES) == set()
    assert set(CASES) - set(TABLE) == set()
