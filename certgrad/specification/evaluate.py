"""The value of a program's entries at concrete sizes and inputs, straight from the definitions: for tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Any

from flint import arb, arb_mat, fmpq

from certgrad.process.threads import precision

from . import expression as e
from . import numbers
from .functions import FUNCTIONS
from .numbers import UndecidedError, UndefinedError

Inputs = Callable[[str, tuple[int, ...]], Any]
"""The entry of an input: fmpq for a real, int, bool."""
OpaqueValue = Callable[[e.Opaque, int, tuple[int, ...]], Any]
"""The entry of the k-th tensor of an opaque definition."""
Env = Mapping[str, int]
BITS = 256
LONGEST = 10_000
"""How far the least integer with a property is looked for."""


def _unknown(definition: e.Opaque, k: int, index: tuple[int, ...]) -> Any:
    raise UndecidedError(f"{definition.name} has no known value")


@contextmanager
def deep() -> Iterator[None]:
    """Entries that rest on many others."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 200_000))
    try:
        with precision(BITS):
            yield
    finally:
        sys.setrecursionlimit(before)


class Evaluation:
    """A program at sizes and inputs. Each entry is evaluated when it is asked for, and once."""

    def __init__(
        self, program: e.Program, sizes: Mapping[str, int], inputs: Inputs, opaque: OpaqueValue = _unknown
    ) -> None:
        self.program, self.sizes, self.inputs, self.opaque = program, sizes, inputs, opaque
        self._tensors: dict[str, e.Tensor] = {t.name: t for t in program.inputs}
        self._made: dict[str, tuple[Any, e.Tensor]] = {}
        self._known: dict[tuple[str, tuple[int, ...]], Any] = {}
        self._index(program.definitions)

    def _index(self, definitions: tuple[e.Definition, ...]) -> None:
        for d in definitions:
            if isinstance(d, e.Loop):
                for c in d.carries:
                    self._add(c.tensor, c)
                self._index(d.body)
            else:
                for t in d.tensors if isinstance(d, (e.Determined, e.Opaque)) else (d.tensor,):
                    self._add(t, d)

    def _add(self, tensor: e.Tensor, definition: Any) -> None:
        assert tensor.name not in self._tensors
        self._tensors[tensor.name] = tensor
        self._made[tensor.name] = definition, tensor

    def shape(self, tensor: e.Tensor) -> tuple[int, ...]:
        """The tensor's shape at these sizes."""
        return tuple(self.value(n, {}) for n in tensor.shape)

    def shapes_fit(self) -> bool:
        """No tensor has a negative size."""
        return all(n >= 0 for tensor in self._tensors.values() for n in self.shape(tensor))

    def output(self, k: int, index: tuple[int, ...]) -> Any:
        """An entry of an output. Raises UndefinedError where it is no real number."""
        with deep():
            found = self.entry(self.program.outputs[k].name, index)
        if numbers.infinite(found):
            raise UndefinedError("an output that is ±∞")
        return found

    # --- entries

    def entry(self, name: str, index: tuple[int, ...]) -> Any:
        """An entry by name; its index begins with the times."""
        key = name, index
        if key not in self._known:
            try:
                self._known[key] = self._entry(name, index)
            except UndefinedError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, UndefinedError):
            raise found
        return found

    def _entry(self, name: str, index: tuple[int, ...]) -> Any:
        tensor = self._tensors[name]
        place = index[len(tensor.times) :]
        if not all(0 <= i < n for i, n in zip(place, self.shape(tensor), strict=True)):
            raise UndefinedError(f"{name} has no entry {place}")
        if name not in self._made:
            return self.inputs(name, index)
        definition, tensor = self._made[name]
        if isinstance(definition, e.Table):
            position = 0
            for i, n in zip(place, self.shape(tensor), strict=True):
                position = position * n + i
            return self.value(definition.values[position], {})
        if isinstance(definition, e.Carry):
            return self._carried(definition, index)
        if isinstance(definition, e.Opaque):
            return self.opaque(definition, definition.tensors.index(tensor), index)
        if isinstance(definition, e.Determined):
            return self._determined(definition, tensor, index)
        return self.value(definition.entry, dict(zip(definition.variables, index, strict=True)))

    def _carried(self, carry: e.Carry, index: tuple[int, ...]) -> Any:
        at = len(carry.tensor.times) - 1
        time = index[at]
        env = dict(zip(carry.variables, index[:at] + index[at + 1 :], strict=True))
        if time == 0:
            return self.value(carry.start, env)
        return self.value(carry.step, {**env, carry.tensor.times[-1]: time - 1})

    def _determined(self, d: e.Determined, tensor: e.Tensor, index: tuple[int, ...]) -> Any:
        outer = index[: len(d.variables)]
        env = dict(zip(d.variables, outer, strict=True))
        if not self.value(d.condition, env):
            raise UndefinedError(f"{d.method} is not defined")
        places = [(t.name, outer + rest) for t in d.tensors for rest in self._rest(t, len(d.variables))]
        found = self._cholesky(d, outer) if d.method == "cholesky" else self._linear(d, env, places)
        for key, value in zip(places, found, strict=True):
            self._known[key] = value
        return self._known[tensor.name, index]

    def _rest(self, tensor: e.Tensor, outer: int) -> Iterator[tuple[int, ...]]:
        return product(*map(range, self.shape(tensor)[outer - len(tensor.times) :]))

    def _linear(self, d: e.Determined, env: Env, places: list[Any]) -> list[Any]:
        """The solution of equations that are linear in the unknown entries: their coefficients, by looking."""

        def sides(values: list[Any]) -> list[Any]:
            self._known.update(zip(places, values, strict=True))
            return [x for equation in d.equations for x in self._differences(equation, dict(env))]

        zero = [fmpq(0)] * len(places)
        constant = sides(zero)
        columns = [sides([*zero[:k], fmpq(1), *zero[k + 1 :]]) for k in range(len(places))]
        for key in places:
            del self._known[key]
        rows = [[arb(c[r]) - arb(constant[r]) for c in columns] for r in range(len(constant))]
        try:
            found = arb_mat(rows).solve(arb_mat([[-arb(x)] for x in constant])) if places else None
        except ZeroDivisionError:
            raise UndefinedError("equations without exactly one solution") from None
        return [found[k, 0] for k in range(len(places))] if found is not None else []

    def _differences(self, formula: e.Expression, env: dict[str, int]) -> Iterator[Any]:
        if isinstance(formula, e.ForAll):
            for inner in self._each(formula, env):
                yield from self._differences(formula.body, dict(inner))
            return
        assert isinstance(formula, e.Compare)
        left, right = self.value(formula.left, env), self.value(formula.right, env)
        yield numbers.add(left, -right)

    def _cholesky(self, d: e.Determined, outer: tuple[int, ...]) -> list[Any]:
        """By rows; not defined where a diagonal entry is no root of a positive number."""
        n = self.shape(d.tensors[0])[-1]
        held = self._tensors[d.operands[0]]
        skip = len(d.tensors[0].times) - len(held.times)
        times, batch = outer[: len(held.times)], outer[len(held.times) + skip :]
        factor = [[arb(0)] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                x = arb(self.entry(held.name, (*times, *batch, i, j)))
                x -= sum((factor[i][k] * factor[j][k] for k in range(j)), arb(0))
                if i == j and not numbers.less(0, x):
                    raise UndefinedError("a matrix that is not positive definite")
                factor[i][j] = x.sqrt() if i == j else x / factor[j][j]
        return [x for row in factor for x in row]

    # --- expressions

    def value(self, x: e.Expression, env: Env) -> Any:
        """The value of an expression. Raises UndefinedError, and UndecidedError."""
        return _VALUES[type(x)](self, x, env)

    def number(self, x: e.Number, env: Env) -> Any:
        return fmpq(x.value.numerator, x.value.denominator)

    def literal(self, x: e.Integer | e.Truth, env: Env) -> Any:
        return x.value

    def infinity(self, x: e.Infinity, env: Env) -> Any:
        return float("inf") if x.positive else float("-inf")

    def size(self, x: e.Size, env: Env) -> int:
        return self.sizes[x.name]

    def index(self, x: e.Index, env: Env) -> int:
        return env[x.name]

    def read(self, x: e.Entry, env: Env) -> Any:
        return self.entry(x.tensor, tuple([self.value(i, env) for i in x.indices]))

    def add(self, x: e.Add, env: Env) -> Any:
        return numbers.add(self.value(x.left, env), self.value(x.right, env))

    def subtract(self, x: e.Subtract, env: Env) -> Any:
        return numbers.add(self.value(x.left, env), -self.value(x.right, env))

    def multiply(self, x: e.Multiply, env: Env) -> Any:
        return numbers.multiply(self.value(x.left, env), self.value(x.right, env))

    def negate(self, x: e.Negate, env: Env) -> Any:
        return -self.value(x.operand, env)

    def divide(self, x: e.Divide, env: Env) -> Any:
        return numbers.divide(self.value(x.left, env), self.value(x.right, env))

    def whole(self, x: e.FloorDivide | e.Modulo, env: Env) -> int:
        left, right = self.value(x.left, env), self.value(x.right, env)
        if right == 0:
            raise UndefinedError("division by 0")
        return left // right if isinstance(x, e.FloorDivide) else left % right

    def to_real(self, x: e.ToReal, env: Env) -> Any:
        return fmpq(self.value(x.operand, env))

    def floor(self, x: e.Floor, env: Env) -> int:
        return numbers.floor(self.value(x.operand, env))

    def power(self, x: e.Power, env: Env) -> Any:
        base = self.value(x.base, env)
        if isinstance(x.exponent, e.Number) and x.exponent.value.denominator == 1:
            return numbers.integer_power(base, x.exponent.value.numerator)
        return numbers.power(base, self.value(x.exponent, env))

    def integer_power(self, x: e.IntegerPower, env: Env) -> Any:
        base, exponent = self.value(x.base, env), self.value(x.exponent, env)
        if isinstance(base, int) and exponent < 0:
            raise UndefinedError("a negative power of an integer")
        return numbers.integer_power(base, exponent)

    def function(self, x: e.Function, env: Env) -> Any:
        arguments = [self.value(a, env) for a in x.arguments]
        if not any(map(numbers.infinite, arguments)) and not self.value(FUNCTIONS[x.name].domain(*x.arguments), env):
            raise UndefinedError(f"{x.name} outside its domain")
        return numbers.function(x.name, arguments)

    def _each(self, x: Any, env: Env) -> Iterator[dict[str, int]]:
        if x.count is None:
            raise UndecidedError("all integers")
        inner = dict(env)
        for i in range(self.value(x.count, env)):
            inner[x.variable] = i
            yield inner

    def sum(self, x: e.Sum, env: Env) -> Any:
        values = [self.value(x.body, inner) for inner in self._each(x, env)]
        total = values[0] if values else 0 if _integral(x.body) else fmpq(0)
        for value in values[1:]:
            total = numbers.add(total, value)
        return total

    def product(self, x: e.Product, env: Env) -> Any:
        values = [self.value(x.body, inner) for inner in self._each(x, env)]
        total = values[0] if values else 1 if _integral(x.body) else fmpq(1)
        for value in values[1:]:
            total = numbers.multiply(total, value)
        return total

    def _candidates(self, x: e.Maximum | e.Minimum | e.ArgMax, env: Env) -> list[tuple[int, Any]]:
        found = [
            (inner[x.variable], self.value(x.body, inner)) for inner in self._each(x, env) if self.value(x.where, inner)
        ]
        if not found:
            raise UndefinedError("an extremum over nothing")
        return found

    def maximum(self, x: e.Maximum, env: Env) -> Any:
        return _best(self._candidates(x, env), numbers.less)[1]

    def minimum(self, x: e.Minimum, env: Env) -> Any:
        return _best(self._candidates(x, env), lambda a, b: numbers.less(b, a))[1]

    def arg_max(self, x: e.ArgMax, env: Env) -> int:
        return _best(self._candidates(x, env), numbers.less)[0]

    def least(self, x: e.Least, env: Env) -> int:
        for i in range(LONGEST if x.count is None else self.value(x.count, env)):
            if self.value(x.body, {**env, x.variable: i}):
                return i
        raise UndefinedError("no integer with the property was found")

    def for_all(self, x: e.ForAll, env: Env) -> bool:
        values = [self.value(x.body, inner) for inner in self._each(x, env)]
        return all(values)

    def exists(self, x: e.Exists, env: Env) -> bool:
        values = [self.value(x.body, inner) for inner in self._each(x, env)]
        return any(values)

    def compare(self, x: e.Compare, env: Env) -> bool:
        left, right = self.value(x.left, env), self.value(x.right, env)
        if x.relation == "=":
            return numbers.equal(left, right)
        return numbers.less(left, right) if x.relation == "<" else not numbers.less(right, left)

    def conjunction(self, x: e.And, env: Env) -> bool:
        values = [self.value(part, env) for part in x.parts]
        return all(values)

    def disjunction(self, x: e.Or, env: Env) -> bool:
        values = [self.value(part, env) for part in x.parts]
        return any(values)

    def negation(self, x: e.Not, env: Env) -> bool:
        return not self.value(x.part, env)

    def is_defined(self, x: e.IsDefined, env: Env) -> bool:
        try:
            self.value(x.entry, env)
        except UndefinedError:
            return False
        return True

    def choice(self, x: e.If, env: Env) -> Any:
        return self.value(x.then if self.value(x.condition, env) else x.otherwise, env)

    def given(self, x: e.Given, env: Env) -> Any:
        if not self.value(x.condition, env):
            raise UndefinedError("a condition that does not hold")
        return self.value(x.value, env)


def _best(candidates: list[tuple[int, Any]], less: Callable[[Any, Any], bool]) -> tuple[int, Any]:
    best = candidates[0]
    for one in candidates[1:]:
        if less(best[1], one[1]):
            best = one
    return best


def _integral(x: e.Expression) -> bool:
    from .sorts import sort

    return sort(x) == "integer"


_VALUES: dict[type, Callable[[Evaluation, Any, Env], Any]] = {
    e.Number: Evaluation.number,
    e.Integer: Evaluation.literal,
    e.Truth: Evaluation.literal,
    e.Infinity: Evaluation.infinity,
    e.Size: Evaluation.size,
    e.Index: Evaluation.index,
    e.Entry: Evaluation.read,
    e.Add: Evaluation.add,
    e.Subtract: Evaluation.subtract,
    e.Multiply: Evaluation.multiply,
    e.Negate: Evaluation.negate,
    e.Divide: Evaluation.divide,
    e.FloorDivide: Evaluation.whole,
    e.Modulo: Evaluation.whole,
    e.ToReal: Evaluation.to_real,
    e.Floor: Evaluation.floor,
    e.Power: Evaluation.power,
    e.IntegerPower: Evaluation.integer_power,
    e.Function: Evaluation.function,
    e.Sum: Evaluation.sum,
    e.Product: Evaluation.product,
    e.Maximum: Evaluation.maximum,
    e.Minimum: Evaluation.minimum,
    e.ArgMax: Evaluation.arg_max,
    e.Least: Evaluation.least,
    e.ForAll: Evaluation.for_all,
    e.Exists: Evaluation.exists,
    e.Compare: Evaluation.compare,
    e.And: Evaluation.conjunction,
    e.Or: Evaluation.disjunction,
    e.Not: Evaluation.negation,
    e.IsDefined: Evaluation.is_defined,
    e.If: Evaluation.choice,
    e.Given: Evaluation.given,
}
