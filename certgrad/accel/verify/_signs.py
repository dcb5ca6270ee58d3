"""What a certificate says of where values are, as formulas that are evaluated."""

from __future__ import annotations

import re

_WORDS = {">": ">", "≥": ">=", "<": "<", "≤": "<=", "≠": "!=", "=": "=="}
_COMPARISON = re.compile(r"([>≥<≤≠=]) (−?[01])")
_INTERVAL = re.compile(r"in ([\[(])(−?[01]), (−?[01])([\])])")


def formulas(name: str, relation: str) -> list[str] | None:
    """`in (0, 1] and ≠ 1` as comparisons of a name, all of which hold; None where it says something else."""
    out = []
    for part in relation.split(" and "):
        if found := _COMPARISON.fullmatch(part):
            out.append(f"{name} {_WORDS[found[1]]} {_number(found[2])}")
        elif found := _INTERVAL.fullmatch(part):
            out.append(f"{name} {'>=' if found[1] == '[' else '>'} {_number(found[2])}")
            out.append(f"{name} {'<=' if found[4] == ']' else '<'} {_number(found[3])}")
        else:
            return None
    return out


def _number(text: str) -> str:
    return text.replace("−", "-")
