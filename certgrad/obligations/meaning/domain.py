"""Domains and constraints: `"x > 0"`, `"x != y or t == 1"`, `"x - 1/2 not in integers"`, as clauses of the calculus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from certgrad.errors import DomainError
from certgrad.language import tree as t
from certgrad.language.parse import conjuncts, parse
from certgrad.obligations.assume.conditions import Atomic, Clause, Relation
from certgrad.obligations.assume.tensor import axis_index
from certgrad.obligations.laws.functions import FUNCTIONS
from certgrad.obligations.terms.atoms import Dim, access
from certgrad.obligations.terms.index import of_const
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, number
from certgrad.obligations.terms.power import power
from certgrad.obligations.terms.walk import deep_atoms

_RELATIONS: dict[str, Relation] = {">": "> 0", ">=": ">= 0", "!=": "!= 0", "=": "= 0"}
_SETS: dict[str, Relation] = {"integers": "not integer", "nonpositive integers": "not pole"}


def read_domain(texts: tuple[str, ...], shapes: Mapping[str, tuple[Poly, ...]], where: str) -> list[Clause]:
    """Return the conditions of a domain as clauses of the calculus, in order.

    `shapes` gives the shape of each name (parameters are scalars); `where` says in messages whose domain it is.

    Raises DomainError with what was written, where, and what can be written instead.
    """
    rank = max((len(s) for s in shapes.values()), default=0)
    reader = _Reader(shapes, rank, where)
    sizes = tuple(
        sorted({a.name for shape in shapes.values() for n in shape for a in deep_atoms(n) if isinstance(a, Dim)})
    )
    clauses: list[Clause] = []
    for text in texts:
        for condition in conjuncts(parse(text, tuple(shapes), where, sizes)):
            parts = condition.parts if isinstance(condition, t.Either) else (condition,)
            try:
                clauses.append(Clause(tuple(map(reader.atomic, parts)), origin="domain"))
            except ZeroDivisionError:
                raise DomainError(f"The condition {text!r} of {where} divides by 0.") from None
    return clauses


def read_statement(statement: t.Statement, shapes: Mapping[str, tuple[Poly, ...]]) -> Clause | None:
    """Return a hypothesis as a clause, if it compares entries of arrays at the same place; None for any other.

    `shapes` gives the shape of each name, as `read_domain` takes them.
    """
    parts = statement.parts if isinstance(statement, t.Either) else (statement,)
    reader = _Reader(shapes, max((len(s) for s in shapes.values()), default=0), "a hypothesis")
    if not all(isinstance(part, t.Compare | t.NotIn) for part in parts):
        return None
    try:
        return Clause(tuple(map(reader.atomic, parts)), origin="domain")
    except (AssertionError, KeyError, ZeroDivisionError, DomainError):
        return None


@dataclass(frozen=True)
class _Reader:
    """Reads syntax trees as terms: the name of an array stands for its entry at the template variables.

    Axes are aligned at the last one, as in broadcasting; `rank` is the highest rank of an array.
    """

    shapes: Mapping[str, tuple[Poly, ...]]
    rank: int
    where: str

    def atomic(self, s: t.Statement) -> Atomic:
        """Return a comparison as a relation of a term to 0, and `not in` as one of a term to a set of numbers."""
        if isinstance(s, t.NotIn):
            return Atomic(_SETS[s.numbers], self.term(s.term))
        assert isinstance(s, t.Compare)
        left, right = self.term(s.left), self.term(s.right)
        if s.relation in ("<", "<="):
            return Atomic("> 0" if s.relation == "<" else ">= 0", right - left)
        return Atomic(_RELATIONS[s.relation], left - right)

    def term(self, p: t.Term) -> Poly:
        """Return a syntax tree as a term. Raises ZeroDivisionError for a negative power of 0."""
        if isinstance(p, t.Number):
            return number(Fraction(p.value))
        if isinstance(p, t.Array):
            return self.array(p.name)
        if isinstance(p, t.Axis):
            return self.length(p)
        if isinstance(p, t.Add):
            return sum(map(self.term, p.terms), ZERO)
        if isinstance(p, t.Mul):
            return prod(map(self.term, p.factors), start=ONE)
        if isinstance(p, t.Power):
            base, e = self.term(p.base), int(p.exponent)
            if e < 0 and base.is_zero:
                raise ZeroDivisionError
            return base**e if e >= 0 else power(base, e)
        assert isinstance(p, t.Apply)
        return FUNCTIONS[p.function].value(self.term(p.arguments[0]))

    def length(self, axis: t.Axis) -> Poly:
        """Return the size of an axis of an array. Raises DomainError if the array has no such axis."""
        shape = self.shapes[axis.array]
        if not -len(shape) <= axis.position < len(shape):
            raise DomainError(
                f"A condition of {self.where} names '{axis.array}.shape[{axis.position}]', and '{axis.array}' has "
                f"{len(shape)} axes. Name an axis that it has."
            )
        return shape[axis.position]

    def array(self, name: str) -> Poly:
        """Return the entry of an array at the template variables; along an axis of size 1 its index is 0."""
        shape = self.shapes[name]
        shift = self.rank - len(shape)
        return access(
            name, tuple(of_const(ZERO) if n == ONE else axis_index(k + shift, n) for k, n in enumerate(shape))
        )
