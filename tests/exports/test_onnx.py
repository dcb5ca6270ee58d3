"""Certified graphs as ONNX models: onnxruntime returns the values and gradients that JAX does."""

import hashlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.accel import ExportError, compile_graph
from certgrad.errors import UsageError
from certgrad.exports import export_onnx, onnx_certificate

from .models import MODELS, arrays

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


class Compiled(dict[str, Any]):
    """The models by name, each compiled when it is asked for."""

    def __missing__(self, name: str) -> Any:
        fn, specs, _ = MODELS[name]
        self[name] = compile_graph(certgrad.trace(fn, *specs))
        return self[name]


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return Compiled()


def ran(path: Path, given: Any) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(str(path))
    names = [i.name for i in session.get_inputs()]
    found = session.run(None, dict(zip(names, map(np.asarray, given), strict=True)))
    return dict(zip([o.name for o in session.get_outputs()], found, strict=True))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", MODELS)
def test_values_and_gradients_are_those_of_jax(compiled: Any, tmp_path: Path, name: str) -> None:
    fn = MODELS[name][0]
    forward = export_onnx(compiled[name], tmp_path / "forward.onnx")
    gradient = export_onnx(compiled[name], tmp_path / "gradient.onnx", program="value_and_grad")
    for seed in range(3):
        given = arrays(name, seed)
        real = [k for k, x in enumerate(given) if x.dtype.kind == "f"]
        value, wanted = jax.value_and_grad(fn, argnums=real)(*given)
        np.testing.assert_allclose(ran(forward, given)["output"], value, rtol=2e-6)
        found = ran(gradient, given)
        np.testing.assert_allclose(found.pop("output"), value, rtol=2e-6)
        for (which, x), y in zip(found.items(), wanted, strict=True):
            assert which.startswith("grad_")
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=2e-6 * float(np.abs(y).max()), err_msg=which)


@pytest.mark.slow
def test_sizes_are_symbolic_and_one_model_runs_at_all(compiled: Any, tmp_path: Path) -> None:
    path = export_onnx(compiled["mlp"], tmp_path / "mlp.onnx", program="value_and_grad")
    given = onnx.load(path).graph.input
    assert [d.dim_param for d in given[0].type.tensor_type.shape.dim] == ["n", "d"]
    for n, d, h, k in ((1, 1, 1, 1), (7, 2, 9, 3)):
        args = [np.ones(s, np.float32) / 3 for s in ((n, d), (d, h), (h,), (h, k), (k,), (n, k))]
        wanted = jax.grad(MODELS["mlp"][0])(*args)
        np.testing.assert_allclose(ran(path, args)["grad_x"], wanted, rtol=1e-5, atol=1e-7)
    fixed = export_onnx(compiled["mlp"], tmp_path / "fixed.onnx", sizes={"d": 3})
    dims = onnx.load(fixed).graph.input[0].type.tensor_type.shape.dim
    assert (dims[0].dim_param, dims[1].dim_value) == ("n", 3)


def test_the_model_holds_the_certificate_and_says_of_each_node_where_it_is_from(compiled: Any, tmp_path: Path) -> None:
    path = export_onnx(compiled["mlp"], tmp_path / "mlp.onnx")
    assert onnx_certificate(path) == compiled["mlp"].certificate
    model = onnx.load(path)
    held = {p.key: p.value for p in model.metadata_props}
    assert held["certgrad.verdict"] == "proved"
    assert held["certgrad.program"] == "forward"
    (tanh,) = (n for n in model.graph.node if n.op_type == "Tanh")
    assert "(tanh, models.py:" in tanh.doc_string


def test_the_same_graph_is_the_same_bytes(compiled: Any, tmp_path: Path) -> None:
    digests = {
        hashlib.sha256(export_onnx(compiled["lstm"], tmp_path / "x.onnx").read_bytes()).hexdigest() for _ in range(2)
    }
    assert len(digests) == 1


