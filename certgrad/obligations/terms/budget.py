"""Budgets: a proof, and all that an audit of one rule or the proof of a lemma tries, end after some steps or seconds.

The verdict is then `unproved` with that reason. Steps are counted deterministically and are what normally ends a proof;
seconds of the thread's processor time are a backstop for what takes long without steps: traces, calls, balls, and one
step that explodes.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

STEPS = 2_000_000
"""Steps of one proof, at most; then it fails, and its reason says so."""
FIRST_STEPS = 30_000
"""Steps of a first attempt. Proofs of right rules seldom take as many; wrong ones can take all steps there are."""
SECONDS = 120.0
"""Seconds of one proof by the thread's processor time, a backstop."""
AUDIT_SECONDS = 20.0
"""Seconds of all that an audit of one rule tries, where its caller gives no others."""
STEPS_A_SECOND = 60_000
"""Steps that an audit has for each of its seconds: about as many as a proof takes in them."""
LEAST = 1_000
"""Steps left of an audit below which no further proof is begun."""
SHARE = 0.75
"""A proof takes at most this part of what is left of an audit: where it does not close, others are tried."""
CLOCK_FACTOR = 6.0
"""An audit that does not come back is ended from outside after so many times its seconds by the clock."""
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
        """What the audit was given in seconds, the steps that are left of it, and when it ends."""
        self.share = False
        """This is an audit inside of another one, of which it has a part."""
        self.of, self.more = AN_AUDIT, HOW_A_RULE_GETS_MORE
        """What that is, and what gives it more."""
        self.cut_short = 0
        """How many proofs ended, or were not begun, because of what was left of an audit: more of it may prove them."""

    def seconds_left(self) -> float:
        """Seconds that are left for everything still to be done."""
        return max(self.end - time.thread_time(), 0.0)

    def until(self, seconds: float, least: float = 0.0) -> float:
        """Return the end, by the thread's processor time, of something that may take so many seconds of what is left of
        the audit, and `least` ones even where nothing is left.
        """
        return time.thread_time() + max(least, min(seconds, self.seconds_left()))

    def over(self, what: str) -> str:
        """Return why `what` is not begun any more; "" while the audit has time left."""
        if self.seconds_left() > 0 and (self.steps is None or self.steps >= LEAST):
            return ""
        self.cut_short += 1
        share = "its share of the " if self.share else "its "
        return f"budget: the audit took {share}{self.given:g} s before {what}; {self.more}"

    def spend(self, steps: int) -> None:
        """Count work; one step is about one product of two monomials, or one monomial rewritten."""
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
    """Run a block under a fresh budget, taken from what is left of the audit."""
    before = budget.left, budget.deadline, budget.part
    most, longest = sys.maxsize if budget.steps is None else int(SHARE * budget.steps), SHARE * budget.seconds_left()
    given = budget.left = min(steps, most)
    budget.deadline, budget.part = time.thread_time() + min(seconds, longest), (most < steps, longest < seconds)
    try:
        yield
    except MemoryError:  # an audit in a process of its own has only so much
        raise BudgetError("budget: the proof exceeded the memory that there is") from None
    finally:
        if budget.steps is not None:
            budget.steps = max(budget.steps - (given - budget.left), 0)
        budget.left, budget.deadline, budget.part = before


@contextmanager
def auditing(
    seconds: float = AUDIT_SECONDS, of: str = AN_AUDIT, more: str = HOW_A_RULE_GETS_MORE, a_second: int = STEPS_A_SECOND
) -> Iterator[None]:
    """Run the audit of one rule, or of a part of it, in at most so many seconds and steps.

    An audit inside of another one has no more than what is left of that. A reason says that what runs out is `of` an
    audit, and that `more` gives it more; it has `a_second` steps for each second.
    """
    steps, end = int(seconds * a_second), time.thread_time() + seconds
    before, outer, until = budget.share, budget.steps, budget.end
    if outer is None:
        budget.given, budget.of, budget.more = seconds, of, more
    else:
        budget.share = before or end < until or steps < outer
        steps, end = min(steps, outer), min(end, until)
    budget.steps, budget.end = steps, end
    try:
        yield
    finally:
        left, budget.share = budget.steps, before
        budget.steps, budget.end = None if outer is None else outer - (steps - left), until
        if outer is None:
            budget.given = float("inf")


@contextmanager
def uncounted_time(seconds: float) -> Iterator[None]:
    """Run a block in so many seconds that do not count for the audit around it."""
    started, end = time.thread_time(), budget.end
    budget.end = started + seconds
    try:
        yield
    finally:
        budget.end = end + time.thread_time() - started


def allotted_seconds() -> float:
    """The seconds of the audit that this is a part of, or those of one."""
    return AUDIT_SECONDS if budget.steps is None else budget.given


@contextmanager
def at_most_steps(steps: int) -> Iterator[None]:
    """Run a block that may take at most so many of the steps that are left. Raises BudgetError after them."""
    before, part = budget.left, budget.part
    given = budget.left = min(before, steps)
    budget.part = (part[0] and before <= steps, part[1])
    try:
        yield
    finally:
        budget.left, budget.part = before - (given - budget.left), part
