"""An ONNX model that is read back as a JAX function is certified as any other. The importer is no dependency: it is not
maintained, and reads little."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import certgrad
from certgrad.accel import compile_graph
from certgrad.exports import export_onnx

from .models import MODELS, arrays

onnx = pytest.importorskip("onnx")
call_onnx = pytest.importorskip(
    "jaxonnxruntime.call_onnx", reason="jaxonnxruntime, which is not maintained, is not there"
)


def test_an_mlp_goes_out_and_comes_back(tmp_path: Path) -> None:
    fn, specs, _ = MODELS["mlp"]
    given = arrays("mlp", 0)
    sizes = {"n": 4, "d": 3, "h": 5, "k": 2}
    model = onnx.load(export_onnx(compile_graph(certgrad.trace(fn, *specs)), tmp_path / "mlp.onnx", sizes=sizes))
    names = [i.name for i in model.graph.input]
    read, parameters = call_onnx.call_onnx_model(model, dict(zip(names, given, strict=True)))

    def back(*args: Any) -> Any:
        return read(parameters, dict(zip(names, args, strict=True)))[0]

    compiled = compile_graph(certgrad.trace(back, *given))
    assert compiled.certificate.verdict == "proved"
    _, found = compiled.value_and_grad(*given)
    for x, y in zip(found, jax.grad(fn, argnums=range(6))(*given), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-7)
