"""A hypothesis as a formula that a program can evaluate: what `certgrad verify` reads.

The syntax is that of a domain: comparisons of arithmetic on entries, joined by `or`. Names without an index stand for
whole arrays, which broadcast; `x[i, j]` is an entry of an array whose star groups are one axis each, for every `i` and
`j`; `sum(x[i, k] for k in range(n) if k <= j)` binds, and so does `all(... for j in range(n))`, which says over what an
index runs that numbers no axis of an argument. What has no such form has no formula, and is then not re-checked.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from flint import fmpq

from certgrad.obligations.assume.conditions import Clause, polys
from certgrad.obligations.laws.order import sole_maximum
from certgrad.obligations.terms.atoms import Access, Base, Dim, Exp, Fn, IndexNumber, Max, Num, Product, Sum
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.index import IntegerAtom, Ix, IxTerm
from certgrad.obligations.terms.integers import Entry, Quotient, Remainder, RowMajor
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly
from certgrad.obligations.terms.predicates import IxEq, IxPred, Pred
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms

_RELATIONS = {
    "> 0": "{} > 0",
    ">= 0": "{} >= 0",
    "!= 0": "{} != 0",
    "= 0": "{} == 0",
    "not integer": "{} not in integers",
    "not pole": "{} not in nonpositive_integers",
}
_BINDERS: dict[type[Atom], str] = {Sum: "sum", Max: "max", Product: "prod"}
_OF_MATRICES = {"determinant": "determinant", "smallest minor": "smallest_minor"}


class _NoFormula(Exception):
    """The clause holds something that formulas cannot say."""


def formula(clause: Clause, axes: Mapping[str, Sequence[str]], ranges: Mapping[Var, Poly]) -> str:
    """The clause as a formula, or "" where it has none.

    `axes` gives the axes of each input as they are written, `ranges` the sizes that free index variables stay below.
    """
    writer = _Writer(None if _aligned(clause, axes) else {}, axes)
    try:
        parts = [f"({writer.poly(g)}) {'==' if v else '!='} 0" for g, v in clause.guards]
        once = sole_maximum(clause)
        if once is not None:
            parts.append(f"{writer.bound('argmax_count', once)} == 1")
        else:
            parts += [_RELATIONS[a.relation].format(writer.poly(a.poly)) for a in clause.alternatives]
        text = " or ".join(parts)
        unbound = sorted(clause.free - writer.axes_of) if writer.names is not None else []
        bounds = [f"for {writer.var(v)} in range({writer.poly(ranges[v])})" for v in unbound]
    except (_NoFormula, KeyError):
        return ""
    return f"all({' '.join([text, *bounds])})" if bounds else text


def _aligned(clause: Clause, axes: Mapping[str, Sequence[str]]) -> bool:
    """Each entry stands at the index where numpy's broadcasting of whole arrays would put it."""
    atoms = [a for p in polys(clause) for a in deep_atoms(p)]
    if any(isinstance(a, (Sum, Max, Product, Matrix, IndexNumber, IxPred, IxEq)) for a in atoms):
        return False
    at: dict[int, Var] = {}
    for a in atoms:
        if not isinstance(a, Access):
            continue
        for place, (ix, n) in enumerate(zip(a.index, axes.get(a.tensor, ()), strict=False), -len(a.index)):
            v = ix.variable()
            if v is None and n == "1" and not ix.terms and ix.const.is_zero:
                continue
            if v is None or at.setdefault(place, v) != v:
                return False
    return len(set(at.values())) == len(at)


