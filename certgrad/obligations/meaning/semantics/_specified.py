"""Primitives that mean what their rule in `certgrad.specification` says: an expression for an entry, read as a tensor.

The entry of the result at its template variables is an expression in entries of the operands. Under which conditions it
is defined, and differentiable, comes with these entries: `Tensor.indexed` moves conditions as it moves bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import mul
from typing import Any

from certgrad.language import tree as t
from certgrad.language.functions import FUNCTIONS as RECORDS
from certgrad.obligations.assume.conditions import Clauses, merge_clauses
from certgrad.obligations.assume.signs import ANY_SIGN, NEG, NONNEG, POS
from certgrad.obligations.assume.signs import ZERO as IS_0
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.functions import FUNCTIONS, OF_SEVERAL
from certgrad.obligations.laws.recurrences import merge_agreeing_cases
from certgrad.obligations.meaning import semantics
from certgrad.obligations.terms.atoms import Num
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.index_terms import (
    at_least,
    bounds,
    index_condition,
    index_equal,
    index_number,
    index_pred,
)
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, number, poly_of
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.tracing.jax_internals import kind_of
from certgrad.specification.rule import RULES as SPECIFIED
from certgrad.specification.rule import Call, Entries, Operand, Result, UnreadableError, unravelled

from . import _elementwise as of
from ._places import Places, Shape, Sizes, in_order, numbered_choices, rounded, towards_0
from ._registry import RULES, Context, Params, UnprovedError

Indices = tuple[Ix, ...]
NOTHING, UNIT = (t.Number("0"), t.Integer(0)), (t.Number("1"), t.Integer(1))
SORTS: dict[str, t.Sort] = {"f": "real", "i": "integer", "b": "boolean"}


def specified(ctx: Context, params: Params, shapes: list[Shape], *operands: Tensor) -> list[Tensor]:
    """Return an equation's results by its primitive's rule in the specification."""
    equation, sizes = ctx.equation, Sizes(ctx.equation.params)
    name, dtypes = equation.primitive.name, [v.aval.dtype for v in equation.outvars]
    results = [Result(sizes.written(s), SORTS[kind_of(d)], d) for s, d in zip(shapes, dtypes, strict=True)]
    return _results_by_specification(
        ctx, Call(name, equation.params, results, ctx.notes), sizes, operands, ctx.dtypes, shapes
    )


OWN = frozenset("empty empty2 shift_left shift_right_arithmetic shift_right_logical stop_gradient".split())
"""What has a function of its own in a module that loads later: all of it, lest the order of loading decide."""
RULES.also(specified, SPECIFIED, but=OWN)


def one_after_another(ctx: Context, parts: Sequence[Tensor], shape: Shape) -> Tensor:
    """The tensors along the first axis, of this shape together."""
    call = Call("concatenate", {"dimension": 0}, [], ctx.notes)
    return _results_by_specification(ctx, call, Sizes({}), parts, [None] * len(parts), [shape])[0]


def _results_by_specification(
    ctx: Context, call: Call, sizes: Sizes, operands: Sequence[Tensor], dtypes: Sequence[Any], shapes: list[Shape]
) -> list[Tensor]:
    given = [
        Operand(sizes.written(x.shape), SORTS[x.kind], dtype, _entries(str(k), SORTS[x.kind]))
        for k, (x, dtype) in enumerate(zip(operands, dtypes, strict=True))
    ]
    try:
        found = SPECIFIED[call.primitive](call, *given)
        entries: Sequence[Entries] = [found] if callable(found) else found
        return [
            Entry(ctx, operands, shape, sizes).whole(at(*(t.Index(str(k)) for k in range(len(shape)))))
            for at, shape in zip(entries, shapes, strict=True)
        ]
    except UnreadableError as error:
        raise UnprovedError(f"primitive {call.primitive}: {error}") from None


def _entries(name: str, sort: t.Sort) -> Entries:
    return lambda *index: t.SortedEntry(name, index, sort)


Binder = t.Fold | t.Minimum | t.ForAll | t.Exists
Dummies = list[tuple[Var, Poly]]


def _fold(x: Binder) -> Callable[[Tensor, Dummies, Poly], Tensor]:
    """Return the operation of a binder on a tensor: of its entries over variables at which a condition holds."""
    from . import _folds as folds

    if isinstance(x, t.Fold):
        return {"sum": folds.total, "product": folds.product, "maximum": folds.greatest}[x.kind]
    return folds.least if isinstance(x, t.Minimum) else folds.every if isinstance(x, t.ForAll) else folds.some


def _with_nonnegative_index(known: Indices, ix: Ix) -> Indices:
    """Return the indices known to be ≥ 0 with one more, without those that follow from another."""
    if any(_follows(ix, a) for a in known):
        return known
    return (*(a for a in known if not _follows(a, ix)), ix)


def _follows(ix: Ix, other: Ix) -> bool:
    """Return whether one index is ≥ 0 wherever the other is."""
    apart = ix.minus(other)
    return not apart.terms and at_least(apart.const) == ONE


class Entry(Places):
    """Reads the entry of a result as a tensor of its shape."""

    def __init__(self, ctx: Context, operands: Sequence[Tensor], shape: Shape, sizes: Sizes) -> None:
        super().__init__(shape, sizes)
        self.ctx, self.operands = ctx, operands
        self.open: list[tuple[Clauses, Clauses]] = []
        """Where places are determined, and do not change, of which that is not yet said."""
        self.by_values = any(operand.kind == "i" for operand in operands)
        """Entries may stand at places that values hold."""
        self.holding: dict[str, None] = {}
        """Operands, by name, that hold places of others."""

    def whole(self, x: t.Node) -> Tensor:
        """An expression, with all conditions."""
        if not self.by_values:
            return self._steady(self.tensor(x))
        found = semantics._positions.tensor_with_conditions(self, x)
        for name in self.holding:  # where an arg-maximum jumps, so does what is read there
            self.open.append(self.operands[int(name)].conditions_over(range(self.operands[int(name)].rank), {}))
        return self._steady(found)

    def reads(self, x: t.Node) -> bool:
        """Return whether an expression depends on operands' entries or reals, and not on indices and sizes alone."""
        if isinstance(x, (t.Chosen, t.Least)) or (self.known and x in self.known):
            return False
        return isinstance(x, (t.SortedEntry, t.Number)) or any(map(self.reads, t.children(x)))

    def tensor(self, x: t.Node) -> Tensor:
        """Return the tensor of terms that an expression of any sort stands for."""
        match x:
            case t.SortedEntry():
                return self._entry(x)
            case t.ToReal():
                return replace(self.tensor(x.operand), kind="f")
            case t.If() | t.Given() if (real := rounded(x)) is not None:
                return semantics._casts.whole_part(self.ctx, self.tensor(real[0]), real[1])
            case t.If(condition) if self.by_values and semantics._positions.meets_places(self, condition):
                return semantics._positions.replaced(self, x)
            case t.If():
                return self._selected(x)
            case t.Compare(relation, left, right):
                return of.compared(self.ctx, relation, self.tensor(left), self.tensor(right), self.shape)
            case t.Not(part):
                return of.logical_not(self.tensor(part))
            case t.Both(()) | t.Either(()):
                return Tensor(self.shape, ONE if x == t.TRUE else ZERO, "b", signs=NONNEG)
            case t.Both(parts):
                return reduce(of.logical_and, map(self.tensor, parts))
            case t.Either(parts):
                return of.logical_not(reduce(of.logical_and, (of.logical_not(self.tensor(part)) for part in parts)))
            case t.Fold() | t.Minimum() | t.ForAll() | t.Exists():
                return self._folded(x)
            case t.Chosen("argmax", (r,), (body,), ()):
                v, n, _ = self._bound(r, index_condition)
                if n != ONE and (found := semantics._order.of_few(self.tensor(body), v, n)) is not None:
                    return found
            case t.Constant("pi"):
                return Tensor(self.shape, poly_of(intern(Num("pi"))), "f", signs=POS)
            case t.Number():
                c = number(x.rational)
                return Tensor(self.shape, c, "f", signs=POS if x.rational > 0 else NEG if x.rational < 0 else IS_0)
        return self._computed(x) if self.reads(x) else self._number(x)

    def _entry(self, x: t.SortedEntry) -> Tensor:
        operand = self.operands[int(x.name)]
        axes = zip(x.index, operand.shape, strict=True)
        index = tuple(of_const(ZERO) if n == ONE else self.index(i) for i, n in axes)
        if not index:  # one number throughout
            return replace(operand, shape=self.shape) if self.shape else operand
        if index == self.own and operand.shape == self.shape:
            return operand
        out = operand.indexed(index, self.shape)
        if (out.defined or out.smooth) and any(isinstance(i, (t.Chosen, t.Least)) for i in x.index):
            return self._throughout(out, operand, x, index)
        return out

    def _throughout(self, out: Tensor, operand: Tensor, x: t.SortedEntry, index: Indices) -> Tensor:
        """Return an operand's entry at a chosen place with the conditions of all entries along the chosen axes."""
        here, over = list(index), list[tuple[Var, Poly]]()
        for k, i in enumerate(x.index):
            if isinstance(i, (t.Chosen, t.Least)) and operand.shape[k] != ONE:
                v = fresh()
                here[k], over = of_var(v), [*over, (v, operand.shape[k])]
        defined, smooth = operand.indexed(here, self.shape).conditions_for_all(over)
        return replace(out, defined=defined, smooth=smooth)

    def _selected(self, x: t.If) -> Tensor:
        """A choice by a condition; those that are abs, sign, max, min or a truncated quotient as these functions."""
        match x:
            case t.If(condition, (t.Number("1") | t.Integer(1)) as one, t.Number("0") | t.Integer(0)):  # of a boolean
                return replace(self.tensor(condition), kind="f" if isinstance(one, t.Number) else "i")
            case t.If(t.Compare("<", left, right), then, otherwise) if (otherwise, then) == (left, right):
                return of.greater(self.tensor(left), self.tensor(right), self.shape)
            case t.If(t.Compare("<", left, right), then, otherwise) if (then, otherwise) == (left, right):
                return of.lesser(self.tensor(right), self.tensor(left), self.shape)
            case t.If(t.Compare("<", t.SortedEntry() as entry, zero), t.Negate(other), again) if (
                entry == other == again and zero in NOTHING
            ):
                return of.applied(self.ctx, "abs", self.tensor(entry))
            case t.If(t.Compare("<", entry, zero), t.Negate(one), t.If(t.Compare("<", less, other), more, none)) if (
                (entry, zero, zero, one) == (other, less, none, more) and zero in NOTHING and one in UNIT
            ):
                return of.applied(self.ctx, "sign", self.tensor(entry))
            case t.If(otherwise=t.Apply("quotient", (left, right))) if towards_0(x) == (left, right):
                return semantics._division.ratio(self.ctx, self.tensor(left), self.tensor(right), self.shape)
            case t.If(t.Compare("<=", t.SortedEntry() as which, t.Integer(0))):
                return of.selected_by_number(
                    self.ctx, self.tensor(which), list(map(self.tensor, numbered_choices(x, which, "<=")))
                )
        if not self.reads(x.condition):
            whole = of.chosen(self.shape, self.placed(x, ONE))
            one_after_another = isinstance(x.condition, t.Compare)
            return replace(whole, body=merge_agreeing_cases(whole.body, self.ranges)) if one_after_another else whole
        return self._by_condition(x)

    def _by_condition(self, x: t.If) -> Tensor:
        return of.selected_by(self.ctx, *map(self.tensor, (x.condition, x.then, x.otherwise)))

    def placed(self, x: t.Node, reached: Poly, known: Indices = ()) -> list[tuple[Poly, Tensor]]:
        """Return the tensors that conditions on indices choose between, each with a 0/1-valued term that says where.

        Entries matter only where `reached` is 1 and the `known` indices are at least 0.
        """
        where = self._where(reached, known)
        if not isinstance(x, t.If) or self.reads(x.condition):
            return [(where, self.tensor(x))]
        match x:
            case t.If(t.Compare("=", t.Index() as axis, t.Integer(0))):
                parts, ix = numbered_choices(x, axis, "="), self.index(axis)
                if bounds(ix, self.ranges) == (ZERO, number(len(parts) - 1)):
                    places = (index_equal(ix.shifted(number(-k))) for k in range(len(parts)))
                    return [(where * here, self.tensor(part)) for here, part in zip(places, parts, strict=True)]
            case t.If(t.Compare("<", left, right), then, otherwise):
                beyond = _with_nonnegative_index(known, self.index(left).minus(self.index(right)))
                before = where - self._where(reached, beyond)
                return [*self.placed(then, before), *self.placed(otherwise, reached, beyond)]
            case t.If(t.Both(parts), then, otherwise):
                return self._inside(parts, then, otherwise, where)
        return [(where, self._by_condition(x))]

    def _where(self, reached: Poly, known: Indices) -> Poly:
        return reduce(mul, (index_pred(ix, self.ranges) for ix in known), reached)

    def _inside(
        self, conditions: tuple[t.Node, ...], then: t.Node, otherwise: t.Node, where: Poly
    ) -> list[tuple[Poly, Tensor]]:
        """Return values with the 0/1 terms that say where: `then` where all conditions hold, else `otherwise`.

        The conditions are on indices, and `where` is a condition on all of the values.
        Where an index must be a multiple, e = s·j, a variable j over its possible values stands for ⌊e / s⌋.
        """
        over: Dummies = []
        multiples: list[t.Node] = []
        here = where
        for condition in conditions:
            match condition:
                case t.Compare("=", t.Apply("remainder", (e, s)), t.Integer(0)) if self._divisor(s) != ONE:
                    v, n = fresh(), self._count(conditions, e // s)
                    over, self.ranges[v] = [*over, (v, n)], n
                    multiples.append(e // s)
                    self.known[e // s] = of_const(ZERO) if n == ONE else of_var(v)
                    here = here * index_equal(self.index(e).minus(self._product(self.known[e // s], self.index(s))))
                case _:
                    here = here * self.holds(condition)
        part = self.tensor(then)
        for node in multiples:
            del self.known[node]
        over = [(v, n) for v, n in over if n != ONE]
        if not over:
            return [(here, part), *self.placed(otherwise, where - here)]
        defined, smooth = part.conditions_for_all(over)
        some = replace(part, body=sum_over(here * part.body, over), defined=defined, smooth=smooth)
        return [(ONE, some), *self.placed(otherwise, where - sum_over(here, over))]

    def _count(self, conditions: tuple[t.Node, ...], place: t.Node) -> Poly:
        """Below which size the conditions say that it is."""
        for condition in conditions:
            match condition:
                case t.Both((_, t.Compare("<", left, size))) if left == place:
                    return self.size_of(size)
        raise UnprovedError("a multiple that has no bound")

    def _where_all_hold(self, conditions: Sequence[t.Node], over: Dummies, where: Poly = ONE) -> tuple[Dummies, Poly]:
        """The variables, and a term that is 1 where conditions on indices hold as well."""
        parts = [part for x in conditions for part in (x.parts if isinstance(x, t.Both) else (x,))]
        over, where = self._at_places(parts, over, where, index_condition, shown=True)
        return over, reduce(mul, (self.holds(part, index_condition) for part in parts), where)

    def _at_places(
        self,
        conditions: Sequence[t.Node],
        over: Dummies,
        where: Poly,
        at_least_0: Callable[..., Poly],
        shown: bool = False,
    ) -> tuple[Dummies, Poly]:
        """Rename variables so that a place along an axis is a variable: where 0 ≤ v + c < n is a condition, w = v + c
        is the new variable, and v becomes w − c.

        Return the variables, and `where` times the condition that w − c is in the range of v. Conditions that always
        hold are skipped, but with `shown`.
        """
        for x in conditions:
            match x:
                case t.Both((_, t.Compare("<", left, size))) if self.size_of(size) != ONE and (
                    shown or self.holds(x) != ONE
                ):
                    ix, n, w = self.index(left), self.size_of(size), fresh()
                    for v, m in [(v, m) for v, m in over if (v, 1) in ix.terms][:1]:
                        self.ranges[w], before = n, of_var(w).minus(ix.minus(of_var(v)))
                        self.variables |= {key: one.subst({v: before}) for key, one in self.variables.items()}
                        self.known |= {key: one.subst({v: before}) for key, one in self.known.items()}
                        over = [(w, n) if u == v else (u, r) for u, r in over]
                        below = before.scaled(-1).shifted(m - ONE)
                        where = substitute(where, {v: before}) * at_least_0(before, self.ranges)
                        where = where * at_least_0(below, self.ranges)
        return over, where

    def holds(self, x: t.Node, at_least_0: Callable[..., Poly] = index_pred) -> Poly:
        """A condition on indices, as 0 or 1."""
        match x:
            case t.Both((t.Compare("<=", t.Integer(0), left), t.Compare("<", right, size))) if left == right:
                ix, n = self.index(left), self.size_of(size)
                above, below = ix, ix.scaled(-1).shifted(n - ONE)
                if n == ONE:
                    return index_equal(ix, self.ranges)
                return at_least_0(above, self.ranges) * at_least_0(below, self.ranges)
            case t.Compare("=", left, right):
                return index_equal(self.index(left).minus(self.index(right)), self.ranges)
        raise UnprovedError(f"a condition on indices that is written with {type(x).__name__}")

    def _computed(self, x: t.Node) -> Tensor:
        """The tensor of an arithmetic expression or of a function of entries. Raises UnprovedError for other nodes."""
        match x:
            case t.Apply("quotient" | "remainder" as which, (left, t.Integer(divisor))) if divisor > 0:
                return semantics._division.divided(which, self.tensor(left), divisor)
            case t.Add((left, right)):
                return of.total(self.tensor(left), self.tensor(right), self.shape)
            case t.Subtract(left, t.Mul((right, t.ToReal(q) | q))) if towards_0(q) == (left, right):
                return semantics._division.truncated_remainder(
                    self.ctx, self.tensor(left), self.tensor(right), self.shape
                )
            case t.Subtract(t.Number("1") as one, t.Apply(function) as right) if RECORDS[function].size == "below 1":
                found = of.total(self.tensor(one), of.opposite(self.tensor(right)), self.shape)
                return replace(found, signs=POS)
            case t.Subtract(left, right):
                return of.total(self.tensor(left), of.opposite(self.tensor(right)), self.shape)
            case t.Negate(t.Apply("floor", (t.Negate(argument),))):
                return replace(of.applied(self.ctx, "ceil", self.tensor(argument)), kind="i")
            case t.Negate(operand):
                return of.opposite(self.tensor(operand))
            case t.Mul((left, right)):
                return of.multiplied(self.tensor(left), self.tensor(right), self.shape)
            case t.Divide(left, right):
                return semantics._division.ratio(self.ctx, self.tensor(left), self.tensor(right), self.shape)
            case t.Power(base, exponent) if exponent.removeprefix("-").isdigit():
                return of.whole_power(self.ctx, self.tensor(base), int(exponent))
            case t.Apply("real power" | "whole power" | "integer power", (base, exponent)):
                return of.raised_to_power(self.ctx, self.tensor(base), self.tensor(exponent), self.shape)
            case t.Apply("atan2", (y, along)):
                return of.angle(self.ctx, self.tensor(y), self.tensor(along), self.shape)
            case t.Apply("is finite", (argument,)):
                return of.is_finite(self.ctx, self.tensor(argument))
            case t.Apply("bitwise and" | "bitwise or" | "bitwise xor" as name, (left, right)):
                return semantics._integers.bitwise(name.removeprefix("bitwise "), self.tensor(left), self.tensor(right))
            case t.Apply(function, (argument,)) if function in FUNCTIONS:
                out = of.applied(self.ctx, function, self.tensor(argument))
                return replace(out, kind="i") if function == "floor" else out
            case t.Apply(function, arguments) if function in OF_SEVERAL:
                return semantics._special.of_several(self.ctx, function, [*map(self.tensor, arguments)], self.shape)
        raise UnprovedError(f"entries of which {type(x).__name__} is taken")

    def opened(self, x: Binder) -> tuple[Dummies, Poly, t.Node]:
        """Return the variables of a binder and of equal binders directly inside it, a 0/1-valued term for their
        conditions, and the body.
        """
        fold = _fold(x)
        over: Dummies = []
        where = ONE
        body: t.Node = x
        holds = index_pred if isinstance(x, t.Fold) and x.kind == "sum" else index_condition
        while where == ONE and isinstance(body, Binder) and _fold(body) is fold:
            for v, n, some in (found for r in body.over for found in self._variables(r, holds)):
                over, where = over if n == ONE else [*over, (v, n)], where * some
            if isinstance(body, (t.Fold, t.Minimum)) and body.where:
                over, where = self._where_all_hold(body.where, over, where)
            body = body.holds if isinstance(body, (t.ForAll, t.Exists)) else body.body
        return over, where, body

    def _folded(self, x: Binder) -> Tensor:
        """Return the tensor of a binder."""
        if self.by_values and semantics._positions.meets_places(self, x):
            return semantics._positions.folded(self, x)
        fold, (over, where, body) = _fold(x), self.opened(x)
        holds = index_pred if isinstance(x, t.Fold) and x.kind == "sum" else index_condition
        match body:
            case t.If(t.Both(parts), t.SortedEntry(), t.Number("0") | t.Integer(0)) if not self.reads(body.condition):
                over, where = self._at_places(parts, over, where, holds)
        found = self._steady(self.tensor(body))
        return fold(found, over, where) if over or where != ONE else found

    def _variables(self, r: t.Range, holds: Callable[[Ix], Poly]) -> Iterator[tuple[Var, Poly, Poly]]:
        """As `_bound`; of places in row-major order one for each axis."""
        factors = self._factors(r.size)
        if len(factors) == 1:
            yield self._bound(r, holds)
            return
        for node, n in zip(unravelled(t.Index(r.variable), factors), map(self.size_of, factors), strict=True):
            v = fresh()
            self.known[node], self.ranges[v] = of_const(ZERO) if n == ONE else of_var(v), n
            yield v, n, ONE

    def _bound(self, r: t.Range, holds: Callable[[Ix], Poly]) -> tuple[Var, Poly, Poly]:
        """A variable with its range, and at which of its values it stands for one of the bound variable.

        Where an index says how far this one runs, n − i in number are those from i up to n: k is then v − i.
        """
        v, size = fresh(), self.index(r.size)
        begin, where = size.scaled(-1).shifted(size.const), ONE
        from_begin = not size.terms or self._is_index(begin)
        n = size.const if from_begin else bounds(size, self.ranges)[1]
        if n is None or (size.terms and at_least(n) != ONE and not any(n in x.shape for x in self.operands)):
            raise UnprovedError("a range that depends on an index, and is not shown to have a size")
        here = of_const(ZERO) if n == ONE else of_var(v)
        if size.terms:
            where = holds(here.minus(begin) if from_begin else size.minus(here).shifted(-ONE))
        self.variables[r.variable], self.ranges[v] = here.minus(begin) if from_begin else here, n
        return v, n, where

    def choose(self, x: t.Chosen | t.Least) -> None:
        """Read an arg-maximum, by axes, or the index at a place of a sorted order, and store it."""
        several = x.over[0].size != t.Integer(1)
        if several and any(isinstance(part, t.SortedEntry) and part.sort == "boolean" for part in t.walk(x)):
            raise UnprovedError(f"{'an arg-extremum' if isinstance(x, t.Chosen) else 'an order'} of booleans")
        if isinstance(x, t.Chosen):
            self._choose_greatest(x)
            return
        if (found := in_order(x)) is None:
            raise UnprovedError("a least integer that is not a place in order")
        r, by, place = found
        v, n, _ = self._bound(r, index_condition)
        if n == ONE:
            self.known[x] = of_const(ZERO)
            return
        tensors, sign = [*map(self.tensor, by)], -1 if isinstance(by[0], t.Negate) else 1
        self.known[x], *conditions = semantics._order.coming_to(tensors, v, n, self.index(place), sign)
        self.open.append((conditions[0], conditions[1]))

    def _choose_greatest(self, x: t.Chosen) -> None:
        ((r,), (body,)) = x.over, x.bodies
        over = [(v, n) for v, n, _ in self._variables(r, index_condition) if n != ONE]
        over, where = self._where_all_hold(x.where, over)
        around = {v: n for v, n in self.ranges.items() if v not in dict(over)}
        place, *conditions = semantics._order.first_argmax(self._steady(self.tensor(body)), over, where, around)
        self.open.append((conditions[0], conditions[1]))
        sizes, here = self._factors(r.size), t.Index(r.variable)
        axes = zip(unravelled(x, sizes), unravelled(here, sizes), strict=True) if len(sizes) > 1 else [(x, here)]
        self.known |= {node: self.index(other).subst(place) for node, other in axes}

    def _steady(self, x: Tensor) -> Tensor:
        """Return a tensor with its conditions on the positions in it."""
        for defined, smooth in self.open:
            x = replace(x, defined=merge_clauses(x.defined, defined), smooth=merge_clauses(x.smooth, smooth))
        self.open.clear()
        return x

    def _number(self, x: t.Node) -> Tensor:
        index = self.index(x)
        least, _ = bounds(index, self.ranges)
        signs = ANY_SIGN
        if least is not None and (least in self.sizes.not_negative or at_least(least) == ONE):
            signs = POS if least.positive else NONNEG
        return Tensor(self.shape, index_number(index), "i", signs=signs)
