"""Expressions as functions of a scope, in a given arithmetic. Nothing that a certificate says is run as code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key, reduce
from itertools import product
from math import isqrt, prod
from typing import Any

import numpy as np

from . import matrices
from . import tree as t
from .arithmetic import Arithmetic, UndefinedError, UnfitError
from .fitting import length, size
from .relations import COMPARES
from .substitute import unbound

MAX_TERMS = 10_000
"""The most values that the variables of a term may go through."""
MAX_PLACES = 1 << 20
"""The most values that the variables of a `for all` statement may go through."""


@dataclass
class Scope:
    """The meaning of names at one entry of all arrays, or at one choice of indices."""

    arrays: Mapping[str, Any]
    sizes: Mapping[str, int]
    entry: tuple[int, ...] = ()
    indices: Mapping[str, int] = field(default_factory=dict)
    loops: Mapping[str, _Steps] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The shapes of the arrays before `arrays` had them broadcast."""
    known: dict[Any, Any] = field(default_factory=dict)
    """Values that were computed, each valid for all indices that it does not depend on."""

    def at(self, indices: Mapping[str, int]) -> Scope:
        inner = {**self.indices, **indices}
        return Scope(self.arrays, self.sizes, self.entry, inner, self.loops, self.shapes, self.known)


Read = Callable[[Scope], Any]
Ranges = Callable[[Scope], Iterator[Scope]]


