"""What stands between a proof and `proved`: whether the code that runs does what was traced.

Every door passes its subject through these two: an audit of an op, a rule or two functions, and the induction over a
graph, whose subject reaches the rules of all its nodes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from certgrad._subject import Subject
from certgrad.obligations import generality
from certgrad.obligations.tracing.jax_dimensions import Answers

from .hidden import Hidden, hidden_from_a_trace
from .reach import hosts_in, reachable_from, rules_in

INSTALLED = f"{os.sep}site-packages{os.sep}"


def untraceable(subject: Subject) -> str:
    """Why the subject's traces would say nothing of what runs, whatever they are; or an empty text."""
    if subject.is_op or not subject.params or not (why := generality.open_code.tells_apart(subject)):
        return ""
    return f"{' and '.join(subject.params)} cannot be left open: {why}; give values by certgrad.each"


def unlike_its_traces(subject: Subject, programs: Iterable[Any], answers: Sequence[Answers] = ()) -> Hidden | None:
    """Why the subject may do something else where it runs than in these programs (jaxprs of it); None if not.

    The answers are those that its code had in its traces, if they were heard in all of them.
    """
    rules = [rule for jaxpr in programs for rule in (*rules_in(jaxpr), *hosts_in(jaxpr))]
    found = dict.fromkeys(reachable_from([*rules, *subject.code]))
    if subject.rules_of_nodes:
        behind = {*reachable_from(rules)}
        found = {f: None for f in found if f in behind or INSTALLED not in f.__code__.co_filename}
    return hidden_from_a_trace(subject, [*found], answers)
