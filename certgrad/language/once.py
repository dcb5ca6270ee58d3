"""Statements for a reader: one for all ranks, none that always holds, none that the others imply.

A rule that is proved rank by rank has a hypothesis at each: Σ_j x[i,j]² > 0, Σ_k x[i,j,k]² > 0, … They are one
statement about x[…,j], where … stands for the axes of a group, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from certgrad.language import tree as t
from certgrad.language.canonical import canonical, letters
from certgrad.language.implication import implies
from certgrad.language.implied import unsaid

ANY_AXES = "…"
"""In place of an index: any number of them."""
MOST = 16
"""Above this number of statements, only what one of them implies is left out, not what several imply together."""


def merge_rank_variants(statements: Sequence[t.Statement]) -> dict[int, t.Statement]:
    """Return the statements to show by place: one for all ranks takes the place of that with the fewest axes."""
    groups = _groups(statements)
    repeated = {k for members, _ in groups for k in members[1:]}
    merged = {members[0]: at_any_rank for members, at_any_rank in groups}
    return {k: merged.get(k, s) for k, s in enumerate(statements) if k not in repeated}


def needless(statements: Sequence[t.Statement]) -> set[int]:
    """Return the places of statements that always hold, or that the others imply.

    Of some that imply each other, or if all always hold, the first is kept.
    """
    out = unsaid(statements)
    if len(statements) > MOST:
        return out
    for k in reversed(range(len(statements))):
        other_statements = [s for j, s in enumerate(statements) if j != k and j not in out]
        if k not in out and other_statements and implies(other_statements, statements[k]):
            out.add(k)
    return out


def _groups(statements: Sequence[t.Statement]) -> list[tuple[list[int], t.Statement]]:
    """Return groups of statements that differ in rank alone: their places by rank, and the statement for any rank."""
    places = {canonical(s): k for k, s in reversed([*enumerate(statements)])}
    groups: list[tuple[list[int], t.Statement]] = []
    grouped: set[int] = set()
    for k in sorted(range(len(statements)), key=lambda k: len(_quantified_ranges(statements[k]))):
        if k in grouped:
            continue
        for r in _quantified_ranges(statements[k]):
            members, wider = [k], _with_one_more(statements[k], r)
            while wider is not None and (place := places.get(canonical(wider))) is not None and place not in grouped:
                members.append(place)
                wider = _with_one_more(wider, r)
            if len(members) > 1:
                groups.append((members, _with_any(statements[k], r)))
                grouped |= {*members}
                break
    return groups


def _quantified_ranges(statement: t.Statement) -> tuple[t.Range, ...]:
    return statement.over if isinstance(statement, t.ForAll) else ()


def _with_one_more(statement: t.Statement, doubled: t.Range) -> t.Statement | None:
    """Return the statement with one axis more: each array that the variable `doubled` indexes has another axis behind
    that one.

    None where the variable stands elsewhere than in indices, or the axis elsewhere than as its range.
    """
    place = doubled.size
    if not isinstance(statement, t.ForAll) or not isinstance(place, t.Axis):
        return None
    new_variable = next(
        letters({n.variable for n in t.walk(statement) if isinstance(n, t.Range)} | t.arrays(statement))
    )
    positions = _positions(statement, doubled.variable)
    if positions is None or positions.get(place.array) != place.position:
        return None

    def widened(node: Any) -> Any:
        if isinstance(node, t.Entry) and node.name in positions:
            at = positions[node.name] + 1
            return t.Entry(node.name, (*node.index[:at], t.Index(new_variable), *node.index[at:]))
        if isinstance(node, t.Axis) and node.position > positions.get(node.array, node.position):
            return t.Axis(node.array, node.position + 1)
        return t.mapped(node, widened)

    ranges = tuple(r if r == doubled else msgspec.structs.replace(r, size=widened(r.size)) for r in statement.over)
    new_range = t.Range(new_variable, t.Axis(place.array, place.position + 1))
    at = ranges.index(doubled) + 1
    return t.ForAll((*ranges[:at], new_range, *ranges[at:]), widened(statement.holds))


def _positions(statement: t.ForAll, variable: str) -> dict[str, int] | None:
    """Return, by array, the position of the axis that the variable indexes.

    None where it is at different positions, stands elsewhere, or the statement uses the size of that axis.
    """
    positions: dict[str, int] = {}
    not_indexed: set[str] = set()
    index, sizes = t.Index(variable), []

    def is_consistent(node: Any) -> bool:
        """Return whether the variable is at one position per array in a node; note positions and sizes."""
        if node == index:
            return False
        if isinstance(node, t.Entry):
            at = [k for k, ix in enumerate(node.index) if ix == index]
            if not at:
                not_indexed.add(node.name)
            elif len(at) > 1 or positions.setdefault(node.name, at[0]) != at[0]:
                return False
            return all(is_consistent(ix) for ix in node.index if ix != index)
        if isinstance(node, t.Axis):
            sizes.append(node)
        return all(map(is_consistent, t.children(node)))

    if not is_consistent(statement.holds) or not positions or not_indexed & {*positions}:
        return None
    return None if any(positions.get(a.array) == a.position for a in sizes) else positions


def _with_any(statement: t.Statement, some: t.Range) -> t.Statement:
    """Return the statement with `…`, any number of axes, in place of one: text for readers, and no valid statement."""

    def named(node: Any) -> Any:
        return t.Index(ANY_AXES) if node == t.Index(some.variable) else t.mapped(node, named)

    assert isinstance(statement, t.ForAll)
    rest = tuple(r for r in statement.over if r != some)
    return t.ForAll(rest, named(statement.holds)) if rest else named(statement.holds)
