"""`certgrad export`: certified graphs as files for others. What it writes for Coq is tested with Coq."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from certgrad.cli import app

CODE = """
import jax.numpy as jnp

def loss(x, W, y):
    return jnp.mean((jnp.tanh(x @ W) - y) ** 2)

def undefined(x):
    return jnp.sum(jnp.nan * x)
"""
SPECS = ["--spec", "x: n d", "--spec", "W: d h", "--spec", "y: n h"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(CODE)
    return "own.py:loss"


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["export", *arguments])
    return done.exit_code, done.stdout + done.stderr


def test_a_model_and_a_file_for_torch(file: str) -> None:
    pytest.importorskip("onnx")
    code, text = run(
        file, *SPECS, "--onnx", "l.onnx", "--torch", "l.py", "--program", "value_and_grad", "--size", "d=3"
    )
    assert (code, text) == (0, f"l.onnx: value_and_grad of {file}, proved\nl.py: {file} with its backward, proved\n")
    assert "x: float32[n, 3]" in Path("l.py").read_text()
    assert Path("l.onnx").stat().st_size > 1000


def test_what_is_not_proved_is_not_written(file: str) -> None:
    code, text = run("own.py:undefined", "--spec", "x: n", "--torch", "l.py")
    assert code == 1
    assert "The graph of undefined is unproved, so it is not compiled" in text
    assert not Path("l.py").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the language: `certgrad export --coq`, `--onnx FILE` or `--torch FILE`."),
        (["--torch", "l.py"], "--torch takes one function, as in `certgrad export models/mlp.py:loss --torch FILE`."),
        (["own.py:loss", "--torch", "l.py", "--size", "n"], "--size n: expected NAME=N, as in --size n=32."),
        (["--coq", "--onnx", "l.onnx"], "--coq is about rules, and --onnx about the graph of a function."),
        (
            ["own.py:loss", *SPECS, "--torch", "l.py", "--size", "q=2"],
            "loss has no dimension q. Its dimensions are: n, d, h",
        ),
        (["own.py:loss", *SPECS, "--torch", "l.py", "--dtype", "int8"], "'int8' is no dtype of real numbers: float16,"),
        (["own.py:loss", "--torch", "l.py"], "own.py:loss takes x, W, y. Give the shape of each"),
    ],
)
def test_what_a_user_may_get_wrong(file: str, arguments: list[str], message: str) -> None:
    code, text = run(*arguments)
    assert code == 2
    assert message in text
