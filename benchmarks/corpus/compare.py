"""What differs between two sets of records, and which of that is worse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec

from benchmarks.corpus.entries import Entry, Record
from certgrad.language.coding import decode
from certgrad.language.implication import implies
from certgrad.language.text import text
from certgrad.language.tree import Statement
from certgrad.obligations.certificate import AT_SIZES, DIFFERS_IN_FLOATS, ORDER, PROOFS

PROVED = (*PROOFS, AT_SIZES)
LONG = 300
"""So many characters are shown of what the certificate of a graph asks in its own words."""
_DIGEST = re.compile(r"\b[0-9a-f]{32}\b")
SLOWER, FLOOR = 1.5, 1.0
"""Seconds are worse above this ratio, if they are more by so many as well."""

Kind = Literal[
    "wrong and proved",
    "right and refuted",
    "weaker",
    "cause not said",
    "new hypothesis",
    "narrower",
    "slower",
    "stronger",
    "fewer hypotheses",
    "faster",
]
WORSE: tuple[Kind, ...] = (
    "wrong and proved",
    "right and refuted",
    "weaker",
    "cause not said",
    "new hypothesis",
    "narrower",
    "slower",
)


@dataclass(frozen=True)
class Change:
    """One thing that is other than it was, of one entry."""

    kind: Kind
    entry: Entry
    text: str

    @property
    def fails(self) -> bool:
        """It is worse. Outside of the model nothing is promised, and so nothing fails."""
        return self.kind in WORSE and not self.entry.outside

    def __str__(self) -> str:
        outside = f" (outside the model: {self.entry.outside})" if self.entry.outside else ""
        return f"{self.kind}: {self.entry.id}: {self.text}{outside}"


def compared(entries: Mapping[str, Entry], before: Mapping[str, Record], now: Mapping[str, Record]) -> list[Change]:
    """All changes of what was run now, the worst first."""
    found = [
        change
        for id, record in now.items()
        if id in entries
        for change in _changes(entries[id], before.get(id), record)
    ]
    order = get_args(Kind)
    return sorted(found, key=lambda change: (order.index(change.kind), change.entry.id))


def wrongly_proved(entry: Entry, record: Record) -> bool:
    """A wrong rule is proved, and nothing in the claim excludes the points where it is wrong."""
    return entry.expected == "wrong" and record.verdict in PROVED and not record.excluded


def wrongly_refuted(entry: Entry, record: Record) -> bool:
    """A right rule fails an audit: it is refuted, or `unproved` where a numeric check differs."""
    return entry.expected == "right" and (record.verdict == "refuted" or record.reason.startswith(DIFFERS_IN_FLOATS))


def cause_said(entry: Entry, record: Record) -> bool:
    """What is said to be wrong is what it is known to be."""
    return bool(entry.cause) and any(entry.cause in text for text in record.causes.values())


def _changes(entry: Entry, before: Record | None, now: Record) -> Iterator[Change]:
    if wrongly_proved(entry, now):
        yield Change("wrong and proved", entry, now.verdict)
    if wrongly_refuted(entry, now):
        yield Change("right and refuted", entry, now.reason or "refuted")
    if entry.cause and now.verdict == "refuted" and not cause_said(entry, now):
        yield Change("cause not said", entry, f"{'; '.join(now.causes.values()) or 'none'}, and not {entry.cause!r}")
    if before is None:
        return
    was, is_ = _rank(entry, before), _rank(entry, now)
    turned = (before.verdict == "refuted") != (now.verdict == "refuted") and _definite(before, now)
    if is_ > was or (turned and not entry.expected):
        yield Change("weaker", entry, f"{before.verdict} → {now.verdict}{_why(now)}")
    elif is_ < was:
        yield Change("stronger", entry, f"{before.verdict} → {now.verdict}")
    if before.hypotheses is None or now.hypotheses is None:  # one of them is of a page, or failed: its verdict is known
        return
    if now.verdict in PROVED and before.verdict in PROVED:
        yield from _reach(entry, before, now)
    seconds = f"{before.seconds:.1f} s → {now.seconds:.1f} s"
    if _slower(before.seconds, now.seconds):
        yield Change("slower", entry, seconds)
    elif _slower(now.seconds, before.seconds):
        yield Change("faster", entry, seconds)


def _reach(entry: Entry, before: Record, now: Record) -> Iterator[Change]:
    """Of what is proved in both: under which hypotheses, and of what."""
    assert now.hypotheses is not None
    assert before.hypotheses is not None
    for tree in not_implied(now.hypotheses, before.hypotheses):
        yield Change("new hypothesis", entry, words(tree) + _asked(now, before))
    for tree in not_implied(before.hypotheses, now.hypotheses):
        yield Change("fewer hypotheses", entry, f"without {words(tree)}{_asked(before, now)}")
    for limit in sorted(set(now.limits) - set(before.limits)):
        yield Change("narrower", entry, limit)
    for name in sorted(set(now.without_gradient) - set(before.without_gradient)):
        yield Change("narrower", entry, f"no gradient for {name}")
    if lost := [sizes for sizes in before.sizes if now.sizes and sizes not in now.sizes]:
        yield Change("narrower", entry, f"not at {lost[0]} any more")


def _asked(one: Record, other: Record) -> str:
    """What the certificate of one graph asks and that of the other does not, in words: they name lines and values."""
    asked = "; ".join(text for text in one.asks if text not in other.asks)
    return f" ({asked[:LONG]})" if asked else ""


def not_implied(now: Sequence[Any], before: Sequence[Any]) -> list[Any]:
    """Those that what held before does not imply; what this version cannot read is new where it was not there."""
    known = [statement for tree in before if (statement := _read(tree)) is not None]
    return [tree for tree in now if tree not in before and ((one := _read(tree)) is None or not implies(known, one))]


def _read(tree: Any) -> Statement | None:
    try:
        return decode(msgspec.json.encode(tree))
    except msgspec.ValidationError:
        return None


def words(tree: Any) -> str:
    """A hypothesis for reading, with digests of values cut short; as JSON where it cannot be read."""
    statement = _read(tree)
    shown = text(statement) if statement is not None else msgspec.json.encode(tree).decode()
    return _DIGEST.sub(lambda found: f"value {found[0][:6]}", shown)


def _why(record: Record) -> str:
    return f" ({record.reason})" if record.reason else ""


def _definite(*records: Record) -> bool:
    return all(record.verdict in (*PROVED, "refuted") for record in records)


def _rank(entry: Entry, record: Record) -> int:
    """How far the verdict is from the best for what the entry is known to be; the order of a certificate's verdicts,
    in which that of a wrong rule is best where it is refuted, and no proof is any good but one that leaves out where
    the rule is wrong.

    A rule without a certificate, whatever the reason, is as one more step from `unproved`. Of a rule of which nothing
    is known, `refuted` is as good as any proof.
    """
    verdict = record.verdict
    if verdict not in ORDER:
        return len(ORDER)
    if entry.expected == "wrong":
        best = ("refuted", "excluded", "surrogate", "unproved")
        name = "excluded" if record.excluded else verdict
        return best.index(name) if name in best else len(ORDER) + 1
    if verdict == "refuted":
        return len(ORDER) + 1 if entry.expected == "right" else 0
    return ORDER.index(verdict)


def _slower(before: float, now: float) -> bool:
    return now > SLOWER * before and now - before > FLOOR
