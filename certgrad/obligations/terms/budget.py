"""Budgets: limits, in steps and seconds, on one proof, on the audit of one rule and on the proof of a lemma.

When a budget is used up, the verdict is `unproved` with that reason. Steps are counted deterministically, and are what
normally ends a proof. Seconds of the thread's processor time are a backstop for work that takes long without steps:
traces, calls, ball arithmetic, and one step that explodes.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

STEPS = 2_000_000
"""Most steps of one proof; a proof that needs more fails, and its reason says so."""
FIRST_STEPS = 30_000
"""Steps of a first attempt. Proofs of right rules seldom take as many; wrong ones can take all steps there are."""
SECONDS = 120.0
"""Most seconds of one proof, by the thread's processor time."""
AUDIT_SECONDS = 20.0
"""Most seconds of the audit of one rule, where its caller gives no other limit."""
STEPS_A_SECOND = 60_000
"""Steps that an audit has for each of its seconds: about as many as a proof takes in a second."""
LEAST = 1_000
"""Steps left of an audit below which no further proof is begun."""
SHARE = 0.75
"""A proof takes at most this part of what is left of an audit, so that other proofs can be tried if it fails."""
CLOCK_FACTOR = 6.0
"""An audit that does not return is ended from outside after its seconds times this factor, by the wall clock."""
AN_AUDIT, A_LEMMA = "an audit", "a lemma"
HOW_A_GRAPH_GETS_MORE = "`seconds` of certgrad.certify, or `certgrad graph --timeout`, gives it more"
HOW_A_RULE_GETS_MORE = "`seconds` of certgrad.check, or the setting `timeout`, gives it more"


class BudgetError(Exception):
    """The proof used up its steps or seconds."""


class _Budget(threading.local):
    """The budget of this thread's present proof, and of the audit that it is a part of."""

    def __init__(self) -> None:
        self.left = sys.maxsize  # what is done outside of `limited` is no proof, and must not add up over a process
        self.deadline = float("inf")
        self.part: tuple[bool, bool] = (False, False)
        """Whether the steps, and the seconds, of this proof are fewer than it would have alone."""
        self.given = float("inf")
        self.steps: int | None = None
        self.end = float("inf")
        """Of the audit: `given` are its seconds, `steps` those that are left of it, `end` is when it ends."""
        self.share = False
        """Whether this audit is inside of another one, and has only a part of that one's budget."""
        self.of, self.more = AN_AUDIT, HOW_A_RULE_GETS_MORE
        """What the audit is called in a message, and which option gives it more seconds."""
        self.cut_short = 0
        """How many proofs ended, or were not begun, because the audit had too little left: more may prove them."""

    def seconds_left(self) -> float:
        """Return the seconds that are left of the audit, at least 0."""
        return max(self.end - time.thread_time(), 0.0)

    def until(self, seconds: float, least: float = 0.0) -> float:
        """Return the time, on the thread's processor clock, at which work that begins now has to end.

        The work may take `seconds`, but no more than what is left of the audit; `least` seconds it always has.
        """
        return time.thread_time() + max(least, min(seconds, self.seconds_left()))

    def over(self, what: str) -> str:
        """Return the reason why the work `what` is no longer begun; "" while the audit has time and steps left."""
        if self.seconds_left() > 0 and (self.steps is None or self.steps >= LEAST):
            return ""
        self.cut_short += 1
        share = "its share of the " if self.share else "its "
        return f"budget: the audit took {share}{self.given:g} s before {what}; {self.more}"

    def spend(self, steps: int) -> None:
        """Count steps of work: one step is about one product of two monomials, or one monomial rewritten.

        Raises BudgetError where the proof has used up its steps or seconds. The clock is read about every 1024 steps.
        """
        self.left -= steps
        if self.left < 0:
            raise BudgetError(self._exceeded("steps", self.part[0]))
        if (self.left & 1023) < steps and time.thread_time() > self.deadline:
            raise BudgetError(self._exceeded("seconds", self.part[1]))

    def _exceeded(self, what: str, part: bool) -> str:
        self.cut_short += part
        share = f", its share of the {self.given:g} s of {self.of}; {self.more}" if part else ""
        return f"budget: the proof exceeded its {what}{share}"


budget = _Budget()


@contextmanager
def limited(steps: int = STEPS, seconds: float = SECONDS) -> Iterator[None]:
    """Run a block as one proof, with at most these steps and seconds, and at most `SHARE` of what is left of the audit.

    The steps that the block took are then subtracted from those of the audit. The budget of the proof around the block,
    if there is one, is restored unchanged. Work that exceeds the budget, or the memory, raises BudgetError.
    """
    before = budget.left, budget.deadline, budget.part
    most, longest = sys.maxsize if budget.steps is None else int(SHARE * budget.steps), SHARE * budget.seconds_left()
    allotted = budget.left = min(steps, most)
    budget.deadline, budget.part = time.thread_time() + min(seconds, longest), (most < steps, longest < seconds)
    try:
        yield
    except MemoryError:  # an audit in a process of its own has only so much
        raise BudgetError("budget: the proof exceeded the memory that there is") from None
    finally:
        if budget.steps is not None:
            budget.steps = max(budget.steps - (allotted - budget.left), 0)
        budget.left, budget.deadline, budget.part = before


@contextmanager
def auditing(
    seconds: float = AUDIT_SECONDS, of: str = AN_AUDIT, more: str = HOW_A_RULE_GETS_MORE, a_second: int = STEPS_A_SECOND
) -> Iterator[None]:
    """Run a block as the audit of one rule, or of a part of it, in at most `seconds`, and `a_second` steps for each.

    An audit inside of another one has no more than what is left of the outer one, and its steps count for the outer one
    too. The message of an exhausted budget names what ran out (`of`) and the option that gives it more (`more`).
    """
    steps, end = int(seconds * a_second), time.thread_time() + seconds
    outer_share, outer_steps, outer_end = budget.share, budget.steps, budget.end
    if outer_steps is None:
        budget.given, budget.of, budget.more = seconds, of, more
    else:
        budget.share = outer_share or end < outer_end or steps < outer_steps
        steps, end = min(steps, outer_steps), min(end, outer_end)
    budget.steps, budget.end = steps, end
    try:
        yield
    finally:
        left, budget.share = budget.steps, outer_share
        budget.steps, budget.end = None if outer_steps is None else outer_steps - (steps - left), outer_end
        if outer_steps is None:
            budget.given = float("inf")


@contextmanager
def uncounted_time(seconds: float) -> Iterator[None]:
    """Run a block in at most `seconds`; the time that it takes does not count for the audit around it."""
    started, end = time.thread_time(), budget.end
    budget.end = started + seconds
    try:
        yield
    finally:
        budget.end = end + time.thread_time() - started


def allotted_seconds() -> float:
    """Return the seconds that the present audit was given; outside of an audit, those that one has by default."""
    return AUDIT_SECONDS if budget.steps is None else budget.given


@contextmanager
def at_most_steps(steps: int) -> Iterator[None]:
    """Run a block in at most `steps` of the steps that the proof has left; raise BudgetError where it needs more."""
    before, part = budget.left, budget.part
    allotted = budget.left = min(before, steps)
    budget.part = (part[0] and before <= steps, part[1])
    try:
        yield
    finally:
        budget.left, budget.part = before - (allotted - budget.left), part
