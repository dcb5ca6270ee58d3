"""Sizes at which mistakes show: all different and above 1, with as few axes of length 1 or 0 as possible.

A rule that takes one axis for another is right where both have the same size, and a rule that repeats where it should
tile is right for a single group. The sizes that a function accepts are found by trial: it is traced at small sizes and
at multiples of sizes at which it runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, permutations

from certgrad.obligations.terms.budget import budget
from certgrad.obligations.tracing.jax_internals import Program, equations_of

Sizes = Mapping[str, int]
Forward = Callable[[Sizes], Program | None]
"""The function traced at sizes; None where it does not run, or where an array is too large to be looked at."""

FIRST_SIZES = (2, 3, 5, 4, 7, 6, 9, 8, 11, 10)
"""Distinct sizes that are tried first, one for each name."""
VALUES = (2, 3, 4, 5, 6, 8)
"""Values that are tried for each size, beside multiples of its present value."""
EQUAL = (4, 8, 16, 32, 64, 128)
"""Sizes that are tried for all names alike."""
CHOICES = 200
"""At most this many assignments of distinct small sizes are tried, where one size for all does not run."""
TRACES = 150
"""Traces of the function, at most; then no sizes are found."""
SECONDS = 20.0
"""Seconds of the search, a backstop that only ends it where single traces take long."""


def distinct_sizes(names: Sequence[str], forward: Forward, of_code: Iterable[Sizes] = ()) -> Sizes | None:
    """Return distinct small sizes at which the function runs; None if none are found.

    Each start is taken as it is, or improved size by size until all differ. Starts are passed over at which more axes
    are short (of length 1 or 0) than at 2 or 4 times the sizes: mistakes vanish on short axes.

    Args:
        names: the sizes that are wanted.
        forward: traces the function at sizes.
        of_code: sizes made of numbers of the code, as the function may run at those alone.
    """
    until = budget.until(SECONDS)
    short_counts: dict[tuple[int, ...], int | None] = {}

    def short(sizes: Sizes) -> int | None:
        """Return how many axes in the traced program are short; None if the function does not run or time is up."""
        key = tuple(sizes[n] for n in names)
        if key not in short_counts and len(short_counts) < TRACES and time.thread_time() < until:
            program = forward(sizes)
            short_counts[key] = None if program is None else _count_short_axes(program)
        return short_counts.get(key)

    for start in _starts(names, of_code):
        short_at_start = short(start)
        if short_at_start is None:
            continue
        if _differ(start):
            at_multiples = (short({n: k * v for n, v in start.items()}) for k in (2, 4))
            if all(count is None or count >= short_at_start for count in at_multiples):
                return start
        better = _better(start, short)
        if _differ(better):
            return better
    return None


def _starts(names: Sequence[str], of_code: Iterable[Sizes]) -> Iterator[Sizes]:
    """Yield sizes to start from: small distinct ones, equal ones, those of the code, then orders of small values."""
    yield {n: FIRST_SIZES[k % len(FIRST_SIZES)] for k, n in enumerate(names)}
    yield from (dict.fromkeys(names, v) for v in EQUAL)
    yield from of_code
    chosen = sorted(
        combinations(sorted({*VALUES, *FIRST_SIZES[: len(names)]}), min(len(names), len(FIRST_SIZES))), key=sum
    )
    orders = (order for values in chosen for order in permutations(values))
    yield from (dict(zip(names, order, strict=False)) for order in islice(orders, CHOICES) if len(order) == len(names))


def _better(sizes: Sizes, short: Callable[[Sizes], int | None]) -> Sizes:
    """Return the sizes after changing each in turn to the best value at which the function runs.

    The best value is not 1 and not the value of another size; among these, the one that leaves the fewest axes short,
    then the smallest.
    """
    better = dict(sizes)
    for name, size in sizes.items():
        others = [v for n, v in better.items() if n != name]
        tried = {v: short({**better, name: v}) for v in sorted({*VALUES, size, 2 * size, 3 * size})}
        ran = [(v in others or v == 1, axes, v) for v, axes in tried.items() if axes is not None]
        better[name] = min(ran)[2] if ran else size
    return better


def _differ(sizes: Sizes) -> bool:
    """Return whether all sizes are different and above 1."""
    return len({*sizes.values()}) == len(sizes) and min(sizes.values(), default=2) > 1


def _count_short_axes(program: Program) -> int:
    """Return how many axes of all values that a program computes have length 1 or 0."""
    shapes = [v.aval.shape for eqn in equations_of(program.jaxpr) for v in eqn.outvars if hasattr(v.aval, "shape")]
    return sum(d in (0, 1) for shape in shapes for d in shape)
