"""What was traced, compared with what happens.

A proof is about the program that was traced at symbolic sizes, in 64 bits. Python code can ask in endlessly many ways
whether it is traced, how large an array is, of which dtype, how often it was called: no list of such questions ends. So
the rule is traced again at numbers, and called as a user calls it, and what comes of that is compared with the program
that was proved. This is a measurement. It can take a proof away, and never gives one; the claim says what was compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from certgrad._threads import ALONE

from ._at_numbers import Difference, at_numbers, most_entries, unlike
from ._calls import PLAIN, called, plan_of
from ._compared import Compared, arguments
from ._executed import NARROW, WAY, executed
from ._numbers import as_they_are, assignments, in_code, shapes_in_code, together
from ._outside import watched_outside
from ._placement import UNDIVIDED, UNMAPPED, watched_axes, watched_placement
from ._points import sized
from ._precision import Sizes
from ._state import State
from ._surroundings import Heard, Way, surroundings
from ._values import NoValueError, Setting, applied, compute
from ._values import run as evaluated
from ._ways import otherwise

WIDTHS = ("float64", "float32")
ALL_DTYPES = (*WIDTHS, "bfloat16", "float16")
ONLY_LIBRARIES = "no code but the libraries' runs"
PLACES = ((3, 2, 4, 5), (4, 3, 2, 7))
"""The sizes of the dimensions in calls."""
UNBATCHED = "calls that no vmap batches, as it has rules of its own for that"
LIMITS = (UNDIVIDED, UNMAPPED, UNBATCHED)
"""What a claim may be about alone."""
NOT_COMPARED = "not compared with what happens at numbers and in calls"

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
    "Setting",
    "State",
    "applied",
    "arguments",
    "assignments",
    "compute",
    "conformance",
    "evaluated",
    "in_code",
    "most_entries",
    "unlike",
]


@dataclass(frozen=True)
class Conformance:
    """What was compared, in words, and the first difference."""

    compared: tuple[str, ...]
    difference: Difference | None = None
    only: str = ""
    """What alone the claim is about, as the code asks for it."""


@dataclass(frozen=True)
class Effort:
    """At how many sizes and in how many calls: all for a rule, less for a long program, as each costs its length.

    The claim says at which. The surroundings are looked at in any case.
    """

    traces: int | None = None
    """So many sizes at most."""
    calls: int | None = None
    """So many calls of each callable at most."""
    either: bool = True
    """Whether narrow dtypes are looked at while JAX computes in 64 bits as well."""


def conformance(subject: Compared, dtypes: Sequence[str], effort: Effort = Effort()) -> Conformance:
    """Compare a subject's programs with its traces at numbers, and with calls in the dtypes that are claimed.

    Where all code is a library's, or certgrad's, there is nothing to compare.
    """
    if not subject.functions:
        return Conformance((ONLY_LIBRARIES,))
    with ALONE, watched_outside(subject.files) as asked, watched_placement() as placed, watched_axes() as named:
        found = _conformance(subject, dtypes, effort)  # of what a rule leaves behind nobody else may add
    if asked and found.difference is None:
        return Conformance((), Difference((), f"{asked[0]}, it may do other things", {}))
    only = [UNDIVIDED] * bool(placed) + [UNMAPPED] * bool(named) + [UNBATCHED] * subject.batches
    return replace(found, only=", ".join(only))


def _conformance(subject: Compared, dtypes: Sequence[str], effort: Effort) -> Conformance:
    compared: list[str] = []
    more = False
    widths = [d for d in dtypes if d in WIDTHS][:1] or list(dtypes[:1])
    listed = _listed(subject, effort.traces)
    if effort.traces is None and len(subject.names) > 1:
        sizes_together, more = together(subject.names, subject.in_broadcasts)
        listed += [s for s in sizes_together if s not in listed]
    places = [dict(zip(subject.names, _cycled(row, len(subject.names)), strict=True)) for row in PLACES]
    places = places if subject.names else places[:1]
    asked: list[tuple[Sizes, Heard]] = []
    for sizes in [*listed, places[0]]:
        with surroundings(Way(widths[0]), (), subject.files) as heard:
            found = at_numbers(subject, sizes, widths[0])
        if found is not None:
            return Conformance((), found)
        asked.append((sizes, heard))
    if listed:
        shown = ", ".join(str(s[n]) for s in listed for n in subject.names[:1])
        if len(subject.names) > 1:
            shown = ", ".join(f"({', '.join(map(str, s.values()))})" for s in listed)
        names = subject.names[0] if len(subject.names) == 1 else f"({', '.join(subject.names)})"
        compared.append(f"traces at {names} = {shown}")
    either = effort.either and not subject.draws
    ordered = [*widths, *(d for d in dtypes if d not in widths)]
    if (found := otherwise(subject, places[0], ordered, either, asked)) is not None:
        return Conformance((), found)
    plan = plan_of(places, dtypes, effort.calls, either)
    found, refused = called(subject, plan)
    if found is not None:
        return Conformance((), found)
    if (found := executed(subject, places, widths[0], bool(plan))) is not None:
        return Conformance((), found)
    gone = {text.partition(" (")[0] for text in refused}
    done = [str(p) for p in plan if str(p) not in gone]
    looked = {str(place): place for calls in plan.values() for place, _ in calls}
    at = f" at {' and '.join(sized(subject.names, p) for p in looked.values())}" if subject.names else ""
    if done:
        plainly = "" if any(PLAIN in text for text in subject.unseen) or not subject.plainly else f", and with {PLAIN}"
        mapped = ", and under vmap" if subject.mapped else ""
        compared.append(f"calls{at} in {', '.join(done)}{mapped}{plainly}")
    ran = ["a trace"] * bool(subject.names) + ["calls"] * bool(done)
    if ran and not any(text.startswith(WAY) for text in subject.unseen):
        there = f" at {sized(subject.names, places[0])}" if subject.names else ""
        integers = f"{', '.join(NARROW[:-1])} and {NARROW[-1]}"
        narrow = f", with integers of {integers} too" if done and subject.integers else ""
        compared.append(f"{WAY} in {' and '.join(ran)}{there}{narrow}")
    if refused:
        compared.append(f"no calls in {', '.join(refused)}")
    if effort.either and subject.draws:
        compared.append("not compared: calls in narrow dtypes while JAX computes in 64 bits, which draw other numbers")
    unseen = [*subject.unseen, *["more sizes that are equal to each other, or 1"] * more]
    if unseen:
        compared.append(f"not compared: {', '.join(unseen)}")
    return Conformance(tuple(compared))


def _listed(subject: Compared, most: int | None) -> list[dict[str, int]]:
    """The sizes that are put in; none where all are numbers. Of `most` so many some are shapes that the code holds."""
    names, code = subject.names, subject.functions
    if not names:
        return []
    found, shapes = assignments(names, in_code(code)), as_they_are(names, shapes_in_code(code))
    kept = found if most is None else found[:most]
    return kept + [s for s in shapes[:most] if s not in kept]


def _cycled(row: Sequence[int], count: int) -> list[int]:
    return [row[k % len(row)] for k in range(count)]
