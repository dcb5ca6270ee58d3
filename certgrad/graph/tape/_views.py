"""A tape, its gradients and its sweep step by step, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from certgrad.graph.tape._value import Value

if TYPE_CHECKING:
    from certgrad.graph.tape._sweep import Sweep, SweepStep
    from certgrad.graph.tape._tape import Record, Tape

TAPE = ("node", "operation", "type", "value", "vjp", "line")
SWEEP = ("step", "operation", "cotangent", "to", "adds", "so far")
GRADIENTS = ("input", "type", "gradient", "norm")
_FEW = 4
Row = tuple[str, ...]


def tape_rows(tape: Tape) -> list[Row]:
    """Return a row for each output of each record."""
    return [row for record in tape.records for row in _record(record)]


def _record(record: Record) -> list[Row]:
    call = f"input {record.name}" if record.is_input else f"{record.name}({record.arguments})"
    rows: list[Row] = []
    for k, y in enumerate(record.outputs):
        label = f"%{record.id}" + (f".{k}" if k else "")
        rows.append((label, "" if k else call, type_text(y), summary(y), "" if k else vjp_text(record), record.source))
    return rows or [(f"%{record.id}", call, "", "", vjp_text(record), record.source)]


def vjp_text(record: Record) -> str:
    """Return the values to which a record's VJP closure gives cotangents."""
    from certgrad.graph.tape._value import is_real

    if record.vjp is None:
        return "" if record.is_input else "none"
    return ", ".join(p.label for p in record.parents if is_real(p.value))


def sweep_rows(sweep: Sweep) -> list[Row]:
    """Return a row for each seed, then one for each contribution."""
    rows: list[Row] = [
        ("seed", "", summary(seed), output.label, summary(seed), summary(seed)) for output, seed in sweep.seeds
    ]
    for k, step in enumerate(sweep.steps, 1):
        rows += _step(k, step)
    return rows


def _step(number: int, step: SweepStep) -> list[Row]:
    """Return a row for each contribution of one step; its number and cotangents stand in the first."""
    call = f"%{step.record.id} {step.record.name}"
    arrived = "; ".join(summary(ct) for ct in step.arrived if ct is not None)
    rows: list[Row] = []
    for k, c in enumerate(step.contributions):
        first = (str(number), call, arrived) if k == 0 else ("", "", "")
        rows.append((*first, c.to.label, summary(c.cotangent), summary(c.total)))
    return rows


def gradient_rows(sweep: Sweep) -> list[Row]:
    """Return a row for each real input."""
    return [
        (name, type_text(g), summary(g), f"{float(np.linalg.norm(np.asarray(g, np.float64).ravel())):.6g}")
        for name, g in sweep.gradients.items()
    ]


def text(tape: Tape, width: int | None = None) -> str:
    """Return the tape as a table: each operation with its value, its arguments and where its cotangents go."""
    return _grid(TAPE, tape_rows(tape), width)


def sweep_text(sweep: Sweep, width: int | None = None) -> str:
    """Return the sweep as a table: the cotangents that reach each operation, and those it adds to its parents."""
    return _grid(SWEEP, sweep_rows(sweep), width)


def gradients_text(sweep: Sweep, width: int | None = None) -> str:
    """Return the gradients after a sweep as a table."""
    return _grid(GRADIENTS, gradient_rows(sweep), width)


def type_text(value: Any) -> str:
    """Return an array's dtype and shape: `float32[4, 3]`."""
    return f"{value.dtype}[{', '.join(map(str, value.shape))}]" if value.shape else str(value.dtype)


def summary(value: Any) -> str:
    """Return an array's entries as text where they are few, else their range and mean."""
    array = np.asarray(value.value if isinstance(value, Value) else value)
    if array.size <= _FEW:
        flat = ", ".join(_number(x) for x in array.ravel())
        return flat if array.ndim == 0 else f"[{flat}]"
    if array.dtype == bool:
        return f"{int(array.sum())} of {array.size} true"
    numbers = array.astype(np.float64)
    return f"{_number(numbers.min())} … {_number(numbers.max())}, mean {_number(numbers.mean())}"


def _number(x: Any) -> str:
    return str(bool(x)) if isinstance(x, bool | np.bool_) else f"{float(x) + 0.0:.4g}"


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> str:
    """Return a table, coloured and for a terminal of this `width`; for None, as plain text of any width."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in header:
        table.add_column(name, no_wrap=name in ("node", "step", "to"), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    buffer = StringIO()
    console = Console(file=buffer, width=width or 10_000, force_terminal=width is not None, legacy_windows=False)
    console.print(table)
    return "".join(line.rstrip() + "\n" for line in buffer.getvalue().splitlines())
