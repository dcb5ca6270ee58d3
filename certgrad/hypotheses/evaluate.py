"""Whether a statement holds at a point, by an arithmetic that is given: balls for proofs, floats for calls.

A statement becomes functions of a scope once, and is then asked at many points. Nothing that a certificate says runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key, lru_cache, reduce
from itertools import product
from math import isqrt, prod
from typing import Any, TypeVar

import numpy as np

from . import tree as t
from .arithmetic import Arithmetic, UndefinedError, UnfitError
from .fitting import about_whole_arrays, length, size

MAX_TERMS = 10_000
"""How many values variables go through at most."""


MAX_ROWS = 6
"""The largest determinant that is expanded."""


@dataclass
class Scope:
    """What names mean: at one entry of all arrays, or at one choice of indices."""

    arrays: Mapping[str, Any]
    sizes: Mapping[str, int]
    entry: tuple[int, ...] = ()
    indices: Mapping[str, int] = field(default_factory=dict)
    loops: Mapping[str, _Steps] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Those of the arrays, where `arrays` holds them broadcast."""

    def at(self, indices: Mapping[str, int]) -> Scope:
        return Scope(self.arrays, self.sizes, self.entry, {**self.indices, **indices}, self.loops, self.shapes)


T = TypeVar("T")


Read = Callable[[Scope], Any]


Test = Callable[[Scope], bool]


Ranges = Callable[[Scope], Iterator[Scope]]


