"""Blocks of axes of a reshape: the shortest runs of axes whose sizes have the same product before and after.

A reshape from (a, b, c) to (a·b, c) has the blocks {a, b} → {a·b} and {c} → {c}, and acts on each block alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate

from certgrad.language.tree import Add, Integer, Mul, Node

from .rule import ONE

Expanded = dict[frozenset[tuple[Node, int]], int]
"""A sum of products of sizes: for each product, given by its factors with their powers, its coefficient."""
Blocks = list[tuple[list[int], list[int]]]
"""The blocks in order: the axes before the reshape, and the axes after it."""


def blocks(old: Sequence[Node], new: Sequence[Node]) -> Blocks:
    """Return the axes of two shapes with as many entries, block by block; axes of size 1 are in no block.

    Where no shortest run has equal products for all values of the names, the axes that are left are one block, the
    last: their products are equal by what is known of the names, as of n = 2·m.
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
    """Return how many axes of each shape the first block has; None if no products of first axes are equal."""
    left, right = (list(accumulate((n for _, n in axes), _product)) for axes in (before, after))
    equal = ((p + 1, q + 1) for p, size in enumerate(left) for q, new_size in enumerate(right) if size == new_size)
    return min(equal, key=lambda counts: (sum(counts), counts), default=None)


def _expanded(size: Node) -> Expanded:
    """Return a size as a sum of products; an expression that is neither, as a name or ⌊n/2⌋, is a factor."""
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
