"""The results of `certgrad verify` as text and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from certgrad.obligations.verify import Verification
from certgrad.obligations.verify._verify import Outcome
from certgrad.report.wording import PAGE_WIDTH, duration, fill

if TYPE_CHECKING:
    from certgrad.accel.verify import GraphVerification

_LEGEND = (
    "verified: the code traces to the program that was proved, and at all points the claims hold to a relative 2^-400 "
    "or exactly; those of rules in code, where Python computes with sizes in floats, to 1e-12. points: rational points "
    "inside the hypotheses at several shapes; boundary: those of them at which something that a program compares or "
    "divides by is 0. level: exact for all sizes, by a theorem, or at these sizes, where claims follow from laws of "
    "fields and functions in the regions of what programs compare that were met; or by balls alone. error: a wrong "
    "claim passed what is exact with at most this probability. None of this rests on the calculus of the proof."
)


@dataclass(frozen=True)
class Verified:
    """The result for one certificate, and the seconds that it took."""

    result: "Verification | GraphVerification"
    seconds: float

    @property
    def name(self) -> str:
        """The name of the op or of the graph."""
        return self.result.op if isinstance(self.result, Verification) else self.result.graph


class _Document(msgspec.Struct, frozen=True):
    certgrad: str
    verifications: list[Any]


def as_json(verified: Sequence[Verified], version: str) -> bytes:
    """Return the document that `certgrad verify --format json` prints; equal results give equal bytes."""
    document = _Document(certgrad=version, verifications=[one.result for one in verified])
    return msgspec.json.format(msgspec.json.encode(document, order="deterministic"), indent=2) + b"\n"


def as_text(verified: Sequence[Verified], seconds: float, *, quiet: bool = False, width: int | None = None) -> str:
    """Return a row for each certificate, the problems, and a summary line."""
    parts = [] if quiet else [_table(verified, width or PAGE_WIDTH), fill(_LEGEND, width), ""]
    for one in verified:
        texts = [f"{one.name}: {one.result.outcome}: {problem}" for problem in one.result.problems]
        if not isinstance(one.result, Verification) and one.result.outcome == "verified":
            texts.append(f"{one.name}: {_of_graph(one.result)}")
        parts += [fill(text, width, rest="  ") for text in texts]
    counts = {outcome: sum(one.result.outcome == outcome for one in verified) for outcome in get_args(Outcome)}
    noun = "certificate" if len(verified) == 1 else "certificates"
    summary = ", ".join(f"{n} {outcome}" for outcome, n in counts.items())
    last = f"{len(verified)} {noun}: {summary} ({duration(seconds)})"
    return "\n".join([*parts, fill(last, width, rest="  ")]) + "\n"


def _of_graph(result: "GraphVerification") -> str:
    """Return a text on what was checked of a graph."""
    steps = f"{result.nodes} steps by {result.lemmas} lemmas, each of its node's own programs"
    if result.not_evaluated:
        return f"{steps}; the sweep was not evaluated: {result.not_evaluated}"
    undecided = f", {result.undecided} points undecided" if result.undecided else ""
    return f"{steps}; the sweep was evaluated at {'; '.join(result.sizes)}{undecided}"


def _table(verified: Sequence[Verified], page: int) -> str:
    """Return a table with a row for each certificate; names stand on their own lines if rows would be too wide."""
    rows = [("op", "outcome", "level", "shapes", "points", "boundary", "error", "time")]
    for one in verified:
        r = one.result
        if isinstance(r, Verification):
            shapes, level, bound = r.shapes, r.level.partition(", in ")[0], r.error
        else:
            shapes, level, bound = len(r.sizes), "", ""
        counts = (str(shapes), str(r.points), str(r.boundary)) if r.points else ("", "", "")
        rows.append((one.name, r.outcome, level, *counts, bound, duration(one.seconds)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names_apart = sum(widths) + 2 * (len(widths) - 1) > page
    lines = []
    for row in rows:
        name, outcome, level, *others = (c.ljust(w) for c, w in zip(row, widths, strict=True))
        line = "  ".join([outcome, level, *(c.strip().rjust(len(c)) for c in others)]).rstrip()
        lines += [name.rstrip(), f"  {line}"] if names_apart else [f"{name}  {line}"]
    return "\n".join(lines)
