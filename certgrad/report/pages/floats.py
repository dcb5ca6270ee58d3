"""Deviations of ops in floats: a table for a terminal, and the page `reports/floats.md`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certgrad.conform import Conformity

PARTS = ("forward", "jvp", "vjp")
LIMIT = 4
ILL = 64.0
"""Arguments are named as cancelling if half a unit in them moves the exact value by more units than this."""

INTRODUCTION = """\
Measured, and no part of any proof. The arguments are numbers of the dtype, drawn inside the op's domain. The exact
value is that of the same program in ball arithmetic at these arguments; that the rules are the derivative is what is
proved. An entry counts its distance in units in the last place of the exact value, or of the largest exact entry of
its array divided by 8 where it is smaller than that: a sum that cancels has no more digits. Each number is the worst
entry of two draws."""
STATED = """\
A product or a quotient of arguments may leave the numbers of a dtype on the way to a result that is one of them: then
infinities meet, and the result is NaN. These ops state up to which magnitude of the entries of their arguments, or from
which on, that does not happen. They are measured at both ends, and NaN within them, in any dtype, is a defect that no
reason excuses. The others are measured up to max^(15/16), max being the largest number of the dtype."""
CONDITIONING = """\
Where the arguments, moved by half a unit, move the exact value by *c* units, no program can be expected to do much
better: that is the reason given up to 4·(1 + *c*) units. The others are written down in `certgrad/conform/`."""


def as_text(found: Sequence[Conformity]) -> str:
    """Return a line for each op, device and dtype, with losses at hard arguments; then deviations above the limit."""
    lines = []
    for conformity in found:
        for dtype, parts in conformity.parts.items():
            shown = "  ".join(f"{part} {m.ulps:.2f}" for part, m in parts.items())
            lines.append(f"{conformity.op}  {dtype}, {conformity.device}: {shown}")
            lines += [f"    {line}" for line in _hard(conformity, dtype)]
        lines += [
            f"{conformity.op}  {where}, {conformity.device}: not measured: {why}"
            for where, why in conformity.without.items()
        ]
    unexplained = [
        f"{conformity.op}, {conformity.device}: {problem}" for conformity in found for problem in conformity.problems()
    ]
    above = _above(found)
    if above:
        lines += ["", f"above {LIMIT} units in float32:", *(f"  {line.replace('`', '')}" for line in above)]
    stated = [f"  {conformity.op}: {_magnitudes_text(conformity)}" for conformity in found if conformity.magnitudes]
    lines += ["", "no NaN is stated for magnitudes", *stated] if stated else []
    lines += ["", *(["without a reason:", *(f"  {line}" for line in unexplained)] if unexplained else [_clear()])]
    return "\n".join(lines) + "\n"


def _clear() -> str:
    return (
        f"In float32 none is above {LIMIT} units at ordinary arguments without a reason; in no dtype is any NaN inside "
        "its domain, at the magnitudes that it states."
    )


def _magnitudes_text(one: Conformity) -> str:
    return ", ".join(f"{text} in {dtype}" for dtype, text in one.magnitudes.items())


def as_markdown(found: Sequence[Conformity], versions: str) -> str:
    """Return the page with the measurements of each op on each device; `versions` names the version of JAX."""
    devices = list(dict.fromkeys(conformity.device for conformity in found))
    dtypes = list(dict.fromkeys(dtype for conformity in found for dtype in conformity.parts))
    lines = ["# Floats", "", INTRODUCTION, "", f"Measured on {', '.join(devices)}, {versions}."]
    lines += ["Made by `certgrad conform --output reports/floats.md`.", "", "## Above the limit, and why", ""]
    lines += [CONDITIONING, ""]
    lines += _above(found) or [_clear()]
    if unexplained := [
        f"- `{conformity.op}`, {conformity.device}: {problem}"
        for conformity in found
        for problem in conformity.problems()
    ]:
        lines += ["", "## Without a reason", "", *unexplained]
    else:
        lines += ["", _clear()]
    if stated := {conformity.op: conformity.magnitudes for conformity in found if conformity.magnitudes}:
        lines += [
            "",
            "## Stated magnitudes",
            "",
            STATED,
            "",
            f"| op | {' | '.join(dtypes)} |",
            "|---|" + "---|" * len(dtypes),
        ]
        lines += [f"| `{op}` | {' | '.join(texts.get(d, '') for d in dtypes)} |" for op, texts in stated.items()]
    for device in devices:
        rows = [conformity for conformity in found if conformity.device == device]
        titles = [f"{dtype} {part}" for dtype in dtypes for part in PARTS]
        lines += ["", f"## Ordinary arguments, {device}", "", f"| op | {' | '.join(titles)} |"]
        lines.append("|---|" + "---:|" * len(titles))
        for conformity in rows:
            cells = [conformity.parts.get(dtype, {}).get(part) for dtype in dtypes for part in PARTS]
            lines.append(f"| `{conformity.op}` | {' | '.join('' if m is None else f'{m.ulps:.2f}' for m in cells)} |")
        for dtype in dtypes:
            named = [(conformity.op, line) for conformity in rows for line in _hard(conformity, dtype)]
            if named:
                lines += ["", f"## Hard arguments, {dtype}, {device}", ""]
                lines += [f"- `{op}`: {line}" for op, line in named]
    missing = [
        f"- `{conformity.op}`, {where}, {conformity.device}: {why}"
        for conformity in found
        for where, why in conformity.without.items()
    ]
    return "\n".join([*lines, *(["", "## Not measured", "", *missing] if missing else [])]) + "\n"


def _above(found: Sequence[Conformity]) -> list[str]:
    """Return the deviations above the limit in float32 at ordinary arguments, each with its reason."""
    lines = []
    for conformity in found:
        beyond = conformity.beyond()
        if not beyond:
            continue
        far = ", ".join(f"{part} {m.ulps:.3g}" for part, m in beyond.items())
        if all(m.explained for m in beyond.values()):
            moved = max(m.conditioned for m in beyond.values())
            why = f"conditioning: half a unit in the arguments moves it by {moved:.3g}"
        else:
            why = conformity.reason or "**no reason**"
        lines.append(f"- `{conformity.op}`: {far}; {why}")
    return lines


def _hard(one: Conformity, dtype: str) -> list[str]:
    """Return lines on the hard arguments at which an op in a dtype is NaN, overflows, loses digits or cancels."""
    from certgrad.conform import explained

    points = one.hard.get(dtype, [])
    lines = []
    for part in PARTS:
        nan = [f"{h.what}{'' if h.stated else ', beyond what it states'}" for h in points if part in h.nan]
        over = [h.what for h in points if part in h.lost and part not in h.nan]
        lines += [f"{part} is NaN with {'; '.join(nan)}"] if nan else []
        lines += [f"{part} overflows with {'; '.join(over)}"] if over else []
    far = [f"{h.what} ({h.ulps:.3g})" for h in points if not explained(h.ulps, h.conditioned)]
    cancels = [f"{h.what} ({h.conditioned:.3g})" for h in points if h.conditioned > ILL]
    lines += [f"loses digits, in units: {'; '.join(far)}"] if far else []
    return lines + ([f"is ill-conditioned, in units a half unit: {'; '.join(cancels)}"] if cancels else [])
