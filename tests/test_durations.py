"""The processor seconds of tests are recorded, by workers too, and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.durations import table

pytest_plugins = ["pytester"]

TESTS = """
import subprocess, sys

def test_busy():
    sum(range(10_000_000))

def test_child():
    subprocess.run([sys.executable, "-c", "sum(range(10_000_000))"], check=True)

def test_idle():
    pass
"""
CONFTEST = """
from pathlib import Path
from tests.durations import Durations

def pytest_configure(config):
    config.pluginmanager.register(Durations(Path("durations.json")))
"""


def test_what_a_test_and_its_programs_take(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # certgrad's own imports JAX
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_it=TESTS)
    Path("durations.json").write_text('{"test_other.py::test": 3.0}')
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "xdist.plugin", "-n", "1")
    done.assert_outcomes(passed=3)
    seconds = json.loads(Path("durations.json").read_text())
    assert seconds.pop("test_other.py::test") == 3.0
    busy, child, idle = (seconds[f"test_it.py::test_{name}"] for name in ("busy", "child", "idle"))
    assert busy > 0.03
    assert child > 0.03
    assert idle < min(busy, child)


def test_the_table() -> None:
    durations = {f"a.py::test_{k}": 1.0 for k in range(19)} | {"b.py::test": 81.0}
    lines = [*table(durations)]
    assert lines[0] == "20 tests take 100 s; the slowest tenth, 3, 83% of it"
    assert lines[1] == "   81.00 s  b.py::test"
    assert lines[-2:] == ["    81.0 s  81.0%  b.py", "    19.0 s  19.0%  a.py"]


def test_no_tests_at_all() -> None:
    assert [*table({})] == ["0 tests take 0 s; the slowest tenth, 0, 100% of it", ""]
