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
"""A factor of a denominator: its name, and the indices at which it is taken."""


MOST_SIZES = 4_000
"""The most choices of sizes that are evaluated."""
FLAGS = ("chosen", "picked", "endless", "signed", "made")


class FirstError(Exception):
    """The bound on a size needs another size to be bounded first."""


@dataclass(frozen=True)
class Width:
    """The degrees of a number as a rational function of the weights.

    `top` is the degree of the numerator; `low` has the factors of the denominator, each with multiplicity and degree.
    """

    top: Fraction = Fraction(0)
    low: Mapping[Key, tuple[Fraction, Fraction]] = field(default_factory=dict)
    chosen: bool = False
    """Whether it depends on how numbers compare, at its own indices."""
    picked: bool = False
    """Whether it depends on how numbers compare, at indices that are summed over."""
    logs: Mapping[Key, tuple[Fraction | None, Width]] = field(default_factory=dict)
    """The logarithms of sums that are its summands, with coefficients, if known: its exponential is their product."""
    kind: int = 0
    """0: it is made of numbers alone; 1: of sizes as well; 2: of data."""
    endless: bool = False
    """Whether it depends on ±∞."""
    signed: bool = False
    """Whether it depends on a free sign, and may be 0 for an outcome that occurs at no small size."""
    made: bool = False
    """Whether it depends on a function, a root or an extremum of a number with other indices."""
    nested: Fraction = Fraction(0)
    """How many further indices tell the arguments of the functions in it apart, those of inner functions included."""
    exponents: int = 0
    """How many functions of exponents are inside of one another in it."""

    @property
    def below(self) -> Fraction:
        """The degree of the denominator."""
        return sum((count * degree for count, degree in self.low.values()), Fraction(0))

    @property
    def plain(self) -> bool:
        """Whether the number depends on no indices but its own."""
        return not (self.top or self.low or self.logs or self.made)

    def inside(self, nested: Fraction, exponents: int) -> Width:
        """Return the width of a new number, without weights, that is a function of this one."""
        return replace(NOTHING._with([self]), made=not self.plain, nested=nested, exponents=exponents)

    def _with(self, others: Iterable[Width], **fields: Any) -> Width:
        """Return a width with these fields, and each flag and count the largest of this width and the others."""
        every = (self, *others)
        flags: dict[str, Any] = {name: any(getattr(w, name) for w in every) for name in FLAGS}
        most = {name: max(getattr(w, name) for w in every) for name in ("kind", "nested", "exponents")}
        return Width(**most, **flags, **fields)

    def __add__(self, other: Width) -> Width:
        """Return the width of a sum, over the common denominator."""
        low, logs = dict(self.low), dict(self.logs)
        for key, (count, degree) in other.low.items():
            low[key] = max(count, low.get(key, (Fraction(0), degree))[0]), degree
        for key, (times, argument) in other.logs.items():
            earlier_times = logs.get(key, (Fraction(0), argument))[0]
            logs[key] = None if earlier_times is None or times is None else earlier_times + times, argument
        common = self._with([other], low=low, logs=logs)
        return replace(common, top=common.below + max(self.top - self.below, other.top - other.below))

    def __mul__(self, other: Width) -> Width:
        """Return the width of a product; how often a logarithm is a summand is not known any more."""
        low = dict(self.low)
        for key, (count, degree) in other.low.items():
            low[key] = count + low.get(key, (Fraction(0), degree))[0], degree
        logs = {key: (None, argument) for key, (_, argument) in (*self.logs.items(), *other.logs.items())}
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
        return replace(
            self, logs={key: (n and c * n, argument) for key, (n, argument) in self.logs.items()} if c else {}
        )

    def at(self, values: Mapping[str, t.Node]) -> Width:
        """Return the width with other indices in the place of its own."""

        def moved(key: Key) -> Key:
            return key[0], tuple(substitute(x, values) for x in key[1])

        logs = {moved(key): (count, argument.at(values)) for key, (count, argument) in self.logs.items()}
        return replace(self, low={moved(key): value for key, value in self.low.items()}, logs=logs)


