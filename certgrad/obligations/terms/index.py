"""Index variables and integer index expressions.

A variable is a triple `(kind, major, minor)`. Kinds: `t` template position of a tensor, `f` fresh (a sum being worked
on), `b` bound (canonical, inside a closed sum), `u` freed for comparison, `q` universally quantified in a condition,
`c` colour (used while labelling), `s` slot (any integer that stands for part of an index). Bound variables carry the
nesting level of their binder as `major`; a binder's level is above the level of every binder inside it, so renaming
never captures. `p` stands for an argument of a comparison.
Variables of all kinds but `s` are indices, hence not negative.

An index expression is affine in variables and in integer atoms: entries of integer tensors, quotients and remainders,
row-major pairs whose stride is a symbolic dimension, and what a comparison of real numbers chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .terms import Poly

Var = tuple[str, int, int]


def template(position: int) -> Var:
    return ("t", position, 0)


def bound_key(variables: Iterable[Var], sizes: Iterable[Poly]) -> str:
    """How a key writes bound variables, each with the size of its range."""
    return ",".join(f"{v[1]}.{v[2]}<{n.key}" for v, n in zip(variables, sizes, strict=True))


class IntegerAtom:
    """An integer that is not affine in index variables. Equality is by key."""

    __slots__ = ("free", "key")
    key: str
    free: frozenset[Var]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntegerAtom) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.key

    def parts(self) -> tuple[Ix, ...]:
        """The index expressions inside."""
        raise NotImplementedError

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        """The same function of other index expressions."""
        raise NotImplementedError


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
    """i·m + j with 0 ≤ j < m: the place of (i, j) in row-major order. For a number m it is soon written out."""

    __slots__ = ("major", "minor", "stride")

    def __init__(self, major: Ix, minor: Ix, stride: Poly) -> None:
        self.major, self.minor, self.stride = major, minor, stride
        self.key = f"<{major.key}*{stride.key}+{minor.key}>"
        self.free = frozenset(major.free) | frozenset(minor.free)

    def parts(self) -> tuple[Ix, ...]:
        return (self.major, self.minor)

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        return row_major(parts[0], parts[1], self.stride)


class Comparison:
    """A rule that chooses integers by comparing real numbers: an arg-maximum, or the order of the entries of an axis.

    `variables` run over `ranges`; `bodies` are the numbers that are compared, and `where` (0 or 1) says which of them
    take part. Variables `(p, k, 0)` stand for the arguments. Nothing else is free, so that a rule is a constant.
    """

    __slots__ = ("arity", "bodies", "key", "kind", "ranges", "variables", "where")

    def __init__(
        self, kind: str, variables: tuple[Var, ...], ranges: tuple[Poly, ...], bodies: tuple[Poly, ...], where: Poly
    ) -> None:
        self.kind, self.variables, self.ranges, self.bodies, self.where = kind, variables, ranges, bodies, where
        bound = bound_key(variables, ranges)
        self.key = f"{kind}[{bound}|{where.key}]({';'.join(b.key for b in bodies)})"


class Chosen(IntegerAtom):
    """What a comparison chooses for the arguments: of an arg-maximum, the index along one of its axes (`component`).

    Of an order, the first argument is a place, and the value is the index of the entry that comes to that place.
    """

    __slots__ = ("arguments", "comparison", "component")

    def __init__(self, comparison: Comparison, component: int, arguments: tuple[Ix, ...]) -> None:
        self.comparison, self.component, self.arguments = comparison, component, arguments
        self.key = f"<{comparison.key}.{component}({','.join(ix.key for ix in arguments)})>"
        self.free = frozenset(v for ix in arguments for v in ix.free)

    @property
    def room(self) -> Poly:
        """The chosen integer is at least 0 and less than this."""
        return self.comparison.ranges[self.component]

    def parts(self) -> tuple[Ix, ...]:
        return self.arguments

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        return of_atom(Chosen(self.comparison, self.component, parts))


IxTerm = Var | IntegerAtom


def _order(term: tuple[IxTerm, int]) -> tuple:
    return (1, term[0].key) if isinstance(term[0], IntegerAtom) else (0, term[0])


class Ix:
    """An integer combination of index variables and integer atoms, plus a constant that may mention dimensions."""

    __slots__ = ("const", "key", "terms")

    def __init__(self, terms: tuple[tuple[IxTerm, int], ...], const: Poly) -> None:
        self.terms = terms
        self.const = const
        inner = "+".join(f"{c if c != 1 else ''}{_name(v)}" for v, c in terms)
        self.key = inner if const.is_zero else f"{inner}+({const.key})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ix) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.key

    @property
    def free(self) -> Iterable[Var]:
        for v, _ in self.terms:
            if isinstance(v, IntegerAtom):
                yield from sorted(v.free)
            else:
                yield v

    @property
    def atoms(self) -> list[IntegerAtom]:
        """The integer atoms that stand in it directly."""
        return [v for v, _ in self.terms if isinstance(v, IntegerAtom)]

    def variable(self) -> Var | None:
        """The variable when the expression is exactly one variable."""
        only = self.only_term()
        return None if isinstance(only, IntegerAtom) else only

    def only_term(self) -> IxTerm | None:
        """The variable or atom when the expression is exactly that."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and self.const.is_zero:
            return self.terms[0][0]
        return None

    def coefficient(self, v: Var) -> int:
        """The coefficient of a variable, where it stands outside integer atoms."""
        return next((c for w, c in self.terms if w == v), 0)

    def plus(self, other: Ix) -> Ix:
        return combine([(1, self), (1, other)])

    def minus(self, other: Ix) -> Ix:
        return combine([(1, self), (-1, other)])

    def scaled(self, factor: int) -> Ix:
        return combine([(factor, self)])

    def shifted(self, const: Poly) -> Ix:
        return Ix(self.terms, self.const + const)

    def subst(self, mapping: Mapping[Var, Ix]) -> Ix:
        variable = self.variable()
        if variable is not None:
            return mapping.get(variable, self)
        if not any(v in mapping for v in self.free):
            return self
        parts: list[tuple[int, Ix]] = [(1, Ix((), self.const))]
        for v, c in self.terms:
            if isinstance(v, IntegerAtom):
                parts.append((c, v.rebuilt(tuple(ix.subst(mapping) for ix in v.parts()))))
            else:
                parts.append((c, mapping[v] if v in mapping else of_var(v)))
        return combine(parts)


