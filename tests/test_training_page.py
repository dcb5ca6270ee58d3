"""`docs/training.md`, block by block: what it quotes is what is printed."""

import io
import os
import re
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import pytest

from certgrad.training import read_log

from .tutorial import ROOT, agrees

_BLOCK = re.compile(r"```python\n(.*?)```\n\n(?:```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::certgrad.training.DamagedLogWarning")
def test_the_page_prints_what_it_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/training.md").read_text(encoding="utf-8")
    blocks = _BLOCK.findall(page)
    assert len(blocks) == 14
    scope: dict = {}
    for program, quoted in blocks:
        needed = {"import optax": "optax", 'folder="run"': "orbax"}
        if any(said in program and find_spec(package) is None for said, package in needed.items()):
            continue
        printed = io.StringIO()
        with redirect_stdout(printed), warnings.catch_warnings():
            exec(compile(program, str(tmp_path / "page.py"), "exec"), scope)
        assert agrees(quoted, printed.getvalue()), f"{program}\n{printed.getvalue()}"


@pytest.mark.slow
def test_the_example_trains(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/training.py"), str(log)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    entries = read_log(log).entries
    assert entries[-1].loss < entries[0].loss / 3
    assert entries[-1].metrics["right"] > 0.85
    for said in ("training step of loss by adam: proved under hypotheses", "after 301 steps", "mse(%10, %1)"):
        assert said in done.stdout
