"""Sizes: expressions for the length of an axis, `n`, `2*n+1`, `floordiv(n, 2)`, and `*s` for any number of axes.

A size is a sum of products of names and integers, and of functions by which JAX writes sizes that are no polynomials.
It is kept as it is written, since signatures, certificates and keys of caches show it so: `1+n` and `n+1` are two sizes
with equal values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import floordiv, mod
from typing import Any, NoReturn

_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*)|([0-9]+)|(\*\*|[-+*^(),]))")
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"floordiv": floordiv, "mod": mod, "min": min, "max": max}
"""The functions by which JAX writes sizes that are no polynomials."""


class NoSizeError(ValueError):
    """A text cannot be read as the size of an axis: JAX writes the number of steps of a loop in other forms."""


@dataclass(frozen=True)
class Power:
    """A factor to a power: `n^2`."""

    base: Factor
    exponent: int

    def __str__(self) -> str:
        return f"{_factor(self.base, spaced=True)}^{self.exponent}"


@dataclass(frozen=True)
class Call:
    """A function of two sizes: `floordiv(n, 2)`, `mod(n, 2)`, `min(n, m)`, `max(n, m)`."""

    function: str
    left: Size
    right: Size

    def __str__(self) -> str:
        return f"{self.function}({self.left.spaced}, {self.right.spaced})"


@dataclass(frozen=True, repr=False)
class Size:
    """A sum of signed products, as it is written."""

    terms: tuple[tuple[int, tuple[Factor, ...]], ...]
    """For each product its sign, 1 or -1, and its factors; a factor that is a Size is written in parentheses."""

    @cached_property
    def name(self) -> str | None:
        """The name, if the size is nothing but a name; else None."""
        only = self._only
        return only if isinstance(only, str) else None

    @cached_property
    def value(self) -> int | None:
        """The integer, if the size is nothing but an integer that is not negative; else None."""
        only = self._only
        return only if isinstance(only, int) else None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in it, each once, in order of appearance."""
        return tuple(dict.fromkeys(self.occurrences))

    @cached_property
    def occurrences(self) -> tuple[str, ...]:
        """The names in it in order, each as often as it occurs."""
        return tuple(name for _, factors in self.terms for factor in factors for name in _mentioned(factor))

    @property
    def of_one_name(self) -> tuple[int, str, int] | None:
        """The factor, the name and the shift of a size such as `n`, `2*n`, `n+1` or `2*n-1`; None for other sizes."""
        (sign, factors), *rest = self.terms
        times, name = factors if len(factors) == 2 else (1, factors[0] if len(factors) == 1 else 0)
        shift = Size(tuple(rest)) if rest else integer_size(0)
        if sign < 0 or not isinstance(name, str) or not isinstance(times, int) or times < 1:
            return None
        return None if len(rest) > 1 or shift.names else (times, name, shift.evaluate({}))

    @property
    def remainder(self) -> tuple[str, int] | None:
        """The name and the divisor, if the size is a remainder such as `mod(n, 2)`; else None."""
        only = self._only
        if not isinstance(only, Call) or only.function != "mod" or only.left.name is None or only.right.value is None:
            return None
        return only.left.name, only.right.value

    @property
    def is_sum_of_products(self) -> bool:
        """Whether a signature can say it: a sum of products of names and integers that does not begin with a minus."""
        return self.terms[0][0] > 0 and all(isinstance(f, int | str) for _, factors in self.terms for f in factors)

    @property
    def grouped(self) -> Size:
        """The size in parentheses."""
        return _product(self)

    @cached_property
    def spaced(self) -> str:
        """The size as JAX writes it: `2*n - 1`."""
        return _sum(self, spaced=True)

    @property
    def code(self) -> str:
        """The size as Python writes it: `2*n**2 - 1`."""
        return self.spaced.replace("^", "**")

    @property
    def simplified(self) -> Size:
        """The size without factors of 1 before others, and without parentheses around it if it is a single factor."""
        only = self._only
        bare = only if isinstance(only, Size) and only._only is not None else self
        return _without_ones(bare)

    def evaluate(self, sizes: Mapping[str, Any], constant: Callable[[int], Any] = int) -> Any:
        """Return the value when the names have these values: integers, or any objects that add and multiply.

        `constant` makes such an object of an integer. Raises KeyError for a name without a value.
        """
        total: Any = None
        for sign, factors in self.terms:
            product = _value(factors[0], sizes, constant)
            for factor in factors[1:]:
                product = product * _value(factor, sizes, constant)
            if total is None:
                total = product if sign > 0 else constant(0) - product
            else:
                total = total + product if sign > 0 else total - product
        return total

    def most(self, largest: int) -> int:
        """Return a bound of the size's magnitude where every name is at most `largest`."""
        total = 0
        for _, factors in self.terms:
            product = 1
            for factor in factors:
                product *= _largest_factor_value(factor, largest)
            total += product
        return total

    def at(self, values: Mapping[str, Size]) -> Size:
        """Return the size with these sizes for names: `2*c` with 4*c for c is `2*4*c`, with c+1 it is `2*(c+1)`."""
        if values.keys().isdisjoint(self.names):
            return self
        terms: list[tuple[int, tuple[Factor, ...]]] = []
        for sign, factors in self.terms:
            if len(factors) == 1 and sign > 0 and isinstance(factors[0], str) and factors[0] in values:
                terms.extend(values[factors[0]].terms)
            else:
                terms.append((sign, tuple(f for factor in factors for f in _substituted_factors(factor, values))))
        return Size(tuple(terms))

    def renamed(self, names: Mapping[str, str]) -> Size:
        """Return the size with other names; a name that is not in the table stays."""
        return self.at({old: named_size(new) for old, new in names.items()})

    @property
    def _only(self) -> Factor | None:
        """The only factor of the only product, if that has no minus; else None."""
        (sign, factors), *more = self.terms
        return factors[0] if sign > 0 and not more and len(factors) == 1 else None

    @cached_property
    def _text(self) -> str:
        return _sum(self, spaced=False)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return repr(self._text)


