"""What was traced, compared with what runs.

A proof is about the program that was traced at symbolic sizes, in 64 bits. So the rule is called once outside of any
trace in each dtype of the claim, and traced twice at numbers, and the results are compared with those of the program
that was proved. Questions that its code asks meanwhile, about the platform or JAX's settings, are heard: for each there
is one more trace, in which the answer is another. This is a measurement. It can take a proof away, and never gives one;
the claim says what was compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from certgrad._subject import Subject
from certgrad.obligations.tracing.ambient_reads import Heard, hearing
from certgrad.process.threads import PROCESS_LOCK

from ..generality.in_code import in_code
from ..generality.reach import loads, reachable, users_files
from ..generality.state import ReadState
from ._at_numbers import Difference, at_numbers, chosen, most_entries, unlike
from ._calls import compare_call, precisions
from ._compared import Compared, Sizes, sized
from ._surroundings import difference_in_surroundings

WIDTHS = ("float64", "float32")
HALF = ("bfloat16", "float16")
ALL_DTYPES = (*WIDTHS, *HALF)
ONLY_LIBRARIES = "no code but the libraries' runs"
UNBATCHED = "calls that no vmap batches, as it has rules of its own for that"
WEAK = "it asks whether an array is weakly typed, as Python's numbers are under jit: there it may do other things"
WHOLE = "integers of 32 and 64 bits, as its code asks for dtypes"
NARROW = "float32 arrays only while JAX computes in 32 bits, as its code asks for dtypes"
LIMITS = (UNBATCHED, WHOLE, NARROW)
"""Restrictions that a claim may say: it is about these alone."""
NOT_COMPARED = "not compared with what happens at numbers and in calls"


def listening(op: Subject) -> AbstractContextManager[Heard]:
    """Return a context that yields what a subject's code asks for while it is traced in 64 bits."""
    return hearing(users_files(reachable(op)))


__all__ = [
    "ALL_DTYPES",
    "LIMITS",
    "NOT_COMPARED",
    "ONLY_LIBRARIES",
    "WIDTHS",
    "Compared",
    "Conformance",
    "Difference",
    "Effort",
    "called_with_numbers",
    "conformance",
    "listening",
    "most_entries",
    "unlike",
]


@dataclass(frozen=True)
class Conformance:
    """What was compared, in words, and the first difference."""

    compared: tuple[str, ...]
    difference: Difference | None = None
    only: str = ""
    """The restrictions of the claim (of `LIMITS`), which the code makes necessary by what it asks for."""


@dataclass(frozen=True)
class Effort:
    """At most how many sizes and dtypes are compared; None sets no other limit than that for a rule."""

    traces: int | None = None
    calls: int | None = None
    either: bool = True
    """Whether it is also traced in narrow dtypes while JAX computes in 64 bits."""


def conformance(
    subject: Compared, dtypes: Sequence[str], effort: Effort = Effort(), heard: Heard | None = None
) -> Conformance:
    """Return what was compared of a subject, and the first difference between its programs and what runs.

    Its programs are compared with traces at numbers, and with one call in each of the claimed dtypes. Questions that
    were `heard` in other traces get other answers as well. Where all code is a library's, or certgrad's, nothing is
    compared.
    """
    if not subject.functions:
        return Conformance((ONLY_LIBRARIES,))
    with PROCESS_LOCK:  # the state that a rule leaves behind must be its own
        result = _conformance(subject, dtypes, effort, heard)
    return result if isinstance(result, Conformance) else Conformance((), result)


def _conformance(
    subject: Compared, dtypes: Sequence[str], effort: Effort, earlier: Heard | None
) -> Conformance | Difference:
    """Return what was compared, or the first difference: in traces at numbers, in calls, or by other answers.

    `earlier` holds the questions that the code asked in a trace at numbers that was made before.
    """
    if any("weak_type" in loads(f.__code__)[1] for f in subject.functions):
        return Difference((), WEAK, {}, anywhere=True)
    state = ReadState(subject.roots, calls=True)
    forgot = state.forget()
    compared: list[str] = []
    questions: list[tuple[Sizes, Heard]] = []
    difference = _difference_in_traces(subject, dtypes, effort, earlier, forgot, questions, compared)
    difference = difference or _difference_in_calls(subject, dtypes, effort, state, questions, compared)
    either = effort.either and not subject.draws
    difference = difference or difference_in_surroundings(subject, dtypes, either, questions, state)
    if difference is not None:
        return difference
    compared += [f"not compared: {', '.join(subject.unseen)}"] * bool(subject.unseen)
    # The claim is for float32 and float64 without half precision: it was narrowed because the code asks for dtypes.
    code_asks_for_dtypes = len(dtypes) > 1 and not {*HALF} & {*dtypes}
    limits = (
        subject.batches,
        code_asks_for_dtypes and subject.integers,
        code_asks_for_dtypes and subject.narrow and effort.either,
    )
    return Conformance(tuple(compared), only=", ".join(t for t, applies in zip(LIMITS, limits, strict=True) if applies))


