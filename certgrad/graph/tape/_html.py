"""A tape and its sweep as one HTML page that needs nothing else: the operations, the gradients, the sweep by steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from certgrad.graph.tape._views import GRADIENTS, TAPE, gradient_rows, summary, tape_rows, type_text

if TYPE_CHECKING:
    from certgrad.graph.tape._sweep import Sweep, SweepStep
    from certgrad.graph.tape._tape import Tape

_SHOWN = 6
"""Rows and columns of an array that are shown."""
_STYLE = """
:root { color-scheme: light dark; --line: #8885; --soft: #8882; --link: light-dark(#0b57d0, #8ab4f8); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } th { text-align: left; }
td, th { border-bottom: 1px solid var(--line); padding: .2rem .9rem .2rem 0; vertical-align: top; }
code, td { font: 13px/1.5 ui-monospace, monospace; } th { font-size: 13px; }
a { color: var(--link); text-decoration: none; }
tr:target, details:target { background: var(--soft); }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; } summary { cursor: pointer; }
.wide td { white-space: nowrap; }
.boxes { display: flex; flex-wrap: wrap; gap: .4rem 2.5rem; padding: .5rem 1.2rem; }
figure { margin: 0; } figcaption { font-size: 13px; opacity: .75; }
.array td { border: 0; padding: 0 .8rem 0 0; text-align: right; }
.note { opacity: .75; }
"""


def html(tape: Tape, sweep: Sweep | None = None, title: str = "A tape") -> str:
    """Return the page of a tape as HTML, with all text escaped; a sweep's gradients and steps follow the operations."""
    count = len(tape.records)
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="note">{count} record{"" if count == 1 else "s"}, in the order in which they ran.</p>',
        "<h2>Operations</h2>",
        _table(
            TAPE, [[_linked(cell) for cell in row] for row in tape_rows(tape)], anchors=[r[0] for r in tape_rows(tape)]
        ),
    ]
    if sweep is not None:
        seeds = ", ".join(f"{_linked(output.label)} ← {escape(summary(seed))}" for output, seed in sweep.seeds)
        parts += [
            "<h2>Gradients</h2>",
            _table(GRADIENTS, [[escape(cell) for cell in row] for row in gradient_rows(sweep)]),
            "<h2>The sweep, step by step</h2>",
            f"<p>Seeds: <code>{seeds}</code></p>",
            *(_step(k, step) for k, step in enumerate(sweep.steps, 1)),
        ]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _step(number: int, step: SweepStep) -> str:
    """Return one step of the sweep: the cotangents that arrived, and those given on with their sums so far."""
    label = f"%{step.record.id}"
    to = ", ".join(dict.fromkeys(c.to.label for c in step.contributions))
    arrived = [
        _box(f"arrived at {label}" + (f".{k}" if k else ""), ct) for k, ct in enumerate(step.arrived) if ct is not None
    ]
    handed_on = []
    for c in step.contributions:
        handed_on.append(_box(f"given to {c.to.label}", c.cotangent))
        if c.total is not c.cotangent:
            handed_on.append(_box(f"{c.to.label} so far", c.total))
    head = f"{number}. <code>{_linked(label)} {escape(step.record.name)}</code> gives to <code>{_linked(to)}</code>"
    return f"<details><summary>{head}</summary>{''.join(_row(boxes) for boxes in (arrived, handed_on))}</details>"


def _row(boxes: Sequence[str]) -> str:
    return f'<div class="boxes">{"".join(boxes)}</div>'


def _box(caption: str, value: Any) -> str:
    return f"<figure><figcaption>{_linked(caption)}</figcaption>{_array(value)}</figure>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], anchors: Sequence[str] = ()) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = []
    for k, row in enumerate(rows):
        anchor = f' id="{_anchor(anchors[k])}"' if anchors else ""
        body.append(f"<tr{anchor}>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>")
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(body)}</table></div>'


def _linked(text: str) -> str:
    """Return the text escaped for HTML, in which each `%3` links to that record."""
    return re.sub(r"%\d+(\.\d+)?", lambda m: f'<a href="#{_anchor(m[0])}">{m[0]}</a>', escape(text))


def _anchor(label: str) -> str:
    return "n" + label.removeprefix("%")


def _array(value: Any) -> str:
    """Return a table of an array's entries, the first few of each axis; more than two axes are flattened to rows."""
    array = np.asarray(value)
    rows = array.reshape(-1, array.shape[-1]) if array.ndim and array.size else array.reshape(1, -1)
    cut = rows.shape[0] > _SHOWN or rows.shape[1] > _SHOWN
    shown = rows[:_SHOWN, :_SHOWN]
    cells = [[f"<td>{float(x) + 0.0:.6g}</td>" for x in row] for row in shown.tolist()]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    note = (
        f'<p class="note">{escape(type_text(array))}, the first {shown.shape[0]} × {shown.shape[1]}</p>' if cut else ""
    )
    return f'<table class="array">{body}</table>{note}'