Factor = int | str | Power | Call | Size


@dataclass(frozen=True)
class Star:
    """A star group: any number of axes, the same ones wherever its name occurs."""

    name: str

    def __str__(self) -> str:
        return f"*{self.name}"


def _product(*factors: Factor) -> Size:
    return Size(((1, factors),))


def named_size(name: str) -> Size:
    """Return the size that is this name."""
    return _product(name)


def integer_size(value: int) -> Size:
    """Return the size that is this integer."""
    return _product(value) if value >= 0 else Size(((-1, (-value,)),))


ONE = integer_size(1)


def parse_size(value: Any) -> Size:
    """Return the size that a text, or a dimension of JAX, writes. Raises NoSizeError for a text of another form."""
    return value if isinstance(value, Size) else _parse_size_text(str(value))


def parse_axis(text: str) -> Size | Star:
    """Return the size of one axis, or the star group, that a token writes. Raises NoSizeError."""
    if text.startswith("*"):
        if (name := parse_size(text[1:]).name) != text[1:]:
            raise NoSizeError(f"no size: {text}")
        return Star(name)
    size = parse_size(text)
    if not size.is_sum_of_products or " " in text:
        raise NoSizeError(f"no size: {text}")
    return size


def size_at(text: str, sizes: Mapping[str, int]) -> int:
    """Return the value of a size as text, by the values of names or of the text. Raises NoSizeError, KeyError."""
    return sizes[text] if text in sizes else int(parse_size(text).evaluate(sizes))


def _without_ones(one: Size) -> Size:
    plain = [(sign, tuple(map(_factor_without_ones, factors))) for sign, factors in one.terms]
    return Size(tuple((sign, (*(f for f in factors[:-1] if f != 1), factors[-1])) for sign, factors in plain))


def _factor_without_ones(factor: Factor) -> Factor:
    return _without_ones(factor) if isinstance(factor, Size) else factor


def _mentioned(factor: Factor) -> Iterator[str]:
    """Yield the names in a factor, each as often as it occurs."""
    if isinstance(factor, str):
        yield factor
    elif isinstance(factor, Power):
        yield from _mentioned(factor.base)
    elif isinstance(factor, Call):
        yield from (*factor.left.occurrences, *factor.right.occurrences)
    elif isinstance(factor, Size):
        yield from factor.occurrences


