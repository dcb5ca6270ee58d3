"""Integer index expressions: affine in variables and in integer atoms (`integers`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from .polynomials import ZERO, Holder, Poly
from .variables import Var


def bound_key(variables: Iterable[Var], sizes: Iterable[Poly]) -> str:
    """Return a key of bound variables, each with the size of its range."""
    return ",".join(f"{v[1]}.{v[2]}<{n.key}" for v, n in zip(variables, sizes, strict=True))


class IntegerAtom(Holder):
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
        """Return the index expressions inside."""
        raise NotImplementedError

    def rebuilt(self, parts: tuple[Ix, ...]) -> Ix:
        """Return the same function of other index expressions, simplified."""
        raise NotImplementedError


IxTerm = Var | IntegerAtom


def _order(term: tuple[IxTerm, int]) -> tuple:
    return (1, term[0].key) if isinstance(term[0], IntegerAtom) else (0, term[0])


class Ix(Holder):
    """An integer combination of index variables and integer atoms, plus a constant that may mention dimensions."""

    __slots__ = ("const", "key", "terms")

    def __init__(self, terms: tuple[tuple[IxTerm, int], ...], const: Poly) -> None:
        self.terms = terms
        self.const = const
        inner = "+".join(f"{c if c != 1 else ''}{_name(v)}" for v, c in terms)
        self.key = (inner or "0") if const.is_zero else f"{inner}+({const.key})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ix) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.key

    @property
    def is_zero(self) -> bool:
        return not self.terms and self.const.is_zero

    @property
    def free(self) -> Iterable[Var]:
        for v, _ in self.terms:
            if isinstance(v, IntegerAtom):
                yield from sorted(v.free)
            else:
                yield v

    @property
    def atoms(self) -> list[IntegerAtom]:
        """The integer atoms among the terms of the expression, without those inside other integer atoms."""
        return [v for v, _ in self.terms if isinstance(v, IntegerAtom)]

    def variable(self) -> Var | None:
        """Return the variable when the expression is exactly one variable; else None."""
        only = self.only_term()
        return None if isinstance(only, IntegerAtom) else only

    def moved_by(self, variables: Collection[Var]) -> Var | None:
        """Return the only one of these variables in the expression, if the expression is injective in it; else None.

        None if several of the variables stand in the expression, none does, or one stands in an integer atom.
        """
        affine = [v for v, _ in self.terms if not isinstance(v, IntegerAtom) and v in variables]
        return affine[0] if len(affine) == 1 and not any(v in variables for a in self.atoms for v in a.free) else None

    def only_term(self) -> IxTerm | None:
        """Return the variable or the integer atom when the expression is exactly that; else None."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and self.const.is_zero:
            return self.terms[0][0]
        return None

    def coefficient(self, v: Var) -> int:
        """Return the coefficient of a variable; 0 where it stands only inside integer atoms, or not at all."""
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
        """Return the expression with index expressions in place of variables, inside integer atoms too."""
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


@lru_cache(maxsize=4096)
def of_var(v: Var) -> Ix:
    return Ix(((v, 1),), ZERO)


def of_atom(a: IntegerAtom) -> Ix:
    return Ix(((a, 1),), ZERO)


def of_const(const: Poly) -> Ix:
    return Ix((), const)


def combine(parts: list[tuple[int, Ix]]) -> Ix:
    """Return Σ factor · expression."""
    coefficients: dict[IxTerm, int] = {}
    const = ZERO
    for factor, ix in parts:
        for v, c in ix.terms:
            coefficients[v] = coefficients.get(v, 0) + factor * c
        const = const + ix.const.scale(factor)
    return Ix(tuple(sorted(((v, c) for v, c in coefficients.items() if c), key=_order)), const)


def whole_number(poly: Poly) -> int | None:
    """Return the value of a dimension expression that is an integer; None for any other."""
    c = poly.constant()
    return int(c.p) if c is not None and c.q == 1 else None


def of_term(term: IxTerm) -> Ix:
    return of_atom(term) if isinstance(term, IntegerAtom) else of_var(term)


def solved(ix: Ix) -> tuple[Var, Ix] | None:
    """Return a variable that ix = 0 determines, with its value, by its coefficient ±1; None where there is none."""
    for v, c in reversed(ix.terms):
        if not isinstance(v, IntegerAtom) and abs(c) == 1 and not any(v in t.free for t in ix.atoms):
            return v, ix.plus(of_var(v).scaled(-c)).scaled(-c)
    return None
