"""What is written for PyTorch, as text: torch is not needed to write it."""

import ast
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.accel import compile_graph
from certgrad.errors import UsageError
from certgrad.exports import export_torch


def scaled(x: Any, W: Any) -> Any:
    return jnp.sum(jnp.sin(x @ W))


def functions(path: Path) -> dict[str, list[str]]:
    """The lines of each function, without where they come from."""
    text = path.read_text(encoding="utf-8")
    return {
        node.name: [line.partition("  #")[0] for line in ast.get_source_segment(text, node).splitlines()]  # type: ignore[union-attr]
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }


def test_the_forward_and_the_backward_are_the_steps(tmp_path: Path) -> None:
    path = export_torch(compile_graph(certgrad.trace(scaled, "x: n d", "W: d h")), tmp_path / "scaled.py")
    found = functions(path)
    assert found["_forward"] == [
        "def _forward(sizes, x, W):",
        "    (n, d, h) = sizes",
        "    device = x.device",
        "    v4 = x @ W",
        "    v5 = torch.sin(v4)",
        "    v6 = torch.sum(v5, (0, 1))",
        "    v8 = torch.cos(v4)",
        "    return (v6, v8)",
    ]
    assert found["_backward"] == [
        "def _backward(sizes, left, seeds, needs):",
        "    (n, d, h) = sizes",
        "    device = seeds[0].device",
        "    (v8, x, W) = left",
        "    (seed0,) = seeds",
        "    v7 = seed0.expand((n, h))",
        "    v9 = v7 * v8",
        "    if needs[1]:",
        "        v10 = v9.mT @ x",
        "        v11 = v10.permute((1, 0))",
        "    if needs[0]:",
        "        v12 = v9 @ W.mT",
        "    return (v12 if needs[0] else None, v11 if needs[1] else None)",
    ]
    text = path.read_text(encoding="utf-8")
    assert "The verdict on the graph is: proved." in text
    assert "    x: float32[n, d]\n    W: float32[d, h]" in text
    assert "v5 = torch.sin(v4)  # node 3 (sin, test_torch_source.py:" in text


def test_names_that_mean_something_else_in_the_file_are_changed(tmp_path: Path) -> None:
    compiled = compile_graph(certgrad.trace(lambda device, v4, n: device * v4 * n, "device: n", "v4: n", "n: n"))
    found = functions(export_torch(compiled, tmp_path / "x.py"))
    assert found["_forward"][0] == "def _forward(sizes, device_, xv4, n_):"
    assert "lambda" not in found


def test_a_step_without_counterpart_is_named_with_its_node_and_line(tmp_path: Path) -> None:
    compiled = compile_graph(certgrad.trace(lambda x: jnp.sum(jax.lax.reduce_precision(x, 8, 7)), "x: n"))
    with pytest.raises(
        UsageError, match=r"node 1 \(reduce_precision, test_torch_source.py:\d+\): reduce_precision has no"
    ):
        export_torch(compiled, tmp_path / "x.py")


def test_a_dtype_that_is_none_or_changes_the_program_is_refused(tmp_path: Path) -> None:
    compiled = compile_graph(certgrad.trace(scaled, "x: n d", "W: d h"))
    with pytest.raises(UsageError, match="'int32' is no dtype of real numbers: float16, bfloat16, float32, float64"):
        export_torch(compiled, tmp_path / "x.py", dtype="int32")

    def other(x: Any) -> Any:
        return x * 2 if x.dtype == jnp.float32 else x * 3

    with pytest.raises(UsageError, match="In float64 other is another program than the one that is certified"):
        export_torch(compile_graph(certgrad.trace(other, "x: n")), tmp_path / "x.py", dtype="float64")


def test_a_name_that_code_gives_itself_stays_in_its_comment(tmp_path: Path) -> None:
    def square(x: Any) -> Any:
        return x * x

    square.__name__ = 'evil\nraise SystemExit  """'
    rule = jax.custom_vjp(square)
    rule.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
    path = export_torch(compile_graph(certgrad.trace(lambda x: rule(x) / x, "x: n")), tmp_path / "x.py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node)]
