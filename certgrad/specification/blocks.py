"""Blocks of axes that a reshape takes apart and puts together: the shortest runs whose sizes have equal products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate

from certgrad.language.tree import Add, Integer, Mul, Node

from .rule import ONE

Expanded = dict[frozenset[tuple[Node, int]], int]
"""A sum of products: by its factors with their powers, how often each is there."""
Blocks = list[tuple[list[int], list[int]]]


def blocks(old: Sequence[Node], new: Sequence[Node]) -> Blocks:
    """The axes of two shapes of equal size, block by block; those of size 1 in none of them.

    What is only known to have equal sizes by what is said of the names is one block, the last.
    """
    before = [(k, _expanded(n)) for k, n in enumerate(old) if n != ONE]
    after = [(k, _expanded(n)) for k, n in enumerate(new) if n != ONE]
    out: Blocks = []
    while before or after:
        p, q = _first_block_axis_counts(before, after) or (len(before), len(after))
        out.append(([k for k, _ in before[:p]], [k for k, _ in after[:q]]))
        before, after = before[p:], after[q:]
    return out


def _first_block_axis_counts(
    before: list[tuple[int, Expanded]], after: list[tuple[int, Expanded]]
) -> tuple[int, int] | None:
    """Return how many axes of each shape the first block has."""
    left, right = (list(accumulate((n for _, n in axes), _product)) for axes in (before, after))
    equal = ((p + 1, q + 1) for p, one in enumerate(left) for q, other in enumerate(right) if one == other)
    return min(equal, key=lambda found: (sum(found), found), default=None)


def _expanded(size: Node) -> Expanded:
    """A size as a sum of products. What is neither is a factor as it stands."""
    if isinstance(size, Integer):
        return {frozenset(): size.value} if size.value else {}
    if isinstance(size, Mul):
        return reduce(_product, map(_expanded, size.factors))
    if isinstance(size, Add):
        return reduce(_sum, map(_expanded, size.terms))
    return {frozenset({(size, 1)}): 1}


def _sum(one: Expanded, other: Expanded) -> Expanded:
    total = Counter(one)
    total.update(other)
    return {factors: c for factors, c in total.items() if c}


def _product(one: Expanded, other: Expanded) -> Expanded:
    out: Expanded = {}
    for f, c in one.items():
        for g, d in other.items():
            factors = frozenset((Counter(dict(f)) + Counter(dict(g))).items())
            out = _sum(out, {factors: c * d})
    return out
