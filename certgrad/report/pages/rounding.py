"""Proved bounds on rounding beside measured errors: lines for a terminal, and the page `reports/rounding.md`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certgrad.conform import Bounded

PARTS = ("forward", "vjp")
INTRODUCTION = """\
What is computed is within this bound of the exact value, for every input of a box: each entry of the arguments, and of
the cotangents, within 1/32 of an ordinary number. It is proved from the model below, by intervals and affine
arithmetic, and holds for every arithmetic that is as the model says. Beside it stands the largest error that was
measured at 25 points of the box. Both are in units in the last place of the largest value that the output has over the
box: *bound / measured*. An entry is empty where there is no bound; the reasons are listed."""


def _measured_text(measured: float) -> str:
    return "not" if measured != measured else f"{measured:.2g}"


def beyond(one: Bounded) -> list[str]:
    """Return texts on parts whose measured error is above the bound: the model does not hold, or the bound is wrong."""
    return [
        f"{part} in {dtype}: {p.measured:.3g} beyond {p.bound:.3g}"
        for dtype, parts in one.parts.items()
        for part, p in parts.items()
        if not p.holds
    ]


def as_text(found: Sequence[Bounded]) -> str:
    """Return a line for each op and dtype; below an op, lines on errors above their bounds."""
    lines = []
    for op_bounds in found:
        for dtype, parts in op_bounds.parts.items():
            shown = "  ".join(
                f"{part} {p.bound:.3g} ({_measured_text(p.measured)} measured)"
                if not p.reason
                else f"{part} not bounded: {p.reason}"
                for part, p in parts.items()
            )
            lines.append(f"{op_bounds.op} {op_bounds.shapes}  {dtype}: {shown}")
        if op_bounds.without:
            lines.append(f"{op_bounds.op}: not bounded: {op_bounds.without}")
        lines += [f"    {line}" for line in beyond(op_bounds)]
    return "\n".join(lines) + "\n"


def as_markdown(found: Sequence[Bounded], versions: str) -> str:
    """Return the page with the bounds for each op; `versions` names the version of JAX that was measured."""
    from certgrad.accel.rounding import ACCURACY, MODEL

    dtypes = list(dict.fromkeys(dtype for op_bounds in found for dtype in op_bounds.parts))
    bounded = {
        d: sum(all(not p.reason for p in op_bounds.parts[d].values()) for op_bounds in found if op_bounds.parts)
        for d in dtypes
    }
    counts = ", ".join(f"{n} in {d}" for d, n in bounded.items())
    lines = [
        "# Rounding",
        "",
        INTRODUCTION,
        "",
        f"Measured on a cpu, {versions}. Of {len(found)} ops forward and VJP are",
    ]
    lines += [f"bounded of {counts}.", "Made by `certgrad conform --bounds --output reports/rounding.md`."]
    lines += ["", "## What is assumed", "", *(f"- {line}" for line in MODEL)]
    table = ", ".join(f"{name} {units}" for name, units in ACCURACY.items())
    lines += [f"- `ACCURACY`, in units in the last place: {table}.", "", "## Bounds", ""]
    lines.append("| op | shapes | " + " | ".join(f"{d} {part}" for d in dtypes for part in PARTS) + " |")
    lines.append("|---|---|" + "---:|" * (len(dtypes) * len(PARTS)))
    for op_bounds in found:
        if any(not p.reason for parts in op_bounds.parts.values() for p in parts.values()):
            cells = [op_bounds.parts[d][part] for d in dtypes for part in PARTS]
            shown = ["" if p.reason else f"{p.bound:.3g} / {_measured_text(p.measured)}" for p in cells]
            lines.append(f"| `{op_bounds.op}` | {op_bounds.shapes} | {' | '.join(shown)} |")
    lines += ["", "## Not bounded", ""]
    for op_bounds in found:
        if op_bounds.without:
            lines.append(f"- `{op_bounds.op}`: {op_bounds.without}")
        why: dict[str, list[str]] = {}
        for dtype, parts in op_bounds.parts.items():
            for part, p in parts.items():
                if p.reason:
                    why.setdefault(p.reason, []).append(f"{dtype} {part}")
        lines += [f"- `{op_bounds.op}`, {', '.join(where)}: {reason}" for reason, where in why.items()]
    return "\n".join(lines) + "\n"
