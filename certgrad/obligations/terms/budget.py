"""Budgets: a proof stops after so many steps or seconds, and the verdict is then `unproved` with that reason.

Steps are counted deterministically and are what normally ends a proof; the clock is a backstop for one step that
explodes, set so high that a verdict does not depend on the machine.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

STEPS = 2_000_000
FIRST_STEPS = 30_000
"""Steps of a first attempt. Proofs of right rules seldom take as many; wrong ones can take all steps there are."""
SECONDS = 120.0


class BudgetError(Exception):
    """The proof used up its steps or seconds."""


class _Budget(threading.local):
    """What is left of the proof that this thread is at."""

    def __init__(self) -> None:
        self.left = sys.maxsize  # what is done outside of `limited` is no proof, and must not add up over a process
        self.deadline = float("inf")

    def spend(self, steps: int) -> None:
        """Count work; one step is about one product of two monomials, or one monomial rewritten."""
        self.left -= steps
        if self.left < 0:
            raise BudgetError("budget: the proof exceeded its steps")
        if (self.left & 1023) < steps and time.thread_time() > self.deadline:
            raise BudgetError("budget: the proof exceeded its seconds")


budget = _Budget()


@contextmanager
def limited(steps: int = STEPS, seconds: float = SECONDS) -> Iterator[None]:
    """Run a block under a fresh budget."""
    before = budget.left, budget.deadline
    budget.left, budget.deadline = steps, time.thread_time() + seconds
    try:
        yield
    finally:
        budget.left, budget.deadline = before


@contextmanager
def within(steps: int) -> Iterator[None]:
    """Run a block that may take at most so many of the steps that are left; it raises BudgetError after them."""
    before = budget.left
    given = budget.left = min(before, steps)
    try:
        yield
    finally:
        budget.left = before - (given - budget.left)