class Reader:
    """Turns expressions into functions of a scope: terms into numbers, statements into truth values."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.a = arithmetic
        self.open: tuple[type[Exception], ...] = (UndefinedError, *arithmetic.undecided)
        self.choices = 0
        """How many values of bound variables were gone through."""

    def read(self, x: t.Node) -> Read:
        """Return an expression as a function of a scope. Raises UnfitError for what is said in words alone."""
        if (method := _READ.get(type(x))) is None:
            raise UnfitError("it is said in words alone")
        read: Read = getattr(self, method)(x)
        return read

    # --- statements

    def compare(self, s: t.Compare) -> Read:
        left, right, holds = self.read(s.left), self.read(s.right), self.related(s.relation)
        return lambda scope: holds(left(scope), right(scope))

    def related(self, relation: t.Relation) -> Callable[[Any, Any], bool]:
        """Return the relation as a test of two numbers, which raises UndefinedError where one is undefined."""
        holds = COMPARES[relation]
        return lambda a, b: holds(self.order(a, b), 0)

    def order(self, a: Any, b: Any) -> int:
        outcome = self.a.order(a, b)
        if outcome is None:
            raise UndefinedError
        return outcome

    def not_in(self, s: t.NotIn) -> Read:
        """Return the reader of `not in integers`, or `not in nonpositive integers`."""
        term, poles, zero = self.read(s.term), s.numbers != "integers", self.a.number(0)

        def outside(scope: Scope) -> bool:
            x = term(scope)
            self.order(x, zero)
            return not self.a.is_whole(x) or (poles and self.order(x, zero) > 0)

        return outside

    def both(self, s: t.Both) -> Read:
        parts = [self.read(p) for p in s.parts]
        return lambda scope: all(part(scope) for part in parts)

    def either(self, s: t.Either) -> Read:
        """Return the reader of `or`: true if one part is, even where others are undefined."""
        parts = [self.read(p) for p in s.parts]

        def test(scope: Scope) -> bool:
            problem: Exception | None = None
            for part in parts:
                try:
                    if part(scope):
                        return True
                except self.open as error:
                    problem = error
            if problem is not None:
                raise problem
            return False

        return test

    def opposite(self, s: t.Not) -> Read:
        part = self.read(s.part)
        return lambda scope: not part(scope)

    def where(self, s: t.Where) -> Read:
        guards, then = [self.read(g) for g in s.guards], self.read(s.then)
        return lambda scope: not all(g(scope) for g in guards) or then(scope)

    def for_all(self, s: t.ForAll) -> Read:
        values = self.values(s.over, s.holds, (), MAX_PLACES)
        return lambda scope: all(values(scope))

    def exists(self, s: t.Exists) -> Read:
        values = self.values(s.over, s.holds, ())
        return lambda scope: any(values(scope))

    def at_steps(self, s: t.AtSteps) -> Read:
        """Return the reader of a statement for all steps of a loop, up to the first whose test is 0."""
        step, goes_on, holds = s.over[0].variable, self.read(s.test), self.read(s.holds)

        def test(scope: Scope) -> bool:
            for k in range(MAX_TERMS):
                inner = scope.at({step: k})
                if not holds(inner):
                    return False
                if self.order(goes_on(inner), self.a.number(0)) == 0:
                    return True
            raise UnfitError(f"a loop of more than {MAX_TERMS} steps")

        return test

    def unique(self, s: t.Unique) -> Read:
        values = self.values(s.over, s.body, s.where)

        def attained_once(scope: Scope) -> bool:
            numbers = list(values(scope))
            top = self.greatest(numbers)
            return sum(self.order(value, top) == 0 for value in numbers) == 1

        return attained_once

    def distinct(self, s: t.Distinct) -> Read:
        values = self.values(s.over, s.body, ())

        def test(scope: Scope) -> bool:
            numbers = list(values(scope))
            return all(self.order(a, b) for k, a in enumerate(numbers) for b in numbers[:k])

        return test

    def is_defined(self, s: t.IsDefined) -> Read:
        entry = self.read(s.entry)

        def test(scope: Scope) -> bool:
            try:
                entry(scope)
            except UndefinedError:
                return False
            return True

        return test

    # --- variables

    def greatest(self, values: list[Any]) -> Any:
        if not values:
            raise UndefinedError
        return reduce(self.a.maximum, values)

    def ranges(self, over: Sequence[t.Range], where: Sequence[t.Statement] = (), most: int = MAX_TERMS) -> Ranges:
        """Return a function that yields the scope with each choice of values at which the conditions hold."""
        names = [r.variable for r in over]
        sizes = [self.read(r.size) for r in over]
        conditions = [self.read(w) for w in where]

        def scopes(scope: Scope) -> Iterator[Scope]:
            if any(r.size == t.WHILE_A_TEST_HOLDS for r in over):
                raise UnfitError("a variable that nothing bounds")
            counts = [range(self.a.index(size(scope))) for size in sizes]
            number = prod(map(len, counts))
            if number > most:
                raise UnfitError(f"more than {most} terms")
            self.choices += number
            for choice in product(*counts):
                inner = scope.at(dict(zip(names, choice, strict=True)))
                if all(condition(inner) for condition in conditions):
                    yield inner

        return scopes

    def values(
        self, over: Sequence[t.Range], body: t.Node, where: Sequence[t.Statement], most: int = MAX_TERMS
    ) -> Callable[..., Iterator]:
        scopes, value = self.ranges(over, where, most), self.read(body)
        return lambda scope: map(value, scopes(scope))

    def once(self, p: t.Node, value: Read) -> Read:
        """Return the reader of a term that computes it once for all values of variables it does not depend on."""
        free_names = sorted(unbound(p))

        def memoized(scope: Scope) -> Any:
            if len(free_names) >= len(scope.indices) or not scope.indices.keys() >= {*free_names}:
                return value(scope)
            key = (id(p), scope.entry, *(scope.indices[name] for name in free_names))
            if key not in scope.known:
                scope.known[key] = value(scope)
            return scope.known[key]

        return memoized

    # --- either a number or a truth value

    def choice(self, x: t.If) -> Read:
        condition, then, otherwise = self.read(x.condition), self.read(x.then), self.read(x.otherwise)
        return lambda scope: (then if condition(scope) else otherwise)(scope)

    def given(self, x: t.Given) -> Read:
        condition, value = self.read(x.condition), self.read(x.value)

        def guarded(scope: Scope) -> Any:
            if not condition(scope):
                raise UndefinedError("a condition that does not hold")
            return value(scope)

        return guarded

    # --- terms

    def number(self, p: t.Number | t.Integer) -> Read:
        value = self.a.number(p.rational if isinstance(p, t.Number) else p.value)
        return lambda scope: value

    def constant(self, p: t.Constant) -> Read:
        return lambda scope: self.a.constant(p.name)

    def infinity(self, p: t.Infinity) -> Read:
        return lambda scope: self.a.constant("∞" if p.positive else "−∞")

    def variable(self, p: t.Index) -> Read:
        return lambda scope: self.a.number(scope.indices[p.name])

    def size(self, p: t.Size) -> Read:
        return lambda scope: self.a.number(size(p.name, scope.sizes))

    def axis(self, p: t.Axis) -> Read:
        return lambda scope: self.a.number(length(p, scope.shapes.get(p.array) or np.shape(scope.arrays[p.array])))

    def array(self, p: t.Array) -> Read:
        return lambda scope: self.a.entry(scope.arrays[p.name][scope.entry])

    def entry(self, p: t.Entry) -> Read:
        """Return the reader of an entry by index. A scalar beside whole arrays is read at their entry."""
        places = [self.read(ix) for ix in p.index]

        def value(scope: Scope) -> Any:
            at = tuple(self.a.index(place(scope)) for place in places)
            array = scope.arrays[p.name]
            if not at and scope.entry:
                return self.a.entry(array[scope.entry])
            if len(at) != array.ndim or any(not 0 <= k < n for k, n in zip(at, array.shape, strict=True)):
                raise UnfitError(f"'{p.name}' has no entry {list(at)}")
            return self.a.entry(array[at])

        return value

    def combined(self, p: t.Add | t.Mul) -> Read:
        first, *rest = [self.read(x) for x in (p.terms if isinstance(p, t.Add) else p.factors)]
        operation = self.a.add if isinstance(p, t.Add) else self.a.mul
        return lambda scope: reduce(operation, (part(scope) for part in rest), first(scope))

    def difference(self, p: t.Subtract) -> Read:
        return self.combined(t.Add((p.left, t.Negate(p.right))))

    def negative(self, p: t.Negate) -> Read:
        operand, minus = self.read(p.operand), self.a.number(-1)
        return lambda scope: self.a.mul(minus, operand(scope))

    def ratio(self, p: t.Divide) -> Read:
        return self.combined(t.Mul((p.left, t.Power(p.right, "-1"))))

    def as_it_is(self, p: t.ToReal) -> Read:
        return self.read(p.operand)

    def power(self, p: t.Power) -> Read:
        base, e = self.read(p.base), Fraction(p.exponent)
        return lambda scope: self.a.power(base(scope), e)

    def applied(self, p: t.Apply) -> Read:
        arguments = [self.read(x) for x in p.arguments]
        return lambda scope: self.called(p.function, [x(scope) for x in arguments])

    def called(self, function: str, values: Sequence[Any]) -> Any:
        """Return the value of a function at numbers: "quotient" is ⌊x / y⌋, "remainder" is x − y·⌊x / y⌋."""
        a = self.a
        if function == "stop":
            return values[0]
        if function not in ("quotient", "remainder"):
            return a.apply(function, values)
        x, y = values
        if type(x) is type(y) is int and y:
            return x // y if function == "quotient" else x % y
        quotient = a.apply("floor", [a.mul(x, a.power(y, Fraction(-1)))])
        return quotient if function == "quotient" else a.add(x, a.mul(a.number(-1), a.mul(y, quotient)))

    def indicator(self, p: t.Truth) -> Read:
        test = self.read(p.statement)
        return lambda scope: self.a.number(int(test(scope)))

    def fold(self, p: t.Fold) -> Read:
        values = self.values(p.over, p.body, p.where)
        if p.kind == "maximum":
            return self.once(p, lambda scope: self.greatest(list(values(scope))))
        operation = self.a.add if p.kind == "sum" else self.a.mul
        empty = self.a.number(int(p.kind == "product"))
        return self.once(p, lambda scope: reduce(operation, values(scope), empty))

    def smallest(self, p: t.Minimum) -> Read:
        return self.negative(t.Negate(t.Fold("maximum", p.over, t.Negate(p.body), p.where)))

    def matrix(self, p: t.Matrix) -> Read:
        """Return the reader of a function of a square matrix of at most `matrices.MAX_ROWS` rows."""
        values, sizes = self.values(p.over, p.body, ()), [self.read(r.size) for r in p.over]
        places = [self.read(ix) for ix in p.index]
        if p.kind not in matrices.KINDS:
            raise UnfitError(f"the {p.kind} of a matrix")

        def value(scope: Scope) -> Any:
            n, m = (self.a.index(size(scope)) for size in sizes)
            if n != m or not 1 <= n <= matrices.MAX_ROWS:
                most = matrices.MAX_ROWS
                raise UnfitError(f"a matrix of {n} rows and {m} columns: at most {most} of both are expanded")
            entries = list(values(scope))
            rows = [entries[n * i : n * (i + 1)] for i in range(n)]
            return matrices.KINDS[p.kind](self, rows, *(self.a.index(place(scope)) for place in places))

        return value

    def chosen(self, p: t.Chosen) -> Read:
        """Return the reader of an arg-max, of the index at a place of a sorted order, or of an index's place in it."""
        scopes, bodies = self.ranges(p.over, p.where), [self.read(b) for b in p.bodies]
        variable, places = p.over[p.component].variable, [self.read(ix) for ix in p.place]

        def compare_bodies(candidate: tuple[list[Any], int], rival: tuple[list[Any], int]) -> int:
            return next((order for a, b in zip(candidate[0], rival[0], strict=True) if (order := self.order(a, b))), 0)

        def value(scope: Scope) -> Any:
            """Return the index that an arg-max, a sort or a pivot search chooses. Raises UndefinedError where there is
            none.
            """
            candidates: list[tuple[list[Any], int]] = []
            for inner in scopes(scope):
                candidates.append(([body(inner) for body in bodies], inner.indices[variable]))
            if not candidates:
                raise UndefinedError
            if p.kind in ("pivots", "pivoted"):
                n, place = isqrt(len(candidates)), self.a.index(places[0](scope))
                if not 0 <= place < n:
                    raise UnfitError(f"no row comes to the place {place}")
                values = [x for (x,), _ in candidates]
                order = matrices.eliminated(self, [values[n * i : n * (i + 1)] for i in range(n)])[0]
                return self.a.number(order[place] if p.kind == "pivots" else order.index(place))
            if p.kind in ("order", "rank"):
                candidates.sort(key=cmp_to_key(compare_bodies))
                place = self.a.index(places[0](scope))
                if not 0 <= place < len(candidates):
                    raise UnfitError(f"no entry comes to the place {place}")
                order = [index for _, index in candidates]
                return self.a.number(order[place] if p.kind == "order" else order.index(place))
            best = candidates[0]
            for candidate in candidates[1:]:
                best = candidate if compare_bodies(candidate, best) > 0 else best
            return self.a.number(best[1])

        return value

    def least(self, p: t.Least) -> Read:
        """Return the reader of the least value at which a formula holds, which is undefined if there is none."""
        ((over,), holds) = p.over, self.read(p.holds)
        count = None if over.size == t.WHILE_A_TEST_HOLDS else self.read(over.size)

        def value(scope: Scope) -> Any:
            for k in range(MAX_TERMS if count is None else self.a.index(count(scope))):
                if holds(scope.at({over.variable: k})):
                    return self.a.number(k)
            raise UndefinedError("no integer with the property was found")

        return value

    # --- loops

    def carry(self, p: t.Carry) -> Read:
        """Return the reader of an entry of what a loop carries, computed from the steps before."""
        axes = [tuple(r.variable for r in c.over) for c in p.loop.carries]
        steps = _Loop(p.loop, axes, [(self.read(c.init), self.read(c.step)) for c in p.loop.carries])
        places = [self.read(x) for x in (p.time, *p.index)]

        def value(scope: Scope) -> Any:
            carries = _Steps(steps, scope, {})
            return carries.at(p.position, tuple(self.a.index(place(scope)) for place in places))

        return value

    def carried(self, p: t.Carried) -> Read:
        places = [self.read(x) for x in (p.time, *p.index)]
        return lambda scope: scope.loops[p.loop].at(p.position, tuple(self.a.index(x(scope)) for x in places))


