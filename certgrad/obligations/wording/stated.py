"""Terms and clauses of the calculus as trees: what a hypothesis says, without the data structures of the calculus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count, islice

from flint import fmpq

from certgrad.language import tree as t
from certgrad.language.canonical import canonical, in_canonical_order, letters
from certgrad.obligations.assume.assumptions import extent
from certgrad.obligations.assume.by_place import beyond_axes
from certgrad.obligations.assume.conditions import (
    LOOP_STEP,
    PARTIAL_RANGE,
    Atomic,
    Clause,
    has_one_solution,
    name_of_solver,
    of_solver,
    polys,
)
from certgrad.obligations.laws.order import different_entries, maximum_once
from certgrad.obligations.laws.solutions import solution_shapes
from certgrad.obligations.terms.atoms import Access, Base, Dim, Exp, Fn, IndexNumber, Max, Num, Product, Sum
from certgrad.obligations.terms.determined import Loop, Matrix, Rec, carried
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import IntegerAtom, Ix, IxTerm
from certgrad.obligations.terms.integers import Chosen, Entry, Quotient, Remainder, Rounded, RowMajor
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly
from certgrad.obligations.terms.predicates import IxEq, IxPred, Pred, Side
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms, own_indices

from .readable import with_tanh

Shapes = Mapping[str, Sequence[Poly]]
"""The sizes of the axes of arrays, each star group as one axis."""
_RELATIONS = {"> 0": ">", ">= 0": ">=", "!= 0": "!=", "= 0": "="}
_FOLDS = {Sum: "sum", Max: "maximum", Product: "product"}


def statement_of_clause(
    clause: Clause,
    shapes: Shapes | None = None,
    ranges: Mapping[Var, Poly] | None = None,
    tests: Mapping[Var, Poly] | None = None,
) -> t.Statement:
    """Return the hypothesis that the clause states, in canonical form, for all values of its free variables.

    A variable runs over the axes (of `shapes`) that it numbers, or else over its range in `ranges`; one that numbers
    the steps of a loop, as long as its test in `tests` holds. Where the clause is about whole arrays, aligned as numpy
    broadcasts them, it is written without indices.
    """
    shapes = shapes or {}
    if of_solver(clause):  # an equation is read entry by entry, which names the indices of the unknown
        clause = clause.rewritten(with_tanh)
    else:
        shapes = solution_shapes() | dict(shapes)
    if aligned(clause, shapes):
        return canonical(Writer({}, shapes, whole=True).clause(clause))
    free = sorted(clause.free, key=_order)
    names = {v: f"v{k}" for k, v in enumerate(free)}
    writer = Writer(names, shapes)
    body = writer.clause(clause)
    for v in (v for v in free if v[0] == LOOP_STEP):
        test = writer.poly(tests[v]) if tests and v in tests else t.Truth(t.Words("it goes on"))
        body = t.AtSteps((t.Range(names[v], t.WHILE_A_TEST_HOLDS),), test, body)
    over = [t.Range(names[v], writer.reach(v, clause, (ranges or {}).get(v))) for v in free if v[0] != LOOP_STEP]
    return canonical(t.ForAll(tuple(over), body) if over else body)


@dataclass(frozen=True)
class Reads:
    """Reads clauses as statements, with these sizes of axes, ranges of variables and tests of loops."""

    shapes: Shapes
    ranges: Mapping[Var, Poly] = field(default_factory=dict)
    tests: Mapping[Var, Poly] = field(default_factory=dict)

    def __call__(self, clause: Clause) -> t.Statement:
        return statement_of_clause(clause, self.shapes, self.ranges, self.tests)

    def each_once(self, clauses: Iterable[Clause]) -> dict[t.Statement, Clause]:
        """Return the clauses by their statements, the first of each."""
        table: dict[t.Statement, Clause] = {}
        for clause in clauses:
            table.setdefault(self(clause), clause)
        return table


def term(poly: Poly, names: Mapping[Var, str] | None = None) -> t.Term:
    """Return a term as a tree, with free index variables named i, j, k … unless `names` gives their names.

    Bound variables get none of these names, not even those of variables that are not in the term.
    """
    variable_names = dict(name_variables([poly]) if names is None else names)
    return in_canonical_order(Writer(variable_names, {}).poly(poly), variable_names.values())


def _order(v: Var) -> tuple:
    return {"t": 0, "u": 1}.get(v[0], 2), v


def name_variables(polys: Iterable[Poly]) -> dict[Var, str]:
    """Return letters for the free variables of terms, in sorted order; none that an array or a size has as its name."""
    polys = list(polys)
    deep = [a for p in polys for a in deep_atoms(p)]
    taken = {a.tensor for a in deep if isinstance(a, Access)} | {a.name for a in deep if isinstance(a, Dim)}
    free = sorted({v for p in polys for v in p.free}, key=_order)
    steps = [v for v in free if v[0] == LOOP_STEP]
    indices = [v for v in free if v[0] != LOOP_STEP]
    return dict(
        zip(
            [*indices, *steps],
            [*islice(letters(taken), len(indices)), *islice(letters(taken, "s"), len(steps))],
            strict=True,
        )
    )


def aligned(clause: Clause, shapes: Shapes) -> bool:
    """Return whether each entry stands at the index where numpy's broadcasting of whole arrays would put it."""
    atoms = [a for p in polys(clause) for a in deep_atoms(p)]
    if clause.step or any(isinstance(a, (Sum, Max, Product, Matrix, IndexNumber, IxPred, IxEq, Rec)) for a in atoms):
        return False
    at: dict[int, tuple[Var, str]] = {}
    for a in atoms:
        if not isinstance(a, Access):
            continue
        axis_sizes = shapes.get(a.tensor, ())
        sizes = [n.key for n in axis_sizes] if len(axis_sizes) == len(a.index) else ["?"] * len(a.index)
        for place, (ix, n) in enumerate(zip(a.index, sizes, strict=True), -len(a.index)):
            v = ix.variable()
            if v is None and n == ONE.key and not ix.terms and ix.const.is_zero:
                continue
            if v is None or at.setdefault(place, (v, n)) != (v, n):
                return False
    return len({v for v, _ in at.values()}) == len(at)


