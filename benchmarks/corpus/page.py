"""`reports/corpus.md`: what is in the corpus, and what came of it last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.corpus.compare import PROVED, cause_said, wrongly_proved, wrongly_refuted
from benchmarks.corpus.entries import SOURCES, Entry, Record
from certgrad.obligations.certificate import DIFFERS_IN_FLOATS, PROOFS

INTRODUCTION = """# The corpus

Made by `make corpus ACCEPT=1`. The corpus is every rule whose verdict is known: one row an entry in `corpus/entries`,
and what came of it last in `corpus/records`. `make corpus` audits the entries again, each in a process that is replaced
where it ends or takes too long, and fails where a verdict is weaker, a hypothesis is new that the former ones do not
imply, a wrong rule is proved, a right one is refuted, or an entry takes one and a half times as long.
`make corpus SAMPLE=1` does that for a fixed sample. A wrong rule whose claim excludes every point at which it is wrong,
by a listed hypothesis or by its sizes, is counted as excluded."""
SLOWEST = 20
OPEN = """Right and not proved for all shapes, or wrong and not refuted, with the reason. Attacks and traps, which aim
at what is not decided, and the code of libraries are counted above."""
UNDECLARED = """Rules as they were published, audited without a declaration. Sizes are untied where the inferred
signature is, but for the names of axes, the most general one, which a person wrote in the row. A mistake is named where
what is said to be wrong is what a person found; a wrong rule is named where the report says at which other choice of
ranks it is wrong."""
COUNTED = ("attacks", "traps", "libraries", "survey")


def page(entries: Mapping[str, Entry], records: Mapping[str, Record]) -> str:
    """As Markdown."""
    inside = [e for e in entries.values() if not e.outside]
    outside = [e for e in entries.values() if e.outside]
    parts = [INTRODUCTION, f"{len(inside)} entries in the model, {len(outside)} outside of it."]
    parts += ["## What came of them", table(("source", "is", "entries", "verdicts"), _counts(inside, records))]
    parts += ["## Wrong and proved", _listed(e for e in inside if e.id in records and wrongly_proved(e, records[e.id]))]
    parts += [
        "## Right and refuted",
        _listed(e for e in inside if e.id in records and wrongly_refuted(e, records[e.id])),
    ]
    if undeclared := [e for e in inside if e.source == "published" and e.id in records]:
        parts += ["## Nothing declared", UNDECLARED, _shares(undeclared, records)]
    parts += ["## Open", OPEN, table(("entry", "is", "verdict", "why"), _open(inside, records))]
    parts += ["## The slowest", "Seconds of the processor.", _slowest(inside, records)]
    if outside:
        parts += [
            "## Outside the model",
            "Code that is made to deceive: nothing is promised of it, and what is said of it is known.",
            table(("why", "entries", "verdicts"), _outside(outside, records)),
        ]
    return "\n\n".join(parts) + "\n"


def _counts(entries: Iterable[Entry], records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.source, entry.expected), []).append(entry)
    order = [*SOURCES]
    return [
        (SOURCES[source], expected or "by intent, or not decided", str(len(of)), _verdicts(of, records))
        for (source, expected), of in sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
    ]


def _verdicts(entries: Iterable[Entry], records: Mapping[str, Record]) -> str:
    counts = Counter(_shown(records.get(entry.id)) for entry in entries)
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())


def _shown(record: Record | None) -> str:
    if record is None:
        return "not run"
    return f"{record.verdict}, excluded" if record.excluded else record.verdict


def _listed(entries: Iterable[Entry]) -> str:
    return "\n".join(f"- `{entry.id}`" for entry in entries) or "None."


def _open(entries: Iterable[Entry], records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        record = records.get(entry.id)
        if record is None or entry.source in COUNTED or not entry.expected:
            continue
        if record.verdict not in (PROOFS if entry.expected == "right" else ("refuted",)) and not record.excluded:
            rows.append((f"`{entry.id}`", entry.expected, record.verdict, record.reason))
    return rows


def _shares(entries: Iterable[Entry], records: Mapping[str, Record]) -> str:
    """How many of the right rules are proved, at which sizes, and how many of the wrong ones are refuted."""
    right = [(e, records[e.id]) for e in entries if e.expected == "right"]
    known = [e for e in entries if e.expected == "wrong"]
    wrong = [records[e.id] for e in known]
    open_ = [(e, records[e.id]) for e in known if records[e.id].verdict != "refuted"]
    proved = [(e, r) for e, r in right if r.verdict in PROOFS]
    untied = [r for e, r in proved if not e.signature or same_shapes(r.inferred, e.signature)]
    refuted = sum(r.verdict == "refuted" for r in wrong)
    named = sum("refuted" in r.choices or (bool(e.cause) and e.cause in r.choices) for e, r in open_)
    contradicted = sum(r.reason.startswith(DIFFERS_IN_FLOATS) for _, r in open_)
    packages = len({e.needs for e, _ in right if e.needs})
    rows = [
        ("right", str(len(right)), f"of {packages} packages and of reports"),
        ("proved for untied sizes", _share(len(untied), len(right)), ""),
        ("proved, but sizes are tied, or the ranks are others", _share(len(proved) - len(untied), len(right)), ""),
        ("refuted", _share(sum(r.verdict == "refuted" for _, r in right), len(right)), ""),
        ("wrong", str(len(wrong)), ""),
        ("refuted", _share(refuted, len(wrong)), ""),
        ("the mistake is named", _share(sum(cause_said(e, records[e.id]) for e in known), len(wrong)), ""),
        ("named at other ranks, or with defaults passed", _share(named, len(wrong)), ""),
        ("contradicted at a point in floats, which fails an audit", _share(contradicted, len(wrong)), ""),
        ("proved", _share(sum(r.verdict in PROVED and not r.excluded for r in wrong), len(wrong)), ""),
    ]
    return table(("rules", "number", ""), rows)


def _share(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.0f} %)" if of else "0"


def same_shapes(inferred: str, meant: Any) -> bool:
    """Whether two signatures take the same arguments, but for the names of axes."""
    return _renamed(inferred) == _renamed(meant)


def _renamed(signature: str) -> str:
    """The arguments, with axes named by the order in which they come first."""
    names: dict[str, str] = {}
    inputs = signature.partition("->")[0]
    return re.sub(r"(?<![:\w])[A-Za-z_]\w*", lambda m: names.setdefault(m[0], f"a{len(names)}"), inputs).strip()


def _slowest(entries: Iterable[Entry], records: Mapping[str, Record]) -> str:
    known = sorted((r for e in entries if (r := records.get(e.id))), key=lambda r: -r.seconds)
    groups = (
        ("proved", [r for r in known if r.verdict in PROVED]),
        ("refuted", [r for r in known if r.verdict == "refuted"]),
        ("neither", [r for r in known if r.verdict not in (*PROVED, "refuted")]),
    )
    rows = [
        (name, f"`{r.id}`", r.verdict, f"{r.seconds:.0f}") for name, of in groups for r in of[: SLOWEST // len(groups)]
    ]
    return table(("", "entry", "verdict", "seconds"), rows)


def _outside(entries: Iterable[Entry], records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.outside, []).append(entry)
    return [(why, str(len(of)), _verdicts(of, records)) for why, of in sorted(groups.items())]


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """As Markdown."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '∣') for cell in line)} |" for line in lines)
