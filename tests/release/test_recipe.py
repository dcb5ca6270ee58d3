"""The conda recipe says what `pyproject.toml` says, and the tool that builds it can read it."""

import tomllib
from pathlib import Path

import pytest
import yaml

import certgrad

_ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
_TEXT = (_ROOT / "recipe/recipe.yaml").read_text()
_RECIPE = yaml.safe_load(_TEXT)


def test_name_version_and_what_it_needs() -> None:
    assert _RECIPE["context"]["version"] == certgrad.__version__
    assert _RECIPE["package"] == {"name": "certgrad", "version": "${{ version }}"}
    run = [one for one in _RECIPE["requirements"]["run"] if not one.startswith("python ")]
    assert [one.replace(" ", "") for one in run] == _PROJECT["dependencies"]
    assert f"python {_PROJECT['requires-python']}" in _RECIPE["requirements"]["run"]
    assert _RECIPE["about"]["license"] == _PROJECT["license"]


def test_the_command_is_the_same() -> None:
    assert _RECIPE["build"]["python"]["entry_points"] == [f"certgrad = {_PROJECT['scripts']['certgrad']}"]


def test_the_tool_that_builds_it_reads_it() -> None:
    """py-rattler-build parses and renders it; building it needs conda-forge, which no test asks for."""
    rattler = pytest.importorskip("rattler_build", reason="pip install py-rattler-build")
    (variant,) = rattler.Stage0Recipe.from_yaml(_TEXT).render()
    assert str(variant.recipe.package.version) == certgrad.__version__