_READ: dict[type[t.Node], str] = {
    t.Compare: "compare",
    t.NotIn: "not_in",
    t.Both: "both",
    t.Either: "either",
    t.Not: "opposite",
    t.Where: "where",
    t.ForAll: "for_all",
    t.Exists: "exists",
    t.AtSteps: "at_steps",
    t.Unique: "unique",
    t.Distinct: "distinct",
    t.IsDefined: "is_defined",
    t.If: "choice",
    t.Given: "given",
    t.Number: "number",
    t.Integer: "number",
    t.Constant: "constant",
    t.Infinity: "infinity",
    t.Index: "variable",
    t.Size: "size",
    t.Axis: "axis",
    t.Array: "array",
    t.Entry: "entry",
    t.SortedEntry: "entry",
    t.Add: "combined",
    t.Mul: "combined",
    t.Subtract: "difference",
    t.Negate: "negative",
    t.Divide: "ratio",
    t.ToReal: "as_it_is",
    t.Power: "power",
    t.Apply: "applied",
    t.Truth: "indicator",
    t.Fold: "fold",
    t.Minimum: "smallest",
    t.Matrix: "matrix",
    t.Chosen: "chosen",
    t.Least: "least",
    t.Carry: "carry",
    t.Carried: "carried",
}
"""The method that reads a node, by name: a reader may have its own."""


@dataclass(frozen=True)
class _Loop:
    loop: t.Loop
    axes: Sequence[tuple[str, ...]]
    bodies: Sequence[tuple[Read, Read]]


@dataclass
class _Steps:
    """The carries of a loop, computed on demand."""

    loop: _Loop
    scope: Scope
    known: dict[tuple[int, tuple[int, ...]], Any]

    def at(self, position: int, place: tuple[int, ...]) -> Any:
        """Return an entry of a carry; `place` is its time and its indices. Raises UnfitError for too many steps."""
        if (position, place) not in self.known:
            time, *index = place
            if not 0 <= time <= MAX_TERMS:
                raise UnfitError(f"the time {time} of a loop")
            init, step = self.loop.bodies[position]
            scope = self.scope.at(dict(zip(self.loop.axes[position], index, strict=True)))
            if time:
                scope = scope.at({self.loop.loop.time: time - 1})
                scope.loops = {**scope.loops, self.loop.loop.name: self}
            try:
                self.known[position, place] = (step if time else init)(scope)
            except RecursionError:
                raise UnfitError(f"the time {time} of a loop") from None
        return self.known[position, place]