class _Writer:
    """`names` is None where indices are left out."""

    def __init__(self, names: dict[Var, str] | None, taken: Container[str]) -> None:
        self.names = names
        self.axes_of: set[Var] = set()
        """The variables that number an axis of an argument."""
        letters = (f"{letter}{k or ''}" for k in range(100) for letter in "ijkl")
        self.letters: Iterator[str] = (name for name in letters if name not in taken)

    def poly(self, p: Poly) -> str:
        out = ""
        for m, c in sorted(p.sorted_items(), key=lambda item: item[1] < 0):
            sign = ("-" if c < 0 else "") if not out else " - " if c < 0 else " + "
            out += sign + self.mono(m, abs(c))
        return out or "0"

    def mono(self, mono: Mono, c: fmpq) -> str:
        factors = [] if c == 1 and mono else [_number(c)]
        for a, e in mono:
            if isinstance(a, Exp):
                factors.append(f"exp({self.poly(Poly({a.mono: fmpq(e.numerator, e.denominator)}))})")
            else:
                factors.append(self.atom(a) + ("" if e == 1 else f"**{_number(fmpq(e.numerator, e.denominator))}"))
        return "*".join(factors)

    def atom(self, a: Atom) -> str:
        if isinstance(a, Access):
            if self.names is None or not a.index:
                return a.tensor
            return self.entry(a)
        if isinstance(a, Num):
            return a.name
        if isinstance(a, Dim) and a.name.isidentifier():
            return f"size({a.name})"
        if isinstance(a, Base):
            return f"({self.poly(a.poly)})"
        if isinstance(a, Pred):
            return f"step({self.poly(a.poly)})"
        if isinstance(a, IndexNumber):
            return self.term(a.var)
        if isinstance(a, IxPred):
            return f"step({self.index(a.ix)} + 1)"
        if isinstance(a, IxEq):
            return f"(1 - step({self.index(a.ix)}) - step(-({self.index(a.ix)})))"
        if isinstance(a, Fn) and len(a.args) == 1 and a.name != "stop":
            return f"{a.name}({self.poly(a.args[0])})"
        if isinstance(a, (Sum, Max, Product, Matrix)):
            name = _OF_MATRICES.get(a.name) if isinstance(a, Matrix) else _BINDERS[type(a)]
            return self.bound(name, a)
        raise _NoFormula

    def entry(self, a: Access | Entry) -> str:
        self.axes_of |= {v for ix in a.index if (v := ix.variable()) is not None}
        return f"{a.tensor}[{', '.join(map(self.index, a.index))}]"

    def bound(self, name: str | None, a: Sum | Max | Product | Matrix) -> str:
        if name is None:
            raise _NoFormula
        body = self.poly(Poly({a.body: fmpq(1)}) if isinstance(a, Sum) else a.body)
        bounds = [f"for {self.var(v)} in range({self.poly(n)})" for v, n in zip(a.vars, a.ranges, strict=True)]
        kept = self.kept(a.where) if isinstance(a, (Max, Product)) else []
        return f"{name}({' '.join([body, *bounds, *kept])})"

    def kept(self, where: Poly) -> list[str]:
        """Which values of the variables take part, as conditions that must all hold."""
        if where == ONE:
            return []
        single = where.single()
        factors = [a for a, _ in single[0]] if single is not None and single[1] == 1 else []
        if factors and all(isinstance(a, IxPred) for a in factors):
            return [f"if {self.index(a.ix)} >= 0" for a in factors if isinstance(a, IxPred)]
        return [f"if {self.poly(where)} != 0"]

    def var(self, v: Var) -> str:
        if self.names is None:
            raise _NoFormula
        if v not in self.names:
            self.names[v] = next(self.letters)
        return self.names[v]

    def index(self, ix: Ix) -> str:
        parts = []
        for term, c in ix.terms:
            text = self.term(term)
            parts.append(text if c == 1 else f"({c})*{text}")
        if not ix.const.is_zero or not parts:
            parts.append(self.poly(ix.const))
        return " + ".join(parts)

    def term(self, v: IxTerm) -> str:
        return self.integer(v) if isinstance(v, IntegerAtom) else self.var(v)

    def integer(self, a: IntegerAtom) -> str:
        if isinstance(a, Entry):
            return self.entry(a)
        if isinstance(a, (Quotient, Remainder)):
            return f"(({self.index(a.ix)}) {'//' if isinstance(a, Quotient) else '%'} ({self.poly(a.divisor)}))"
        if isinstance(a, RowMajor):
            return f"(({self.index(a.major)})*({self.poly(a.stride)}) + {self.index(a.minor)})"
        raise _NoFormula


def _number(c: fmpq) -> str:
    return str(c) if c.q == 1 and c >= 0 else f"({c})"