def _value(factor: Factor, sizes: Mapping[str, Any], constant: Callable[[int], Any]) -> Any:
    """Return the value of a factor, as `Size.evaluate` says."""
    if isinstance(factor, str):
        return sizes[factor]
    if isinstance(factor, int):
        return constant(factor)
    if isinstance(factor, Power):
        return _value(factor.base, sizes, constant) ** factor.exponent
    if isinstance(factor, Call):
        left, right = factor.left.evaluate(sizes, constant), factor.right.evaluate(sizes, constant)
        return _FUNCTIONS[factor.function](left, right)
    return factor.evaluate(sizes, constant)


def _largest_factor_value(factor: Factor, largest: int) -> int:
    """Return a bound of a factor's magnitude where every name is at most `largest`."""
    if isinstance(factor, str):
        return largest
    if isinstance(factor, int):
        return factor
    if isinstance(factor, Power):
        return int(_largest_factor_value(factor.base, largest) ** factor.exponent)
    if isinstance(factor, Call):
        left, right = factor.left.most(largest), factor.right.most(largest)
        return {"floordiv": left, "mod": right}.get(factor.function, max(left, right))
    return factor.most(largest)


def _substituted_factors(factor: Factor, values: Mapping[str, Size]) -> tuple[Factor, ...]:
    """Return the factors that take the place of a factor when its names are replaced by sizes."""
    if isinstance(factor, str):
        if (value := values.get(factor)) is None:
            return (factor,)
        (sign, factors), *more = value.terms
        return (value,) if more or sign < 0 else factors
    if isinstance(factor, Power):
        base = _substituted_factors(factor.base, values)
        return (Power(base[0] if len(base) == 1 else _product(*base), factor.exponent),)
    if isinstance(factor, Call):
        return (Call(factor.function, factor.left.at(values), factor.right.at(values)),)
    return (factor.at(values) if isinstance(factor, Size) else factor,)


def _factor(factor: Factor, spaced: bool) -> str:
    return f"({_sum(factor, spaced)})" if isinstance(factor, Size) else str(factor)


def _sum(one: Size, spaced: bool) -> str:
    """Return a size as text, with blanks around + and - if `spaced`."""
    blank = " " if spaced else ""
    text = ""
    for sign, factors in one.terms:
        product = "*".join(_factor(f, spaced) for f in factors)
        before = f"{blank}{'+' if sign > 0 else '-'}{blank}" if text else "" if sign > 0 else f"-{blank}"
        text += before + product
    return text


@lru_cache(maxsize=4096)
def _parse_size_text(text: str) -> Size:
    return _Reader(text).whole()


class _Reader:
    """A recursive-descent parser of sizes. `token` is the next token, "" at the end."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.next()

    def next(self) -> str:
        """Return the token that was next, and read the one after it."""
        before = getattr(self, "token", "")
        match = _TOKEN.match(self.text, self.place)
        if match is None and self.text[self.place :].strip():
            self.fail()
        self.token = match[match.lastindex or 0] if match is not None else ""
        self.place = match.end() if match is not None else len(self.text)
        return before

    def whole(self) -> Size:
        """Return the size that the whole text writes."""
        size = self.sum()
        return size if not self.token else self.fail()

    def sum(self) -> Size:
        sign = -1 if self.token == "-" else 1
        if sign < 0:
            self.next()
        terms = [(sign, self.product())]
        while self.token and self.token in "+-":
            sign = -1 if self.next() == "-" else 1
            terms.append((sign, self.product()))
        return Size(tuple(terms))

    def product(self) -> tuple[Factor, ...]:
        factors = [self.power()]
        while self.token == "*":
            self.next()
            factors.append(self.power())
        return tuple(factors)

    def power(self) -> Factor:
        base = self.atom()
        if self.token not in ("^", "**"):
            return base
        self.next()
        exponent = self.next()
        return Power(base, int(exponent)) if exponent.isdigit() else self.fail()

    def atom(self) -> Factor:
        """Return the factor that begins here: an integer, a name, a size in parentheses, or a call."""
        token = self.next()
        if token.isdigit():
            return int(token)
        if token == "(":
            size = self.sum()
            return size if self.next() == ")" else self.fail()
        if not token.isidentifier():
            self.fail()
        if self.token != "(":
            return token
        self.next()
        left = self.sum()
        if token not in _FUNCTIONS or self.next() != ",":
            self.fail()
        right = self.sum()
        return Call(token, left, right) if self.next() == ")" else self.fail()

    def fail(self) -> NoReturn:
        raise NoSizeError(f"no size: {self.text}")
