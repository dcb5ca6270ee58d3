"""`certgrad explain`: an op, a code, and names that are neither."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Library, Result

Run = Callable[..., Result]


def test_op(library: Library, certgrad: Run) -> None:
    result = certgrad("explain", "relu")
    assert result.code == 0
    assert result.out.startswith("relu: One line.\n\nMore.\n\n")
    assert "  aliases      rectifier\n" in result.out
    assert "  left side   relu\n  right side  jvp_is_derivative\n" in result.out
    assert "  x = 0  0         0    0\n" in result.out


def test_alias(library: Library, certgrad: Run) -> None:
    assert certgrad("explain", "rectifier").out == certgrad("explain", "relu").out


def test_code_in_either_case(library: Library, certgrad: Run) -> None:
    result = certgrad("explain", "cg101")
    assert result.code == 0
    assert result.out.startswith("CG101 jvp_is_derivative: the JVP is the derivative of the forward\n")
    assert result.out == certgrad("explain", "CG101").out


def test_unknown_name(library: Library, certgrad: Run) -> None:
    result = certgrad("explain", "rellu")
    assert result.code == 2
    assert result.err == (
        "error: 'rellu' is not an op of the library, nor a code. Did you mean relu? `certgrad list` shows all 3 ops.\n"
    )


def test_unknown_code(library: Library, certgrad: Run) -> None:
    result = certgrad("explain", "CG105")
    assert result.code == 2
    assert "Did you mean CG210 or CG205?" in result.err


def test_missing_name(library: Library, certgrad: Run) -> None:
    assert certgrad("explain").code == 2


RULES = """
import jax, jax.numpy as jnp, certgrad

@certgrad.declare("n -> n")
@jax.custom_vjp
def wrong(x):
    return x**2

wrong.defvjp(lambda x: (x**2, x), lambda x, g: (g * x,))
"""


@pytest.mark.slow
def test_the_rules_of_code(certgrad: Run, tmp_path: Path) -> None:
    (tmp_path / "explained.py").write_text(RULES)
    result = certgrad("explain", f"{tmp_path}/explained.py:wrong", "--no-cache")
    assert result.code == 0
    assert "CG102 explained:wrong.vjp_is_adjoint: refuted" in result.out
    words = " ".join(result.out.split())  # lines are as long as the page is wide
    assert "likely cause in the cotangent of x: half the derivative is returned" in words
    assert "reproduce\n  import jax" in result.out
    (tmp_path / "empty.py").write_text("")
    result = certgrad("explain", f"{tmp_path}/empty.py", "--no-cache")
    assert result.code == 5
    assert "nothing to explain: no derivative rule was audited in" in result.err
    assert certgrad("explain", f"{tmp_path}/nosuch.py", "--no-cache").code == 2


@pytest.mark.slow
def test_a_script_shows_the_difference_wherever_it_is_run(certgrad: Run, tmp_path: Path) -> None:
    (tmp_path / "explained.py").write_text(RULES + RULES.replace("import", "pass; import").replace("wrong", "other"))
    (tmp_path / "elsewhere").mkdir()
    result = certgrad("explain", f"{tmp_path}/explained.py:wrong", "--script", "--no-cache")
    assert (result.code, result.err) == (0, "")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", result.out], cwd=tmp_path / "elsewhere", env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert words[::2] == ["expected", "returned"]
    assert float(words[1]) == pytest.approx(2 * float(words[3]), rel=1e-6)
    several = certgrad("explain", f"{tmp_path}/explained.py", "--script", "--no-cache")
    assert (several.code, several.out) == (2, "")
    assert "--script is about one rule, and" in several.err
    assert "explained:other, explained:wrong." in several.err


def test_a_script_is_about_a_rule_in_code(library: Library, certgrad: Run) -> None:
    for subject in ("relu", "CG101"):
        result = certgrad("explain", subject, "--script")
        assert (result.code, result.out) == (2, "")
        assert f"--script shows the difference of a rule in code, and '{subject}' is none." in result.err
