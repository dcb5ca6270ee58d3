"""Labelled lines about a rule or a witness: a name, then its value, wrapped and aligned."""

from collections.abc import Sequence
from decimal import Decimal

from certgrad.obligations.certificate import Ball, Witness
from certgrad.report.wording import figures, fill

_DIGITS = 24


def witness_rows(witness: Witness) -> list[tuple[str, str]]:
    """Return a witness as labelled values: sizes, inputs, tangents and seeds, both sides and their gap."""
    assigned: list[tuple[str, object]] = [*witness.dims.items(), *witness.statics.items()]
    tangents = [(f"d{name}", value) for name, value in witness.tangents.items()]
    seeds = [("seed" if len(witness.seeds) == 1 else f"seed{k}", v) for k, v in enumerate(witness.seeds.values())]
    values = [*witness.inputs.items(), *tangents, *seeds]
    lines = [", ".join(f"{name} = {value}" for name, value in assigned)] if assigned else []
    lines += [f"{name} = {array(value)}" for name, value in values]
    rows = [("witness" if position == 0 else "", line) for position, line in enumerate(lines)]
    rows += [("at", witness.where), ("left side", ball(witness.lhs)), ("right side", ball(witness.rhs))]
    return [*rows, ("gap", _gap(witness))]


def _gap(witness: Witness) -> str:
    """Return the distance of the two sides, with its ratio to the larger one, or a note that one side is 0."""
    if not witness.relative_gap:
        return "one side is no number"
    left, right = Decimal(witness.lhs.midpoint), Decimal(witness.rhs.midpoint)
    ratio = f"{witness.relative_gap} of the larger side" if left and right else "one side is 0"
    return f"{figures(left - right if left > right else right - left)} ({ratio})"


def array(value: list | str) -> str:
    """Return a nested list of rationals as text: `[[1/2, 3], [0, 1]]`."""
    return value if isinstance(value, str) else "[" + ", ".join(array(entry) for entry in value) + "]"


def ball(value: Ball) -> str:
    """Return a ball as `midpoint ± radius`; a long midpoint is cut, and ends with `…` then."""
    mantissa, mark, exponent = value.midpoint.partition("e")
    if len(mantissa) > _DIGITS:
        mantissa = mantissa[:_DIGITS] + "…"
    return f"{mantissa}{mark}{exponent} ± {value.radius}"


def fields(rows: Sequence[tuple[str, str]], width: int | None = None, indent: str = "  ") -> list[str]:
    """Return labelled lines, aligned and wrapped at `width`; rows without a value are left out."""
    rows = [(label, value) for label, value in rows if value]
    column = max((len(label) for label, _ in rows), default=0)
    lines = []
    for label, value in rows:
        first = f"{indent}{label:<{column}}  "
        for line in value.splitlines():
            lines.append(fill(line, width, first, " " * len(first)))
            first = " " * len(first)
    return lines
