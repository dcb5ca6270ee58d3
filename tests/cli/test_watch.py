"""`certgrad watch`: an audit now, and one for each change; the options are those of the audit."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Queue

import pytest

from certgrad.cli.watch import watched

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_change_begins_an_audit_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    watcher = subprocess.Popen(
        [sys.executable, "-P", "-m", "certgrad", "watch", "relu", "--quiet", "--no-cache"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    lines: Queue[str] = Queue()
    assert watcher.stdout is not None
    threading.Thread(target=lambda: [lines.put(line) for line in watcher.stdout or ()], daemon=True).start()
    try:
        assert lines.get(timeout=120).startswith("1 op: 0 proved, 1 proved under hypotheses")
        file = tmp_path / "losses.py"
        until = time.monotonic() + 120
        while lines.empty() and time.monotonic() < until:  # the watch may begin a moment after the audit
            file.write_text(f"x = {time.monotonic()}\n")
            time.sleep(6)
        assert lines.get(timeout=60).startswith("1 op: 0 proved, 1 proved under hypotheses")
        os.killpg(watcher.pid, signal.SIGINT)
        _, errors = watcher.communicate(timeout=60)
    finally:
        if watcher.poll() is None:
            os.killpg(watcher.pid, signal.SIGKILL)
            watcher.wait()
    assert watcher.returncode == 0
    assert "changed: losses.py\n" in errors
    assert "Traceback" not in errors


def test_folders_of_targets_elsewhere_are_watched_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "a.py").touch()
    monkeypatch.chdir(here)
    assert watched(["a.py", "relu", "--strict"]) == [here]
    assert watched([str(there / "a.py"), f"{there / 'a.py'}:f", str(there)]) == [here, there]
    (here / "pyproject.toml").write_text("[tool.certgrad]\ntargets = ['../there']\n")
    assert watched([]) == [here, there]
