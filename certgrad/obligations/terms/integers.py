"""Integers that are not affine in index variables: entries of integer tensors, quotients and remainders, places in
row-major order whose stride is a symbolic dimension, and what a comparison of real numbers chooses."""

from __future__ import annotations

from flint import fmpq

from .index import IntegerAtom, Ix, bound_key, combine, of_atom, of_const, of_term, whole_number
from .law import Law, applied
from .polynomials import ZERO, Holder, Poly, number
from .variables import Var


class Entry(IntegerAtom):
    """An entry of an integer tensor, used as an index."""

    __slots__ = ("index", "tensor")

    def __init__(self, tensor: str, index: tuple[Ix, ...]) -> None:
        self.tensor, self.index = tensor, index
        self.key = f"<{tensor}[{','.join(ix.key for ix in index)}]>"
        self.free = frozenset(v for ix in index for v in ix.free)

    def parts(self) -> tuple[Ix, ...]:
        return self.index

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        return of_atom(Entry(self.tensor, parts))


class Quotient(IntegerAtom):
    """⌊e / m⌋ for a positive m: a number, or a dimension expression."""

    __slots__ = ("divisor", "ix")

    def __init__(self, ix: Ix, divisor: Poly) -> None:
        self.ix, self.divisor = ix, divisor
        self.key = f"<{ix.key}//{divisor.key}>"
        self.free = frozenset(ix.free)

    def parts(self) -> tuple[Ix, ...]:
        return (self.ix,)

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        return quotient(parts[0], self.divisor)


class Remainder(IntegerAtom):
    """e − m·⌊e / m⌋ for a symbolic positive m. (For a number m it is written with the quotient.)"""

    __slots__ = ("divisor", "ix")

    def __init__(self, ix: Ix, divisor: Poly) -> None:
        self.ix, self.divisor = ix, divisor
        self.key = f"<{ix.key}%{divisor.key}>"
        self.free = frozenset(ix.free)

    def parts(self) -> tuple[Ix, ...]:
        return (self.ix,)

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        return remainder(parts[0], self.divisor)


class RowMajor(IntegerAtom):
    """i·m + j with 0 ≤ j < m: the place of (i, j) in row-major order of a matrix with m columns.

    `row_major` makes it only for a symbolic m; for a number m it returns the affine expression.
    """

    __slots__ = ("major", "minor", "stride")

    def __init__(self, major: Ix, minor: Ix, stride: Poly) -> None:
        self.major, self.minor, self.stride = major, minor, stride
        self.key = f"<{major.key}*{stride.key}+{minor.key}>"
        self.free = frozenset(major.free) | frozenset(minor.free)

    def parts(self) -> tuple[Ix, ...]:
        return (self.major, self.minor)

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        return row_major(parts[0], parts[1], self.stride)


ORDER, RANK = "order", "rank"
"""Sorting: the order maps a place to the index of the entry that comes to it (argsort), the rank is its inverse."""
PIVOTS, PIVOTED = "pivots", "pivoted"
"""Elimination with pivots: from a place to the row that is put into it, and from a row to its place."""
INVERSES = {ORDER: RANK, RANK: ORDER, PIVOTS: PIVOTED, PIVOTED: PIVOTS}
"""The kinds of comparison that are permutations of an axis, each with the kind of its inverse."""


class Comparison(Holder):
    """A rule that chooses integers by comparing real numbers: an arg-maximum, the order of the entries of an axis, or
    the pivots of a matrix.

    `variables` run over `ranges`; `bodies` are the numbers that are compared, and `where` (0 or 1) says which of them
    take part. Variables `(p, k, 0)` stand for the arguments. No other variable is free, so that the comparison itself
    is a constant: `Chosen` applies it to arguments.
    """

    __slots__ = ("bodies", "data", "key", "kind", "ranges", "variables", "where")

    def __init__(
        self, kind: str, variables: tuple[Var, ...], ranges: tuple[Poly, ...], bodies: tuple[Poly, ...], where: Poly
    ) -> None:
        self.kind, self.variables, self.ranges, self.bodies, self.where = kind, variables, ranges, bodies, where
        bound = bound_key(variables, ranges)
        self.data = f"[{bound}|{where.key}]({';'.join(b.key for b in bodies)})"
        """The key but for the kind."""
        self.key = f"{kind}{self.data}"

    @property
    def permutes(self) -> bool:
        """Whether the choice is a permutation of an axis, whose first argument is a place or an index on that axis."""
        return self.kind in INVERSES

    def inverse(self) -> Comparison:
        """Return the comparison that chooses the inverse permutation."""
        return Comparison(INVERSES[self.kind], self.variables, self.ranges, self.bodies, self.where)


