"""The degrees of a number in the weights of one size: of its numerator, and of the factors of its denominator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Any

from certgrad.language import tree as t
from certgrad.language.substitute import substitute, variables

Key = tuple[Any, tuple[t.Node, ...]]
"""What a fraction is divided by: a name, and the indices at which it is."""


FLAGS = ("chosen", "picked", "endless", "signed", "made")


class NoTheoremError(Exception):
    """The theorem is not about such programs. The message says why."""


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

    size: str
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
    """Indices of the size are compared by their order."""
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

    @property
    def apart(self) -> int:
        """The number of indices that tell arguments apart."""
        return ceil(self.nested + self.depth * self.exponents.top)


def added(parts: Sequence[Width]) -> Width | None:
    return sum(parts[1:], parts[0]) if parts else None


def is_open_size(x: t.Node) -> bool:
    return not isinstance(x, t.Integer)


def degree_in(x: t.Node, size: str) -> int:
    """Return the degree of a polynomial in sizes in one of them."""
    found = [degree_in(part, size) for part in t.children(x)]
    return int(x == t.Size(size)) if not found else max(found) if isinstance(x, t.Add) else sum(found)


def sum_of_duals(parts: Sequence[Dual]) -> Dual:
    total = added([value for value, _ in parts])
    assert total is not None
    return total, added([slope for _, slope in parts if slope is not None])


def with_each_part(one: Dual, change: Callable[[Width], Width]) -> Dual:
    value, slope = one
    return change(value), None if slope is None else change(slope)


def without_index(key: Key, variable: str) -> tuple[t.Node, ...]:
    if any(variable in variables(x) and not isinstance(x, t.Index) for x in key[1]):
        raise NoTheoremError("there is arithmetic on indices")
    return tuple(x for x in key[1] if x != t.Index(variable))
