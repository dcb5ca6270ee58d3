"""Concrete shapes at which a case is evaluated: distinct sizes, all 1, all equal, scalars, then random ones.

Evaluation by balls goes through these; exact evaluation through all that are small as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, permutations, product, takewhile
from math import prod
from random import Random

from certgrad._subject import Subject
from certgrad.signatures.cases import Case, Shape

MAX_ENTRIES = 64
"""The largest input that is drawn."""
ENOUGH = 4
"""Where fewer shapes are that small, sizes of 1 and 2 are tried as well."""
_TRIES = 40
GRID = 9
"""All sizes up to a number are looked at, as long as these are at most so many."""


def shapes(op: Subject, case: Case, rng: Random, extra: int) -> Iterator[Shape]:
    """The shapes of a case, the awkward ones first, each once; `extra` random ones follow."""
    draws = _broadcast(case, rng, extra) if op.broadcast else _declared(case, rng, extra)
    seen: set[object] = set()
    yield from _fitting(case, draws, seen)
    if not op.broadcast:
        small = (_small(case, rng) for _ in range(_TRIES))
        yield from _fitting(case, takewhile(lambda _: len(seen) < ENOUGH, small), seen)


def smallest_first(case: Case, *drawn: Iterable[Shape]) -> list[Shape]:
    """Return the shapes, each once, in the order of their number of entries."""
    return sorted(_fitting(case, chain(*drawn), set()), key=entries)


def entries(shape: Shape) -> int:
    """Return the number of entries of the inputs."""
    return sum(map(prod, shape.inputs))


def grid(op: Subject, case: Case, largest: int = 4) -> Iterator[Shape]:
    """All sizes up to a number, this one at most."""
    if not op.broadcast:
        count = len(case.names) + len(case.signature.stars)
        most = next((n for n in range(largest, 1, -1) if n**count <= GRID), 1)
        yield from (_of_lengths(case, lengths) for lengths in product(range(1, most + 1), repeat=count))


def uneven(op: Subject, case: Case) -> Iterator[Shape]:
    """Yield sizes of which one is larger than the others, or that differ; for code that divides sizes, up to 8."""
    if op.broadcast:
        return
    count = len(case.names) + len(case.signature.stars)
    for i, j in permutations(range(count), 2):
        yield _of_lengths(case, [4 if k == i else 2 if k == j else 1 for k in range(count)])
    for lengths in ([2] * count, [2 + k % 2 for k in range(count)], [3 - k % 2 for k in range(count)]):
        yield _of_lengths(case, lengths)
    for i in range(count):
        yield _of_lengths(case, [8 if k == i else 1 for k in range(count)])


def _of_lengths(case: Case, lengths: Sequence[int]) -> Shape:
    """Return the shape of a case at these lengths: first those of the named sizes, then one for each star group, which
    gets one axis.
    """
    names, stars = case.names, case.signature.stars
    groups: dict[str, tuple[int, ...]] = dict(zip(stars, zip(lengths[len(names) :], strict=True), strict=True))
    return _shape(case, dict(zip(names, lengths, strict=False)), groups)


def of_sizes(case: Case, sizes: Mapping[str, int], broadcast: bool) -> Shape:
    """The sizes by name, one axis of each group; of arguments that broadcast, all have one axis."""
    if broadcast:
        return Shape({}, {}, tuple(tuple(sizes.values()) for _ in case.signature.inputs))
    groups: dict[str, tuple[int, ...]] = {star: (sizes.get(star, 1),) for star in case.signature.stars}
    return _shape(case, {name: sizes.get(name, 1) for name in case.names}, groups)


def _fitting(case: Case, drawn: Iterable[Shape], seen: set[object]) -> Iterator[Shape]:
    """Yield each shape once that is neither empty nor large."""
    for shape in drawn:
        sizes = [n for x in shape.inputs for n in x]
        key = str((shape.sizes, shape.inputs)) if case.names != case.signature.names else shape.inputs
        if key not in seen and min(sizes, default=1) > 0 and max(map(prod, shape.inputs), default=0) <= MAX_ENTRIES:
            seen.add(key)
            yield shape


def all_ones_shape(case: Case) -> Shape:
    """All sizes are 1. Arguments can be empty there."""
    return _shape(case, dict.fromkeys(case.names, 1), dict.fromkeys(case.signature.stars, (1,)))


def _declared(case: Case, rng: Random, extra: int) -> Iterator[Shape]:
    signature = case.signature
    names, stars = case.names, signature.stars
    distinct = {name: 2 + k % 3 for k, name in enumerate(names)}
    yield _shape(case, distinct, dict.fromkeys(stars, (3,) if names else (3, 2)))
    if not names and len(stars) > 2:  # the shape above has too many entries
        yield _shape(case, {}, {star: (3 if k == 1 else 2,) for k, star in enumerate(stars)})
        yield _shape(case, {}, {star: (1 + k % 2,) for k, star in enumerate(stars)})
    yield all_ones_shape(case)
    yield _shape(case, distinct, dict.fromkeys(stars, ()))
    if names:
        groups: tuple[tuple[int, ...], ...] = ((2, 2), (2,), (1,))
        ranks = {star: groups[min(k, 2)] for k, star in enumerate(stars)}
        yield _shape(case, dict.fromkeys(names, 2 if len(names) > 1 else 3), ranks)
    for _ in range(extra if names else extra - 1):
        sizes = {name: rng.randint(1, 4) for name in names}
        yield _shape(case, sizes, {star: tuple(rng.randint(1, 3) for _ in range(rng.randint(0, 2))) for star in stars})


def _small(case: Case, rng: Random) -> Shape:
    sizes = {name: rng.randint(1, 2) for name in case.names}
    return _shape(case, sizes, {star: (rng.randint(1, 2),) for star in case.signature.stars})


def _shape(case: Case, sizes: dict[str, int], groups: dict[str, tuple[int, ...]]) -> Shape:
    return Shape(sizes, groups, tuple(tuple(spec.shape(sizes, groups)) for spec in case.signature.inputs))


def _broadcast(case: Case, rng: Random, extra: int) -> Iterator[Shape]:
    """Arguments that broadcast against each other: equal shapes, axes of size 1, absent axes, scalars."""
    count = len(case.signature.inputs)
    full = (2, 3)

    def forms(*given: Sequence[int]) -> Shape:
        return Shape({}, {}, tuple(tuple(given[k % len(given)]) for k in range(count)))

    yield forms(full)
    yield forms((1,))
    yield forms(())
    yield forms((2, 1), (1, 3))
    yield forms((3,), full)
    yield forms(full, ())
    for _ in range(extra):
        yield forms(*(tuple(rng.choice((n, 1)) for n in full[rng.randint(0, 2) :]) for _ in range(count)))
