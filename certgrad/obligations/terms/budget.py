"""Budgets: a proof stops after so many steps or seconds, and the verdict is then `unproved` with that reason.

Steps are counted deterministically and are what normally ends a proof; the clock is a backstop for one step that
explodes, set so high that a verdict does not depend on the machine.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STEPS = 2_000_000
FIRST_STEPS = 30_000
"""Steps of a first attempt. Proofs of right rules seldom take as many; wrong ones can take all steps there are."""
SECONDS = 120.0
SHARE = 6
"""A proof takes at most this part of the time that is left for a rule: where it does not close, others are tried."""


class BudgetError(Exception):
    """The proof used up its steps or seconds."""


class _Budget(threading.local):
    """What is left of the proof that this thread is at."""

    def __init__(self) -> None:
        self.left = sys.maxsize  # what is done outside of `limited` is no proof, and must not add up over a process
        self.deadline = float("inf")
        self.clock: Callable[[], float] = time.monotonic
        self.end = self.until = float("inf")
        """By that clock, when the time for all proofs is over, and that for this one."""

    def seconds_left(self) -> float:
        """How long all that is still to be done may take."""
        return max(self.end - self.clock(), 0.0)

    def spend(self, steps: int) -> None:
        """Count work; one step is about one product of two monomials, or one monomial rewritten."""
        self.left -= steps
        if self.left < 0:
            raise BudgetError("budget: the proof exceeded its steps")
        if (self.left & 1023) < steps and (time.thread_time() > self.deadline or self.clock() > self.until):
            raise BudgetError("budget: the proof exceeded its seconds")


budget = _Budget()


@contextmanager
def limited(steps: int = STEPS, seconds: float = SECONDS) -> Iterator[None]:
    """Run a block under a fresh budget."""
    before = budget.left, budget.deadline, budget.until
    budget.left, budget.deadline = steps, time.thread_time() + seconds
    budget.until = budget.clock() + budget.seconds_left() / SHARE
    try:
        yield
    finally:
        budget.left, budget.deadline, budget.until = before


@contextmanager
def ends_in(seconds: float, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Run a block that is stopped from outside after so many seconds: its proofs leave time for what comes after."""
    before = budget.end, budget.clock
    budget.end, budget.clock = clock() + seconds, clock
    try:
        yield
    finally:
        budget.end, budget.clock = before


@contextmanager
def within(steps: int) -> Iterator[None]:
    """Run a block that may take at most so many of the steps that are left; it raises BudgetError after them."""
    before = budget.left
    given = budget.left = min(before, steps)
    try:
        yield
    finally:
        budget.left = before - (given - budget.left)
