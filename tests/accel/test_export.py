"""Graphs written to a file and read back: the same programs, under the same certificate."""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.accel import ExportError, compile_graph, export_graph, load_exported
from certgrad.errors import UsageError


def loss(params: Any, x: Any, labels: Any) -> Any:
    return jnp.mean(jnp.tanh(x @ params["W"]) @ params["V"] * labels[:, None])


def pair(x: Any, y: Any) -> Any:
    return {"sum": x + y, "product": jnp.sin(x) * y}


ARGS = (
    {"W": np.arange(8, dtype=np.float32).reshape(2, 4) - 3.5, "V": np.ones((4, 3), np.float32)},
    np.array([[1, 2], [3, -1], [0.5, 4]], np.float32),
    np.array([0, 2, 1], np.int32),
)


pytest.importorskip("flatbuffers")


@pytest.fixture(scope="module")
def compiled() -> Any:
    return compile_graph(certgrad.trace(loss, {"W": "d h", "V": "h c"}, "x: n d", "labels: n:int"))


@pytest.fixture
def file(compiled: Any, tmp_path: Path) -> Path:
    return export_graph(compiled, tmp_path / "loss.zip", *ARGS)


def test_what_is_read_back_runs_the_same(compiled: Any, file: Path) -> None:
    found = load_exported(file)
    assert found.certificate == compiled.certificate
    names = "params['V']", "params['W']", "x", "labels"
    assert list(found.arguments) == list(names)
    assert found.arguments["x"] == "float32[3, 2]"
    flat = jax.tree.leaves(ARGS)
    value, gradients = found.value_and_grad(*flat)
    expected, wanted = compiled.value_and_grad(*ARGS)
    assert value == expected == found.forward(*flat)
    assert list(gradients) == ["params['V']", "params['W']", "x"]
    assert np.array_equal(gradients["params['W']"], wanted[0]["W"])
    assert "stablehlo" in found.stablehlo["value_and_grad"]
    with pytest.raises(UsageError, match="written with forward and value_and_grad, and not with vjp"):
        found.vjp(flat, [1.0])


def test_several_outputs_are_swept_by_vjp(tmp_path: Path) -> None:
    compiled = compile_graph(certgrad.trace(pair, "x: n", "y: n"))
    x, y = jnp.arange(3.0), jnp.ones(3)
    found = load_exported(export_graph(compiled, tmp_path / "pair.zip", x, y))
    outputs, gradients = found.vjp([x, y], [jnp.ones(3), 2 * jnp.ones(3)])
    expected, wanted = compiled.vjp((x, y), {"product": jnp.ones(3), "sum": 2 * jnp.ones(3)})
    assert np.array_equal(outputs[0], expected["product"])
    assert np.array_equal(gradients["x"], wanted[0])


def test_the_same_graph_is_the_same_bytes(compiled: Any, file: Path, tmp_path: Path) -> None:
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), ARGS)
    assert export_graph(compiled, tmp_path / "again.zip", *shapes).read_bytes() == file.read_bytes()
    assert b"test_export" not in zipfile.ZipFile(file).read("forward.jax")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["certificate.json", "forward.jax", "value_and_grad.stablehlo.mlir"])
@pytest.mark.parametrize("how", ["is not the one that was written", "is missing"])
def test_a_part_that_is_another_one_is_named(file: Path, tmp_path: Path, name: str, how: str) -> None:
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(tmp_path / "other.zip", "w") as new:
        for part in old.namelist():
            if part != name or "missing" not in how:
                new.writestr(part, old.read(part) + (b" " if part == name else b""))
    with pytest.raises(ExportError, match=f"{name} {how}"):
        load_exported(tmp_path / "other.zip")


def test_what_is_no_exported_graph(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr("manifest.json", "[]")
    for name in ("x.zip", "y.zip", "missing.zip"):
        with pytest.raises(ExportError, match="is no exported graph"):
            load_exported(tmp_path / name)


def test_arguments_that_do_not_fit(compiled: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Pass arrays whose dimensions agree"):
        export_graph(compiled, tmp_path / "x.zip", ARGS[0], ARGS[1][:, :1], ARGS[2])


@pytest.mark.slow
def test_another_process_runs_it(compiled: Any, file: Path) -> None:
    program = f"""
import jax, numpy as np
from certgrad.accel import load_exported
found = load_exported({str(file)!r})
print(float(found.forward(*[np.ones(tuple(int(n) for n in t.partition("[")[2][:-1].split(",")), t.partition("[")[0])
      for t in found.arguments.values()])))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ones = [np.ones_like(x) for x in jax.tree.leaves(ARGS)]
    assert float(done.stdout) == float(load_exported(file).forward(*ones))
