"""`certgrad conform`: what it prints, writes and exits with."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from certgrad.cli._app import app
from certgrad.conform import Bounded, Conformity, Hard, Measured, Proved
from certgrad.report.pages import floats, rounding


def test_ops_are_measured_and_a_page_is_written(tmp_path: Path) -> None:
    page = tmp_path / "floats.md"
    found = CliRunner().invoke(app, ["conform", "exp", "cube", "--dtype", "float32", "-o", str(page)])
    assert found.exit_code == 0, found.output
    assert "exp  float32, cpu: forward 0." in found.stdout
    assert "jvp overflows with arguments near ±2e+19" in found.stdout
    assert "In float32 none is above 4 units at ordinary arguments without a reason; in no dtype" in found.stdout
    text = page.read_text(encoding="utf-8")
    assert "| op | float32 forward | float32 jvp | float32 vjp |" in text
    assert "- `cube`: jvp overflows with arguments near ±2e+19" in text


@pytest.mark.parametrize(
    "arguments, said",
    [(["nothing"], "nothing"), (["exp", "--dtype", "float8"], "--dtype: there is no 'float8'; there are float64")],
)
def test_what_there_is_not(arguments: list[str], said: str) -> None:
    found = CliRunner().invoke(app, ["conform", *arguments])
    assert found.exit_code == 2
    assert said in found.stderr


def test_what_has_no_reason_is_named() -> None:
    one = Conformity("cube", "cpu", "", {"float32": {"jvp": Measured(50.0, 1.0), "vjp": Measured(7.0, 1.0)}})
    one.hard["float32"] = [Hard("arguments near ±1", ["vjp"], ["vjp"], 900.0, 100.0)]
    assert one.problems() == ["jvp is off by 50 units", "vjp is NaN in float32 with arguments near ±1"]
    assert "cube, cpu: jvp is off by 50 units" in floats.as_text([one])
    assert "- `cube`: jvp 50, vjp 7; **no reason**" in floats.as_markdown([one], "jax 0")
    assert "is ill-conditioned, in units a half unit: arguments near ±1 (100)" in floats.as_text([one])
    one.reason = "because"
    assert one.problems() == ["vjp is NaN in float32 with arguments near ±1"], "no reason excuses NaN"
    assert "- `cube`: jvp 50, vjp 7; because" in floats.as_markdown([one], "jax 0")
    one.hard["float32"][0].stated = False
    assert not one.problems()
    assert "vjp is NaN with arguments near ±1, beyond what it states" in floats.as_text([one])


def test_bounds_are_proved_and_a_page_is_written(tmp_path: Path) -> None:
    page = tmp_path / "rounding.md"
    asked = ["conform", "exp", "lgamma", "--bounds", "--dtype", "float32", "-o", str(page), "--jobs", "1"]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    assert "exp (2)  float32: forward 2.44 (" in found.stdout
    text = page.read_text(encoding="utf-8")
    assert "| `exp` | (2) | 2.44 / " in text
    assert "- `lgamma`, float32 forward: nothing is assumed of how lgamma is rounded" in text
    assert "A sum, also in a product of matrices or a convolution, is taken in any order" in text


def test_a_measured_error_beyond_its_bound_is_named() -> None:
    one = Bounded("cube", "(2)", {"float32": {"forward": Proved(2.0, 3.0), "vjp": Proved(reason="why")}})
    assert rounding.beyond(one) == ["forward in float32: 3 beyond 2"]
    assert "vjp not bounded: why" in rounding.as_text([one])
