"""From sizes to names: which axes of a rule's arguments may have lengths of their own.

Axes whose lengths differ in some call get different names. For axes that agree in all calls, the rule is traced, for
its value and its derivative, at shapes where they differ: if it runs, they get different names, else one. An axis that
cannot have another length at all stays a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import gcd, isqrt

from certgrad.signatures.sizes import parse_size

Shapes = list[list[int]]
Axis = tuple[int, int]
"""The position of an array, and of one of its axes."""

MAX_TRIES = 240
MAX_APART = 8
"""At most this many axes that always agree are tried in every combination."""
MAX_SIZES = 2
"""At most this many sizes of calls are kept, to be tried where the proof with named sizes does not close."""
NEAR = 3
"""Lengths that differ by at most this much, and by the same in all calls, may depend on each other: n and n+1."""
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107)
_LETTERS = "n d m k h p q r s t u v w b c e f g i j l o a x y z".split()


class Lengths:
    """The lengths of axes as texts.

    Args:
        calls: the shapes of the same arrays in several calls; not empty.
        runs: a function that says whether the rule traces at given shapes.
        taken: names that are not available for sizes.
    """

    def __init__(self, calls: Sequence[Shapes], runs: Callable[[Shapes], bool], taken: Sequence[str] = ()) -> None:
        self.base = calls[0]
        self.axes: list[Axis] = [(a, k) for a, shape in enumerate(self.base) for k in range(len(shape))]
        self.values = {axis: tuple(c[axis[0]][axis[1]] for c in calls) for axis in self.axes}
        self._runs = runs
        self._taken = {*taken}
        self._tries = MAX_TRIES
        self._fresh = [p for p in _PRIMES if all(p not in v for v in self.values.values())] or [1009, 1013]
        agreeing: dict[tuple[int, ...], list[Axis]] = {}
        for axis in self.axes:
            agreeing.setdefault(self.values[axis], []).append(axis)
        self.together = list(agreeing.values())
        """The axes that agree in every call."""
        self.traces = runs(self.base)
        self.kept: dict[str, int] = {}
        """The lengths that `apart` leaves as numbers, by the axis in words, though the rule runs at others as well."""

    def apart(self) -> list[str]:
        """Return the shapes as texts, with as many different names as the rule runs with.

        First all axes are set apart at once; if that does not run, only the axes that agree in all calls are tried, in
        the smallest sets that can change their length together.
        """
        if not self.traces:
            return self.joined()
        one_each = [[axis] for axis in self.axes]
        if len(one_each) < len(self._fresh) and self._at({a: self._fresh[k] for k, a in enumerate(self.axes)}):
            return self._named([(g, "{}") for g in one_each])
        texts = self._named(self._settled([part for group in self.together for part in self._parts(group)]))
        return texts if self._at(self._lengths(texts)) else self.joined()

    def joined(self) -> list[str]:
        """Return the shapes as texts, with one name for axes that always agree; an axis that is always 1 stays 1."""
        return self._named([(g, "1" if {*self.values[g[0]]} == {1} else "{}") for g in self.together])

    def sizes(self, texts: Sequence[str]) -> list[dict[str, int]]:
        """Return the values of the names in shapes, for each distinct choice in the calls, `MAX_SIZES` at most."""
        dims = [text.split() for text in texts]
        distinct: list[dict[str, int]] = []
        for call in range(len(next(iter(self.values.values()), ()))):
            values: dict[str, int] = {}
            for a, k in self.axes:
                for name in parse_size(dims[a][k]).names:  # one name at most, linear: n, n+1, 8*n
                    at_0, at_1 = (parse_size(dims[a][k]).evaluate({name: v}) for v in (0, 1))
                    values[name] = (self.values[a, k][call] - at_0) // (at_1 - at_0)
            if values and values not in distinct:
                distinct.append(values)
        return distinct[:MAX_SIZES]

    def _parts(self, group: list[Axis]) -> Iterator[tuple[list[Axis], bool]]:
        """Yield a group split into the smallest sets of axes whose length can change, each with True.

        Axes that are left over, whose length cannot change by itself, come last, as one set with False.
        """
        rest = list(group)
        while rest:
            part_found = next((part for part in _with_first(rest) if self._changes(part)), None)
            yield part_found or rest, part_found is not None
            rest = [axis for axis in rest if axis not in part_found] if part_found else []

    def _settled(self, parts: list[tuple[list[Axis], bool]]) -> list[tuple[list[Axis], str]]:
        """Return each set of axes with the form of its length: `{}` (a name), `8*{}`, `{}+1` (of the set before), 3."""
        formed = [(part, "{}") for part, free in parts if free]
        stuck = [part for part, free in parts if not free]
        while stuck:
            part = stuck.pop(0)
            pair = next((p for candidate in stuck if (p := self._related(part, candidate))), None)
            if pair is not None:
                small, large, text = pair
                stuck.remove(large if large in stuck else small)
                formed += [(small, "{}"), (large, text + _SAME)]
                continue
            formed.append((part, self._multiple(part)))
        return formed

    def _related(self, one: list[Axis], other: list[Axis]) -> tuple[list[Axis], list[Axis], str] | None:
        """Return two sets of axes as (smaller, larger, form), if their lengths can change together; else None.

        The form is that of the larger length in the smaller: `{}+1`, or `2*{}`.
        """
        pairs = list(zip(self.values[one[0]], self.values[other[0]], strict=True))
        small, large = (one, other) if pairs[0][0] <= pairs[0][1] else (other, one)
        offsets = {abs(a - b) for a, b in pairs}
        ratios = {max(a, b) / min(a, b) for a, b in pairs if min(a, b)}
        p = self._fresh[0]  # a prime that no call has: lengths at it cannot agree by chance
        if (
            len(offsets) == 1
            and 0 < (k := offsets.pop()) <= NEAR
            and self._at({**_uniform_lengths(small, p), **_uniform_lengths(large, p + k)})
        ):
            return small, large, f"{{}}+{k}"
        if (
            len(ratios) == 1
            and (r := int(ratios.pop())) > 1
            and self._at({**_uniform_lengths(small, p), **_uniform_lengths(large, r * p)})
        ):
            return small, large, f"{r}*{{}}"
        return None

    def _multiple(self, part: list[Axis]) -> str:
        """Return the form of a length that does not change freely: `8*{}` if the rule runs at another multiple of 8.

        Else the number itself, or `{}` if calls differ, or if no tries are left to find out.
        """
        values = self.values[part[0]]
        common = gcd(*values)
        for factor in (f for f in (2, 4, 8, 16, 32, 64, 128, common) if common % f == 0 and f > 1):
            if self._changes(part, factor):
                return f"{factor}*{{}}"
        if len({*values}) > 1 or self._tries <= 0:
            return "{}"
        if values[0] > 1 and any(self._at(_uniform_lengths(part, length)) for length in _like(values[0])):
            array, axis = part[0]
            self.kept[f"axis {axis} of array {array + 1}"] = values[0]
        return str(values[0])

    def _changes(self, part: list[Axis], factor: int = 1) -> bool:
        return self._at(_uniform_lengths(part, factor * self._fresh[0]))

    def _lengths(self, texts: list[str]) -> dict[Axis, int]:
        """Return lengths for shapes with names: prime numbers, which differ wherever the names do."""
        names = dict.fromkeys(n for text in texts for dim in text.split() for n in parse_size(dim).names)
        sizes = dict(zip(names, self._fresh * (1 + len(names) // len(self._fresh)), strict=False))
        dims = [text.split() for text in texts]
        return {(a, k): parse_size(dims[a][k]).evaluate(sizes) for a, k in self.axes}

    def _at(self, lengths: dict[Axis, int]) -> bool:
        """Return whether the rule runs with these lengths, others as in the first call; False without tries left."""
        if self._tries <= 0:
            return False
        self._tries -= 1
        shapes = [[lengths.get((a, k), n) for k, n in enumerate(shape)] for a, shape in enumerate(self.base)]
        return self._runs(shapes)

    def _named(self, groups: Sequence[tuple[list[Axis], str]]) -> list[str]:
        """Return the shapes as texts, with a name for each group in the place of `{}` in its form."""
        letters = (n for n in [*_LETTERS, *(f"n{k}" for k in range(2, 1000))] if n not in self._taken)
        names: dict[int, str] = {}
        texts: dict[Axis, str] = {}
        place = {axis: (k, text) for k, (group, text) in enumerate(groups) for axis in group}
        for axis in self.axes:
            k, text = place[axis]
            name_group = k - 1 if text.endswith(_SAME) else k
            if "{}" in text and name_group not in names:
                names[name_group] = next(letters)
            texts[axis] = text.removesuffix(_SAME).format(names.get(name_group, ""))
        return [" ".join(texts[a, k] for k in range(len(shape))) for a, shape in enumerate(self.base)]


_SAME = "\0"
"""A mark at the end of a form whose name is that of the set before it."""


def _like(length: int) -> list[int]:
    """Return other lengths that code which takes no prime may accept: twice, four times, half, the next square."""
    return sorted({2 * length, 4 * length, (isqrt(length) + 1) ** 2, *({length // 2} if length % 2 == 0 else ())} - {1})


def _uniform_lengths(part: list[Axis], length: int) -> dict[Axis, int]:
    return dict.fromkeys(part, length)


def _with_first(axes: list[Axis]) -> Iterator[list[Axis]]:
    """Yield sets of axes that contain the first one, small sets first; of many axes only it alone, and all together."""
    first, rest = axes[0], axes[1:]
    if len(axes) > MAX_APART:
        yield from ([first], axes)
        return
    for count in range(len(rest) + 1):
        for others in combinations(rest, count):
            yield [first, *others]
