"""From a traced program to what it means: each equation by its rule, calls inlined, loops as recurrences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from certgrad.jaxpr.programs import jaxpr_of, results, wraps
from certgrad.language.tree import Index, Node, Sort, SortedEntry

from ._jax import called_program, literal, size, sort_of
from .program import Defined, Definition, Determined, Loop, Opaque, Program, Table, Tensor, pruned
from .rule import RULES, STRUCTURED, Call, Entries, Operand, Result, UnreadableError

IN_RANGE = frozenset({"convert_element_type", "not"})
"""Primitives whose rules keep in mind the range of a narrow or unsigned type."""
LONGEST = 2_000
"""An equation of a solver is made of so many entries of its steps at most."""
Literals = Callable[[Any, Any], Node]
"""What a literal means, by its value and dtype."""


def meaning(program: Any, names: Sequence[str] = (), literals: Literals = literal) -> Program:
    """What a program means. It is a closed jaxpr, or anything that has `jaxpr` and `consts`.

    Inputs are called by `names`, or x0, x1, … where there are none. Raises UnreadableError where a part of the program
    has no rule; parts that no output needs do not count.
    """
    jaxpr = jaxpr_of(program)
    reader = Reader(literals)
    avals = [v.aval for v in jaxpr.invars]
    named = list(names) or [f"x{k}" for k in range(len(avals))]
    inputs = [Tensor(n, tuple(map(size, a.shape)), sort_of(a.dtype)) for n, a in zip(named, avals, strict=True)]
    outs = reader.read(program, [reader.operand(t, a.dtype) for t, a in zip(inputs, avals, strict=True)])
    outputs = []
    for k, out in enumerate(outs):
        outputs.append(reader.define(f"out{k}", "output", out))
    return pruned(Program(tuple(inputs), (*reader.tables, *reader.definitions), tuple(outputs)))


class Reader:
    """Reads jaxprs into definitions. `times` are the variables of the loops around what is being read."""

    def __init__(self, literals: Literals = literal) -> None:
        self.literals = literals
        self.definitions: list[Definition] = []
        self.tables: list[Definition] = []
        self.times: tuple[str, ...] = ()
        self.composing: Iterator[int] | None = None
        """Numbers bound variables where results are expressions in the operands, with no definitions of their own."""
        self._parts = 0
        self._tensors = 0
        self._loops = 0

    # --- programs

    def read(self, program: Any, inputs: Sequence[Operand]) -> list[Operand]:
        """The outputs of a program, given its inputs."""
        return results(program, inputs, self.equation, lambda value, aval: self.constant(value, aval.dtype))

    def equation(self, eqn: Any, operands: Sequence[Operand]) -> Sequence[Operand]:
        """Return the results of one equation. Where it cannot be read, the error is raised when a result is used."""
        try:
            return self._equation(eqn, operands)
        except UnreadableError as error:
            reason = str(error)

            def unreadable(*index: Node) -> Node:
                raise UnreadableError(reason)

            return [Operand(tuple(map(size, v.aval.shape)), "real", v.aval.dtype, unreadable) for v in eqn.outvars]

    def _equation(self, eqn: Any, operands: Sequence[Operand]) -> Sequence[Operand]:
        """Return what an equation defines, by its primitive's rule. Raises UnreadableError where there is none."""
        name = eqn.primitive.name
        if name in STRUCTURED:
            if self.composing:
                raise UnreadableError(f"primitive {name} in the equation of a solver")
            return STRUCTURED[name](self, eqn, *operands)
        inner = called_program(eqn)
        if inner is not None:
            return self.read(inner, operands)
        if name not in RULES:
            raise UnreadableError(f"primitive {name}")
        avals = [v.aval for v in eqn.outvars]
        for dtype in (a.dtype for a in avals if sort_of(a.dtype) == "integer"):
            if name not in IN_RANGE and wraps(np.dtype(dtype), name):
                raise UnreadableError(f"{name} of integers of dtype {dtype}, which wrap around")
        results = [Result(tuple(map(size, a.shape)), sort_of(a.dtype), a.dtype) for a in avals]
        result_entries = RULES[name](Call(name, eqn.params, results, {}, self.composing or count()), *operands)
        entries = [result_entries] if callable(result_entries) else list(result_entries)
        defined = []
        for result, at in zip(results, entries, strict=True):
            if self.composing:
                defined.append(Operand(result.shape, result.sort, result.dtype, self._short(at)))
            else:
                defined.append(self.named(name, Operand(result.shape, result.sort, result.dtype, at)))
        return defined

    def named(self, primitive: str, value: Operand) -> Operand:
        """The value as a tensor of its own."""
        return self.operand(self.define(self.name(), primitive, value), value.dtype)

    def composed(self, program: Any, inputs: Sequence[Operand]) -> list[Operand]:
        """The outputs of a program as expressions in the entries of its inputs."""
        outer, self.composing = self.composing, self.composing or count()
        self._parts = 0
        try:
            return self.read(program, inputs)
        finally:
            self.composing = outer

    def _short(self, at: Entries) -> Entries:
        """The entries, as long as they are made of few enough."""

        def entry(*index: Node) -> Node:
            self._parts += 1
            if self._parts > LONGEST:
                raise UnreadableError("an equation of a solver that is too long")
            return at(*index)

        return entry

    # --- definitions

    def name(self) -> str:
        """The name of a new tensor: v1, v2, …"""
        self._tensors += 1
        return f"v{self._tensors}"

    def time(self) -> str:
        """The name of a new loop's time: t1, t2, …"""
        self._loops += 1
        return f"t{self._loops}"

    def define(self, name: str, primitive: str, value: Operand) -> Tensor:
        """Add the definition of a tensor that has these entries."""
        axes = tuple(f"i{k}" for k in range(value.rank))
        tensor = self.tensor(name, value.shape, value.sort)
        entry = value.at(*map(Index, axes))
        self.definitions.append(Defined(tensor, (*self.times, *axes), entry, primitive))
        return tensor

    def tensor(self, name: str, shape: tuple[Node, ...], sort: Sort) -> Tensor:
        """A tensor that is made inside the loops that are being read."""
        return Tensor(name, shape, sort, self.times)

    def operand(self, tensor: Tensor, dtype: Any) -> Operand:
        """A tensor, as equations at the same times read it."""
        return Operand(tensor.shape, tensor.sort, dtype, entries(tensor, tuple(map(Index, tensor.times))))

    def constant(self, value: Any, dtype: Any = None) -> Operand:
        """A constant: a number, or a table."""
        dtype = getattr(value, "dtype", None) if dtype is None else dtype
        try:
            array = np.asarray(value) if dtype is None else np.asarray(value, dtype)
        except TypeError:
            raise UnreadableError(f"a constant of dtype {dtype}") from None
        dtype = array.dtype
        shape, sort = tuple(map(size, array.shape)), sort_of(dtype)
        if array.size and (array == array.flat[0]).all():
            one = array.flat[0]
            return Operand(shape, sort, dtype, lambda *index: self.literals(one, dtype))
        tensor = Tensor(self.name(), shape, sort)
        self.tables.append(Table(tensor, tuple(self.literals(x, dtype) for x in array.flat)))
        return self.operand(tensor, dtype)

    def determined(self, definition: Determined | Opaque, dtypes: Sequence[Any]) -> list[Operand]:
        """Add a definition of several tensors."""
        self.definitions.append(definition)
        return [self.operand(t, d) for t, d in zip(definition.tensors, dtypes, strict=True)]

    def loop(self, length: Node | None, run: Callable[[str], Any]) -> Any:
        """Add a loop: `run(time)` reads its step, and returns its carries and what else is wanted of it."""
        outer, self.definitions = self.definitions, []
        times, time = self.times, self.time()
        self.times = (*times, time)
        try:
            carries, rest = run(time)
        finally:
            body, self.definitions, self.times = tuple(self.definitions), outer, times
        self.definitions.append(Loop(time, length, tuple(carries), body))
        return rest


def entries(tensor: Tensor, times: tuple[Node, ...]) -> Entries:
    """The entries of a tensor at these times."""
    return lambda *index: SortedEntry(tensor.name, (*times, *index), tensor.sort)