@dataclass
class Writer:
    """Writes terms and clauses as trees; `names` has the names of free variables."""

    names: dict[Var, str]
    shapes: Shapes
    whole: bool = False
    """Whether arrays are written without an index."""
    aliases: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By name of a carry that a step reads: the name of its loop, and its position among the loop's carries."""
    fresh: Iterator[int] = field(default_factory=count)
    given: Mapping[Var, t.Term] = field(default_factory=dict)
    """The terms that the parameters of a comparison stand for."""

    # --- statements

    def clause(self, clause: Clause) -> t.Statement:
        statement = self.alternatives(clause)
        guards = tuple(t.Compare("!=" if v else "=", self.poly(g), t.ZERO) for g, v in clause.guards)
        return t.Where(guards, statement) if guards else statement

    def alternatives(self, clause: Clause) -> t.Statement:
        different = different_entries(clause)
        if different is not None:
            entry, v, n = different
            inner, over = self.inside((v,), (n,), [entry])
            return t.Distinct((over[0],), inner.poly(entry))
        parts = [self.atomic(a) for a in clause.alternatives]
        statement = parts[0] if len(parts) == 1 else t.Either(tuple(parts))
        if of_solver(clause):
            return t.Solves(name_of_solver(clause), not has_one_solution(clause), statement)
        return statement

    def atomic(self, a: Atomic) -> t.Statement:
        once = maximum_once(a)
        if once is not None:
            inner, over = self.inside(once.vars, once.ranges, [once.body, once.where])
            return t.Unique(over, inner.poly(once.body), inner.condition(once.where))
        body = self.poly(a.poly)
        if a.relation == "not integer":
            return t.NotIn(body, "integers")
        if a.relation == "not pole":
            return t.NotIn(body, "nonpositive integers")
        return t.Compare(_RELATIONS[a.relation], body, t.ZERO)  # type: ignore[arg-type]

    def reach(self, v: Var, clause: Clause, size: Poly | None) -> t.Term:
        """Return the range of a free variable: the size of the axes that it numbers, else `size`; unknown without both.

        The calculus takes a condition to hold wherever it makes sense, so that an axis goes before a smaller range.
        """
        places = list(_reads(clause))
        axes = [(tensor, k) for tensor, index in places for k, ix in enumerate(index) if ix.variable() == v]
        if v[0] != PARTIAL_RANGE and (size_of_extent := extent(v, clause, self.shapes)) is not None:
            return self.size(size_of_extent, axes)
        mixed = any(v in ix.free and ix.variable() is None for _, index in places for ix in index)
        sizes = {self.axis(*a) for a in axes}
        if v in beyond_axes(clause):  # where no array says how far it runs, nothing but its range does
            return t.UNKNOWN if size is None else self.size(size, axes)
        if axes and not mixed and len(sizes) == 1 and (None not in sizes or size is None):
            return t.Axis(*min(axes))
        if size is not None:
            return self.size(size, axes)
        return t.Axis(*min(axes)) if axes else t.UNKNOWN

    def axis(self, tensor: str, position: int) -> str | None:
        """Return the size of an axis, as a key; None where it is not known."""
        axis_sizes = self.shapes.get(tensor, ())
        return axis_sizes[position].key if len(axis_sizes) > position else None

    def size(self, n: Poly, axes: Sequence[tuple[str, int]]) -> t.Term:
        """Return a size as a term: as that of an axis in `axes`, where all of these have it; else by itself."""
        return t.Axis(*min(axes)) if axes and all(self.axis(*a) == n.key for a in axes) else self.poly(n)

    # --- terms

    def poly(self, p: Poly) -> t.Term:
        return t.sum_of_terms([self.mono(m, c) for m, c in p.sorted_items()])

    def mono(self, mono: Mono, c: fmpq) -> t.Term:
        return t.scaled(Fraction(int(c.p), int(c.q)), [self.power(a, e) for a, e in mono])

    def power(self, a: Atom, e: Exponent) -> t.Term:
        if isinstance(a, Exp):
            exponent = Poly({a.mono: fmpq(Fraction(e).numerator, Fraction(e).denominator)})
            return t.Apply("exp", (self.poly(exponent),))
        return self.atom(a) if e == 1 else t.Power(self.atom(a), str(Fraction(e)))

    def atom(self, a: Atom) -> t.Term:
        """Return an atom as a tree of `certgrad/language/`."""
        if isinstance(a, Access):
            return self.access(a.tensor, a.index)
        if isinstance(a, Dim):
            return t.Size(a.name)
        if isinstance(a, Num):
            return t.Constant(a.name) if a.name == "pi" else t.Number(a.name)
        if isinstance(a, IndexNumber):
            return self.integer(a.var)
        if isinstance(a, Fn):
            return t.Apply(a.name, tuple(self.poly(p) for p in a.args))
        if isinstance(a, Base):
            return self.poly(a.poly)
        if isinstance(a, (Pred, Side, IxPred, IxEq)):
            return t.Truth(self.predicate(a))
        if isinstance(a, (Sum, Max, Product)):
            body = Poly({a.body: fmpq(1)}) if isinstance(a, Sum) else a.body
            where = ONE if isinstance(a, Sum) else a.where
            inner, over = self.inside(a.vars, a.ranges, [body, where])
            return t.Fold(_FOLDS[type(a)], over, inner.poly(body), inner.condition(where))  # type: ignore[arg-type]
        if isinstance(a, Matrix):
            inner, over = self.inside(a.vars, a.ranges, [a.body])
            return t.Matrix(a.name, (over[0], over[1]), inner.poly(a.body), tuple(map(self.index, a.index)))
        if isinstance(a, Rec):
            return t.Carry(self.loop(a.loop), a.position, self.index(a.time), tuple(map(self.index, a.index)))
        raise TypeError(type(a).__name__)

    def access(self, tensor: str, index: Sequence[Ix]) -> t.Term:
        if tensor in self.aliases:
            loop, position = self.aliases[tensor]
            time, *rest = map(self.index, index)
            return t.Carried(loop, position, time, tuple(rest))
        if self.whole:
            return t.Array(tensor)
        return t.Entry(tensor, tuple(map(self.index, index)))

    def predicate(self, a: Atom) -> t.Statement:
        if isinstance(a, (Pred, Side)):
            return t.Compare(">", self.poly(a.poly), t.ZERO)
        assert isinstance(a, (IxPred, IxEq))
        return t.Compare(">=" if isinstance(a, IxPred) else "=", self.index(a.ix), t.ZERO)

    def condition(self, where: Poly) -> tuple[t.Statement, ...]:
        """Return the statements that together say that a 0/1-valued term is 1."""
        if where == ONE:
            return ()
        single = where.single()
        if single is not None and single[1] == 1 and all(isinstance(a, (Pred, IxPred, IxEq)) for a, _ in single[0]):
            return tuple(self.predicate(a) for a, _ in single[0])
        a = (ONE - where).atom()
        if isinstance(a, IxEq):
            return (t.Compare("!=", self.index(a.ix), t.ZERO),)
        if isinstance(a, IxPred):
            return (t.Compare(">=", self.index(a.ix.shifted(ONE).scaled(-1)), t.ZERO),)
        return (t.Compare("=", self.poly(where), t.ONE),)

    def inside(
        self, variables: Sequence[Var], sizes: Sequence[Poly], bodies: Sequence[Poly]
    ) -> tuple[Writer, tuple[t.Range, ...]]:
        """Return a writer for the body of a binder, and the binder's ranges."""
        names = {**self.names, **{v: f"b{next(self.fresh)}" for v in variables}}
        inner = replace(self, names=names)
        atoms = [a for p in bodies for a in deep_atoms(p) if isinstance(a, Access)]
        over = []
        for v, n in zip(variables, sizes, strict=True):
            axes = [(a.tensor, k) for a in atoms for k, ix in enumerate(a.index) if ix.variable() == v]
            over.append(t.Range(names[v], self.size(n, axes)))
        return inner, tuple(over)

    def loop(self, loop: Loop) -> t.Loop:
        level = loop.level
        name, time = f"loop{next(self.fresh)}", f"time{next(self.fresh)}"
        aliases = {**self.aliases, **{carried(level, k): (name, k) for k in range(len(loop.carries))}}
        carries = []
        for c in loop.carries:
            axes = [("b", level, 1 + k) for k in range(len(c.ranges))]
            inner, over = self.inside(axes, c.ranges, [])
            inner.names = {**inner.names, ("b", level, 0): time}
            inner.aliases = aliases
            carries.append(t.CarryOf(over, inner.poly(c.init), inner.poly(c.step)))
        return t.Loop(name, time, tuple(carries))

    # --- indices

    def index(self, ix: Ix) -> t.Term:
        parts = [t.scaled(Fraction(c), [self.integer(v)]) for v, c in ix.terms]
        return t.sum_of_terms([*parts, *(self.mono(m, c) for m, c in ix.const.sorted_items())])

    def integer(self, v: IxTerm) -> t.Term:
        if not isinstance(v, IntegerAtom):
            if v in self.given:
                return self.given[v]
            return t.Index(self.names.get(v, f"{v[0]}{v[1]}.{v[2]}"))
        if isinstance(v, Entry):
            return self.access(v.tensor, v.index)
        if isinstance(v, RowMajor):
            major, minor = map(self.index, v.parts())
            return t.Add((t.Mul((major, self.poly(v.stride))), minor))
        if isinstance(v, Chosen):
            return self.chosen(v)
        if isinstance(v, Rounded):
            inner, _ = self.inside((), (), [v.body])
            inner.given = {**self.given, **{("p", k, 0): self.index(ix) for k, ix in enumerate(v.arguments)}}
            return inner.poly(v.body)
        assert isinstance(v, (Quotient, Remainder))
        name = "quotient" if isinstance(v, Quotient) else "remainder"
        return t.Apply(name, (self.index(v.ix), self.poly(v.divisor)))

    def chosen(self, v: Chosen) -> t.Term:
        rule = v.comparison
        bodies = [*rule.bodies, rule.where]
        inner, over = self.inside(rule.variables, rule.ranges, bodies)
        place, arguments = (v.arguments[:1], v.arguments[1:]) if rule.permutes else ((), v.arguments)
        inner.given = {**self.given, **{("p", k, 0): self.index(ix) for k, ix in enumerate(arguments)}}
        return t.Chosen(
            rule.kind,
            over,
            tuple(inner.poly(b) for b in rule.bodies),
            inner.condition(rule.where),
            v.component,
            tuple(map(self.index, place)),
        )


def _reads(clause: Clause) -> Iterable[tuple[str, tuple[Ix, ...]]]:
    """Yield the array and index of every entry that a clause mentions, those used as indices too."""
    for p in polys(clause):
        for a in deep_atoms(p):
            if isinstance(a, Access):
                yield a.tensor, a.index
            stack = own_indices(a)
            while stack:
                ix = stack.pop()
                for v in ix.atoms:
                    stack += v.parts()
                    if isinstance(v, Entry):
                        yield v.tensor, v.index
