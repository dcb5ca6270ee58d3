"""The conda recipe says what `pyproject.toml` says."""

import re
import tomllib
from pathlib import Path

import yaml

import certgrad

_ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
_TEXT = (_ROOT / "recipe/meta.yaml").read_text()


def _recipe() -> dict:
    (version,) = re.findall(r'{% set version = "(.*)" %}', _TEXT)
    lines = [line for line in _TEXT.splitlines() if not line.startswith("{%")]
    return yaml.safe_load("\n".join(lines).replace("{{ version }}", version))


def test_name_version_and_what_it_needs() -> None:
    recipe = _recipe()
    assert recipe["package"] == {"name": "certgrad", "version": certgrad.__version__}
    run = [one for one in recipe["requirements"]["run"] if not one.startswith("python ")]
    assert [one.replace(" ", "") for one in run] == _PROJECT["dependencies"]
    assert f"python {_PROJECT['requires-python']}" in recipe["requirements"]["run"]
    assert recipe["about"]["license"] == _PROJECT["license"]


def test_the_command_is_the_same() -> None:
    assert _recipe()["build"]["entry_points"] == [f"certgrad = {_PROJECT['scripts']['certgrad']}"]
