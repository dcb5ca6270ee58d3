"""Terms as sympy expressions: entries are `Indexed`, sums are `Sum`, predicates are `Piecewise`."""

from __future__ import annotations

from collections.abc import Mapping

import sympy
from flint import fmpq

from certgrad.obligations.terms.atoms import Access, Base, Dim, Exp, Fn, IndexNumber, Max, Num, Product, Sum
from certgrad.obligations.terms.determined import Matrix, Rec
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.functions import EXPRESSIONS
from certgrad.obligations.terms.index import IntegerAtom, Ix, IxTerm
from certgrad.obligations.terms.integers import Chosen, Entry, Quotient, Remainder, Rounded, RowMajor
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly
from certgrad.obligations.terms.predicates import IxEq, IxPred, Pred, Side
from certgrad.obligations.terms.variables import Var


class SympyView:
    """Converts terms to expressions of sympy; `names` gives the letters of free index variables."""

    def __init__(self, names: Mapping[Var, str]) -> None:
        self.names = {v: sympy.Symbol(n, integer=True, nonnegative=True) for v, n in names.items()}

    def __call__(self, poly: Poly) -> sympy.Expr:
        return sympy.Add(*(self.mono(m, c) for m, c in poly.sorted_items()))

    def mono(self, mono: Mono, c: fmpq) -> sympy.Expr:
        return sympy.Mul(sympy.Rational(int(c.p), int(c.q)), *(self.power(a, e) for a, e in mono))

    def power(self, a: Atom, e: Exponent) -> sympy.Expr:
        exponent = sympy.Rational(e.numerator, e.denominator)
        if isinstance(a, Exp):
            return sympy.exp(exponent * self.mono(a.mono, fmpq(1)))
        return self.atom(a) ** exponent

    def atom(self, a: Atom) -> sympy.Expr:
        """Return an atom as an expression of sympy; functions that sympy does not have become undefined functions."""
        if isinstance(a, Access):
            if not a.index:
                return sympy.Symbol(a.tensor, real=True)
            return sympy.IndexedBase(a.tensor, real=True)[tuple(self.index(ix) for ix in a.index)]
        if isinstance(a, Dim):
            return sympy.Symbol(a.name, integer=True, positive=True)
        if isinstance(a, Num):
            return sympy.pi if a.name == "pi" else sympy.Integer(int(a.name))
        if isinstance(a, IndexNumber):
            return self.integer(a.var)
        if isinstance(a, Fn):
            expression = EXPRESSIONS.get(a.name)
            written = sympy.Function(a.name) if expression is None else expression.of
            return written(*(self(p) for p in a.args))
        if isinstance(a, Base):
            return self(a.poly)
        if isinstance(a, (Pred, Side)):
            return sympy.Piecewise((1, sympy.StrictGreaterThan(self(a.poly), 0)), (0, True))
        if isinstance(a, IxPred):
            return sympy.Piecewise((1, sympy.GreaterThan(self.index(a.ix), 0)), (0, True))
        if isinstance(a, IxEq):
            return sympy.KroneckerDelta(self.index(a.ix), 0)
        if isinstance(a, Sum):
            return self.sum(a)
        if isinstance(a, Max):
            inner, _ = self.inside(a)
            return sympy.Function("max")(inner(a.body))
        if isinstance(a, Product):
            return self.product(a)
        if isinstance(a, Matrix):
            inner, bounds = self.inside(a)
            at = [self.index(ix) for ix in a.index]
            return sympy.Function(a.name.replace(" ", "_"))(sympy.Lambda(tuple(bounds), inner(a.body)), *at)
        if isinstance(a, Rec):
            name = f"c{a.loop.key[-6:]}_{a.position}"
            return sympy.IndexedBase(name, real=True)[tuple(self.index(ix) for ix in (a.time, *a.index))]
        raise TypeError(type(a).__name__)

    def sum(self, a: Sum) -> sympy.Expr:
        inner, bounds = self.inside(a)
        limits = [(v, 0, self(n) - 1) for v, n in zip(bounds, a.ranges, strict=True)]
        return sympy.Sum(inner.mono(a.body, fmpq(1)), *limits)

    def product(self, a: Product) -> sympy.Expr:
        inner, bounds = self.inside(a)
        limits = [(v, 0, self(n) - 1) for v, n in zip(bounds, a.ranges, strict=True)]
        body = inner(a.body)
        if a.where != ONE:
            body = sympy.Piecewise((body, sympy.Eq(inner(a.where), 1)), (1, True))
        return sympy.Product(body, *limits)

    def inside(self, a: Sum | Max | Product | Matrix) -> tuple[SympyView, list[sympy.Symbol]]:
        used = {s.name for s in self.names.values()}
        letters = iter(c for c in "jklabcdefghimnop" if c not in used)
        inner = SympyView({})
        inner.names = dict(self.names)
        bounds = []
        for v in a.vars:
            inner.names[v] = sympy.Symbol(next(letters), integer=True, nonnegative=True)
            bounds.append(inner.names[v])
        return inner, bounds

    def var(self, v: Var) -> sympy.Symbol:
        return self.names.get(v) or sympy.Symbol(f"{v[0]}{v[1]}", integer=True)

    def index(self, ix: Ix) -> sympy.Expr:
        return sympy.Add(self(ix.const), *(c * self.integer(v) for v, c in ix.terms))

    def integer(self, v: IxTerm) -> sympy.Expr:
        if not isinstance(v, IntegerAtom):
            return self.var(v)
        inner = [self.index(ix) for ix in v.parts()]
        if isinstance(v, Entry):
            return sympy.IndexedBase(v.tensor, integer=True)[tuple(inner)] if inner else sympy.Symbol(v.tensor)
        if isinstance(v, RowMajor):
            return inner[0] * self(v.stride) + inner[1]
        if isinstance(v, Chosen):
            return sympy.Function(f"{v.comparison.kind}{v.component}", integer=True)(*inner)
        if isinstance(v, Rounded):
            return sympy.Function("rounded", integer=True)(*inner)
        assert isinstance(v, (Quotient, Remainder))
        quotient = sympy.floor(inner[0] / self(v.divisor))
        return quotient if isinstance(v, Quotient) else inner[0] - self(v.divisor) * quotient
