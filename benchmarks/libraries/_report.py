"""`reports/libraries.md` from the results: by library first, then a row for each part, then why the others failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

INTRODUCTION = """# Libraries, part by part

Made by `python -m benchmarks.libraries`. A part is every public name that is a layer, loss, optimiser or
log-probability of its library, called as it stands in the installed version. Of each the function of its inputs,
parameters and state is certified, at named sizes where it traces at them, else at numbers. A base class and what
computes nothing of its own is listed but not counted; a part that nobody has written an entry for counts as not
certified. Seconds are of the processor, in a process that keeps its lemmas from part to part."""


def rendered(results: Mapping[str, Any]) -> str:
    """The whole page."""
    sections = [INTRODUCTION, _summary(results), _reasons(results)]
    for name, one in results.items():
        sections += [f"## {name} {one['version']}", _table(one["parts"])]
        sections += [_list(_left(one["parts"]))]
    return "\n\n".join(section for section in sections if section) + "\n"


def is_certified(row: Row) -> bool:
    return bool(row["verdict"].startswith("proved"))


def counts(row: Row) -> bool:
    """It is a part, and not a name that computes nothing."""
    return bool(row["verdict"] != "not tried" or row["why"] == "no entry")


def _summary(results: Mapping[str, Any]) -> str:
    lines = [
        _line("library", "version", "parts", "certified", "of these, under hypotheses", "at names", "not", "share")
    ]
    lines.append(_line("---", "---", *["---:"] * 6))
    every = [row for one in results.values() for row in one["parts"]]
    for name, version, rows in (
        *((name, one["version"], one["parts"]) for name, one in results.items()),
        ("**all**", "", every),
    ):
        parts = [row for row in rows if counts(row)]
        done = [row for row in parts if is_certified(row)]
        under = sum(bool(row["asks"]) for row in done)
        named = sum(row["for"].startswith("all ") for row in done)
        share = f"{100 * len(done) / len(parts):.0f} %" if parts else ""
        lines.append(_line(name, version, len(parts), len(done), under, named, len(parts) - len(done), share))
    return "\n".join(lines)


def _reasons(results: Mapping[str, Any]) -> str:
    """How often each kind of reason stands behind a part that is not certified."""
    found: dict[str, list[str]] = {}
    for name, one in results.items():
        for row in one["parts"]:
            if counts(row) and not is_certified(row):
                found.setdefault(kind_of(row), []).append(f"{name} `{row['part']}`")
    if not found:
        return ""
    lines = ["## Why not", "", _line("reason", "parts", "which"), _line("---", "---:", "---")]
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return "\n".join([*lines, *(_line(reason, len(parts), ", ".join(parts)) for reason, parts in ordered)])


REFUSED = "JAX itself does not differentiate it"
MARKS = {
    "out of time": "out of time",
    "did not end": "out of time",
    "ended the process": "it ended the process",
    "vacuous": "no point found that satisfies all hypotheses",
    "what runs is not what was traced": "what runs is not what was traced",
    "JAX could not trace": "JAX could not trace it",
    "no entry": "not tried",
    "stop_gradient": "stop_gradient",
    "while": "a loop of unknown length",
}


def kind_of(row: Row) -> str:
    """The reason in short: a known kind, or the finding without its place."""
    if row.get("jax"):
        return REFUSED
    for mark, kind in MARKS.items():
        if mark in row["why"]:
            return kind
    first = str(row["why"]).split(";")[0]
    return _cut(first.split(": ", 1)[-1], 100)


def _table(rows: Sequence[Row]) -> str:
    lines = [_line("part", "verdict", "under", "claimed for", "seconds"), _line("---", "---", "---", "---", "---:")]
    for row in rows:
        if counts(row):
            shown = [f"`{_short(text)}`" for text in row.get("asks", [])]
            more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
            under = "; ".join(shown[:3]) + more
            claimed = row.get("for", "") if is_certified(row) else ""
            lines.append(_line(f"`{row['part']}`", row["verdict"], under, claimed, f"{row['seconds']:.1f}"))
    return "\n".join(lines)


def _left(rows: Sequence[Row]) -> Iterator[str]:
    """Of each part that is not certified the reason; of each that is, but not for all sizes, why not for all."""
    for row in rows:
        if not counts(row):
            yield f"`{row['part']}` is no part: {row['why']}"
        elif not is_certified(row):
            refused = f" {REFUSED}: {_cut(row['jax'], 240)}" if row.get("jax") else ""
            yield f"`{row['part']}`: {_cut(row['why'], 400)}{refused}"
        elif row.get("narrower"):
            yield f"`{row['part']}` is not certified for more sizes. For {_cut(row['narrower'][-1], 240)}"


def _short(text: str) -> str:
    return _cut(text.replace("`", "").replace("|", "\\|"), 110)


def _cut(text: str, size: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= size else f"{text[:size].rstrip()} …"


def _line(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _list(lines: Iterator[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