def by_entries(ix: Ix) -> bool:
    """Return whether the index depends on values: on an entry of an integer tensor, or on a rounded real number."""
    return any(isinstance(a, (Entry, Rounded)) or any(map(by_entries, a.parts())) for a in ix.atoms)


class Chosen(IntegerAtom):
    """The integer that a comparison chooses for the arguments; what it means depends on the kind of the comparison.

    - arg-maximum: the index of the largest number along the axis that `component` counts;
    - order: the index of the entry that sorting puts at the place that is the first argument (sorting is stable, so
      that this is a permutation of the axis); rank: the inverse;
    - pivots: the row that elimination puts at the place that is the first argument.
    """

    __slots__ = ("arguments", "comparison", "component")

    def __init__(self, comparison: Comparison, component: int, arguments: tuple[Ix, ...]) -> None:
        self.comparison, self.component, self.arguments = comparison, component, arguments
        self.key = f"<{comparison.key}.{component}({','.join(ix.key for ix in arguments)})>"
        self.free = frozenset(v for ix in arguments for v in ix.free)

    @property
    def room(self) -> Poly:
        """The size of the axis that is chosen from: the chosen integer is at least 0 and less than it."""
        return self.comparison.ranges[self.component]

    def parts(self) -> tuple[Ix, ...]:
        return self.arguments

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        return chosen(self.comparison, self.component, parts)


class Rounded(IntegerAtom):
    """A whole number that real numbers determine, such as ⌊x(i)⌋: `body` is its term, over the arguments (p, k, 0)."""

    __slots__ = ("arguments", "body")

    def __init__(self, body: Poly, arguments: tuple[Ix, ...]) -> None:
        self.body, self.arguments = body, arguments
        self.key = f"<{body.key}({','.join(ix.key for ix in arguments)})>"
        self.free = frozenset(v for ix in arguments for v in ix.free)

    def parts(self) -> tuple[Ix, ...]:
        return self.arguments

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        return of_atom(Rounded(self.body, parts))


def chosen(rule: Comparison, component: int, arguments: tuple[Ix, ...]) -> Ix:
    """Return the integer that a comparison chooses. A permutation and its inverse undo each other: σ(σ⁻¹(i)) = i."""
    if rule.permutes:
        first = arguments[0].only_term()
        if (
            isinstance(first, Chosen)
            and first.comparison.permutes
            and first.comparison.kind != rule.kind
            and first.comparison.data == rule.data
            and first.arguments[1:] == arguments[1:]
        ):
            applied(Law.PERMUTATION_UNDONE)
            return first.arguments[0]
    return of_atom(Chosen(rule, component, arguments))


def undone(a: Chosen, value: Ix) -> Ix:
    """Return the place t at which the permutation σ of the atom has the value i: t = σ⁻¹(i)."""
    return chosen(a.comparison.inverse(), a.component, (value, *a.arguments[1:]))


def where_equal(ix: Ix) -> Ix:
    """Return an expression that is 0 exactly where this one is, without a permutation on both sides of the equation.

    σ(s) − σ(t) becomes s − t, for places s and t of a permutation σ. Any other expression is returned as it is.
    """
    if len(ix.terms) == 2 and ix.const.is_zero and {c for _, c in ix.terms} == {1, -1}:
        (left, _), (right, _) = ix.terms
        if isinstance(left, Chosen) and isinstance(right, Chosen) and left.comparison.permutes:
            if left.comparison.key == right.comparison.key and left.arguments[1:] == right.arguments[1:]:
                applied(Law.EQUAL_PLACES)
                return where_equal(left.arguments[0].minus(right.arguments[0]))
    return ix


