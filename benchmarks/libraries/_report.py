"""`reports/libraries.md` from the results: by library first, then a row for each part, then why the others failed."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

INTRODUCTION = """# Libraries, part by part

Made by `python -m benchmarks.libraries`. A part is every public name that is a layer, loss, optimiser or
log-probability of its library, called as it stands in the installed version. Of each the function of its inputs,
parameters and state is certified, at named sizes where it traces at them, else at numbers. A base class and what
computes nothing of its own is listed but not counted; a part that nobody has written an entry for counts as not
certified. Seconds are of the processor, in a process that keeps its lemmas from part to part. A row is as it was last
found: where parts are run again by name, the others keep theirs."""


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
    numbers = "parts", "certified", "of these, under hypotheses", "at names", "not", "share", "median seconds"
    lines = [_line("library", "version", *numbers), _line("---", "---", *["---:"] * len(numbers))]
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
        median = f"{statistics.median(row['seconds'] for row in parts):.2f}" if parts else ""
        lines.append(_line(name, version, len(parts), len(done), under, named, len(parts) - len(done), share, median))
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
    "points were tried": "no point found that satisfies all hypotheses",
    "undefined at every input": "undefined at every input: an infinity, or a division by 0, in what is not taken",
    "undefined whatever": "undefined at every input: an infinity, or a division by 0, in what is not taken",
    "what runs is not what was traced": "what runs is not what was traced",
    "no entry": "not tried",
    "stop_gradient": "stop_gradient hides a part of the derivative, on purpose",
}


def kind_of(row: Row) -> str:
    """The reason in short: a known kind, or the finding without its place."""
    if row.get("jax"):
        return REFUSED
    decisive = _decisive(row)
    for mark, kind in MARKS.items():
        if mark in decisive:
            return kind
    return _cut(_cause(decisive).rsplit("jvp_is_derivative: ", 1)[-1], 110).replace("|", "\\|")


def _decisive(row: Row) -> str:
    """The finding that the verdict rests on: others say what is proved up to rounding."""
    findings = str(row["why"]).split("; ")
    asked = (f"is {row['verdict']}", f"is a {row['verdict']}", "points were tried")
    return next((text for text in findings if any(mark in text for mark in asked)), findings[0])


def _table(rows: Sequence[Row]) -> str:
    lines = [_line("part", "verdict", "under", "claimed for", "seconds", "why not")]
    lines.append(_line("---", "---", "---", "---", "---:", "---"))
    for row in rows:
        if counts(row):
            shown = [f"`{_short(text)}`" for text in row.get("asks", [])]
            more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
            under, claimed = "; ".join(shown[:3]) + more, row.get("for", "")
            why = ""
            if not is_certified(row):
                under, claimed, why = "", "", _cut(_why(row), 300).replace("|", "\\|")
            lines.append(_line(f"`{row['part']}`", row["verdict"], under, claimed, f"{row['seconds']:.1f}", why))
    return "\n".join(lines)


def _why(row: Row) -> str:
    if row.get("jax"):
        return f"{REFUSED}: {row['jax']}"
    first = _decisive(row)
    return "; ".join(dict.fromkeys([first, *str(row["why"]).split("; ")]))


def _left(rows: Sequence[Row]) -> Iterator[str]:
    """What is no part, and of what is certified but not for all sizes, why not for more."""
    for row in rows:
        if not counts(row):
            yield f"`{row['part']}` is no part: {row['why']}"
        elif is_certified(row) and row.get("narrower"):
            claimed, _, why = row["narrower"][-1].partition(": ")
            yield f"`{row['part']}` is not certified for {claimed}: {_cut(_cause(why), 240)}"


def _cause(why: str) -> str:
    """Without the shapes that it was traced at, and without advice."""
    return re.sub(r"JAX could not trace .*? as jax_enable_x64 is off\): (.*?)\. Call it once.*", r"\1", why)


def _short(text: str) -> str:
    return _cut(text.replace("`", "").replace("|", "\\|"), 110)


def _cut(text: str, size: int) -> str:
    text = " ".join(text.split()).replace("](", "] (")  # which is a link otherwise
    return text if len(text) <= size else f"{text[:size].rstrip()} …"


def _line(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _list(lines: Iterator[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
