"""Figures of now beside the committed ones: the data file, and what is worse."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.bench._figure import CALLS, Figure

FACTOR = 1.25
"""By so much a figure may exceed its last committed value."""
OF_A_SAMPLE = 2.0
"""The same in the short form, which measures a sample once, beside whatever else runs."""

OF_CALLS = 1.05
"""What is counted, and not measured, may exceed its last committed value by so much."""

Figures = dict[str, list[Figure]]
"""Those of each group."""


class BadData(Exception):
    """The data file holds no figures. The message says what is wrong with it."""


def read(path: Path, form: str) -> Figures:
    """The committed figures of a form (`full`, `short`); none where there is no file. Raises BadData."""
    return {
        group: [_figure(path, group, one) for one in entries] for group, entries in _forms(path).get(form, {}).items()
    }


def _forms(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise BadData(f"{path.name} is no JSON: {error}. Write it anew with `make bench ARGS=--accept`.") from None
    shaped = isinstance(data, dict) and all(
        isinstance(form, dict) and all(isinstance(entries, list) for entries in form.values()) for form in data.values()
    )
    if not shaped:
        raise BadData(f"{path.name} is no table of forms, groups and figures.")
    return data


def _figure(path: Path, group: str, entry: Any) -> Figure:
    try:
        figure = Figure(**entry)
        assert isinstance(figure.name, str)
        assert figure.value is None or isinstance(figure.value, float | int)
        assert figure.peer is None or isinstance(figure.peer, float | int)
    except (TypeError, AssertionError):
        raise BadData(f"{path.name}, {group}: {json.dumps(entry)[:120]} is no figure.") from None
    return figure


def write(path: Path, form: str, figures: Mapping[str, Sequence[Figure]]) -> None:
    """Put these groups in the place of the committed ones. Raises BadData."""
    forms = _forms(path)
    kept = {group: entries for group, entries in forms.get(form, {}).items() if group not in figures}
    new = {group: [_written(one) for one in entries] for group, entries in figures.items()}
    forms[form] = dict(sorted((kept | new).items()))
    path.write_text(json.dumps(forms, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _written(figure: Figure) -> dict[str, Any]:
    shown = {name: float(f"{x:.4g}") if isinstance(x, float) else x for name, x in asdict(figure).items()}
    return {name: x for name, x in shown.items() if x not in (None, "", False) or name == "value"}


def worse(last: Mapping[str, Sequence[Figure]], now: Mapping[str, Sequence[Figure]], most: float = FACTOR) -> list[str]:
    """A line for each figure that is above `most` times its committed value (`OF_CALLS` times, if it is counted), or
    that is missing.

    Figures that are new, and groups that were not run, are no matter. Figures with a peer are compared over it, so that
    another machine, or another load of this one, has the same.
    """
    lines = []
    for group, figures in now.items():
        present = {one.name: one for one in figures}
        for before in last.get(group, ()):
            if before.relative is None:
                continue
            after = present.get(before.name)
            if after is None:
                lines.append(f"{before.name}: {shown(before)} was committed, and it was not measured")
            elif after.relative is None:
                if not after.optional:
                    lines.append(f"{before.name}: {shown(before)} was committed, and now: {after.note}")
            elif after.relative > (OF_CALLS if before.unit == CALLS else most) * before.relative:
                factor = after.relative / before.relative
                lines.append(f"{before.name}: {shown(after)}, {factor:.2f} times the last committed {shown(before)}")
    return lines


def better(once: Sequence[Figure], twice: Sequence[Figure]) -> list[Figure]:
    """Each figure as the better of two measurements: what the code costs is in both, what ran beside it in one."""
    again = {one.name: one for one in twice if one.relative is not None}
    return [min((one, again.get(one.name, one)), key=_relative) for one in once]


def _relative(figure: Figure) -> float:
    return math.inf if figure.relative is None else figure.relative


def shown(figure: Figure) -> str:
    """Its value with its unit, and what it is of its peer's."""
    if figure.value is None:
        return "not run"
    text = f"{figure.value:.3g} {figure.unit}".strip()
    if figure.peer:
        return f"{text} ({figure.relative:.3g} × {figure.beside})"
    return f"{text} × {figure.beside}" if figure.beside else text