def _difference_in_traces(
    subject: Compared,
    dtypes: Sequence[str],
    effort: Effort,
    earlier: Heard | None,
    forgot: bool,
    asked: list[tuple[Sizes, Heard]],
    compared: list[str],
) -> Difference | None:
    """Return the first difference in traces at numbers, in the widest dtype; None if there is none.

    The function adds to `asked` what the code asked in these traces, and to `compared`, in words, what was compared.
    `earlier` is what the code asked in an earlier trace; it counts for the first sizes. `forgot` says that a cache of
    the code was emptied since the proof's trace, so that this trace cannot take the place of a new one.
    """
    widest = next((d for d in dtypes if d in WIDTHS), dtypes[0])
    places = chosen(subject.names, subject.questioned, in_code(subject.functions))
    any_numbers_do = bool(subject.names) and len(places) == 1
    places = places[: None if effort.traces is None else max(1, effort.traces)] if subject.names else [{}]
    if earlier:
        asked.append((places[0], earlier))
    proofs_trace = subject.heard() if any_numbers_do and widest == "float64" and not forgot else None
    if proofs_trace is not None:
        # The code compares no size, so that any numbers do: those of the proof's own trace need no further trace.
        sizes, programs, heard = proofs_trace
        places = [dict(sizes)]
        if (difference := at_numbers(subject, sizes, widest, programs)) is not None:
            return difference
        asked.append((sizes, heard))
    for sizes in places if proofs_trace is None else ():
        with hearing(subject.files) as heard:
            difference = at_numbers(subject, sizes, widest)
        if difference is not None:
            return difference
        asked.append((sizes, heard))
    if subject.names:
        compared.append(f"traces at {' and '.join(sized(subject.names, s) for s in places)}")
    return None


def _difference_in_calls(
    subject: Compared,
    dtypes: Sequence[str],
    effort: Effort,
    state: ReadState,
    asked: list[tuple[Sizes, Heard]],
    compared: list[str],
) -> Difference | None:
    """Return the first difference in a call in each dtype, or that calls change `state`; None if there is none.

    The function adds to `asked` and `compared` as `_difference_in_traces` does. The state is compared after the first
    call and after the last one.
    """
    plan = precisions(dtypes)[: effort.calls]
    place, second = ({n: row[k % len(row)] for k, n in enumerate(subject.names)} for row in PLACES)
    refused: list[str] = []
    for precision in plan:
        with hearing(subject.files) as heard:
            difference, problem = compare_call(subject, place, second, precision, precision is plan[0])
        if difference is not None:
            return difference
        if problem:
            refused.append(f"{precision} ({problem})")
        asked.append((place, heard))
        last = precision is plan[-1]
        # After the first call too: a state that alternates between two values is as before after two calls.
        if (last or precision is plan[0]) and (changed := state.compare()):
            text = f"calls change {changed}, which outlives them: later calls may do other things"
            return Difference((), text, {}, anywhere=True)
    not_called = {text.partition(" (")[0] for text in refused}
    if done := [str(p) for p in plan if str(p) not in not_called]:
        compared.append(f"one call in {', '.join(done)}{f' at {sized(subject.names, place)}' if subject.names else ''}")
    if refused:
        compared.append(f"no call in {', '.join(refused)}")
    return None


def called_with_numbers(subject: Compared, dtypes: Sequence[str]) -> Difference | None:
    """Return how a call differs whose arguments are all scalars, given as Python's numbers; None if it does not.

    JAX hands on Python's numbers as they are, and there `~(x <= 0)` is −2 for a boolean, and `(x > 0) + (y > 0)` is 2.
    """
    if not subject.functions:
        return None
    with PROCESS_LOCK:
        return compare_call(subject, {}, {}, precisions(dtypes)[0], plainly=True)[0]


PLACES = ((3, 2, 4, 5), (4, 3, 2, 7))
"""Sizes of the dimensions in calls. The second row is for a result in half precision that differs at the first, as it
may by rounding alone."""
