"""At which numbers a rule is traced."""

from __future__ import annotations

from collections.abc import Sequence

from ..generality.decisions import Fixed

ORDINARY = ((2, 3, 4, 1), (3, 1, 2, 4))
"""Sizes of the dimensions where nothing says which: small, as the last look evaluates what is traced there."""
LEAST = 4
"""A smaller number of the code is rarely a size, and is looked at anyway."""
LARGE = 512
"""Of sizes above this, one dimension has one."""


def chosen(names: Sequence[str], questioned: Sequence[Fixed], numbers: Sequence[int]) -> list[dict[str, int]]:
    """Two assignments of sizes; one where nothing is asked about sizes and the code has no number that may be one.

    Each has a size that was `questioned` (which may be given in terms of others, as `128*n`), if there is one left, and
    as many numbers of the code as there are dimensions for them, so that these stand at others the second time.
    """
    numbers = [n for n in numbers if n >= LEAST]
    found: list[dict[str, int]] = []
    for k, row in enumerate(ORDINARY):
        sizes = {name: row[j % len(row)] for j, name in enumerate(names)}
        case: Fixed = questioned[k] if k < len(questioned) else {}
        sizes |= {name: max(1, size.evaluate(dict(sizes))) for name, size in case.items()}
        free = [name for name in names if name not in case]
        left = numbers[k * len(free) :] or (numbers if len(free) > 1 else [])
        large = any(n > LARGE for n in sizes.values())
        for j, number in enumerate(left[: len(free)]):
            if number <= LARGE or not large:
                sizes[free[(j + k) % len(free)]] = number
                large = large or number > LARGE
        found.append(sizes)
    return found if questioned or numbers else found[:1]
