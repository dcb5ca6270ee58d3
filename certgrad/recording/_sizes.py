"""From sizes to names: which axes of a rule's arguments may have lengths of their own.

Axes that differ in any call get different names. Those that always agree are tried apart: the rule is traced, for its
value and its derivative, at shapes where they differ, and stay together where it does not run. What cannot have another
length at all stays a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import gcd, isqrt

from certgrad.signatures.sizes import parse_size

Shapes = list[list[int]]
Axis = tuple[int, int]
"""An array, and an axis of it."""

MAX_TRIES = 240
MAX_APART = 8
"""At most this many axes that always agree are tried in every combination."""
MAX_SIZES = 2
"""At most this many sizes of calls are tried where the proof with named sizes does not close."""
NEAR = 3
"""Lengths that differ by so little, always by the same, may belong together: n and n+1."""
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107)
_LETTERS = "n d m k h p q r s t u v w b c e f g i j l o a x y z".split()


class Lengths:
    """The lengths of axes as texts.

    Args:
        calls: the shapes of the same arrays in several calls; not empty.
        runs: whether the rule traces at shapes.
        taken: names that mean something else.
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
        """Lengths that stay numbers in `apart`, by the axis, though the rule runs at others as well."""

    def apart(self) -> list[str]:
        """Return the shapes, with as many different names as the rule runs with."""
        if not self.traces:
            return self.joined()
        one_each = [[axis] for axis in self.axes]
        if len(one_each) < len(self._fresh) and self._at({a: self._fresh[k] for k, a in enumerate(self.axes)}):
            return self._named([(g, "{}") for g in one_each])
        found = self._named(self._settled([part for group in self.together for part in self._parts(group)]))
        return found if self._at(self._lengths(found)) else self.joined()

    def joined(self) -> list[str]:
        """Return the shapes, with one name for the axes that always agree; a length of 1 stays one."""
        return self._named([(g, "1" if {*self.values[g[0]]} == {1} else "{}") for g in self.together])

    def sizes(self, texts: Sequence[str]) -> list[dict[str, int]]:
        """Return the distinct values of the names in shapes; of a few calls alone."""
        dims = [text.split() for text in texts]
        out: list[dict[str, int]] = []
        for call in range(len(next(iter(self.values.values()), ()))):
            found: dict[str, int] = {}
            for a, k in self.axes:
                for name in parse_size(dims[a][k]).names:  # one at most: n, n+1, 8*n
                    at_0, at_1 = (parse_size(dims[a][k]).evaluate({name: v}) for v in (0, 1))
                    found[name] = (self.values[a, k][call] - at_0) // (at_1 - at_0)
            if found and found not in out:
                out.append(found)
        return out[:MAX_SIZES]

    def _parts(self, group: list[Axis]) -> Iterator[tuple[list[Axis], bool]]:
        """Yield the smallest sets of axes that can change their length together, and whether they can alone."""
        left = list(group)
        while left:
            found = next((part for part in _with_first(left) if self._changes(part)), None)
            yield found or left, found is not None
            left = [axis for axis in left if axis not in found] if found else []

    def _settled(self, parts: list[tuple[list[Axis], bool]]) -> list[tuple[list[Axis], str]]:
        """Each set of axes with how its length is written: a name, a multiple of one, near another's, or a number."""
        out = [(part, "{}") for part, free in parts if free]
        stuck = [part for part, free in parts if not free]
        while stuck:
            part = stuck.pop(0)
            pair = next((p for other in stuck if (p := self._related(part, other))), None)
            if pair is not None:
                small, large, text = pair
                stuck.remove(large if large in stuck else small)
                out += [(small, "{}"), (large, text + _SAME)]
                continue
            out.append((part, self._multiple(part)))
        return out

    def _related(self, one: list[Axis], other: list[Axis]) -> tuple[list[Axis], list[Axis], str] | None:
        """Return two sets of axes whose lengths change by the same amount, or in proportion."""
        pairs = list(zip(self.values[one[0]], self.values[other[0]], strict=True))
        small, large = (one, other) if pairs[0][0] <= pairs[0][1] else (other, one)
        offsets = {abs(a - b) for a, b in pairs}
        ratios = {max(a, b) / min(a, b) for a, b in pairs if min(a, b)}
        p = self._fresh[0]
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
        """`8*n` where the rule runs at multiples of 8 alone; else the number itself, or a name if calls differ, or if
        too few tries are left to tell.
        """
        values = self.values[part[0]]
        common = gcd(*values)
        for factor in (f for f in (2, 4, 8, 16, 32, 64, 128, common) if common % f == 0 and f > 1):
            if self._changes(part, factor):
                return f"{factor}*{{}}"
        if len({*values}) > 1 or self._tries <= 0:
            return "{}"
        if values[0] > 1 and any(self._at(_uniform_lengths(part, other)) for other in _like(values[0])):
            array, axis = part[0]
            self.kept[f"axis {axis} of array {array + 1}"] = values[0]
        return str(values[0])

    def _changes(self, part: list[Axis], factor: int = 1) -> bool:
        return self._at(_uniform_lengths(part, factor * self._fresh[0]))

    def _lengths(self, texts: list[str]) -> dict[Axis, int]:
        """Lengths that differ wherever the names do."""
        names = dict.fromkeys(n for text in texts for dim in text.split() for n in parse_size(dim).names)
        sizes = dict(zip(names, self._fresh * (1 + len(names) // len(self._fresh)), strict=False))
        dims = [text.split() for text in texts]
        return {(a, k): parse_size(dims[a][k]).evaluate(sizes) for a, k in self.axes}

    def _at(self, lengths: dict[Axis, int]) -> bool:
        if self._tries <= 0:
            return False
        self._tries -= 1
        shapes = [[lengths.get((a, k), n) for k, n in enumerate(shape)] for a, shape in enumerate(self.base)]
        return self._runs(shapes)

    def _named(self, groups: Sequence[tuple[list[Axis], str]]) -> list[str]:
        letters = (n for n in [*_LETTERS, *(f"n{k}" for k in range(2, 1000))] if n not in self._taken)
        names: dict[int, str] = {}
        texts: dict[Axis, str] = {}
        place = {axis: (k, text) for k, (group, text) in enumerate(groups) for axis in group}
        for axis in self.axes:
            k, text = place[axis]
            own = k - 1 if text.endswith(_SAME) else k
            if "{}" in text and own not in names:
                names[own] = next(letters)
            texts[axis] = text.removesuffix(_SAME).format(names.get(own, ""))
        return [" ".join(texts[a, k] for k in range(len(shape))) for a, shape in enumerate(self.base)]


_SAME = "\0"
"""Marks a length that is written with the name of the set before it."""


def _like(length: int) -> list[int]:
    """Lengths that code which takes no prime may take as well: twice or half of one, the next square."""
    return sorted({2 * length, 4 * length, (isqrt(length) + 1) ** 2, *({length // 2} if length % 2 == 0 else ())} - {1})


def _uniform_lengths(part: list[Axis], length: int) -> dict[Axis, int]:
    return dict.fromkeys(part, length)


def _with_first(axes: list[Axis]) -> Iterator[list[Axis]]:
    """Sets of axes with the first one in it, small ones first; of many axes, only each alone and all together."""
    first, rest = axes[0], axes[1:]
    if len(axes) > MAX_APART:
        yield from ([first], axes)
        return
    for count in range(len(rest) + 1):
        for others in combinations(rest, count):
            yield [first, *others]