NOTHING = Width()
Dual = tuple[Width, Width | None]
"""The width of a number and that of its tangent; None where the tangent is 0."""


@dataclass
class SizeQuestions:
    """What the theorem needs to know of one line of sizes, collected from all programs of a rule."""

    line: frozenset[str]
    sizes: frozenset[str]
    """All sizes, those of other lines too."""
    fixed: Mapping[str, int]
    """The numbers at which the sizes of lines that were bounded before are held."""
    free: bool = False
    """Whether the outcomes of comparisons are free numbers."""
    nested: Fraction = Fraction(0)
    """How many indices tell the arguments of functions apart, with those of the functions inside of them."""
    depth: int = 0
    """How many functions of exponents are inside of one another."""
    exponents: Width = NOTHING
    """All exponents, added."""
    ordered: bool = False
    """Whether indices are compared by their order."""
    span: int = 0
    """Differences of places, and of places and ends, are compared with numbers below this one; 0 where they are not."""
    mirrored: bool = False
    """Whether places are compared that are counted from different ends."""
    together: int = 0
    """How many indices a condition under which something is defined names at once, at most."""
    parts: set[tuple[Part, ...]] = field(default_factory=set)
    """The differences of places that are compared, each by its summands."""
    extrema: set[t.Node] = field(default_factory=set)
    """The lengths of the axes along which extrema are taken."""
    places: dict[str, Sequence[t.Node]] = field(default_factory=dict)
    """The integer inputs whose entries are places along the axes, with their shapes."""
    numbers: set[str] = field(default_factory=set)
    """The integer inputs whose entries count as numbers."""
    spans: dict[str, int] = field(default_factory=dict)
    """The integer inputs that are compared with numbers, each with a number above these."""
    logarithms: set[Any] = field(default_factory=set)
    """The logarithms of sums, each with its program."""

    def argument(self, value: Width, times: int = 1, labels: int = 0) -> Width:
        """Note an argument of a function, which has to be told apart from others; return the width of the function's
        value.

        `times`: how many such arguments may be multiplied (those of roots); `labels`: further indices to tell it apart.
        """
        if value.picked and (value.top or value.low):
            raise NoTheoremError("an argument of a function is a sum of what is chosen by comparison")
        new_number = value.inside(times * (value.top + value.below) + labels + value.nested, value.exponents)
        self.nested, self.depth = max(self.nested, new_number.nested), max(self.depth, new_number.exponents)
        return new_number

    def exponent(self, value: Width) -> Width:
        """Note an exponent, which has to be told apart from sums of others; return the width of its exponential."""
        self.exponents += value
        new_number = value.inside(value.nested, value.exponents + (not value.plain))
        self.nested, self.depth = max(self.nested, new_number.nested), max(self.depth, new_number.exponents)
        return new_number

    def logarithm(self, name: Any) -> None:
        """Note a logarithm of a sum, and its program. Raises NoTheoremError for a second one of a program."""
        self.logarithms.add(name)
        if len({program for program, _ in self.logarithms}) < len(self.logarithms):
            raise NoTheoremError("a program takes several logarithms of sums")

    def places_compared(self, one: Gap, shapes: Mapping[str, Sequence[t.Node]]) -> None:
        """Note a comparison of places; `shapes` are those of the inputs among `one.data`, by name.

        Raises TogetherError if one is along a size of another line, NoTheoremError for a place that is computed.
        """
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
        """Return the length of an axis of other lines at their sizes. Raises FirstError if one is not bounded yet."""
        if isinstance(size, t.Integer):
            return size.value
        if not_bounded := line_of(size) - self.fixed.keys():
            raise FirstError(*not_bounded)
        return length_at(size, self.fixed)

    def enough(self, most: Fraction, lengths: Iterable[t.Node]) -> list[dict[str, int]]:
        """Return sizes such that a claim that holds at these holds at all: the N of theorem 2 of docs/exact.md, or all
        sizes up to that of theorem 3. Raises NoTheoremError where neither applies.

        `most` is D there, the largest degree of a claim in the weights: a monomial names at most so many indices.
        `lengths` are those of all axes.
        """
        indices_named = max(ceil(most), self.together)
        own_lengths = [n for n in lengths if lies_along(n, self.line)]
        if len(self.line) > 1 and any(is_multiple(part) for n in own_lengths for part in terms_of(n)):
            raise NoTheoremError("there is arithmetic on sizes")
        # Along an axis of n + c, or of several sizes, places are compared with numbers up to |c|: theorem 3.
        if len(self.line) > 1 or any(map(beyond, own_lengths)):
            self.span = max(self.span, *(1 + beyond(n) for n in own_lengths))
            self.parts |= {((1, "", line_of(n)),) for n in own_lengths}
        # a: further indices that keep arguments of functions different which are so at some size.
        further_indices = ceil(self.nested + self.depth * self.exponents.top)
        along = any(lies_along(n, self.line) for shape in self.places.values() for n in shape)
        if self.places and (self.mirrored or len(self.line) > 1 or (along and further_indices)):
            raise NoTheoremError("an integer gives a place along an axis of which more is compared")
        if self.numbers & self.places.keys():
            raise NoTheoremError("an integer is an index and a number")
        data = [
            prod(indices_named if lies_along(n, self.line) else self.length(n) for n in s) for s in self.places.values()
        ]
        points = indices_named + sum(data)  # P: D, and the entries of integer inputs that are places
        self.span = max([self.span, *(self.spans.get(name, 0) for name in self.places)])
        if self.span:
            return self._all_up_to(points, further_indices)
        (size,) = self.line  # theorem 2: N is P + a, or P + (P + 1)·a where indices are compared by their order
        return [{size: max(1, points + (points + 1 if self.ordered else 1) * further_indices)}]

    def _all_up_to(self, points: int, apart: int) -> list[dict[str, int]]:
        """Return all sizes up to N of theorem 3, with `points` for P and `apart` for a.

        Of several sizes that are laid behind one another on a line, these are the sizes whose ends are all within N.
        """
        sides, sizes = 1 + self.mirrored, sorted(self.line)
        behind = dict.fromkeys(sizes, "") if len(sizes) == 1 else laid_out(self.parts, sizes)
        if behind is None or (self.mirrored and len(sizes) > 1):
            raise NoTheoremError("there is arithmetic on indices of several sizes")
        largest = (sides * points + len(sizes)) * (sides * apart + 1) * self.span
        if largest ** len(sizes) > MOST_SIZES:
            raise NoTheoremError("it would have to be evaluated at too many sizes")
        candidates = (
            dict(zip(sizes, choice, strict=True)) for choice in product(range(1, largest + 1), repeat=len(sizes))
        )
        return [
            choice
            for choice in candidates
            if all(choice[s] + sum(choice[b] for b in before(s, behind)) <= largest for s in sizes)
        ]


