"""The page of what certgrad says of the pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchmarks.pairs import CLASSES

PROVED = ("proved", "proved under hypotheses", "proved up to rounding", "proved at sizes")
CLOSED = (*PROVED, "refuted")
INTRODUCTION = """# Pairs of right and wrong rules

Made by `python -m benchmarks.pairs`. Each pair is a derivative rule as people write it and a twin with a plausible
mistake, by an author who knew JAX and mathematics and had not seen the kernel; that the right ones are right and the
wrong ones wrong is checked in floats (`benchmarks/pairs/numbers.py`). What is open stands here with its reason."""


def page(results: Mapping[str, Any]) -> str:
    """As Markdown."""
    parts = [INTRODUCTION, _table(("pairs", "number", "right rules", "wrong twins"), _counts(results))]
    for name, title in CLASSES.items():
        if name in results:
            rows = [_row(pair, row) for pair, row in sorted(results[name].items())]
            parts += [f"## {title}", _table(("pair", "of", "right rule", "wrong twin", "what is open"), rows)]
    return "\n\n".join(parts) + "\n"


def _counts(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    out = []
    for name, title in CLASSES.items():
        rows = results.get(name, {}).values()
        if rows:
            out.append((title, str(len(rows)), *(_counted(rows, side) for side in ("right", "wrong"))))
    return out


def _counted(rows: Any, side: str) -> str:
    counts = Counter(row[side]["verdict"] for row in rows)
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())


def _row(pair: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    right, wrong = row["right"], row["wrong"]
    reasons = dict.fromkeys(one["reason"].replace("|", "∣") for one in (right, wrong) if one["reason"])
    return (f"`{pair}`", row["phrase"], right["verdict"], wrong["verdict"], "; ".join(reasons))


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