def test_a_vjp_takes_seeds_and_names_are_identifiers(tmp_path: Path) -> None:
    def pair(params: Any, x: Any) -> Any:
        return {"sum": params["w"] + x, "product": jnp.sin(x) * params["w"]}

    compiled = compile_graph(certgrad.trace(pair, {"w": "n"}, "x: n"))
    path = export_onnx(compiled, tmp_path / "pair.onnx", program="vjp")
    given = [np.arange(3, dtype=np.float32) + k for k in range(4)]
    assert [i.name for i in onnx.load(path).graph.input] == ["params_w", "x", "seed_output_product", "seed_output_sum"]
    found = ran(path, given)
    assert list(found) == ["output_product", "output_sum", "grad_params_w", "grad_x"]
    _, pull = jax.vjp(lambda w, x: pair({"w": w}, x), *given[:2])
    for x, y in zip(
        [found["grad_params_w"], found["grad_x"]], pull({"product": given[2], "sum": given[3]}), strict=True
    ):
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_a_step_without_counterpart_is_named_with_its_node_and_line(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return jnp.sum(jax.lax.lgamma(x))

    compiled = compile_graph(certgrad.trace(f, "x: n"))
    with pytest.raises(
        UsageError, match=r"node 1 \(lgamma, test_onnx.py:\d+\): lgamma has no counterpart in ONNX. Write"
    ):
        export_onnx(compiled, tmp_path / "f.onnx")
    assert not (tmp_path / "f.onnx").exists()


def test_what_a_user_may_get_wrong_is_said(compiled: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"mlp has no dimension q. Its dimensions are: n, d, h, k"):
        export_onnx(compiled["mlp"], tmp_path / "x.onnx", sizes={"q": 2})
    with pytest.raises(UsageError, match="n = 0 is no size"):
        export_onnx(compiled["mlp"], tmp_path / "x.onnx", sizes={"n": 0})
    pair = compile_graph(certgrad.trace(lambda x: (x, x), "x: n"))
    with pytest.raises(UsageError, match=r"does not return one real number, so it has no gradient. Export its vjp"):
        export_onnx(pair, tmp_path / "x.onnx", program="value_and_grad")
    with pytest.raises(UsageError, match="'backward' is no program of a graph: forward, value_and_grad, vjp"):
        export_onnx(pair, tmp_path / "x.onnx", program="backward")  # type: ignore[arg-type]
    halves = compile_graph(certgrad.trace(lambda x: x[: x.shape[0] // 2], "x: 2*n"))
    with pytest.raises(UsageError, match="No axis of an argument is n alone"):
        export_onnx(halves, tmp_path / "x.onnx")
    found = ran(
        export_onnx(halves, tmp_path / "x.onnx", program="vjp", sizes={"n": 3}),
        [np.arange(6.0, dtype="f"), np.ones(3, "f")],
    )
    assert found["grad_x"].tolist() == [1, 1, 1, 0, 0, 0]


def test_what_is_no_model_of_a_certified_graph_is_refused(compiled: Any, tmp_path: Path) -> None:
    path = export_onnx(compiled["mlp"], tmp_path / "mlp.onnx")
    model = onnx.load(path)
    next(n for n in model.graph.node if n.op_type == "Tanh").op_type = "Sin"
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(ExportError, match="its nodes are not those that were written with its certificate"):
        onnx_certificate(tmp_path / "other.onnx")
    del model.metadata_props[:]
    onnx.save(model, tmp_path / "bare.onnx")
    with pytest.raises(ExportError, match=r"has no certgrad.certificate in its metadata"):
        onnx_certificate(tmp_path / "bare.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(ExportError, match="is no ONNX model"):
        onnx_certificate(tmp_path / "text.onnx")


def test_without_onnx_it_says_what_to_install(compiled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certgrad.exports.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"onnx is not installed: pip install 'certgrad\[onnx\]'"):
        export_onnx(compiled["mlp"], tmp_path / "x.onnx")
