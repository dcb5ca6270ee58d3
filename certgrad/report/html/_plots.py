"""Plots in the coordinates of the page: curves, clipped to a range that shows their shape, ticks and marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from certgrad.exhibits.data import Plot

WIDTH, HEIGHT = 460, 264
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 34
TICKS = 5
_CUT = 0.04
"""This share of the values at each end does not set the range, as values near a pole are beyond any range."""


@dataclass(frozen=True)
class Line:
    """A curve: its class in the style sheet, and the pieces of its path."""

    name: str
    style: str
    path: str


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Drawn:
    """A plot, ready for SVG."""

    id: str
    title: str
    note: str
    description: str
    across: str
    lines: list[Line]
    xs: list[Tick]
    ys: list[Tick]
    marks: list[Tick]
    dots: list[tuple[float, float, str]]
    zero: float | None
    """The coordinate of y = 0; None if that is not in range."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def drawn(plot: Plot, anchor: str) -> Drawn:
    """Return the plot in the coordinates of its picture; `anchor` is its id, which is unique on the page."""
    points = [p for c in plot.curves for p in c.points if p is not None]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    in_view = [d.y for d in plot.dots] + [0.0] * (plot.kind == "witness")  # the difference should be 0, so 0 is shown
    bottom, top = _range([y for _, y in points], in_view)
    high = high if high > low else low + 1

    def x(value: float) -> float:
        return round(LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        share = (value - bottom) / (top - bottom)
        return round(HEIGHT - BOTTOM - min(max(share, -2.0), 3.0) * (HEIGHT - TOP - BOTTOM), 1)

    lines = [
        Line(c.name, f"c{k}", _path([None if p is None else (x(p[0]), y(p[1])) for p in c.points]))
        for k, c in enumerate(plot.curves)
    ]
    sentences = [f"{' and '.join(c.name for c in plot.curves)}, for {plot.across} from {low:g} to {high:g}."]
    sentences += [f"{d.name} {d.y:g} at {plot.across} = {d.x:g}." for d in plot.dots]
    return Drawn(
        anchor,
        plot.title,
        plot.note,
        " ".join(sentences),
        plot.across,
        lines,
        [Tick(x(v), _label(v)) for v in _ticks(low, high)],
        [Tick(y(v), _label(v)) for v in _ticks(bottom, top)],
        [Tick(x(v), text) for v, text in plot.marks],
        [(x(d.x), y(d.y), f"{d.name} {d.y:g}") for d in plot.dots],
        y(0.0) if bottom < 0 < top else None,
    )


def _range(values: Sequence[float], kept: Sequence[float]) -> tuple[float, float]:
    """Return a range, with some room, that contains most of `values` and all of `kept`.

    The outermost values at both ends are left out only if they are far from the others.
    """
    ordered = sorted(values)
    cut = int(len(ordered) * _CUT)
    low, high = ordered[cut], ordered[-1 - cut]
    full = ordered[-1] - ordered[0]
    if full <= 3 * (high - low):  # nothing is far out
        low, high = ordered[0], ordered[-1]
    low, high = min([low, *kept]), max([high, *kept])
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 1, high + 1
    room = 0.08 * (high - low)
    return low - room, high + room


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    """Return an SVG path through the points, broken at each None."""
    out, pen = "", False
    for p in points:
        if p is None:
            pen = False
            continue
        out += f"{'L' if pen else 'M'}{p[0]:g} {p[1]:g}"
        pen = True
    return out


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers inside a range: multiples of 1, 2 or 5 times a power of ten."""
    raw = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]


def _label(value: float) -> str:
    return f"{value:.6g}".replace("-", "−") if abs(value) > 1e-12 else "0"
