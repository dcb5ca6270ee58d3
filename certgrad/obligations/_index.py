"""Index variables and affine index expressions.

A variable is a triple `(kind, major, minor)`. Kinds: `t` template position of a tensor, `f` fresh (a sum being worked
on), `b` bound (canonical, inside a closed sum), `u` freed for comparison, `q` universally quantified in a condition,
`c` colour (used while labelling). Bound variables carry the nesting level of their binder as `major`; a binder's level
is above the level of every binder inside it, so renaming never captures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._terms import Poly

Var = tuple[str, int, int]


def template(position: int) -> Var:
    return ("t", position, 0)


class Ix:
    """An affine integer combination of index variables plus a constant that may mention dimensions."""

    __slots__ = ("const", "key", "terms")

    def __init__(self, terms: tuple[tuple[Var, int], ...], const: Poly) -> None:
        self.terms = terms
        self.const = const
        inner = "+".join(f"{c if c != 1 else ''}{v[0]}{v[1]}.{v[2]}" for v, c in terms)
        self.key = inner if const.is_zero else f"{inner}+({const.key})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ix) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def free(self) -> Iterable[Var]:
        return (v for v, _ in self.terms)

    def variable(self) -> Var | None:
        """The variable when the expression is exactly one variable."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and self.const.is_zero:
            return self.terms[0][0]
        return None

    def plus(self, other: Ix) -> Ix:
        return combine([(1, self), (1, other)])

    def scaled(self, factor: int) -> Ix:
        return combine([(factor, self)])

    def shifted(self, const: Poly) -> Ix:
        return Ix(self.terms, self.const + const)

    def subst(self, mapping: Mapping[Var, Ix]) -> Ix:
        if not any(v in mapping for v, _ in self.terms):
            return self
        parts: list[tuple[int, Ix]] = [(1, Ix((), self.const))]
        for v, c in self.terms:
            parts.append((c, mapping[v]) if v in mapping else (c, Ix(((v, 1),), _zero())))
        return combine(parts)


def _zero() -> Poly:
    from ._terms import ZERO

    return ZERO


def of_var(v: Var) -> Ix:
    return Ix(((v, 1),), _zero())


def of_const(const: Poly) -> Ix:
    return Ix((), const)


def combine(parts: list[tuple[int, Ix]]) -> Ix:
    """Σ factor · expression."""
    coefficients: dict[Var, int] = {}
    const = _zero()
    for factor, ix in parts:
        for v, c in ix.terms:
            coefficients[v] = coefficients.get(v, 0) + factor * c
        const = const + ix.const.scale(factor)
    return Ix(tuple(sorted((v, c) for v, c in coefficients.items() if c)), const)
