"""Sizes that tell something: all different and above 1, no axis of length 1 or 0 that other sizes make longer.

A rule that takes one axis for another is right where both have the same size, and one that repeats where it should
tile is right of a single group. Which sizes a function takes is found by trying: it is traced at small ones, and at
multiples of what divides.
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
"""What each size is tried at, beside multiples of what it is."""
EQUAL = (4, 8, 16, 32, 64, 128)
"""Sizes that are tried for all names alike."""
CHOICES = 200
"""At most this many assignments of distinct small sizes are tried, where one size for all does not run."""
TRACES = 150
"""Traces of the function, at most; then no sizes are found."""
SECONDS = 20.0
"""A backstop, so high that it decides nothing but where one trace takes long."""


def distinct_sizes(names: Sequence[str], forward: Forward, of_code: Iterable[Sizes] = ()) -> Sizes | None:
    """Return distinct small sizes at which the function runs; None where none are found.

    An axis is short if it has length 1 or 0. Sizes are passed over at which more axes are short than at others.

    Args:
        names: the sizes that are wanted.
        forward: the function at sizes.
        of_code: sizes made of numbers of the code, which it may insist on.
    """
    until = budget.until(SECONDS)
    known: dict[tuple[int, ...], int | None] = {}

    def short(sizes: Sizes) -> int | None:
        """Return how many axes of the program are short; None where the function does not run, or time is up."""
        key = tuple(sizes[n] for n in names)
        if key not in known and len(known) < TRACES and time.thread_time() < until:
            program = forward(sizes)
            known[key] = None if program is None else _count_short_axes(program)
        return known.get(key)

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
    """Yield sizes to begin with: small distinct ones, equal ones, those of the code, then choices of small values."""
    yield {n: FIRST_SIZES[k % len(FIRST_SIZES)] for k, n in enumerate(names)}
    yield from (dict.fromkeys(names, v) for v in EQUAL)
    yield from of_code
    chosen = sorted(
        combinations(sorted({*VALUES, *FIRST_SIZES[: len(names)]}), min(len(names), len(FIRST_SIZES))), key=sum
    )
    orders = (order for values in chosen for order in permutations(values))
    yield from (dict(zip(names, order, strict=False)) for order in islice(orders, CHOICES) if len(order) == len(names))


def _better(sizes: Sizes, short: Callable[[Sizes], int | None]) -> Sizes:
    """Return the sizes with each in turn changed to the value, of those at which the function runs, that is best.

    Best is that which is no other size and not 1, then that which leaves the fewest axes short, then the least.
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
    """Return how many axes of a program's values have length 1 or 0."""
    shapes = [v.aval.shape for eqn in equations_of(program.jaxpr) for v in eqn.outvars if hasattr(v.aval, "shape")]
    return sum(d in (0, 1) for shape in shapes for d in shape)
