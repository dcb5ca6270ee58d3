"""Hypotheses as a certificate states them: formulas, parsed strictly, evaluated on exact numbers. Text is never run.

The syntax is a small part of Python's: comparisons of arithmetic (`0 < x < 1` is two) joined by `or`. Without an index
a name is a whole array, and the formula holds at every entry after broadcasting. With one, `x[i, j]` is an entry of
an array whose star groups are one axis each; a variable that no `sum(... for k in range(...))` binds runs over the axis
it indexes. Binders may leave values out (`max(x[k] for k in range(size(n)) if k <= j)`), and `all(... for j in
range(...))` is a comparison for every value of an index that is no axis of an array.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, TypeVar

import numpy as np
from flint import arb, fmpq

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._elementwise import real_power
from certgrad.obligations.balls._errors import Undecided
from certgrad.obligations.balls._functions import FUNCTIONS
from certgrad.obligations.balls._scalars import ONE, ZERO, Real
from certgrad.obligations.balls._values import Array

MAX_LENGTH = 10_000
"""The longest formula that is read, in characters."""

MAX_TERMS = 10_000
"""How many values a binder goes through at most."""

MAX_ROWS = 6
"""The largest determinant that is expanded."""

_ORDERS: dict[type[ast.cmpop], tuple[int, ...]] = {
    ast.Gt: (1,),
    ast.GtE: (0, 1),
    ast.Lt: (-1,),
    ast.LtE: (-1, 0),
    ast.Eq: (0,),
    ast.NotEq: (-1, 1),
}


class FormulaError(Exception):
    """A formula that does not parse, or does not fit the arrays that it names."""


@dataclass
class _Scope:
    """What names mean while a formula is evaluated: at one entry of all arrays, or at one choice of indices."""

    arrays: Mapping[str, Array]
    sizes: Mapping[str, int]
    entry: tuple[int, ...] = ()
    indices: dict[str, int] = field(default_factory=dict)


T = TypeVar("T")
_Reads = Callable[[_Scope], T]
Term = _Reads[Real]
Test = _Reads[bool]


@dataclass(frozen=True, eq=False)
class Formula:
    """A parsed formula. `variables` are its free index variables, each with the axes that it indexes."""

    text: str
    test: Test
    arrays: frozenset[str]
    variables: Mapping[str, tuple[tuple[str, int], ...]]
    indexed: bool
    """Whether entries are named by index: then star groups count as one axis each."""

    def failing(self, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
        """The entries (or choices of indices) at which the formula is false.

        Raises:
            FormulaError: the formula does not fit the arrays.
            Undecided: a comparison that needs more precision.
        """
        used = {name: arrays[name] for name in self.arrays}
        if self.indexed:
            ranges = [self._range(used, v) for v in self.variables]
            for choice in product(*ranges):
                if not self.test(_Scope(used, sizes, (), dict(zip(self.variables, choice, strict=True)))):
                    yield choice
            return
        try:
            shape = np.broadcast_shapes(*(x.shape for x in used.values()))
        except ValueError:
            raise FormulaError("its arrays do not broadcast") from None
        spread = {name: np.broadcast_to(x, shape) for name, x in used.items()}
        for at in np.ndindex(shape):
            if not self.test(_Scope(spread, sizes, at)):
                yield at

    def holds(self, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> bool:
        """Whether the formula is true at every entry."""
        return next(self.failing(arrays, sizes), None) is None

    def _range(self, arrays: Mapping[str, Array], variable: str) -> range:
        found = set()
        for name, axis in self.variables[variable]:
            if axis >= arrays[name].ndim:
                raise FormulaError(f"'{name}' has {arrays[name].ndim} axes")
            found.add(arrays[name].shape[axis])
        if len(found) != 1:
            raise FormulaError(f"the range of '{variable}' is not clear")
        return range(found.pop())


@lru_cache(maxsize=4096)
def parse(text: str, arrays: frozenset[str]) -> Formula:
    """The formula over these arrays (a parameter is one of rank 0).

    Raises:
        FormulaError: saying what is wrong.
    """
    if not text or len(text) > MAX_LENGTH:
        raise FormulaError("it is empty" if not text else f"it is longer than {MAX_LENGTH} characters")
    try:
        node = ast.parse(text.strip(), mode="eval").body
        reader = _Reader(arrays)
        reader.find_variables(node)
        test = reader.test(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError("it does not parse") from None
    free = {v: tuple(places) for v, places in reader.places.items()}
    if any(not places for places in free.values()):
        raise FormulaError("an index variable has no axis")
    return Formula(text, test, frozenset(reader.used), free, reader.indexed)


class _Reader:
    """Turns syntax into functions of a scope; whatever is not listed here is refused."""

    def __init__(self, arrays: frozenset[str]) -> None:
        self.arrays = arrays
        self.used: set[str] = set()
        self.indexed = False
        self.bound_names: list[str] = []
        self.places: dict[str, list[tuple[str, int]]] = {}

    def find_variables(self, node: ast.expr) -> None:
        """Note the free index variables: names that stand as an index somewhere, and that no sum binds."""
        inside = [inner for sub in ast.walk(node) if isinstance(sub, ast.Subscript) for inner in ast.walk(sub.slice)]
        bound = {
            g.target.id for g in ast.walk(node) if isinstance(g, ast.comprehension) and isinstance(g.target, ast.Name)
        }
        names = {n.id for n in inside if isinstance(n, ast.Name)} - bound - self.arrays - {"size"}
        sizes = {c.args[0].id for c in inside if isinstance(c, ast.Call) and c.args and isinstance(c.args[0], ast.Name)}
        self.places = {name: [] for name in sorted(names - sizes)}

    def test(self, node: ast.expr) -> Test:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            tests = [self.test(v) for v in node.values]
            return lambda scope: _any(tests, scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "all":
            binder, holds = self.bound(node, self.test)
            return lambda scope: all(map(holds, binder.scopes(scope)))
        if not isinstance(node, ast.Compare):
            raise FormulaError(f"'{_brief(node)}' is no comparison")
        if len(node.ops) != 1:
            sides = [node.left, *node.comparators]
            links = [self.test(ast.Compare(a, [op], [b])) for a, op, b in zip(sides, node.ops, sides[1:], strict=False)]
            return lambda scope: all(link(scope) for link in links)
        left, op, right = self.term(node.left), node.ops[0], node.comparators[0]
        if isinstance(op, ast.NotIn) and isinstance(right, ast.Name):
            if right.id == "integers":
                return lambda scope: not s.is_integer(left(scope))
            if right.id == "nonpositive_integers":
                return lambda scope: _not_pole(left(scope))
        if type(op) not in _ORDERS:
            raise FormulaError(f"'{_brief(node)}' is a comparison of another kind")
        orders, other = _ORDERS[type(op)], self.term(right)
        return lambda scope: s.compare(left(scope), other(scope)) in orders

    def term(self, node: ast.expr) -> Term:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            value = s.rational(Fraction(repr(node.value)))
            return lambda scope: value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.term(node.operand)
            return lambda scope: s.neg(inner(scope))
        if isinstance(node, ast.BinOp):
            return self.arithmetic(node)
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return self.entry(node.value.id, node.slice)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            return self.fold(node) if node.func.id in _FOLDS else self.call(node.func.id, node.args[0])
        raise FormulaError(f"'{_brief(node)}' is not arithmetic")

    def arithmetic(self, node: ast.BinOp) -> Term:
        operations: dict[type[ast.operator], Callable[[Real, Real], Real]] = {
            ast.Add: s.add,
            ast.Sub: s.sub,
            ast.Mult: s.mul,
            ast.Div: s.div,
            ast.Pow: real_power,
            ast.FloorDiv: lambda a, b: s.floor(s.div(a, b)),
            ast.Mod: lambda a, b: s.sub(a, s.mul(b, s.floor(s.div(a, b)))),
        }
        if type(node.op) not in operations:
            raise FormulaError(f"'{_brief(node)}' is not arithmetic")
        operation, left, right = operations[type(node.op)], self.term(node.left), self.term(node.right)
        return lambda scope: operation(left(scope), right(scope))

    def name(self, name: str) -> Term:
        if name in self.bound_names or name in self.places:
            return lambda scope: fmpq(scope.indices[name])
        if name == "pi" and name not in self.arrays:
            return lambda scope: arb.pi()
        if name not in self.arrays:
            raise FormulaError(f"'{name}' is no argument of the op")
        self.used.add(name)

        def value(scope: _Scope) -> Real:
            array = scope.arrays[name]
            if array.ndim != len(scope.entry):
                raise FormulaError(f"'{name}' has {array.ndim} axes, and stands without an index")
            return _number(array[scope.entry])

        return value

    def entry(self, name: str, node: ast.expr) -> Term:
        if name not in self.arrays:
            raise FormulaError(f"'{name}' is no argument of the op")
        self.used.add(name)
        self.indexed = True
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        for axis, part in enumerate(parts):
            if isinstance(part, ast.Name) and part.id not in self.bound_names and part.id not in self.arrays:
                self.places.setdefault(part.id, []).append((name, axis))
        places = [self.term(part) for part in parts]

        def value(scope: _Scope) -> Real:
            at = tuple(s.as_int(place(scope)) for place in places)
            array = scope.arrays[name]
            if len(at) != array.ndim or any(not 0 <= k < n for k, n in zip(at, array.shape, strict=True)):
                raise FormulaError(f"'{name}' has no entry {list(at)}")
            return _number(array[at])

        return value

    def call(self, name: str, node: ast.expr) -> Term:
        if name == "size" and isinstance(node, ast.Name):
            dim = node.id
            return lambda scope: _size(scope, dim)
        inner = self.term(node)
        if name == "floor":
            return lambda scope: s.floor(inner(scope))
        if name == "step":
            return lambda scope: ONE if s.compare(inner(scope), ZERO) == 1 else ZERO
        if name == "abs":
            return lambda scope: s.maximum(inner(scope), s.neg(inner(scope)))
        if name not in FUNCTIONS:
            raise FormulaError(f"'{name}' is no known function")
        function = FUNCTIONS[name]
        return lambda scope: function(inner(scope))

    def fold(self, node: ast.Call) -> Term:
        assert isinstance(node.func, ast.Name)
        fold = _FOLDS[node.func.id]
        binder, body = self.bound(node, self.term)
        if binder.conditions and fold in (_determinant, _smallest_minor):
            raise FormulaError(f"'{_brief(node)}' leaves entries of a matrix out")
        return lambda scope: fold(list(map(body, binder.scopes(scope))), list(map(len, binder.counts(scope))))

    def bound(self, node: ast.Call, read: Callable[[ast.expr], _Reads[T]]) -> tuple[_Binder, _Reads[T]]:
        """What `name(... for v in range(...) if ...)` binds, and what `read` makes of its body."""
        wrong = FormulaError(f"'{_brief(node)}' does not bind over ranges")
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
            raise wrong
        ranges: list[tuple[str, Term]] = []
        for one in node.args[0].generators:
            call = one.iter
            if not (isinstance(one.target, ast.Name) and not one.is_async and isinstance(call, ast.Call)):
                raise wrong
            if not (isinstance(call.func, ast.Name) and call.func.id == "range" and len(call.args) == 1):
                raise wrong
            if call.keywords:
                raise wrong
            ranges.append((one.target.id, self.term(call.args[0])))
            self.bound_names.append(one.target.id)
        conditions = [self.test(condition) for one in node.args[0].generators for condition in one.ifs]
        body = read(node.args[0].elt)
        del self.bound_names[len(self.bound_names) - len(ranges) :]
        return _Binder(ranges, conditions), body


@dataclass(frozen=True)
class _Binder:
    """Variables with their ranges, and the conditions under which values of them take part."""

    ranges: Sequence[tuple[str, Term]]
    conditions: Sequence[Test]

    def counts(self, scope: _Scope) -> list[range]:
        counts = [range(s.as_int(n(scope))) for _, n in self.ranges]
        if prod(map(len, counts)) > MAX_TERMS:
            raise FormulaError(f"a sum of more than {MAX_TERMS} terms")
        return counts

    def scopes(self, scope: _Scope) -> Iterator[_Scope]:
        """The scope with each choice of values that takes part."""
        names = [v for v, _ in self.ranges]
        for choice in product(*self.counts(scope)):
            indices = {**scope.indices, **dict(zip(names, choice, strict=True))}
            inner = _Scope(scope.arrays, scope.sizes, scope.entry, indices)
            if all(condition(inner) for condition in self.conditions):
                yield inner


def _sum(values: list[Real], counts: list[int]) -> Real:
    total = ZERO
    for value in values:
        total = s.add(total, value)
    return total


def _product(values: list[Real], counts: list[int]) -> Real:
    total = ONE
    for value in values:
        total = s.mul(total, value)
    return total


def _maximum(values: list[Real], counts: list[int]) -> Real:
    if not values:
        raise FormulaError("a maximum over nothing")
    total = values[0]
    for value in values[1:]:
        total = s.maximum(total, value)
    return total


def _argmax_count(values: list[Real], counts: list[int]) -> Real:
    """At how many places the maximum is attained."""
    top = _maximum(values, counts)
    return fmpq(sum(s.compare(value, top) == 0 for value in values))


def _determinant(values: list[Real], counts: list[int]) -> Real:
    """Of the square matrix with these entries, by expansion along the first row."""
    if len(counts) != 2 or counts[0] != counts[1] or not 1 <= counts[0] <= MAX_ROWS:
        raise FormulaError(f"a determinant of something else than a square matrix of at most {MAX_ROWS} rows")
    n = counts[0]
    if n == 1:
        return values[0]
    total = ZERO
    for column in range(n):
        minor = [values[n * i + j] for i in range(1, n) for j in range(n) if j != column]
        term = s.mul(values[column], _determinant(minor, [n - 1, n - 1]))
        total = s.sub(total, term) if column % 2 else s.add(total, term)
    return total


def _smallest_minor(values: list[Real], counts: list[int]) -> Real:
    """The smallest leading principal minor: positive where a symmetric matrix is positive definite."""
    n = counts[0]
    leading = [[values[n * i + j] for i in range(k) for j in range(k)] for k in range(1, n + 1)]
    minors = [_determinant(entries, [k, k]) for k, entries in enumerate(leading, 1)]
    smallest = _determinant(values, counts)
    for minor in minors:
        smallest = s.minimum(smallest, minor)
    return smallest


_FOLDS: dict[str, Callable[[list[Real], list[int]], Real]] = {
    "sum": _sum,
    "prod": _product,
    "max": _maximum,
    "argmax_count": _argmax_count,
    "determinant": _determinant,
    "smallest_minor": _smallest_minor,
}


def _any(tests: list[Test], scope: _Scope) -> bool:
    """Whether one test is true; open only where none is true and one is open."""
    undecided: Undecided | None = None
    for test in tests:
        try:
            if test(scope):
                return True
        except Undecided as error:
            undecided = error
    if undecided is not None:
        raise undecided
    return False


def _not_pole(x: Real) -> bool:
    return not s.is_integer(x) or s.sign(x) > 0


def _number(x: Any) -> Real:
    return fmpq(int(x)) if isinstance(x, np.generic) else x


def _size(scope: _Scope, dim: str) -> Real:
    if dim not in scope.sizes:
        raise FormulaError(f"'{dim}' is no dimension")
    return fmpq(scope.sizes[dim])


def _brief(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) < 60 else f"{text[:60]} …"
