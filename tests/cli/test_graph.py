"""`certgrad graph`: the example, formats, a planted wrong rule, and bad input."""

from collections.abc import Callable
from pathlib import Path

import pytest

from certgrad.graph import decode
from tests.cli.conftest import Result

Run = Callable[..., Result]
MLP = str(Path(__file__).parents[2] / "examples" / "mlp.py")
SPECS = ["x: n d", "W1: d h", "b1: h", "W2: h c", "b2: c", "target: n c"]
WRONG = """
import jax, jax.numpy as jnp

@jax.custom_jvp
def square(x):
    return x * x

square.defjvp(lambda p, t: (square(p[0]), 3 * p[0] * t[0]))

def loss(x):
    return jnp.sum(square(x))

def gelu(x):
    return jnp.sum(jax.nn.gelu(x, approximate=False))

def factors(x):
    return jax.lax.linalg.lu(x)[0]
"""


def options(specs: list[str]) -> list[str]:
    return [part for spec in specs for part in ("--spec", spec)]


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong_rules.py"
    path.write_text(WRONG)
    return str(path)


def test_the_example(certgrad: Run) -> None:
    result = certgrad("graph", f"{MLP}:loss", *options(SPECS))
    assert result.code == 0
    assert result.out.startswith("loss over the dimensions n, d, h, c: proved under hypotheses\n")
    assert "\nhypotheses\n  maximum at mlp.py:12: every element of `x @ W1 + b1` ≠ 0\n\n" in result.out
    assert "div at mlp.py:18: y ≠ 0, because `c*n` > 0" in result.out
    assert "gradient: the gradient of loss is backprop of 1" in result.out


def test_the_example_explained(certgrad: Run) -> None:
    result = certgrad("graph", f"{MLP}:loss", "--explain", *options(SPECS))
    assert result.code == 0
    text = " ".join(result.out.split())
    assert "max at mlp.py:12 (%9): x ≠ 0, where x = `x @ W1 + b1` (%8): kept: nothing is known of the sign of" in text
    assert "div at mlp.py:18 (%18): y ≠ 0, where y = `c*n` (%16): discharged, `c*n` > 0" in text


def test_specs_in_any_order_and_json(certgrad: Run) -> None:
    result = certgrad("graph", f"{MLP}:loss", "--format", "json", *options(SPECS[::-1]))
    assert result.code == 0
    certificate = decode(result.out.encode())
    assert certificate.verdict == "proved under hypotheses"
    assert [n.name for n in certificate.graph.inputs] == ["x", "W1", "b1", "W2", "b2", "target"]


@pytest.mark.slow
def test_a_model_of_the_builder_has_its_specs(certgrad: Run) -> None:
    result = certgrad("graph", str(Path(MLP).with_name("builder.py")) + ":loss")
    assert result.code == 0
    assert result.out.startswith("loss over the dimensions m, h, n, batch: proved under hypotheses\n")
    assert "relu at builder.py:11: every element of `linear(linear(x, W, b), V, c)` ≠ 0" in result.out


@pytest.mark.slow
def test_the_certificate_of_a_model_is_read_again(certgrad: Run) -> None:
    target = str(Path(MLP).with_name("builder.py")) + ":predict"
    result = certgrad("graph", target, "--format", "json")
    certificate = decode(result.out.encode())
    assert (certificate.graph.name, certificate.source.target, certificate.source.specs) == ("predict", target, [])


def test_markdown(certgrad: Run) -> None:
    result = certgrad("graph", f"{MLP}:predict", "--format", "markdown", *options(SPECS[:5]))
    assert result.code == 0
    assert result.out.startswith("# `predict`: proved under hypotheses\n")
    assert "| %7 | `f32[n, h]` | `add(%5, %6)` |" in result.out


def test_drawings(certgrad: Run, wrong: str) -> None:
    dot = certgrad("graph", f"{wrong}:loss", "--spec", "x: n", "--format", "dot")
    assert (dot.code, dot.out.splitlines()[0]) == (1, 'digraph "loss" {')
    page = certgrad("graph", f"{wrong}:loss", "--spec", "x: n", "--format", "html")
    assert (page.code, page.out.splitlines()[0]) == (1, "<!DOCTYPE html>")
    assert "✗ refuted" in page.out


def test_a_planted_wrong_rule(certgrad: Run, wrong: str) -> None:
    result = certgrad("graph", f"{wrong}:loss", "--spec", "x: n")
    assert result.code == 1
    assert "%1 square at wrong_rules.py:11 is refuted" in result.out


