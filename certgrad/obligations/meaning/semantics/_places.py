"""Indices, sizes and forms of expressions as the specification writes them, and as the calculus has them."""

from __future__ import annotations

from functools import reduce
from typing import Any

from certgrad.language import tree as t
from certgrad.obligations.assume.tensor import own_index
from certgrad.obligations.terms.atoms import Dim, dimension
from certgrad.obligations.terms.index import Ix, combine, of_const, whole_number
from certgrad.obligations.terms.index_terms import at_least, bounds, divided
from certgrad.obligations.terms.integers import quotient, remainder, row_major
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly, number, poly_of
from certgrad.obligations.terms.variables import template
from certgrad.obligations.tracing.jax_internals import rounded_sizes
from certgrad.specification.primitives.elementwise import truncated, whole_part

from ._registry import UnprovedError

Shape = tuple[Poly, ...]


class Sizes:
    """Sizes as the specification writes them, and back."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.axes: set[t.Node] = set()
        """The sizes of the operands' and the results' axes."""
        self.not_negative: list[Poly] = []
        """Of what is made of sizes by rounding in the parameters, what is known to be at least 0."""
        self.named: dict[str, Poly] = {}
        self._shapes: dict[Shape, tuple[t.Node, ...]] = {}
        self._rounded: dict[t.Node, Poly] | None = None

    def written(self, shape: Shape) -> tuple[t.Node, ...]:
        """The sizes of an array."""
        if shape not in self._shapes:
            self._shapes[shape] = tuple(map(self._written, shape))
            self.axes |= {*self._shapes[shape]}
        return self._shapes[shape]

    def _written(self, n: Poly) -> t.Node:
        only = n.atom()
        if only is not None:
            return self._size(only)
        terms = [self._product(mono, int(c.p)) for mono, c in n.sorted_items()] or [t.Integer(0)]
        return terms[0] if len(terms) == 1 else t.Add(tuple(terms))

    def _product(self, mono: Mono, c: int) -> t.Node:
        factors: list[t.Node] = [t.Integer(c)] if c != 1 or not mono else []
        for a, e in mono:
            factors += [self._size(a)] * int(e)
        return factors[0] if len(factors) == 1 else t.Mul(tuple(factors))

    def _size(self, a: Atom) -> t.Node:
        assert isinstance(a, Dim)
        self.named[a.name] = poly_of(a)
        return t.Size(a.name)

    def size(self, name: str) -> Poly:
        """The size of this name."""
        return self.named.get(name) or dimension(name)

    def rounded(self, node: t.Node) -> Poly | None:
        """Return a size such as ⌊n / 2⌋, where a parameter is made of it; else None."""
        if self._rounded is None:
            found = list(rounded_sizes(tuple(self.params.values())))
            from certgrad.specification._jax import factor_of_size  # which few shapes need

            self._rounded = {factor_of_size(factor): poly for factor, poly, _ in found}
            self.not_negative += [poly for _, poly, least in found if least]
        return self._rounded.get(node)


class Places:
    """Reads indices of entries of a tensor of this shape."""

    def __init__(self, shape: Shape, sizes: Sizes) -> None:
        self.shape, self.sizes = shape, sizes
        self.own = own_index(shape)
        self.variables = {str(k): ix for k, ix in enumerate(self.own)}
        self.own_ranges = {template(k): n for k, n in enumerate(shape)}
        self.ranges = dict(self.own_ranges)
        self.known: dict[t.Node, Ix] = {}
        """Quotients and remainders that are indices of their own, and chosen places, in what is read."""
        self.chosen: set[t.Node] = set()

    def size_of(self, x: t.Node) -> Poly:
        """Return a size. Raises UnprovedError where it depends on an index."""
        found = self.index(x)
        if found.terms:
            raise UnprovedError("a size that depends on an index")
        return found.const

    def _is_index(self, ix: Ix) -> bool:
        """Return whether it is shown to be at least 0 by the ranges."""
        least, _ = bounds(ix, self.ranges)
        return least is not None and at_least(least) == ONE

    def index(self, x: t.Node) -> Ix:
        """Return the index expression that an integer node stands for.

        A size made of a parameter, such as ⌊n / 2⌋, is a constant. A quotient, a remainder or a chosen place that is an
        index of its own stands in `known`. Raises UnprovedError for any other node.
        """
        match x:
            case t.Index():
                return self.variables[x.name]
            case t.Integer():
                return of_const(number(x.value))
            case t.Size():
                return of_const(self.sizes.size(x.name))
            case t.Add((t.Mul((major, stride)), minor)):
                return self._place(self.index(major), self.index(stride), self.index(minor))
            case t.Add():
                return combine([(1, self.index(term)) for term in x.terms])
            case t.Subtract():
                return self.index(x.left).minus(self.index(x.right))
            case t.Mul():
                return reduce(self._product, map(self.index, x.factors))
            case t.Apply() | t.If() if (made := self.sizes.rounded(x)) is not None:
                return of_const(made)
            case t.Apply() | t.Chosen() | t.Least() | t.If() | t.SortedEntry() if self._is_known(x):
                return self.known[x]
            case t.Apply("quotient" | "remainder", (left, right)):
                return self._divided(x, left, right)
        raise UnprovedError(f"an integer that is written with {type(x).__name__}")

    def _is_known(self, x: t.Node) -> bool:
        """Return whether a node is an index of its own; a chosen place is read first."""
        chosen = x
        while isinstance(chosen, t.Apply):
            chosen = chosen.arguments[0]
        if isinstance(chosen, (t.Chosen, t.Least)) and chosen not in self.chosen:
            self.chosen.add(chosen)
            self.choose(chosen)
        return bool(self.known) and x in self.known

    def choose(self, x: t.Chosen | t.Least) -> None:
        """Read a chosen place, or its places along axes, and store them in `known`."""
        raise UnprovedError(f"an index that is written with {type(x).__name__}")

    def _place(self, major: Ix, stride: Ix, minor: Ix) -> Ix:
        """major·stride + minor: where the stride is a symbol, a place in row-major order."""
        if not major.terms or stride.terms or whole_number(stride.const) is not None:
            return self._product(major, stride).plus(minor)
        least, most = bounds(minor, self.ranges)
        if least is None or most is None or at_least(least) * at_least(stride.const - ONE - most) != ONE:
            raise UnprovedError("an index times a size, beside what is not shown to be less")
        return row_major(major, minor, stride.const)

    def _product(self, one: Ix, other: Ix) -> Ix:
        if not one.terms and not other.terms:
            return of_const(one.const * other.const)
        one, other = (other, one) if other.terms else (one, other)
        factor = None if other.terms else whole_number(other.const)
        if factor is None:
            raise UnprovedError("an index times a size or another index")
        return one.scaled(factor)

    def _divided(self, x: t.Apply, left: t.Node, right: t.Node) -> Ix:
        place = self.index(left)
        if x.function == "remainder":
            return remainder(place, self._divisor(right))
        if not place.terms and (whole := divided(place.const, self._divisor(right))) is not None:
            return of_const(whole)
        for size in reversed(self._factors(right)):  # ⌊e / (m·n)⌋ = ⌊⌊e / n⌋ / m⌋
            place = quotient(place, self._divisor(size))
        return place

    def _factors(self, x: t.Node) -> list[t.Node]:
        """The sizes of axes that are multiplied."""
        if isinstance(x, t.Mul) and x not in self.sizes.axes:
            return [size for factor in x.factors for size in self._factors(factor)]
        return [x]

    def _divisor(self, x: t.Node) -> Poly:
        """Return a divisor: the size of an axis, or a step. An axis of size 0 has no entry for which to divide."""
        found = self.index(x)
        known = whole_number(found.const)
        if found.terms or (known is not None and known < 1):
            raise UnprovedError("a division by what is not a size")
        return found.const


# --- forms


def numbered_choices(x: t.Node, which: t.Node, relation: str, k: int = 0) -> list[t.Node]:
    """Return the nested choices by an integer: the first for 0, or at most 0, the next for 1, …"""
    match x:
        case t.If(t.Compare(found, left, t.Integer(at)), then, otherwise) if (found, left, at) == (relation, which, k):
            return [then, *numbered_choices(otherwise, which, relation, k + 1)]
    return [x]


def towards_0(x: t.Node) -> tuple[t.Node, ...] | None:
    """Return x and y where the node is their quotient rounded towards 0; else None."""
    match x:
        case t.If(t.Compare("<", t.Divide(a, b) as ratio, _)) if x == whole_part(ratio):
            return a, b
        case t.If(t.Compare("<", t.Mul((a, b)), _)) if x == truncated(a, b):
            return a, b
    return None


def rounded(x: t.Node) -> tuple[t.Node, tuple[int, int] | None] | None:
    """A real, where this is its integer part; with the limits between which that has to be."""
    match x:
        case t.If(t.Compare("<", real, _), _, t.Apply("floor")) if x == whole_part(real):
            return real, None
        case t.Given(t.Both((t.Compare("<=", t.Integer(low), n), t.Compare("<=", _, t.Integer(high)))), value) if (
            n == value and (found := rounded(value)) is not None
        ):
            return found[0], (low, high)
    return None


def in_order(x: t.Least) -> tuple[t.Range, list[t.Node], t.Node] | None:
    """A variable with its range, the keys of an entry, and a place, where this is the entry that comes to it."""
    from certgrad.language.substitute import substitute  # which few programs need
    from certgrad.specification.primitives.order import coming_to

    match x:
        case t.Least((p,), t.Compare("=", t.Fold("sum", (q,), t.If(first)), place)):
            keys = _keys(first)
            names = p.variable, q.variable

            def keys_at(k: t.Node) -> list[t.Node]:
                return [substitute(key, {q.variable: k}) for key in keys]

            made = coming_to(place, names, q.size, keys_at)  # type: ignore[arg-type]
            return (q, keys, place) if keys and x == made else None
    return None


def _keys(first: t.Node) -> list[t.Node]:
    """Return the keys of a lexicographic comparison."""
    match first:
        case t.Either((t.Compare("<", key, _), t.Both((_, rest)))):
            return [key, *_keys(rest)]
    return []


def clamped(x: t.Node) -> tuple[t.Node, t.Node] | None:
    """An integer and a size, where this is the integer moved into 0 ≤ … ≤ size."""
    match x:
        case t.If(t.Compare("<", e, t.Integer(0)), t.Integer(0), t.If(t.Compare("<", room, again), most, last)) if (
            e == again == last and room == most
        ):
            return e, room
    return None
