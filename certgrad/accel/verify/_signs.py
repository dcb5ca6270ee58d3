"""What a certificate says of where values are, as statements that are evaluated."""

from __future__ import annotations

import re

from certgrad.language.relations import SIGNS
from certgrad.language.tree import ZERO, Array, Compare, Number, Statement

_RELATIONS = {sign: relation for relation, sign in SIGNS.items()}
_COMPARISON = re.compile(r"([>≥<≤≠=]) (−?[01])")
_INTERVAL = re.compile(r"in ([\[(])(−?[01]), (−?[01])([\])])")


def statements(name: str, relation: str) -> list[Statement] | None:
    """`in (0, 1] and ≠ 1` as comparisons of a name, all of which hold; None where it says something else."""
    out: list[Statement] = []
    for part in relation.split(" and "):
        if found := _COMPARISON.fullmatch(part):
            out.append(_compared(name, _RELATIONS[found[1]], found[2]))
        elif found := _INTERVAL.fullmatch(part):
            out.append(_compared(name, ">=" if found[1] == "[" else ">", found[2]))
            out.append(_compared(name, "<=" if found[4] == "]" else "<", found[3]))
        else:
            return None
    return out


def _compared(name: str, relation: str, number: str) -> Statement:
    right = ZERO if number == "0" else Number(number.replace("−", "-"))
    return Compare(relation, Array(name), right)  # type: ignore[arg-type]