def sum_widths(parts: Sequence[Width]) -> Width | None:
    """Return the width of a sum; None if it has no summands."""
    return sum(parts[1:], parts[0]) if parts else None


def degree_in(x: t.Node, line: Collection[str]) -> int:
    """Return the degree of a polynomial in sizes, in those of the line."""
    degrees = [degree_in(part, line) for part in t.children(x)]
    return (
        int(isinstance(x, t.Size) and x.name in line)
        if not degrees
        else max(degrees)
        if isinstance(x, t.Add)
        else sum(degrees)
    )


def sum_of_duals(parts: Sequence[Dual]) -> Dual:
    total = sum_widths([value for value, _ in parts])
    assert total is not None
    return total, sum_widths([slope for _, slope in parts if slope is not None])


def with_each_part(one: Dual, change: Callable[[Width], Width]) -> Dual:
    value, slope = one
    return change(value), None if slope is None else change(slope)


def without_index(key: Key, variable: str) -> tuple[t.Node, ...]:
    """Return the indices of a factor but for the variable. Raises NoTheoremError if one is computed from it."""
    if any(variable in variables(x) and not isinstance(x, t.Index) for x in key[1]):
        raise NoTheoremError("there is arithmetic on indices")
    return tuple(x for x in key[1] if x != t.Index(variable))
