"""Processes that audit: they end with the process that started them, however that ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STARTS = """
import os, sys, time
from certgrad.rules.workers.isolated import Worker
from certgrad.rules.workers.worker import Request
worker = Worker(Request(target=sys.argv[1]))
print(worker._process.pid, flush=True)
time.sleep(600)
"""


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_ends_when_its_parent_was_killed(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n")
    started = subprocess.Popen(
        [sys.executable, "-c", STARTS, str(tmp_path / "endless.py")], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    pid = int(started.stdout.readline())
    assert _alive(pid)
    started.send_signal(signal.SIGKILL)
    started.wait()
    for _ in range(600):
        if not _alive(pid):
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("it goes on alone")