def test_unproved_fails_only_when_strict(certgrad: Run, wrong: str) -> None:
    assert certgrad("graph", f"{wrong}:factors", "--spec", "x: n n").code == 0
    result = certgrad("graph", f"{wrong}:factors", "--spec", "x: n n", "--strict")
    assert result.code == 1
    assert "lu(%0)" in result.out
    assert "factors over the dimensions n: unproved" in result.out


def test_up_to_rounding_fails_only_when_strict(certgrad: Run, wrong: str) -> None:
    result = certgrad("graph", f"{wrong}:gelu", "--spec", "x: n")
    assert result.code == 0
    assert result.out.startswith("gelu over the dimensions n: proved up to rounding\n")
    assert "In erfc(x), 1.1283792 is read as 2/√π." in result.out
    assert certgrad("graph", f"{wrong}:gelu", "--spec", "x: n", "--strict").code == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nothing"], "'nothing' does not name a function"),
        (["no_such_file.py:loss"], "There is no file no_such_file.py"),
        (["no_such_module:loss"], "no_such_module cannot be imported: ModuleNotFoundError"),
        ([f"{MLP}:los"], "'los' does not exist in"),
        ([f"{MLP}:jnp"], "'jnp' is not a function in"),
        ([f"{MLP}:loss"], "takes x, W1, b1, W2, b2, target. Give the shape of each"),
        ([f"{MLP}:loss", "--spec", "x: n d"], "also takes W1, b1, W2, b2, target"),
        ([f"{MLP}:loss", "--spec", "y: n d"], "has no argument 'y'. Its arguments are x, W1"),
        ([f"{MLP}:loss", *options(["x: n d?", *SPECS[1:]])], "The spec 'x: n d?' of x does not parse"),
        ([f"{MLP}:loss", *options(["x: n c", *SPECS[1:]])], "JAX could not trace loss of x: f32[n, c], W1: f32[d, h]"),
    ],
)
def test_bad_input(certgrad: Run, arguments: list[str], message: str) -> None:
    result = certgrad("graph", *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""
    assert result.err.count("\n") == 1


def test_a_file_that_does_not_import(certgrad: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1/0")
    result = certgrad("graph", f"{tmp_path / 'broken.py'}:f", "--spec", "x: n")
    assert result.code == 2
    assert "cannot be imported: ZeroDivisionError: division by zero" in result.err


NESTED = """
import jax.numpy as jnp

def loss(params, batch):
    x, y = batch
    return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) - y) ** 2)
"""


def test_specs_of_nested_arguments(certgrad: Run, tmp_path: Path) -> None:
    target = f"{tmp_path}/nested.py:loss"
    (tmp_path / "nested.py").write_text(NESTED)
    named = ["--spec", "batch: (n d, n m)", "--spec", "params: {w: d m, b: m}"]
    done = certgrad("graph", target, *named, "--format", "json")
    assert done.code == 0
    (tmp_path / "nested.json").write_text(done.out)
    assert certgrad("verify", str(tmp_path / "nested.json"), "--target", target).code == 0
    in_order = certgrad("graph", target, "--spec", "{w: d m, b: m}", "--spec", "(f32[n, d], n m)")
    assert "input params['w']" in in_order.out
    for spec, said in {
        "params: {w: d m, b m}": "'b m' is no entry such as 'w: n d'",
        "params: {w: d m, b: m": "does not close",
        "params: {w: d m, b: (m}": "its brackets do not match",
    }.items():
        broken = certgrad("graph", target, "--spec", spec, "--spec", "batch: (n d, n m)")
        assert broken.code == 2
        assert said in broken.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys\nsys.exit(0)\n", "cannot be imported: SystemExit: 0"),
        ("import sys\ndef f(x):\n    sys.exit(0)\n", "error: the code of the target ends the program: sys.exit(0)."),
        ("def f(x):\n    raise SystemExit\n", "error: the code of the target ends the program: sys.exit(None)."),
    ],
)
def test_code_that_ends_the_program_is_no_pass(certgrad: Run, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "ending.py"
    path.write_text(text)
    done = certgrad("graph", f"{path}:f", "--spec", "x: n")
    assert done.code == 2
    assert message in done.err


def test_a_timeout_is_a_number_of_seconds(certgrad: Run, wrong: str) -> None:
    assert certgrad("graph", f"{wrong}:loss", "--spec", "x: n", "--timeout", "20").code == 1
    assert certgrad("graph", f"{wrong}:loss", "--spec", "x: n", "--timeout", "0").code == 2
