"""The search for sizes at which functions trace to another program than the general one (see `decisions`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from certgrad.errors import CertgradError, TraceError
from certgrad.obligations.prove.problem import Programs
from certgrad.signatures.sizes import ONE, named_size

from .decisions import Fixed, Sample, concrete, contrary, has_same_programs, of_broadcasts, shapes_text
from .instances import Instance

if TYPE_CHECKING:
    from .traces import Trace, Traces

MAX_CASES = 40
"""At most this many contrary cases are traced; with more, the claim is unproved."""
FEW_CASES = 2
"""Contrary cases that are traced where there are too many: nothing is proved, but one may show an error."""


def contrary_cases(
    traces: Traces, instance: Instance, programs: Programs, general: bool, visited: set[str], numbers: bool = True
) -> Iterator[tuple[Fixed, Trace | CertgradError]]:
    """Yield sizes at which the functions trace to another program than `programs`, each with its trace or the error.

    All dimensions 1, all equal, and numbers (with `numbers`) come first. Then follow the sizes that would answer a
    recorded question otherwise, also a question of these further traces. Where dimensions set together gave another
    program, each is set alone. An error with no sizes is for a question without contrary sizes, or for too many cases.
    Instances of an op that are not `general` skip what only JAX's code tells apart. `visited`: examined shapes; grows.
    """
    if not instance.names:
        return
    every_question = traces.op.suspects_library  # those of JAX's broadcasts too
    set_together = general or (not traces.op.is_op and bool(of_broadcasts([programs])))
    differing: list[Fixed] = []
    for fixed in _together(instance, set_together, general and numbers):
        trace = _traced(traces, instance, fixed)
        if isinstance(trace, CertgradError) or not has_same_programs(programs, trace.programs, fixed):
            differing.append(fixed)
            yield fixed, trace
    waiting = _Waiting(instance, visited)
    waiting.add(contrary(programs, {}, every_question))
    if differing or (every_question and set_together):
        # What runs in the audit of an op, or of JAX, is no code of a user's: each dimension is set alone.
        waiting.add(_alone(instance, programs, differing, everything=every_question or traces.op.is_op))
    yield from _traced_otherwise(traces, instance, programs, waiting, every_question)


def _all_equal(instance: Instance) -> Fixed:
    return dict.fromkeys(instance.names[1:], named_size(instance.names[0]))


def _together(instance: Instance, special: bool, numbers: bool) -> list[Fixed]:
    """Return settings of all dimensions: to 1 and to one another if `special`, to numbers with `numbers`."""
    ones: list[Fixed] = [dict.fromkeys(instance.names, ONE)] if special else []
    equal = [_all_equal(instance)] if special and len(instance.names) > 1 else []
    return [*ones, *([concrete(instance)] if numbers else []), *equal]


def _alone(instance: Instance, programs: Programs, differing: list[Fixed], everything: bool) -> list[Fixed]:
    """Return settings of one dimension: to 1, or to another dimension, where a broadcast or a trace gives reason to.

    `differing` are settings of all dimensions that gave another program. With `everything`, all are returned.
    """
    names, equal = instance.names, _all_equal(instance)
    with_one = {size == "1" for _, size in of_broadcasts([programs])}
    singles: list[Fixed] = [{n: ONE} for n in names]
    pairs: list[Fixed] = [{b: named_size(a)} for k, a in enumerate(names) for b in names[k + 1 :]]
    ones_or_numbers_differ = any(fixed != equal for fixed in differing)
    return [
        *(singles if everything or ones_or_numbers_differ or True in with_one else ()),
        *(pairs if everything or equal in differing or False in with_one else ()),
    ]


class _Waiting:
    """The sizes that are still to be traced, each shape once, and the questions that no sizes answer otherwise."""

    def __init__(self, instance: Instance, visited: set[str]) -> None:
        self.instance, self.visited = instance, visited
        self.questions: list[str] = []
        self.cases: dict[str, Fixed] = {}

    def add(self, items: Iterable[Fixed | str]) -> None:
        """Add sizes, unless they were examined or wait already, and questions; a sample takes the place of sizes."""
        for item in items:
            if isinstance(item, str):
                self.questions.append(item)
            elif (key := shapes_text(self.instance, item)) not in self.visited and (
                key not in self.cases or isinstance(item, Sample)
            ):
                self.cases[key] = item

    def next_case(self) -> Fixed:
        """Return the sizes that wait longest, which are then examined."""
        key = next(iter(self.cases))
        self.visited.add(key)
        return self.cases.pop(key)


def _traced_otherwise(
    traces: Traces, instance: Instance, programs: Programs, waiting: _Waiting, every_question: bool
) -> Iterator[tuple[Fixed, Trace | CertgradError]]:
    """Trace what is waiting, and what these traces leave undecided; yield as `contrary_cases` does."""
    count, limit = 0, MAX_CASES
    while waiting.questions or waiting.cases:
        for question in waiting.questions:
            text = "tracing decided a question about dimensions that has no contrary case to trace"
            yield {}, TraceError(f"{text}: {question}")
        waiting.questions.clear()
        if limit == MAX_CASES and count + len(waiting.cases) > MAX_CASES:
            limit = min(count + FEW_CASES, MAX_CASES)
            yield {}, TraceError("too many undecided comparisons of dimensions")
        if not waiting.cases or count == limit:
            return
        fixed = waiting.next_case()
        count += 1
        trace = _traced(traces, instance, fixed)
        if isinstance(trace, CertgradError):
            yield fixed, trace
            continue
        waiting.add(contrary(trace.programs, fixed, every_question))
        if not has_same_programs(programs, trace.programs, fixed):
            yield fixed, trace
            if isinstance(fixed, Sample):
                yield {}, TraceError(f"where {fixed.question}, it is another program, traced at some such sizes alone")


def _traced(traces: Traces, instance: Instance, fixed: Fixed) -> Trace | CertgradError:
    try:
        return traces.at(instance, fixed)
    except CertgradError as error:
        return error
