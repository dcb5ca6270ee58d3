"""Audits on a dask cluster: the same bytes as in processes, whatever happens to a worker."""

import importlib.metadata
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from certgrad.cli import _dask, _library, _run, app
from certgrad.errors import UsageError

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).parents[2]
OPS = ["relu", "sigmoid", "softmax", "log", "exp", "tanh"]


def squared(k: int) -> int:
    return k * k


def dies_once(folder: Path, k: int) -> int:
    """The third task ends its worker, the first time that it is begun."""
    mark = folder / "killed"
    if k == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return k * k


def dies_always(k: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return k


def planted(folder: Path, name: str, cache: Path | None = None) -> Any:
    """The proof of an op, in a worker that is killed in the middle of one of them."""
    if name == "softmax":
        dies_once(folder, 3)
    return _library.audit_op(name, cache)


@pytest.fixture
def scheduler() -> Iterator[str]:
    """The address of a cluster that is not ours."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.slow
def test_results_come_in_order_also_where_a_worker_is_killed(tmp_path: Path) -> None:
    assert list(_dask.results(partial(dies_once, tmp_path), range(12), "local", 2)) == [k * k for k in range(12)]
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
def test_an_audit_loses_nothing_with_a_worker(tmp_path: Path) -> None:
    found = list(_run.run(OPS, 2, prove=partial(planted, tmp_path), dask="local"))
    assert (tmp_path / "killed").exists()
    assert [one.certificate for one in found] == [one.certificate for one in _run.run(OPS, 1)]


def test_a_cluster_that_runs_already(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(_dask.results(squared, range(5), scheduler, 1)) == [0, 1, 4, 9, 16]
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.9.9" if name == "jax" else version(name))
    with pytest.raises(UsageError, match=r"the worker tcp://\S+ has jax \S+, and this process has 0.9.9: its certif"):
        next(_dask.results(squared, range(5), scheduler, 1))


def test_a_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dask, "SECONDS", 1)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs="CRITICAL") as cluster,
        pytest.raises(UsageError, match=r"the scheduler has no workers. Start some: dask worker tcp://"),
    ):
        next(_dask.results(squared, range(5), cluster.scheduler_address, 1))


@pytest.mark.slow
def test_a_task_that_no_worker_survives_is_a_defect_that_is_named() -> None:
    with pytest.raises(_dask.LostError, match="no worker survives it"):
        list(_dask.results(dies_always, [1], "local", 1))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense"])
def test_an_address_at_which_nothing_answers(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dask, "SECONDS", 1)
    done = CliRunner().invoke(app, ["audit", "relu", "--dask", address])
    assert done.exit_code == 2
    assert f"error: --dask {address}: no scheduler answers there (" in done.stderr
    assert "or 'local'" in done.stderr


def test_rules_in_code_stay_here(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("x = 1\n")
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "rules.py"), "--dask", "local"])
    assert done.exit_code == 2
    assert "rules.py' is code, which a worker may not have" in done.stderr.replace("\n", " ")


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certgrad.cli._dask.find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["audit", "relu", "--dask", "local"])
    assert (done.exit_code, done.stderr) == (
        2,
        "error: dask is not installed, which --dask hands the work to: pip install 'certgrad[dask]'.\n",
    )


def command(*arguments: str, folder: Path) -> Any:
    return subprocess.Popen(
        [sys.executable, "-m", "certgrad", "audit", "--no-cache", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_dask_is_imported_only_where_it_is_asked_for() -> None:
    program = (
        "import sys, certgrad.cli._run, certgrad.cli.audit\n"
        "sys.exit(bool({'dask', 'distributed', 'jax'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


@pytest.mark.slow
def test_the_command_prints_the_bytes_that_processes_print(tmp_path: Path) -> None:
    made = []
    for how in (["--dask", "local", "--jobs", "2"], ["--jobs", "2"]):
        process = command(*OPS, *how, "--format", "json", folder=tmp_path)
        text, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        made.append(text)
    assert made[0] == made[1]


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_ctrl_c_ends_it_and_leaves_no_process(tmp_path: Path) -> None:
    process = command("--dask", "local", "--jobs", "2", folder=tmp_path)
    group = process.pid
    time.sleep(20)
    os.killpg(group, signal.SIGINT)
    _, errors = process.communicate(timeout=240)  # its workers still import what they need, on a machine that is busy
    assert process.returncode == 130
    assert errors.startswith("interrupted: the audit ends after ")
    assert "Traceback" not in errors
    deadline = time.monotonic() + 20
    while alive(group):  # what has ended stays in the table for a moment
        assert time.monotonic() < deadline
        time.sleep(0.2)
