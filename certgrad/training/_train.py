"""Training: certified steps over batches, with a log, checkpoints, and a run that goes on where it was killed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import UsageError
from certgrad.process.files import write_atomically
from certgrad.training._checkpoints import Checkpoints
from certgrad.training._context import Context
from certgrad.training._data import Batches, Data
from certgrad.training._log import Entry, Log, TrainingLog
from certgrad.training._step import TrainingStep
from certgrad.training._stop import EarlyStop, Watch
from certgrad.training.certificate import encode

LOG, CERTIFICATE, CHECKPOINTS = "log.jsonl", "certificate.json", "checkpoints"

Metrics = Callable[[Context], Mapping[str, Any]]
Schedules = Mapping[str, Callable[[int], Any]]


@dataclass(frozen=True)
class Run:
    """The result of a training run."""

    context: Context
    log: Log
    ended: str
    """Why the run ended: `after 1000 steps`, or what stopped it earlier."""
    resumed: int = 0
    """The number of steps that had been taken when it began or went on."""


def train(
    step: TrainingStep,
    context: Context,
    data: Data,
    *,
    steps: int,
    folder: str | Path | None = None,
    log_every: int = 10,
    save_every: int = 100,
    keep: int = 3,
    schedules: Schedules | None = None,
    metrics: Metrics | None = None,
    stop: EarlyStop | None = None,
    progress: bool = True,
) -> Run:
    """Take certified steps until `steps` are taken in all.

    With a folder, the run writes its certificate there (`certificate.json`), its log (`log.jsonl`) and checkpoints, and
    goes on from the last checkpoint when it is called again with the same arguments: killed at any moment, it comes to
    the parameters, the state and the log of a run that was not disturbed, byte for byte where the device computes the
    same numbers each time and the data are the same.

    Args:
        step: from `training_step`.
        context: where to begin, from `step.start`. Its key is the seed of the run.
        data: batches by the names of the loss's arguments. An iterable begins anew when it ends, if it can: an epoch.
            A run that goes on passes over the batches that were taken before; an iterator with `get_state` and
            `set_state` is set to its saved state instead. A function gets the number of the step and a key for it.
        steps: the number of steps in all, with those that were taken before a kill.
        folder: a folder for this run alone. Needs `certgrad[train]`.
        log_every: the number of steps from one entry of the log to the next. An entry has the loss, the metrics, and,
            if the step has a monitor, how often each hypothesis failed since the last entry.
        save_every: the number of steps from one checkpoint to the next, a multiple of `log_every`. There is also a
            checkpoint at the start and one at the end.
        keep: the number of checkpoints that stay.
        schedules: hyperparameters by name as functions of the number of steps taken, such as schedules of optax. The
            certificate holds for every value in the update's domain, and a value that is not in it is an error.
        metrics: a function of the context after a step that returns further values to log, by name. They must be the
            same when they are computed again: no time of day.
        stop: when to stop early. A loss that is not finite always stops the run.
        progress: whether to print the program, the options in force and a bar to standard error, if it is a terminal.

    Raises:
        UsageError: a part of `certgrad[train]` is not installed; the folder holds another run; a batch lacks an
            argument or is none; a scheduled value is not in the update's domain; several processes share a folder.
        GuardError: a checked step found a hypothesis that fails.
    """
    if log_every < 1 or save_every < 1 or save_every % log_every:
        raise UsageError(f"save_every is a multiple of log_every, which {save_every} is not of {log_every}.")
    if steps < 0:
        raise UsageError(f"steps is {steps}; it counts the steps to take in all.")
    if folder is not None and jax.process_count() > 1:
        raise UsageError(
            f"This run is trained by {jax.process_count()} processes, and each would write the log and the checkpoints "
            f"of {folder}. Train without a folder, and save what you need from one of them."
        )
    folder = None if folder is None else Path(folder)
    run = _Running(step, context, data, folder, keep, schedules or {}, metrics, stop)
    try:
        with _bar(steps, progress, step) as report:
            return run.to(steps, log_every, save_every, report)
    finally:
        run.close()


_DONATED = ("parameters", "state")


class _Running:
    """A training run in progress: its context, with the batches, the log, the checkpoints and the early stop."""

    def __init__(
        self,
        step: TrainingStep,
        start: Context,
        data: Data,
        folder: Path | None,
        keep: int,
        schedules: Schedules,
        metrics: Metrics | None,
        stop: EarlyStop | None,
    ) -> None:
        """Start a run, or resume it from the checkpoints in `folder`."""
        self.step, self.context, self.schedules, self.metrics = step, start, schedules, metrics
        if step.options.donate:  # the caller keeps what the run begins from
            self.context = replace(start, **{k: jax.tree.map(jnp.copy, getattr(start, k)) for k in _DONATED})
        self.batches = Batches(data, start.key, start.step)
        self.watch = None if stop is None else Watch(stop)
        self.entries: list[Entry] = []
        self.log: TrainingLog | None = None
        self.checkpoints: Checkpoints | None = None
        self.counted = 0 if step.monitor is None else len(step.monitor.rows)
        """The number of calls counted by the monitor that are in the log already."""
        self.resumed, self.ended, self.saved = start.step, "", -1
        if folder is not None:
            self._open(folder, keep)

    def _open(self, folder: Path, keep: int) -> None:
        """Open the run's folder: begin its log and checkpoints, or go on from the last checkpoint if there is one.

        Entries of the log after that checkpoint are dropped, since their steps are taken again.
        """
        certificate = encode(self.step.certificate)
        self.checkpoints = Checkpoints(folder / CHECKPOINTS, self.context, certificate, keep)
        self.log = TrainingLog(folder / LOG)
        saved = self.checkpoints.latest()
        if saved is None:
            write_atomically(folder / CERTIFICATE, certificate)
            self.log.cut(self.context.step)
            self._save(wait=True)
            return
        self.context, self.resumed, self.saved = saved.context, saved.context.step, saved.context.step
        self.log.cut(self.context.step)
        self.entries = list(self.log.read().entries) if self.log.path.exists() else []
        self.batches.forward(self.context.step, saved.rest["data"])
        self.ended = saved.rest["ended"]
        if self.watch is not None:
            self.watch = Watch(self.watch.stop, saved.rest["watch"])

    def to(self, steps: int, log_every: int, save_every: int, told: Callable[[int, str], None]) -> Run:
        """Take steps until there are `steps` in all, the data end, the early stop says so or the loss is not finite.

        Returns the result. `told` is called with the number of steps and a text, at the start and at each entry of the
        log.
        """
        told(self.context.step, "")
        while self.context.step < steps and not self.ended:
            batch = self.batches.next()
            if batch is None:
                self.ended = "the data came to an end"
                break
            if self.schedules:
                values = {name: of(self.context.step) for name, of in self.schedules.items()}
                self.context = self.step.with_hyperparameters(self.context, values)
            self.context, loss = self.step(self.context, **batch)
            if self.context.step % log_every == 0 or self.context.step == steps:
                number = float(loss)
                self._note(number)
                if not math.isfinite(number):
                    return self._result(f"the loss is {number} in step {self.context.step}")
                told(self.context.step, f"loss {number:.6g}")
            if self.context.step % save_every == 0:
                self._save()
        if self.context.step != self.saved:
            self._save()
        return self._result(self.ended or f"after {self.context.step} steps")

    def _note(self, loss: float) -> None:
        metrics = {n: float(v) for n, v in self.metrics(self.context).items()} if self.metrics is not None else {}
        metrics |= self._monitored()
        if self.log is not None:
            self.log.append(self.context.step, loss, **metrics)
        self.entries.append(Entry(self.context.step, loss, metrics))
        if self.watch is not None:
            self.ended = self.watch.reason({"loss": loss, **metrics})

    def _monitored(self) -> dict[str, float]:
        """Return how often each hypothesis failed since the last entry."""
        monitor = self.step.monitor
        if monitor is None:
            return {}
        rows = monitor.rows[self.counted :]
        self.counted += len(rows)
        return {name: float(sum(row[k] for row in rows)) for k, name in enumerate(monitor.columns)}

    def _save(self, wait: bool = False) -> None:
        if self.checkpoints is None:
            return
        watch = None if self.watch is None else self.watch.state()
        rest = {"data": self.batches.state(), "ended": self.ended, "watch": watch}
        # A step that donates uses up the arrays, so that they must be on disk before it.
        self.checkpoints.save(self.context, rest, wait or self.step.options.donate)
        self.saved = self.context.step

    def _result(self, ended: str) -> Run:
        return Run(self.context, Log(list(self.entries)), ended, self.resumed)

    def close(self) -> None:
        if self.checkpoints is not None:
            self.checkpoints.close()


@contextmanager
def _bar(steps: int, shown: bool, of: TrainingStep) -> Iterator[Callable[[int, str], None]]:
    """Yield a function that sets a progress bar to a step with a text, or does nothing if no bar can be shown."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield lambda step, text: None
        return
    console.print(str(of), markup=False, highlight=False)
    text = TextColumn("{task.fields[text]}")
    with Progress(
        TextColumn("step"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), text, console=console
    ) as bar:
        task = bar.add_task("step", total=steps, text="")
        yield lambda step, said: bar.update(task, completed=step, text=said)