def quotient(ix: Ix, divisor: Poly) -> Ix:
    """Return ⌊ix / divisor⌋ for a positive divisor.

    Multiples of the divisor are taken out, so that ⌊(2i + k + 3) / 2⌋ is i + 1 + ⌊(k + 1) / 2⌋; the rest is an atom.
    """
    m = whole_number(divisor)
    if m == 1:
        return ix
    only = ix.only_term()
    if isinstance(only, RowMajor) and only.stride == divisor:
        applied(Law.ROW_MAJOR)
        return only.major
    if m is not None:  # each coefficient c is m·⌊c/m⌋ + c mod m, and the multiple of m is taken out
        parts = [(c, Ix(((v, 1),), ZERO)) for v, c in ix.terms]
        whole, left = _divided(ix.const, m)
        rest = combine([(c % m, part) for c, part in parts]).shifted(left)
        result = combine([(c // m, part) for c, part in parts]).shifted(whole)
        if not rest.terms and whole_number(left) is not None:
            return result
        return result.plus(of_atom(Quotient(rest, divisor)))
    if times := _multiples(ix.const, divisor):
        return quotient(ix.shifted(-divisor.scale(fmpq(times))), divisor).shifted(number(times))
    if not ix.terms and ix.const.is_zero:
        return ix
    if isinstance(only, Remainder) and only.divisor == divisor:
        return of_const(ZERO)
    return of_atom(Quotient(ix, divisor))


def remainder(ix: Ix, divisor: Poly) -> Ix:
    """Return ix − divisor·⌊ix / divisor⌋ for a positive divisor: by the quotient for a number, else as an atom."""
    m = whole_number(divisor)
    if m is not None:
        return ix.minus(quotient(ix, divisor).scaled(m))
    ix = ix.shifted(-divisor.scale(fmpq(_multiples(ix.const, divisor))))
    # (e mod m + f) mod m is (e + f) mod m
    if any(isinstance(t, Remainder) and t.divisor == divisor for t, _ in ix.terms):
        parts = [(c, t.ix if isinstance(t, Remainder) and t.divisor == divisor else of_term(t)) for t, c in ix.terms]
        return remainder(combine(parts).shifted(ix.const), divisor)
    if not ix.terms and ix.const.is_zero:
        return ix
    only = ix.only_term()
    if isinstance(only, RowMajor) and only.stride == divisor:
        applied(Law.ROW_MAJOR)
        return only.minor
    return of_atom(Remainder(ix, divisor))


def row_major(major: Ix, minor: Ix, stride: Poly) -> Ix:
    """Return major·stride + minor, where the caller knows 0 ≤ minor < stride; ⌊e/m⌋·m + e mod m is e again."""
    m = whole_number(stride)
    if m is not None:
        return combine([(m, major), (1, minor)])
    if not major.terms:
        return minor.shifted(major.const * stride)
    a, b = major.only_term(), minor.only_term()
    if isinstance(a, Quotient) and isinstance(b, Remainder) and a.ix == b.ix and a.divisor == b.divisor == stride:
        applied(Law.ROW_MAJOR)
        return a.ix
    return of_atom(RowMajor(major, minor, stride))


def _multiples(const: Poly, divisor: Poly) -> int:
    """Return the k by which const − k·divisor is without the divisor: 3 for a const 7·n + 1 and a divisor 2·n."""
    single = divisor.single()
    return 0 if single is None or single[1].q != 1 else int((const.coefficient(single[0]) / single[1]).floor())


def _divided(const: Poly, m: int) -> tuple[Poly, Poly]:
    """Return (q, r) with const = m·q + r and each coefficient of r in [0, m)."""
    whole = Poly({mono: c for mono, c in ((mono, fmpq((c / m).floor())) for mono, c in const.items()) if c != 0})
    return whole, const - whole.scale(m)
