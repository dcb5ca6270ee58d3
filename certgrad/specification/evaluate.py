"""The values of a program's entries at concrete sizes and inputs, straight from the definitions.

The caller gives the arithmetic: balls (intervals with rigorous bounds) for tests, the numbers of `certgrad.exact` for
proofs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from math import inf
from typing import Any

from certgrad.language import tree as t
from certgrad.language.arithmetic import Arithmetic, UndefinedError, UnfitError
from certgrad.language.functions import FUNCTIONS
from certgrad.language.reader import Read, Reader, Scope
from certgrad.language.tree import Node
from certgrad.process.threads import precision

from . import program as p
from .places import of_indices

Inputs = Callable[[str, tuple[int, ...]], Any]
"""inputs(name, index) returns the entry of an input: a number of the arithmetic, an int or a bool."""
OpaqueValue = Callable[[p.Opaque, int, tuple[int, ...]], Any]
"""opaque(definition, k, index) returns the entry of the k-th tensor of an opaque definition."""
Chosen = Callable[["Evaluation", p.Determined, tuple[int, ...]], list[Any]]
"""chosen(evaluation, definition, outer) returns the entries of the tensors of a `Determined`, at these outer indices,
where they are not computed by elimination (an eigendecomposition, say)."""
Env = Mapping[str, int]
BITS = 256
STATEMENTS = (t.Compare, t.Both, t.Either, t.Not)
OF_INDICES = frozenset({*STATEMENTS, t.Add, t.Mul, t.Subtract, t.Negate, t.Apply, t.If})


def _unknown(definition: p.Opaque, k: int, index: tuple[int, ...]) -> Any:
    raise UnfitError(f"{definition.name} has no known value")


def _not_chosen(at: Evaluation, definition: p.Determined, outer: tuple[int, ...]) -> list[Any]:
    raise UnfitError(f"the entries of {definition.method}")


class TooLongError(Exception):
    """More entries, and values of bound variables, are needed than `Evaluation.most`."""


@contextmanager
def deep() -> Iterator[None]:
    """Run the block with `BITS` bits and a deep recursion limit, as an entry may need many others first."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 200_000))
    try:
        with precision(BITS):
            yield
    finally:
        sys.setrecursionlimit(before)


