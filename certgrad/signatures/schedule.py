"""Concrete shapes at which a case is evaluated: distinct sizes, all 1, all equal, scalars, then random ones.

Evaluation by balls goes through these shapes; exact evaluation goes through all small sizes as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, permutations, product, takewhile
from math import prod
from random import Random

from certgrad._subject import Subject
from certgrad.signatures.cases import Case, Shape

MAX_ENTRIES = 64
"""The most entries of an input of a drawn shape."""
ENOUGH = 4
"""If fewer shapes are small enough, shapes with sizes of 1 and 2 are tried as well."""
_TRIES = 40
GRID = 9
"""All sizes up to a number are used, for the largest number with which these are at most this many shapes."""


def shapes(op: Subject, case: Case, rng: Random, extra: int) -> Iterator[Shape]:
    """Yield the shapes of a case, each once: first those that often show errors, then `extra` random ones."""
    draws = _broadcast(case, rng, extra) if op.broadcast else _declared(case, rng, extra)
    seen: set[object] = set()
    yield from _fitting(case, draws, seen)
    if not op.broadcast:
        small = (_small(case, rng) for _ in range(_TRIES))
        yield from _fitting(case, takewhile(lambda _: len(seen) < ENOUGH, small), seen)


def smallest_first(case: Case, *drawn: Iterable[Shape]) -> list[Shape]:
    """Return the drawn shapes, each once, by their number of entries."""
    return sorted(_fitting(case, chain(*drawn), set()), key=entries)


def entries(shape: Shape) -> int:
    """Return the number of entries of the inputs."""
    return sum(map(prod, shape.inputs))


def grid(op: Subject, case: Case, largest: int = 4) -> Iterator[Shape]:
    """Yield the shapes with all sizes up to a number, at most `largest`, with which there are at most `GRID` shapes."""
    if not op.broadcast:
        count = len(case.names) + len(case.signature.stars)
        most = next((n for n in range(largest, 1, -1) if n**count <= GRID), 1)
        yield from (_of_lengths(case, lengths) for lengths in product(range(1, most + 1), repeat=count))


def uneven(op: Subject, case: Case) -> Iterator[Shape]:
    """Yield shapes with a size of 4, another of 2 and the rest 1, in all orders; all 2; 2 and 3 in turn; one 8, else 1.

    The sizes of 8 are for code that divides sizes.
    """
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
    """Return the shape of a case at these lengths: of the named sizes, then of the one axis of each star group."""
    names, stars = case.names, case.signature.stars
    groups: dict[str, tuple[int, ...]] = dict(zip(stars, zip(lengths[len(names) :], strict=True), strict=True))
    return _shape(case, dict(zip(names, lengths, strict=False)), groups)


def of_sizes(case: Case, sizes: Mapping[str, int], broadcast: bool) -> Shape:
    """Return the shape of a case at sizes by name, where each star group has one axis; sizes that are missing are 1.

    With `broadcast`, each argument has the sizes as its axes.
    """
    if broadcast:
        return Shape({}, {}, tuple(tuple(sizes.values()) for _ in case.signature.inputs))
    groups: dict[str, tuple[int, ...]] = {star: (sizes.get(star, 1),) for star in case.signature.stars}
    return _shape(case, {name: sizes.get(name, 1) for name in case.names}, groups)


def _fitting(case: Case, drawn: Iterable[Shape], seen: set[object]) -> Iterator[Shape]:
    """Yield each drawn shape that is neither empty nor large and not in `seen`, and add it there."""
    for shape in drawn:
        sizes = [n for x in shape.inputs for n in x]
        key = str((shape.sizes, shape.inputs)) if case.names != case.signature.names else shape.inputs
        if key not in seen and min(sizes, default=1) > 0 and max(map(prod, shape.inputs), default=0) <= MAX_ENTRIES:
            seen.add(key)
            yield shape


def all_ones_shape(case: Case) -> Shape:
    """Return the shape at which all sizes are 1. Arguments can be empty there, such as one of n − 1 entries."""
    return _shape(case, dict.fromkeys(case.names, 1), dict.fromkeys(case.signature.stars, (1,)))


def _declared(case: Case, rng: Random, extra: int) -> Iterator[Shape]:
    """Yield shapes by the declared signature: distinct sizes, all 1, star groups without axes, equal sizes, random."""
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
    """Return a random shape of sizes 1 and 2, with one axis for each star group."""
    sizes = {name: rng.randint(1, 2) for name in case.names}
    return _shape(case, sizes, {star: (rng.randint(1, 2),) for star in case.signature.stars})


def _shape(case: Case, sizes: dict[str, int], groups: dict[str, tuple[int, ...]]) -> Shape:
    return Shape(sizes, groups, tuple(tuple(spec.shape(sizes, groups)) for spec in case.signature.inputs))


def _broadcast(case: Case, rng: Random, extra: int) -> Iterator[Shape]:
    """Yield shapes that broadcast against each other: equal ones, axes of size 1, absent axes, scalars, random ones."""
    count = len(case.signature.inputs)
    full = (2, 3)

    def forms(*given: Sequence[int]) -> Shape:
        """Return the shape whose arguments have the given shapes in turn."""
        return Shape({}, {}, tuple(tuple(given[k % len(given)]) for k in range(count)))

    yield forms(full)
    yield forms((1,))
    yield forms(())
    yield forms((2, 1), (1, 3))
    yield forms((3,), full)
    yield forms(full, ())
    for _ in range(extra):
        yield forms(*(tuple(rng.choice((n, 1)) for n in full[rng.randint(0, 2) :]) for _ in range(count)))