@dataclass(frozen=True, eq=False)
class Question:
    """A statement, ready to be asked."""

    statement: t.Statement
    test: Test
    names: frozenset[str]
    """The arrays that it mentions."""
    whole: bool
    """It is asked at every entry of whole arrays."""
    entered: frozenset[str]
    """The arrays whose entries it mentions, and not only how long they are."""

    def failing(self, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
        """The entries at which it is false or undefined; where it is not about entries, one without an index.

        Raises:
            UnfitError: it does not fit the arrays.
        """
        return (at for at, _ in self.entries(arrays, sizes))

    def entries(self, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Iterator[tuple[tuple[int, ...], bool]]:
        """The entries at which it does not hold, and whether it is defined there."""
        missing = sorted(self.names - arrays.keys())
        if missing:
            raise UnfitError(f"'{missing[0]}' is no argument of the op")
        used = {name: np.asarray(arrays[name], dtype=object) for name in self.names}
        if not self.whole:
            yield from self._open(Scope(used, sizes))
            return
        try:
            shape = np.broadcast_shapes(*(used[name].shape for name in self.entered))
        except ValueError:
            raise UnfitError("its arrays do not broadcast") from None
        spread = {name: np.broadcast_to(used[name], shape) for name in self.entered}
        shapes = {name: x.shape for name, x in used.items()}
        for at in np.ndindex(shape):
            yield from self._open(Scope(spread, sizes, at, shapes=shapes))

    def _open(self, scope: Scope) -> Iterator[tuple[tuple[int, ...], bool]]:
        try:
            if not self.test(scope):
                yield scope.entry, True
        except UndefinedError:
            yield scope.entry, False

    def holds(self, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
        """Whether it is true everywhere. What is undefined is not."""
        return next(self.failing(arrays, sizes), None) is None


def evaluate(
    statement: t.Statement, arrays: Mapping[str, Any], sizes: Mapping[str, int], arithmetic: Arithmetic
) -> bool | None:
    """Whether the statement holds at a point; None where it is undefined there.

    Raises:
        UnfitError: it does not fit the arrays, or says what no arithmetic can tell.
    """
    found: bool | None = True
    for _, defined in question(statement, arithmetic).entries(arrays, sizes):
        if defined:
            return False
        found = None
    return found


@lru_cache(maxsize=4096)
def question(statement: t.Statement, arithmetic: Arithmetic) -> Question:
    """The statement, to be asked by an arithmetic. Raises UnfitError for what no arithmetic can tell."""
    whole = about_whole_arrays(statement)
    entered = frozenset(n.name for n in t.walk(statement) if isinstance(n, t.Array | t.Entry))
    return Question(statement, _Reader(arithmetic).test(statement), frozenset(t.arrays(statement)), whole, entered)


_ORDERS: dict[str, tuple[int, ...]] = {
    ">": (1,),
    ">=": (0, 1),
    "<": (-1,),
    "<=": (-1, 0),
    "=": (0,),
    "!=": (-1, 1),
}


class _Reader:
    """Turns trees into functions of a scope."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.a = arithmetic
        self.open: tuple[type[Exception], ...] = (UndefinedError, *arithmetic.undecided)

    # --- statements

    def test(self, s: t.Statement) -> Test:
        if isinstance(s, t.Compare):
            left, right, orders = self.term(s.left), self.term(s.right), _ORDERS[s.relation]
            return lambda scope: self.order(left(scope), right(scope)) in orders
        if isinstance(s, t.NotIn):
            term, poles = self.term(s.term), s.numbers != "integers"
            return lambda scope: self.outside(term(scope), poles)
        if isinstance(s, t.Either):
            return self.either([self.test(p) for p in s.parts])
        if isinstance(s, t.Both):
            parts = [self.test(p) for p in s.parts]
            return lambda scope: all(part(scope) for part in parts)
        if isinstance(s, t.Where):
            guards, then = [self.test(g) for g in s.guards], self.test(s.then)
            return lambda scope: not all(g(scope) for g in guards) or then(scope)
        if isinstance(s, t.ForAll):
            scopes, holds = self.ranges(s.over), self.test(s.holds)
            return lambda scope: all(map(holds, scopes(scope)))
        if isinstance(s, t.AtSteps):
            return self.at_steps(s)
        if isinstance(s, t.Unique):
            values = self.values(s.over, s.body, s.where)
            return lambda scope: self.attained_once(list(values(scope)))
        if isinstance(s, t.Distinct):
            values = self.values(s.over, s.body, ())
            return lambda scope: self.distinct(list(values(scope)))
        raise UnfitError("it is said in words alone")

    def at_steps(self, s: t.AtSteps) -> Test:
        step, goes_on, holds = s.over[0].variable, self.term(s.test), self.test(s.holds)

        def test(scope: Scope) -> bool:
            for k in range(MAX_TERMS):
                inner = scope.at({step: k})
                if not holds(inner):
                    return False
                if self.order(goes_on(inner), self.a.number(0)) == 0:
                    return True
            raise UnfitError(f"a loop of more than {MAX_TERMS} steps")

        return test

    def order(self, a: Any, b: Any) -> int:
        found = self.a.order(a, b)
        if found is None:
            raise UndefinedError
        return found

    def outside(self, x: Any, poles: bool) -> bool:
        zero = self.a.number(0)
        self.order(x, zero)
        return not self.a.is_whole(x) or (poles and self.order(x, zero) > 0)

    def either(self, tests: list[Test]) -> Test:
        """True where one is, whatever the others are."""

        def test(scope: Scope) -> bool:
            problem: Exception | None = None
            for one in tests:
                try:
                    if one(scope):
                        return True
                except self.open as error:
                    problem = error
            if problem is not None:
                raise problem
            return False

        return test

    def attained_once(self, values: list[Any]) -> bool:
        top = self.greatest(values)
        return sum(self.order(value, top) == 0 for value in values) == 1

    def distinct(self, values: list[Any]) -> bool:
        pairs = ((a, b) for k, a in enumerate(values) for b in values[:k])
        return all(self.order(a, b) for a, b in pairs)

    def greatest(self, values: list[Any]) -> Any:
        if not values:
            raise UndefinedError
        return reduce(self.a.maximum, values)

    # --- variables

    def ranges(self, over: Sequence[t.Range], where: Sequence[t.Statement] = ()) -> Ranges:
        """The scopes with each choice of values at which the conditions hold."""
        names = [r.variable for r in over]
        sizes = [self.term(r.size) for r in over]
        conditions = [self.test(w) for w in where]

        def scopes(scope: Scope) -> Iterator[Scope]:
            counts = [range(self.a.index(size(scope))) for size in sizes]
            if prod(map(len, counts)) > MAX_TERMS:
                raise UnfitError(f"more than {MAX_TERMS} terms")
            for choice in product(*counts):
                inner = scope.at(dict(zip(names, choice, strict=True)))
                if all(condition(inner) for condition in conditions):
                    yield inner

        return scopes

    def values(self, over: Sequence[t.Range], body: t.Term, where: Sequence[t.Statement]) -> Callable[..., Iterator]:
        scopes, term = self.ranges(over, where), self.term(body)
        return lambda scope: map(term, scopes(scope))

    # --- terms

    def term(self, p: t.Term) -> Read:
        a = self.a
        if isinstance(p, t.Number):
            value = a.number(Fraction(p.value))
            return lambda scope: value
        if isinstance(p, t.Constant):
            return lambda scope: a.constant(p.name)
        if isinstance(p, t.Index):
            return lambda scope: a.number(scope.indices[p.name])
        if isinstance(p, t.Size):
            return lambda scope: a.number(size(p.name, scope.sizes))
        if isinstance(p, t.Axis):
            return lambda scope: a.number(length(p, scope.shapes.get(p.array) or np.shape(scope.arrays[p.array])))
        if isinstance(p, t.Array):
            return lambda scope: a.entry(scope.arrays[p.name][scope.entry])
        if isinstance(p, t.Entry):
            return self.entry(p)
        if isinstance(p, t.Add | t.Mul):
            parts = [self.term(x) for x in (p.terms if isinstance(p, t.Add) else p.factors)]
            operation, first, rest = a.add if isinstance(p, t.Add) else a.mul, parts[0], parts[1:]
            return lambda scope: reduce(operation, (part(scope) for part in rest), first(scope))
        if isinstance(p, t.Power):
            base, e = self.term(p.base), Fraction(p.exponent)
            return lambda scope: a.power(base(scope), e)
        if isinstance(p, t.Apply):
            return self.applied(p)
        if isinstance(p, t.Truth):
            test = self.test(p.statement)
            return lambda scope: a.number(int(test(scope)))
        if isinstance(p, t.Fold):
            return self.fold(p)
        if isinstance(p, t.Matrix):
            return self.matrix(p)
        if isinstance(p, t.Chosen):
            return self.chosen(p)
        return self.carry(p) if isinstance(p, t.Carry) else self.carried(p)

    def entry(self, p: t.Entry) -> Read:
        places = [self.term(ix) for ix in p.index]

        def value(scope: Scope) -> Any:
            at = tuple(self.a.index(place(scope)) for place in places)
            array = scope.arrays[p.name]
            if not at and scope.entry:
                return self.a.entry(array[scope.entry])
            if len(at) != array.ndim or any(not 0 <= k < n for k, n in zip(at, array.shape, strict=True)):
                raise UnfitError(f"'{p.name}' has no entry {list(at)}")
            return self.a.entry(array[at])

        return value

    def applied(self, p: t.Apply) -> Read:
        arguments = [self.term(x) for x in p.arguments]
        if p.function == "stop":
            return arguments[0]
        if p.function in ("quotient", "remainder"):
            return self.divided(arguments[0], arguments[1], p.function == "remainder")
        return lambda scope: self.a.apply(p.function, [x(scope) for x in arguments])

    def divided(self, left: Read, right: Read, rest: bool) -> Read:
        """⌊a / b⌋, or a − b·⌊a / b⌋."""
        a = self.a

        def value(scope: Scope) -> Any:
            x, y = left(scope), right(scope)
            whole = a.apply("floor", [a.mul(x, a.power(y, Fraction(-1)))])
            return a.add(x, a.mul(a.number(-1), a.mul(y, whole))) if rest else whole

        return value

    def fold(self, p: t.Fold) -> Read:
        values = self.values(p.over, p.body, p.where)
        if p.kind == "maximum":
            return lambda scope: self.greatest(list(values(scope)))
        operation = self.a.add if p.kind == "sum" else self.a.mul
        empty = self.a.number(int(p.kind == "product"))
        return lambda scope: reduce(operation, values(scope), empty)

    def matrix(self, p: t.Matrix) -> Read:
        values, sizes = self.values(p.over, p.body, ()), [self.term(r.size) for r in p.over]
        places = [self.term(ix) for ix in p.index]
        if p.kind not in ("determinant", "smallest minor", "inverse", "discriminant", "pivot gap"):
            raise UnfitError(f"the {p.kind} of a matrix")

        def value(scope: Scope) -> Any:
            n, m = (self.a.index(size(scope)) for size in sizes)
            if n != m or not 1 <= n <= MAX_ROWS:
                raise UnfitError(f"a matrix of {n} rows and {m} columns: at most {MAX_ROWS} of both are expanded")
            entries = list(values(scope))
            rows = [entries[n * i : n * (i + 1)] for i in range(n)]
            if p.kind == "determinant":
                return self.determinant(rows)
            if p.kind == "inverse":
                return self.inverse(rows, *(self.a.index(place(scope)) for place in places))
            if p.kind == "discriminant":
                return self.discriminant(rows)
            if p.kind == "pivot gap":
                return self.eliminated(rows)[1]
            minors = [self.determinant([row[:k] for row in rows[:k]]) for k in range(1, n + 1)]
            minus = self.a.number(-1)
            return self.a.mul(minus, self.greatest([self.a.mul(minus, x) for x in minors]))

        return value

    def determinant(self, rows: list[list[Any]]) -> Any:
        """By expansion along the first row."""
        if not rows:
            return self.a.number(1)
        total = self.a.number(0)
        for k, x in enumerate(rows[0]):
            minor = self.determinant([[*row[:k], *row[k + 1 :]] for row in rows[1:]])
            total = self.a.add(total, self.a.mul(self.a.number((-1) ** k), self.a.mul(x, minor)))
        return total

    def discriminant(self, rows: list[list[Any]]) -> Any:
        """Π_{k<l} (λ_k − λ_l)² is the determinant of the sums of powers Σ_k λ_k^(i+j), which are the traces of Aⁱ⁺ʲ."""
        n, power = len(rows), [[self.a.number(int(i == j)) for j in range(len(rows))] for i in range(len(rows))]
        traces = []
        for _ in range(2 * n - 1):
            traces.append(reduce(self.a.add, [power[i][i] for i in range(n)]))
            columns = list(zip(*power, strict=True))
            power = [
                [reduce(self.a.add, [self.a.mul(x, y) for x, y in zip(row, c, strict=True)]) for c in columns]
                for row in rows
            ]
        return self.determinant([traces[i : i + n] for i in range(n)])

    def eliminated(self, rows: list[list[Any]]) -> tuple[list[int], Any]:
        """Elimination with pivots: the row that comes to each place, and the least gap between the modulus of a pivot
        and that of another entry which could be taken (1 if there is none). The first of equal ones is taken.
        """
        n, left, gaps = len(rows), [list(row) for row in rows], []
        order, minus = list(range(n)), self.a.number(-1)
        for k in range(n):
            sizes = [self.a.apply("abs", [row[k]]) for row in left[k:]]
            best = 0
            for i, x in enumerate(sizes):
                best = i if self.order(x, sizes[best]) > 0 else best
            gaps += [self.a.add(sizes[best], self.a.mul(minus, x)) for i, x in enumerate(sizes) if i != best]
            best += k
            left[k], left[best], order[k], order[best] = left[best], left[k], order[best], order[k]
            if self.order(left[k][k], self.a.number(0)) == 0:
                continue  # a column of zeros
            for i in range(k + 1, n):
                factor = self.a.mul(minus, self.a.mul(left[i][k], self.a.power(left[k][k], Fraction(-1))))
                left[i] = [self.a.add(x, self.a.mul(factor, y)) for x, y in zip(left[i], left[k], strict=True)]
        return order, self.a.mul(minus, self.greatest([self.a.mul(minus, g) for g in gaps])) if gaps else self.a.number(
            1
        )

    def inverse(self, rows: list[list[Any]], i: int, j: int) -> Any:
        """An entry of the inverse, by Cramer's rule."""
        minor = [[x for k, x in enumerate(row) if k != i] for r, row in enumerate(rows) if r != j]
        cofactor = self.a.mul(self.a.number((-1) ** (i + j)), self.determinant(minor))
        return self.a.mul(cofactor, self.a.power(self.determinant(rows), Fraction(-1)))

    def chosen(self, p: t.Chosen) -> Read:
        """The first place of the greatest values; which comes to a place in order; or to which place one comes."""
        scopes, bodies = self.ranges(p.over, p.where), [self.term(b) for b in p.bodies]
        variable, places = p.over[p.component].variable, [self.term(ix) for ix in p.place]

        def before(one: tuple[list[Any], int], other: tuple[list[Any], int]) -> int:
            return next((order for a, b in zip(one[0], other[0], strict=True) if (order := self.order(a, b))), 0)

        def value(scope: Scope) -> Any:
            found: list[tuple[list[Any], int]] = []
            for inner in scopes(scope):
                found.append(([body(inner) for body in bodies], inner.indices[variable]))
            if not found:
                raise UndefinedError
            if p.kind in ("pivots", "pivoted"):
                n, place = isqrt(len(found)), self.a.index(places[0](scope))
                if not 0 <= place < n:
                    raise UnfitError(f"no row comes to the place {place}")
                values = [x for (x,), _ in found]
                order = self.eliminated([values[n * i : n * (i + 1)] for i in range(n)])[0]
                return self.a.number(order[place] if p.kind == "pivots" else order.index(place))
            if p.kind in ("order", "rank"):
                found.sort(key=cmp_to_key(before))
                place = self.a.index(places[0](scope))
                if not 0 <= place < len(found):
                    raise UnfitError(f"no entry comes to the place {place}")
                order = [index for _, index in found]
                return self.a.number(order[place] if p.kind == "order" else order.index(place))
            best = found[0]
            for one in found[1:]:
                best = one if before(one, best) > 0 else best
            return self.a.number(best[1])

        return value

    # --- loops

    def carry(self, p: t.Carry) -> Read:
        steps, places = self.steps(p.loop), [self.term(x) for x in (p.time, *p.index)]

        def value(scope: Scope) -> Any:
            here = _Steps(steps, scope, {})
            return here.at(p.position, tuple(self.a.index(place(scope)) for place in places))

        return value

    def steps(self, loop: t.Loop) -> _Loop:
        axes = [tuple(r.variable for r in c.over) for c in loop.carries]
        return _Loop(loop, axes, [(self.term(c.init), self.term(c.step)) for c in loop.carries])

    def carried(self, p: t.Carried) -> Read:
        places = [self.term(x) for x in (p.time, *p.index)]
        return lambda scope: scope.loops[p.loop].at(p.position, tuple(self.a.index(x(scope)) for x in places))


@dataclass(frozen=True)
class _Loop:
    loop: t.Loop
    axes: Sequence[tuple[str, ...]]
    bodies: Sequence[tuple[Read, Read]]


@dataclass
class _Steps:
    """What a loop carries, computed as it is asked for."""

    loop: _Loop
    scope: Scope
    known: dict[tuple[int, tuple[int, ...]], Any]

    def at(self, position: int, place: tuple[int, ...]) -> Any:
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