class Evaluation:
    """A program at sizes and inputs. Each entry is evaluated when it is first asked for, and kept.

    An index of a tensor begins with the times of the loops around it (see `certgrad.specification.program`).
    """

    def __init__(
        self,
        program: p.Program,
        sizes: Mapping[str, int],
        inputs: Inputs,
        arithmetic: Arithmetic,
        opaque: OpaqueValue = _unknown,
        chosen: Chosen = _not_chosen,
    ) -> None:
        self.program, self.sizes, self.inputs, self.opaque, self.chosen = program, sizes, inputs, opaque, chosen
        self._tensors: dict[str, p.Tensor] = {t.name: t for t in program.inputs}
        self._made: dict[str, tuple[Any, p.Tensor]] = {}
        self._known: dict[tuple[str, tuple[int, ...]], Any] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self.most: float = inf
        """The greatest `count`; an entry beyond raises TooLongError."""
        self._entries = 0
        self._reader = _Reader(self, arithmetic)
        self._read: dict[int, tuple[Node, Read]] = {}
        self._index(program.definitions)

    def _index(self, definitions: tuple[p.Definition, ...]) -> None:
        """Note by which definition each tensor is made, those inside of loops too."""
        for d in definitions:
            if isinstance(d, p.Loop):
                for c in d.carries:
                    self._add(c.tensor, c)
                self._index(d.body)
            else:
                for t in d.tensors if isinstance(d, (p.Determined, p.Opaque)) else (d.tensor,):
                    self._add(t, d)

    def _add(self, tensor: p.Tensor, definition: Any) -> None:
        assert tensor.name not in self._tensors
        self._tensors[tensor.name] = tensor
        self._made[tensor.name] = definition, tensor

    def shape(self, tensor: p.Tensor) -> tuple[int, ...]:
        """Return a tensor's shape at these sizes, without the times."""
        if tensor.name not in self._shapes:
            self._shapes[tensor.name] = tuple(self.length(n, {}) for n in tensor.shape)
        return self._shapes[tensor.name]

    def forget(self) -> None:
        """Forget all entries and counts, for use with other inputs or another arithmetic."""
        self._known.clear()
        self._entries = self._reader.choices = 0

    @contextmanager
    def aside(self) -> Iterator[None]:
        """In the context, evaluate entries that are forgotten afterwards."""
        before = dict(self._known)
        try:
            yield
        finally:
            self._known = before

    @property
    def count(self) -> int:
        """Return how many entries were evaluated, and values of bound variables enumerated, since `forget`."""
        return self._entries + self._reader.choices

    def output(self, k: int, index: tuple[int, ...]) -> Any:
        """Return an entry of the k-th output. Raises UndefinedError where it is no real number."""
        with deep():
            value = self.entry(self.program.outputs[k].name, index)
        if self._reader.infinite(value):
            raise UndefinedError("an output that is ±∞")
        return value

    # --- entries

    def entry(self, name: str, index: tuple[int, ...]) -> Any:
        """Return an entry of the tensor of this name. Raises UndefinedError, each time, where it is not defined."""
        key = name, index
        if key not in self._known:
            self._entries += 1
            if self._entries + self._reader.choices > self.most:
                raise TooLongError
            try:
                self._known[key] = self._reader.defined(self._entry(name, index))
            except UndefinedError as error:
                self._known[key] = error
        value = self._known[key]
        if isinstance(value, UndefinedError):
            raise value
        return value

    def _entry(self, name: str, index: tuple[int, ...]) -> Any:
        """Return an entry's value, by its definition or by the inputs. Raises UndefinedError outside of the shape."""
        tensor = self._tensors[name]
        place = index[len(tensor.times) :]  # the index in the array, without the times of loops
        for i, n in zip(place, self.shape(tensor), strict=True):
            if not 0 <= i < n:
                raise UndefinedError(f"{name} has no entry {place}")
        if name not in self._made:
            return self._reader.number_of(self.inputs(name, index))
        definition, tensor = self._made[name]
        if type(definition) is p.Defined:
            return self.value(definition.entry, dict(zip(definition.variables, index, strict=True)))
        if isinstance(definition, p.Table):
            position = 0
            for i, n in zip(place, self.shape(tensor), strict=True):
                position = position * n + i
            return self.value(definition.values[position], {})
        if isinstance(definition, p.Carry):
            return self._carried(definition, index)
        if isinstance(definition, p.Opaque):
            return self._reader.number_of(self.opaque(definition, definition.tensors.index(tensor), index))
        return self._determined(definition, tensor, index)

    def _carried(self, carry: p.Carry, index: tuple[int, ...]) -> Any:
        """Return an entry of what a loop carries: its start at time 0, else its step, which reads the time before."""
        at = len(carry.tensor.times) - 1
        time = index[at]
        env = dict(zip(carry.variables, index[:at] + index[at + 1 :], strict=True))
        if time == 0:
            return self.value(carry.start, env)
        return self.value(carry.step, {**env, carry.tensor.times[-1]: time - 1})

    def _determined(self, d: p.Determined, tensor: p.Tensor, index: tuple[int, ...]) -> Any:
        """Return an entry of a tensor that equations determine; all entries that they determine together are kept."""
        outer = index[: len(d.variables)]
        env = dict(zip(d.variables, outer, strict=True))
        if not self.value(d.condition, env):
            raise UndefinedError(f"{d.method} is not defined")
        by: Mapping[str, Chosen] = {"cholesky": Evaluation._cholesky, "linear": Evaluation.linear}
        values = by[d.method](self, d, outer) if d.method in by else self.chosen(self, d, outer)
        for key, value in zip(self.places(d, outer), values, strict=True):
            self._known[key] = value
        return self._known[tensor.name, index]

    def places(self, d: p.Determined, outer: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
        """Return the entries, by name and index, that are determined together at these outer indices, in order."""
        skip = len(d.variables)
        return [
            (t.name, outer + rest)
            for t in d.tensors
            for rest in product(*map(range, self.shape(t)[skip - len(t.times) :]))
        ]

    def differences(self, d: p.Determined, outer: tuple[int, ...], values: list[Any]) -> list[Any]:
        """Return, for each equation, its left side minus its right side, with these values for the entries `places`."""
        places, env = self.places(d, outer), dict(zip(d.variables, outer, strict=True))
        self._known.update(zip(places, values, strict=True))
        try:
            return [x for equation in d.equations for x in self._differences(equation, env)]
        finally:
            for key in places:
                del self._known[key]

    def linear(self, d: p.Determined, outer: tuple[int, ...]) -> list[Any]:
        """Return the solution of equations that are linear in the unknown entries.

        Their coefficients are found by evaluation: with all unknowns 0 the differences of both sides are the constants,
        and with one of them 1 they grow by its coefficients.
        """
        a = self._reader.a
        zero, one, minus = a.number(0), a.number(1), a.number(-1)
        count = len(self.places(d, outer))
        constant = self.differences(d, outer, [zero] * count)
        columns = [self.differences(d, outer, [one if i == k else zero for i in range(count)]) for k in range(count)]
        rows = [[a.add(c[r], a.mul(minus, constant[r])) for c in columns] for r in range(len(constant))]
        return self.solved([[*row, a.mul(minus, c)] for row, c in zip(rows, constant, strict=True)])

    def solved(self, rows: list[list[Any]]) -> list[Any]:
        """Return the unknowns of linear equations, rows of coefficients with the right side last, by elimination."""
        a = self._reader.a
        for k in range(len(rows)):
            pivot = next((i for i in range(k, len(rows)) if self._reader.order(rows[i][k], a.number(0)) != 0), None)
            if pivot is None:
                raise UndefinedError("equations without exactly one solution")
            rows[k], rows[pivot] = rows[pivot], rows[k]
            inverse = a.power(rows[k][k], Fraction(-1))
            rows[k] = [a.mul(inverse, x) for x in rows[k]]
            for i, row in enumerate(rows):
                if i != k:
                    factor = a.mul(a.number(-1), row[k])
                    rows[i] = [a.add(x, a.mul(factor, y)) for x, y in zip(row, rows[k], strict=True)]
        return [row[-1] for row in rows]

    def _differences(self, formula: Node, env: dict[str, int]) -> Iterator[Any]:
        """Yield the differences of both sides of the equations in a formula."""
        if isinstance(formula, t.ForAll):
            ((over,), holds) = formula.over, formula.holds
            for k in range(self.length(over.size, env)):
                yield from self._differences(holds, {**env, over.variable: k})
            return
        if not isinstance(formula, t.Compare) or formula.relation != "=":
            return
        left, right = self.value(formula.left, env), self.value(formula.right, env)
        a = self._reader.a
        yield self._reader.defined(a.add(left, a.mul(a.number(-1), right)))

    def matrix(self, d: p.Determined, outer: tuple[int, ...]) -> list[list[Any]]:
        """Return the matrix, at these outer indices, of which the tensors of a definition are factors."""
        operand = self._tensors[d.operands[0]]
        batch = outer[len(d.tensors[0].times) :]
        rows, columns = self.shape(operand)[-2:]
        times = outer[: len(operand.times)]
        return [[self.entry(operand.name, (*times, *batch, i, j)) for j in range(columns)] for i in range(rows)]

    def _cholesky(self, d: p.Determined, outer: tuple[int, ...]) -> list[Any]:
        """Return the entries of the Cholesky factor by rows.

        Row by row, factor[i][j] = (m[i][j] − Σ_{k<j} factor[i][k]·factor[j][k]) / factor[j][j], and on the diagonal the
        root of that difference. Raises UndefinedError where the difference is not positive there.
        """
        matrix = self.matrix(d, outer)
        n = len(matrix)
        a = self._reader.a
        zero, minus = a.number(0), a.number(-1)
        factor = [[zero] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                x = matrix[i][j]
                for k in range(j):
                    x = a.add(x, a.mul(minus, a.mul(factor[i][k], factor[j][k])))
                if i == j and self._reader.order(x, zero) <= 0:
                    raise UndefinedError("a matrix that is not positive definite")
                if i == j:
                    factor[i][j] = a.power(x, Fraction(1, 2))
                else:
                    factor[i][j] = a.mul(x, a.power(factor[j][j], Fraction(-1)))
        return [x for row in factor for x in row]

    # --- expressions

    def value(self, x: Node, env: Env) -> Any:
        """Return the value of an expression, with `env` the values of index variables.

        Raises UndefinedError, and what the arithmetic raises where it cannot decide a comparison.
        """
        if id(x) not in self._read:
            self._read[id(x)] = x, self._reader.read(x)
        return self._read[id(x)][1](Scope({}, self.sizes, indices=env))

    def length(self, x: Node, env: Env) -> int:
        """Return the value of an integer expression as an int."""
        return self._reader.a.index(self.value(x, env))


class _Reader(Reader):
    """Reads expressions of a program: entries come from its evaluation, and an expression is defined by its form.

    So all parts of a conjunction and of a disjunction have to be defined, whatever the first of them are.
    """

    def __init__(self, program: Evaluation, arithmetic: Arithmetic) -> None:
        super().__init__(arithmetic)
        self.program = program
        self.endless = type(arithmetic.constant("∞"))

    def read(self, x: Node) -> Read:
        compiled = of_indices(x) if type(x) in OF_INDICES else None
        if compiled is None:
            return super().read(x)
        if type(x) in STATEMENTS:
            return lambda scope: compiled(scope.indices)
        return lambda scope: self.a.number(compiled(scope.indices))

    def number_of(self, value: Any) -> Any:
        """Return a value as a number of the arithmetic; a truth value stays one."""
        return value if isinstance(value, bool) else self.a.entry(value)

    def defined(self, value: Any) -> Any:
        """Return the value, if it is defined. Raises UndefinedError."""
        if not isinstance(value, bool):
            self.order(value, value)
        return value

    def infinite(self, value: Any) -> bool:
        """Return whether the value is ±∞."""
        return type(value) is self.endless and any(self.order(value, self.a.constant(x)) == 0 for x in ("∞", "−∞"))

    def entry(self, x: t.Entry) -> Read:
        places = [self.read(i) for i in x.index]
        return lambda scope: self.program.entry(x.name, tuple([self.a.index(place(scope)) for place in places]))

    def both(self, x: t.Both) -> Read:
        parts = [self.read(part) for part in x.parts]
        return _of_all(all, lambda scope: (part(scope) for part in parts))

    def either(self, x: t.Either) -> Read:
        parts = [self.read(part) for part in x.parts]
        return _of_all(any, lambda scope: (part(scope) for part in parts))

    def for_all(self, x: t.ForAll) -> Read:
        return _of_all(all, self.values(x.over, x.holds, ()))

    def exists(self, x: t.Exists) -> Read:
        return _of_all(any, self.values(x.over, x.holds, ()))

    def ratio(self, x: t.Divide) -> Read:
        """Read a quotient, which is not defined where either side is ±∞."""
        left, right = self.read(x.left), self.read(x.right)

        def value(scope: Scope) -> Any:
            above, below = left(scope), right(scope)
            if self.infinite(above) or self.infinite(below):
                raise UndefinedError("a quotient with ∞")
            return self.a.mul(above, self.a.power(below, Fraction(-1)))

        return value

    def applied(self, x: t.Apply) -> Read:
        """Read a function, which is defined on its domain; of ±∞ only "is finite" and exp(−∞) have a value."""
        arguments = [self.read(a) for a in x.arguments]
        entry = FUNCTIONS.get(x.function)  # a function of the arithmetic alone, which has none, is defined everywhere
        condition = t.TRUE if entry is None else entry.domain(*x.arguments)
        domain = None if condition == t.TRUE else self.read(condition)

        def value(scope: Scope) -> Any:
            values = [a(scope) for a in arguments]
            if not any(map(self.infinite, values)):
                if domain is not None and not domain(scope):
                    raise UndefinedError(f"{x.function} outside its domain")
            elif x.function != "is finite" and (x.function != "exp" or values[0] > 0):
                raise UndefinedError(f"{x.function} of ∞")
            return self.called(x.function, values)

        return value


def _of_all(combined: Callable[[list[bool]], bool], values: Callable[[Scope], Iterable[bool]]) -> Read:
    """Return the reader of truth values combined by `all` or `any`. All are evaluated, so all have to be defined."""
    return lambda scope: combined(list(values(scope)))
