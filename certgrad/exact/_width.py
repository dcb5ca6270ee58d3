"""The degrees of a number in the weights of one size: of its numerator, and of the factors of its denominator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import ceil, prod
from typing import Any

from certgrad.language import tree as t
from certgrad.language.substitute import substitute, variables

from ._index import (
    Gap,
    NoTheoremError,
    Part,
    TogetherError,
    before,
    beyond,
    is_multiple,
    laid_out,
    length_at,
    lies_along,
    line_of,
    terms_of,
)

Key = tuple[Any, tuple[t.Node, ...]]
"""What a fraction is divided by: a name, and the indices at which it is."""


MOST_SIZES = 4_000
"""More choices of sizes are not looked at."""
FLAGS = ("chosen", "picked", "endless", "signed", "made")


class FirstError(Exception):
    """The number of indices is bounded where another size is fixed alone."""


@dataclass(frozen=True)
class Width:
    """The size of a number as a rational function of the weights.

    It has the degree of the numerator, and the factors of the denominator, each with its multiplicity and degree.
    """

    top: Fraction = Fraction(0)
    low: Mapping[Key, tuple[Fraction, Fraction]] = field(default_factory=dict)
    chosen: bool = False
    """It rests on how numbers compare, at its own indices."""
    picked: bool = False
    """It rests on how numbers compare, at indices that are summed over."""
    logs: Mapping[Key, tuple[Fraction | None, Width]] = field(default_factory=dict)
    """The logarithms of sums that are summands of it, and how often, if known: its exponential is their product."""
    kind: int = 0
    """0: it is made of numbers alone; 1: of sizes as well; 2: of data."""
    endless: bool = False
    """It rests on ±∞."""
    signed: bool = False
    """It rests on a free sign, and may be 0 where that falls out in a way that no small size knows."""
    made: bool = False
    """It rests on a function, a root or an extremum of what speaks of other indices."""
    nested: Fraction = Fraction(0)
    """So many further indices tell apart the arguments of the functions that it rests on, those inside of them too;"""
    exponents: int = 0
    """and so many functions of exponents are inside of one another."""

    @property
    def below(self) -> Fraction:
        return sum((count * degree for count, degree in self.low.values()), Fraction(0))

    @property
    def plain(self) -> bool:
        """Whether the number depends on no indices but its own."""
        return not (self.top or self.low or self.logs or self.made)

    def inside(self, nested: Fraction, exponents: int) -> Width:
        """A new number that is a function of it."""
        return replace(NOTHING._with([self]), made=not self.plain, nested=nested, exponents=exponents)

    def _with(self, others: Iterable[Width], **fields: Any) -> Width:
        every = (self, *others)
        flags: dict[str, Any] = {name: any(getattr(w, name) for w in every) for name in FLAGS}
        most = {name: max(getattr(w, name) for w in every) for name in ("kind", "nested", "exponents")}
        return Width(**most, **flags, **fields)

    def __add__(self, other: Width) -> Width:
        low, logs = dict(self.low), dict(self.logs)
        for key, (count, degree) in other.low.items():
            low[key] = max(count, low.get(key, (Fraction(0), degree))[0]), degree
        for key, (times, one) in other.logs.items():
            before = logs.get(key, (Fraction(0), one))[0]
            logs[key] = None if before is None or times is None else before + times, one
        common = self._with([other], low=low, logs=logs)
        return replace(common, top=common.below + max(self.top - self.below, other.top - other.below))

    def __mul__(self, other: Width) -> Width:
        low = dict(self.low)
        for key, (count, degree) in other.low.items():
            low[key] = count + low.get(key, (Fraction(0), degree))[0], degree
        logs = {key: (None, one) for key, (_, one) in (*self.logs.items(), *other.logs.items())}
        return self._with([other], top=self.top + other.top, low=low, logs=logs)

    def power(self, e: Fraction, key: Key) -> Width:
        """Return the width of a power; `key` names the number as a factor of denominators."""
        n = abs(e)
        if e >= 0:
            low = {k: (n * count, degree) for k, (count, degree) in self.low.items()}
            return self._with([], top=n * self.top, low=low)
        return self._with([], top=n * self.below, low={key: (n, self.top)} if self.top else {})

    def scaled(self, c: Fraction) -> Width:
        """Return the width times a number."""
        return replace(self, logs={key: (n and c * n, one) for key, (n, one) in self.logs.items()} if c else {})

    def at(self, values: Mapping[str, t.Node]) -> Width:
        """Return the width with other indices in the place of its own."""

        def moved(key: Key) -> Key:
            return key[0], tuple(substitute(x, values) for x in key[1])

        logs = {moved(key): (count, one.at(values)) for key, (count, one) in self.logs.items()}
        return replace(self, low={moved(key): value for key, value in self.low.items()}, logs=logs)


NOTHING = Width()
Dual = tuple[Width, Width | None]
"""A number's and its tangent's; None where that is 0."""


@dataclass
class SizeQuestions:
    """What the theorem needs to know of one size, collected from all programs of a rule."""

    line: frozenset[str]
    sizes: frozenset[str]
    """All sizes."""
    fixed: Mapping[str, int]
    """Numbers to which other sizes are held."""
    free: bool = False
    """How numbers compare is a free number."""
    nested: Fraction = Fraction(0)
    """So many indices tell the arguments of functions apart, with those of the functions inside of them;"""
    depth: int = 0
    """and so many functions of exponents are inside of one another."""
    exponents: Width = NOTHING
    """All exponents, added."""
    ordered: bool = False
    """Indices of the size are compared by their order;"""
    span: int = 0
    """places along its axes by numbers below this one, with one another and with the ends; 0 where they are not;"""
    mirrored: bool = False
    """and with places that are counted from the other end;"""
    together: int = 0
    """so many are together in a condition under which something is defined;"""
    parts: set[tuple[Part, ...]] = field(default_factory=set)
    """of several sizes, what is compared."""
    extrema: set[t.Node] = field(default_factory=set)
    """The lengths of the axes along which extrema are taken;"""
    places: dict[str, Sequence[t.Node]] = field(default_factory=dict)
    """The inputs whose entries are places along its axes, with their shapes;"""
    numbers: set[str] = field(default_factory=set)
    """those whose entries are what they are;"""
    spans: dict[str, int] = field(default_factory=dict)
    """and those that are compared with numbers, of less than so much."""
    logarithms: set[Any] = field(default_factory=set)
    """Of sums, each with its program."""

    def argument(self, value: Width, times: int = 1, labels: int = 0) -> Width:
        """Note an argument of a function, which has to be told apart from others; return the width of the function's
        value.
        """
        if value.picked and (value.top or value.low):
            raise NoTheoremError("an argument of a function is a sum of what is chosen by comparison")
        found = value.inside(times * (value.top + value.below) + labels + value.nested, value.exponents)
        self.nested, self.depth = max(self.nested, found.nested), max(self.depth, found.exponents)
        return found

    def exponent(self, value: Width) -> Width:
        """Note an exponent, which has to be told apart from sums of others; return the width of its exponential."""
        self.exponents += value
        found = value.inside(value.nested, value.exponents + (not value.plain))
        self.nested, self.depth = max(self.nested, found.nested), max(self.depth, found.exponents)
        return found

    def logarithm(self, name: Any) -> None:
        """A logarithm of a sum, of a program: sums of such are compared by the products of their arguments."""
        self.logarithms.add(name)
        if len({program for program, _ in self.logarithms}) < len(self.logarithms):
            raise NoTheoremError("a program takes several logarithms of sums")

    def places_compared(self, one: Gap, shapes: Mapping[str, Sequence[t.Node]]) -> None:
        """Places are compared, or found to be equal or not."""
        if not one.sizes <= self.line and one.sizes & self.line:
            raise TogetherError(one.sizes | self.line)
        if not one.sizes & self.line:
            if one.sizes or not one.alone or len(shapes) < len(one.data):
                self.numbers |= one.data
            else:
                self.spans |= {name: max(one.span, self.spans.get(name, 0)) for name in one.data}
            return
        if len(shapes) < len(one.data):
            raise NoTheoremError("there is arithmetic on indices")
        self.places |= shapes
        self.mirrored |= one.mirrored
        self.ordered |= one.orders
        self.span = max(self.span, one.span, len(self.line) > 1)
        self.parts.add(one.parts)

    def length(self, size: t.Node) -> int:
        """The most that an axis has, of another size. Raises FirstError where that is not known."""
        if isinstance(size, t.Integer):
            return size.value
        if left := line_of(size) - self.fixed.keys():
            raise FirstError(*left)
        return length_at(size, self.fixed)

    def enough(self, most: Fraction, lengths: Iterable[t.Node]) -> list[dict[str, int]]:
        """Return sizes such that a claim that holds at these holds at all: the N of theorem 2 of docs/exact.md, or all
        sizes up to that of theorem 3. Raises NoTheoremError where neither applies.

        `most` is D there, the largest degree of a claim in the weights: a monomial names at most so many indices.
        `lengths` are those of all axes.
        """
        named = max(ceil(most), self.together)
        own = [n for n in lengths if lies_along(n, self.line)]
        if len(self.line) > 1 and any(is_multiple(part) for n in own for part in terms_of(n)):
            raise NoTheoremError("there is arithmetic on sizes")
        # Along an axis of n + c, or of several sizes, places are compared with numbers up to |c|: theorem 3.
        if len(self.line) > 1 or any(map(beyond, own)):
            self.span = max(self.span, *(1 + beyond(n) for n in own))
            self.parts |= {((1, "", line_of(n)),) for n in own}
        # a: further indices that keep arguments of functions different which are so at some size.
        apart = ceil(self.nested + self.depth * self.exponents.top)
        along = any(lies_along(n, self.line) for shape in self.places.values() for n in shape)
        if self.places and (self.mirrored or len(self.line) > 1 or (along and apart)):
            raise NoTheoremError("an integer gives a place along an axis of which more is compared")
        if self.numbers & self.places.keys():
            raise NoTheoremError("an integer is an index and a number")
        data = [prod(named if lies_along(n, self.line) else self.length(n) for n in s) for s in self.places.values()]
        points = named + sum(data)  # P: D, and the entries of integer inputs that are places
        self.span = max([self.span, *(self.spans.get(name, 0) for name in self.places)])
        if self.span:
            return self._all_up_to(points, apart)
        (size,) = self.line  # theorem 2: N is P + a, or P + (P + 1)·a where indices are compared by their order
        return [{size: max(1, points + (points + 1 if self.ordered else 1) * apart)}]

    def _all_up_to(self, points: int, apart: int) -> list[dict[str, int]]:
        """All sizes with which no two points that are beside one another need to be further apart than is told."""
        sides, sizes = 1 + self.mirrored, sorted(self.line)
        behind = dict.fromkeys(sizes, "") if len(sizes) == 1 else laid_out(self.parts, sizes)
        if behind is None or (self.mirrored and len(sizes) > 1):
            raise NoTheoremError("there is arithmetic on indices of several sizes")
        most = (sides * points + len(sizes)) * (sides * apart + 1) * self.span
        if most ** len(sizes) > MOST_SIZES:
            raise NoTheoremError("it would have to be evaluated at too many sizes")
        found = (dict(zip(sizes, one, strict=True)) for one in product(range(1, most + 1), repeat=len(sizes)))
        return [one for one in found if all(one[s] + sum(one[b] for b in before(s, behind)) <= most for s in sizes)]


def sum_widths(parts: Sequence[Width]) -> Width | None:
    return sum(parts[1:], parts[0]) if parts else None


def degree_in(x: t.Node, line: Collection[str]) -> int:
    """Of a polynomial in sizes, in some of them."""
    found = [degree_in(part, line) for part in t.children(x)]
    return (
        int(isinstance(x, t.Size) and x.name in line)
        if not found
        else max(found)
        if isinstance(x, t.Add)
        else sum(found)
    )


def sum_of_duals(parts: Sequence[Dual]) -> Dual:
    total = sum_widths([value for value, _ in parts])
    assert total is not None
    return total, sum_widths([slope for _, slope in parts if slope is not None])


def with_each_part(one: Dual, change: Callable[[Width], Width]) -> Dual:
    value, slope = one
    return change(value), None if slope is None else change(slope)


def without_index(key: Key, variable: str) -> tuple[t.Node, ...]:
    if any(variable in variables(x) and not isinstance(x, t.Index) for x in key[1]):
        raise NoTheoremError("there is arithmetic on indices")
    return tuple(x for x in key[1] if x != t.Index(variable))