def _name(v: IxTerm) -> str:
    return v.key if isinstance(v, IntegerAtom) else f"{v[0]}{v[1]}.{v[2]}"


@cache
def _zero() -> Poly:
    from .terms import ZERO

    return ZERO


@lru_cache(maxsize=4096)
def of_var(v: Var) -> Ix:
    return Ix(((v, 1),), _zero())


def of_atom(a: IntegerAtom) -> Ix:
    return Ix(((a, 1),), _zero())


def of_const(const: Poly) -> Ix:
    return Ix((), const)


def combine(parts: list[tuple[int, Ix]]) -> Ix:
    """Σ factor · expression."""
    coefficients: dict[IxTerm, int] = {}
    const = _zero()
    for factor, ix in parts:
        for v, c in ix.terms:
            coefficients[v] = coefficients.get(v, 0) + factor * c
        const = const + ix.const.scale(factor)
    return Ix(tuple(sorted(((v, c) for v, c in coefficients.items() if c), key=_order)), const)


def whole_number(poly: Poly) -> int | None:
    """The integer that a dimension expression is, if it is one."""
    c = poly.constant()
    return int(c.p) if c is not None and c.q == 1 else None


def quotient(ix: Ix, divisor: Poly) -> Ix:
    """⌊ix / divisor⌋ for a positive divisor."""
    m = whole_number(divisor)
    if m == 1:
        return ix
    only = ix.only_term()
    if isinstance(only, RowMajor) and only.stride == divisor:
        return only.major
    if m is not None:  # whole multiples of the divisor come out
        parts = [(c, Ix(((v, 1),), _zero())) for v, c in ix.terms]
        whole, left = _divided(ix.const, m)
        rest = combine([(c % m, part) for c, part in parts]).shifted(left)
        result = combine([(c // m, part) for c, part in parts]).shifted(whole)
        if not rest.terms and whole_number(left) is not None:
            return result
        return result.plus(of_atom(Quotient(rest, divisor)))
    if not ix.terms and ix.const.is_zero:
        return ix
    if isinstance(only, Remainder) and only.divisor == divisor:
        return of_const(_zero())
    return of_atom(Quotient(ix, divisor))


def remainder(ix: Ix, divisor: Poly) -> Ix:
    """ix − divisor·⌊ix / divisor⌋ for a positive divisor."""
    m = whole_number(divisor)
    if m is not None:
        return ix.minus(quotient(ix, divisor).scaled(m))
    if not ix.terms and ix.const.is_zero:
        return ix
    only = ix.only_term()
    if isinstance(only, RowMajor) and only.stride == divisor:
        return only.minor
    if isinstance(only, Remainder) and only.divisor == divisor:
        return ix
    return of_atom(Remainder(ix, divisor))


def row_major(major: Ix, minor: Ix, stride: Poly) -> Ix:
    """major·stride + minor, where the caller knows 0 ≤ minor < stride."""
    m = whole_number(stride)
    if m is not None:
        return combine([(m, major), (1, minor)])
    if not major.terms:
        return minor.shifted(major.const * stride)
    a, b = major.only_term(), minor.only_term()
    if isinstance(a, Quotient) and isinstance(b, Remainder) and a.ix == b.ix and a.divisor == b.divisor == stride:
        return a.ix
    return of_atom(RowMajor(major, minor, stride))


def _divided(const: Poly, m: int) -> tuple[Poly, Poly]:
    """(q, r) with const = m·q + r and each coefficient of r in [0, m)."""
    from .terms import Poly, fmpq

    whole = Poly({mono: c for mono, c in ((mono, fmpq((c / m).floor())) for mono, c in const.items()) if c != 0})
    return whole, const - whole.scale(m)


def of_term(term: IxTerm) -> Ix:
    return of_atom(term) if isinstance(term, IntegerAtom) else of_var(term)
