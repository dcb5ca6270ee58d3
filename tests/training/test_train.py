"""Training runs: what they come to, how they end, and that a run goes on where it was killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.errors import UsageError
from certgrad.training import ADAM, SGD, EarlyStop, curves, decode, read_log, train, training_step
from tests.tutorial import ROOT

from . import killed

X = np.random.default_rng(0).normal(size=(32, 2)).astype(np.float32)


def loss(x: Any, w: Any, target: Any) -> Any:
    return jnp.mean((x @ w - target) ** 2)


def batches() -> list:
    y = (X @ np.array([1.0, -2.0], np.float32)).astype(np.float32)
    return [{"x": X[k : k + 8], "target": y[k : k + 8]} for k in range(0, 32, 8)]


@pytest.fixture(scope="module")
def step() -> Any:
    return training_step(certgrad.trace(loss, "x: n d", "w: d", "target: n"), SGD, ["w"])


@pytest.fixture
def start(step: Any) -> Any:
    return step.start({"w": jnp.zeros(2)}, hyperparameters={"lr": 0.1})


def test_a_run_takes_the_steps_of_a_loop_over_the_epochs(step: Any, start: Any) -> None:
    run = train(step, start, batches(), steps=10, log_every=1, progress=False)
    context, losses = start, []
    for k in range(10):
        context, value = step(context, **batches()[k % 4])
        losses.append(float(value))
    assert np.array_equal(run.context.parameters["w"], context.parameters["w"])
    assert [e.loss for e in run.log.entries] == losses
    assert run.ended == "after 10 steps"


@pytest.mark.slow
def test_a_run_goes_on_from_its_last_checkpoint(step: Any, start: Any, tmp_path: Path) -> None:
    whole = train(step, start, batches(), steps=30, log_every=2, save_every=4, folder=tmp_path / "a")
    train(step, start, batches(), steps=13, log_every=2, save_every=4, folder=tmp_path / "b")
    with open(tmp_path / "b/log.jsonl", "a") as file:
        file.write('{"step":99,"loss":1.0}\n{"step":1')  # what comes after the checkpoint is dropped
    again = train(step, start, batches(), steps=30, log_every=2, save_every=4, folder=tmp_path / "b")
    assert again.resumed == 13
    assert np.asarray(again.context.parameters["w"]).tobytes() == np.asarray(whole.context.parameters["w"]).tobytes()
    steps = [e.step for e in read_log(tmp_path / "b/log.jsonl").entries]
    assert steps == sorted({*range(2, 31, 2), 13})
    assert decode((tmp_path / "a/certificate.json").read_bytes()) == step.certificate
    assert train(step, start, batches(), steps=30, log_every=2, save_every=4, folder=tmp_path / "b").resumed == 30


def test_a_folder_of_another_run_is_refused(step: Any, start: Any, tmp_path: Path) -> None:
    train(step, start, batches(), steps=2, folder=tmp_path)
    other = step.start({"w": jnp.ones(2)}, hyperparameters={"lr": 0.1})
    with pytest.raises(UsageError, match="began from other parameters"):
        train(step, other, batches(), steps=2, folder=tmp_path)
    momentum = training_step(certgrad.trace(loss, "x: n d", "w: d", "target: n"), ADAM, ["w"])
    with pytest.raises(UsageError, match="whose certificate is another one"):
        train(momentum, momentum.start({"w": jnp.zeros(2)}), batches(), steps=2, folder=tmp_path)


def test_it_stops_early_and_stays_stopped(step: Any, start: Any, tmp_path: Path) -> None:
    given = {"log_every": 1, "save_every": 10, "stop": EarlyStop(3, watch="same"), "metrics": lambda c: {"same": 1.0}}
    run = train(step, start, batches(), steps=50, folder=tmp_path, **given)
    assert run.context.step == 4
    assert run.ended == "same has not fallen below 1 in 3 entries"
    again = train(step, start, batches(), steps=50, folder=tmp_path, **given)
    assert (again.context.step, again.ended) == (4, run.ended)


def test_a_loss_that_is_not_finite_stops_it(step: Any, start: Any) -> None:
    bad = [*batches()[:2], {"x": X[:8] * np.float32(np.inf), "target": X[:8, 0]}]
    run = train(step, start, bad, steps=50, log_every=1)
    assert (run.context.step, run.ended) == (3, "the loss is nan in step 3")


def test_data_of_three_kinds(step: Any, start: Any) -> None:
    assert train(step, start, iter(batches()), steps=9).ended == "the data came to an end"
    by_step = train(step, start, lambda k, key: batches()[k % 4], steps=9)
    assert np.array_equal(
        by_step.context.parameters["w"], train(step, start, batches(), steps=9).context.parameters["w"]
    )
    with pytest.raises(UsageError, match="A batch is a dictionary by the names of the loss's arguments, not tuple"):
        train(step, start, [(X, X)], steps=1)


class Counting:
    """Batches with a state, as iterators of grain are."""

    def __init__(self) -> None:
        self.at, self.taken = 0, 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        self.at, self.taken = self.at + 1, self.taken + 1
        return batches()[self.at % 4]

    def get_state(self) -> Any:
        return {"at": self.at}

    def set_state(self, state: Any) -> None:
        self.at = state["at"]


def test_data_with_a_state_are_not_passed_over(step: Any, start: Any, tmp_path: Path) -> None:
    train(step, start, Counting(), steps=6, folder=tmp_path)
    again = Counting()
    run = train(step, start, again, steps=8, folder=tmp_path)
    assert again.taken == 2
    assert np.array_equal(run.context.parameters["w"], train(step, start, Counting(), steps=8).context.parameters["w"])


def test_schedules(step: Any, start: Any) -> None:
    run = train(step, start, batches(), steps=3, schedules={"lr": lambda k: 0.1 / (k + 1)})
    assert float(run.context.hyperparameters["lr"]) == pytest.approx(0.1 / 3)
    with pytest.raises(UsageError, match="sgd has no hyperparameter 'rate'"):
        train(step, start, batches(), steps=3, schedules={"rate": lambda k: 0.1})
    adam = training_step(certgrad.trace(loss, "x: n d", "w: d", "target: n"), ADAM, ["w"])
    with pytest.raises(UsageError, match="adam is proved where b1 < 1"):
        train(adam, adam.start({"w": jnp.zeros(2)}), batches(), steps=3, schedules={"b1": lambda k: 1.0})


def test_intervals_that_do_not_fit(step: Any, start: Any) -> None:
    with pytest.raises(UsageError, match="save_every is a multiple of log_every, which 15 is not of 10"):
        train(step, start, batches(), steps=3, save_every=15)


@pytest.mark.slow
def test_curves(step: Any, start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = train(
        step, start, batches(), steps=40, log_every=1, metrics=lambda c: {"norm": jnp.sum(c.parameters["w"])}
    ).log
    with monkeypatch.context() as hidden:
        hidden.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(UsageError, match=r"matplotlib. Install it with: pip install 'certgrad\[train\]'"):
            curves(log, tmp_path / "x.png")
    pytest.importorskip("matplotlib")
    assert curves(log, tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert curves(log, tmp_path / "a.svg", ["loss"]).read_text().count("<svg") == 1
    with pytest.raises(UsageError, match="no values of 'width'"):
        curves(log, tmp_path / "x.png", ["width"])


def test_without_orbax(step: Any, start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    with pytest.raises(UsageError, match=r"orbax-checkpoint. Install it with: pip install 'certgrad\[train\]'"):
        train(step, start, batches(), steps=1, folder=tmp_path)
    assert train(step, start, batches(), steps=1).context.step == 1


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 20])
def test_a_run_that_is_killed_comes_to_the_bytes_of_one_that_is_not(kills: int, tmp_path: Path) -> None:
    whole = killed.run(tmp_path / "whole")
    draw, done, at = random.Random(kills), 0, []
    folder, part = tmp_path / "killed", 0
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "JAX_PLATFORMS": "cpu"}
    while done < kills:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.training.killed", str(folder)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
        )
        deadline = time.monotonic() + 120
        before = _files(folder)
        while process.poll() is None and _files(folder) == before and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 1))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
            done += 1
            at.append(_files(folder))
        else:  # it came to its end: another run is begun
            assert process.returncode == 0
            _same(tmp_path / "whole", folder, whole)
            part += 1
            folder = tmp_path / f"killed{part}"
    _same(tmp_path / "whole", folder, whole)
    assert kills == 1 or len(set(at)) > kills / 4, "the kills came at the same moments"


def _files(folder: Path) -> tuple[str, ...]:
    """What is in the folder, and how far the log has come."""
    log = folder / "log.jsonl"
    names = [str(Path(at, name)) for at, _, names in os.walk(folder) for name in names]
    return (*sorted(names), str(log.stat().st_size) if log.exists() else "")


def _same(expected: Path, folder: Path, whole: Any) -> None:
    """The run in the folder goes on to its end, which is that of the undisturbed run."""
    found = killed.run(folder)
    assert found.context.step == killed.STEPS
    for a, b in zip(jax.tree.leaves(_held(found.context)), jax.tree.leaves(_held(whole.context)), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    assert (folder / "log.jsonl").read_bytes() == (expected / "log.jsonl").read_bytes()
    assert (folder / "certificate.json").read_bytes() == (expected / "certificate.json").read_bytes()


def _held(context: Any) -> Any:
    return context.parameters, context.state, context.hyperparameters, jax.random.key_data(context.key)
