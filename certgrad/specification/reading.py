"""From a traced program to its definitions: each equation by its rule, calls inlined, loops as recurrences."""

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
"""Primitives whose rules take the range of a narrow or unsigned integer type into account."""
LONGEST = 2_000
"""The residual of a solver is written out as one expression, of at most so many entries of its equations."""
Literals = Callable[[Any, Any], Node]
"""literals(value, dtype) returns the expression for an entry of a constant."""


def meaning(program: Any, names: Sequence[str] = (), literals: Literals = literal) -> Program:
    """Return the meaning of a program, which is a closed jaxpr, or anything that has `jaxpr` and `consts`.

    Inputs are called by `names`, or x0, x1, … if `names` is empty. Raises UnreadableError where a part of the program
    that an output needs has no rule.
    """
    jaxpr = jaxpr_of(program)
    reader = Reader(literals)
    avals = [v.aval for v in jaxpr.invars]
    input_names = list(names) or [f"x{k}" for k in range(len(avals))]
    inputs = [Tensor(n, tuple(map(size, a.shape)), sort_of(a.dtype)) for n, a in zip(input_names, avals, strict=True)]
    outs = reader.read(program, [reader.operand(t, a.dtype) for t, a in zip(inputs, avals, strict=True)])
    outputs = []
    for k, out in enumerate(outs):
        outputs.append(reader.define(f"out{k}", "output", out))
    return pruned(Program(tuple(inputs), (*reader.tables, *reader.definitions), tuple(outputs)))


class Reader:
    """Reads jaxprs into `definitions`, and arrays of constants into `tables`.

    `literals` gives the expression for an entry of a constant. `times` are the variables of the loops around what is
    being read.
    """

    def __init__(self, literals: Literals = literal) -> None:
        self.literals = literals
        self.definitions: list[Definition] = []
        self.tables: list[Definition] = []
        self.times: tuple[str, ...] = ()
        self.composing: Iterator[int] | None = None
        """Numbers bound variables while results become expressions in the operands (`composed`); None where each result
        gets a definition."""
        self._parts = 0
        self._tensors = 0
        self._loops = 0

    # --- programs

    def read(self, program: Any, inputs: Sequence[Operand]) -> list[Operand]:
        """Return the outputs of a program, given its inputs; the definitions that it needs are added."""
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
        """Return the results of an equation by its primitive's rule, or of the program that it calls.

        Raises UnreadableError where there is no rule, or where integers of a narrow type may wrap around.
        """
        name = eqn.primitive.name
        if name in STRUCTURED:
            if self.composing:
                raise UnreadableError(f"primitive {name} in the equation of a solver")
            return STRUCTURED[name](self, eqn, *operands)
        inner = called_program(eqn)
        if inner is not None:  # a call is inlined, and a custom function is what its primal computes
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
        operands_out = []
        for result, at in zip(results, entries, strict=True):
            if self.composing:
                operands_out.append(Operand(result.shape, result.sort, result.dtype, self._short(at)))
            else:
                operands_out.append(self.named(name, Operand(result.shape, result.sort, result.dtype, at)))
        return operands_out

    def named(self, primitive: str, value: Operand) -> Operand:
        """Return a value as a new tensor, whose definition is added; `primitive` says what the equation was."""
        return self.operand(self.define(self.name(), primitive, value), value.dtype)

    def composed(self, program: Any, inputs: Sequence[Operand]) -> list[Operand]:
        """Return the outputs of a program whose entries are expressions in the entries of its inputs.

        Nothing is defined, so that programs with structured primitives, such as loops, are unreadable; and programs of
        more than `LONGEST` entries.
        """
        outer, self.composing = self.composing, self.composing or count()
        self._parts = 0
        try:
            return self.read(program, inputs)
        finally:
            self.composing = outer

    def _short(self, at: Entries) -> Entries:
        """Return the same entries, which raise UnreadableError once more than `LONGEST` were asked for."""

        def entry(*index: Node) -> Node:
            self._parts += 1
            if self._parts > LONGEST:
                raise UnreadableError("an equation of a solver that is too long")
            return at(*index)

        return entry

    # --- definitions

    def name(self) -> str:
        """Return the name of a new tensor: v1, v2, …"""
        self._tensors += 1
        return f"v{self._tensors}"

    def time(self) -> str:
        """Return the name of a new loop's time: t1, t2, …"""
        self._loops += 1
        return f"t{self._loops}"

    def define(self, name: str, primitive: str, value: Operand) -> Tensor:
        """Add the definition of a tensor with the entries of a value; return the tensor."""
        axes = tuple(f"i{k}" for k in range(value.rank))
        tensor = self.tensor(name, value.shape, value.sort)
        entry = value.at(*map(Index, axes))
        self.definitions.append(Defined(tensor, (*self.times, *axes), entry, primitive))
        return tensor

    def tensor(self, name: str, shape: tuple[Node, ...], sort: Sort) -> Tensor:
        """Return a tensor that is made inside of the loops that are being read."""
        return Tensor(name, shape, sort, self.times)

    def operand(self, tensor: Tensor, dtype: Any) -> Operand:
        """Return a tensor as an operand of equations at the same times."""
        return Operand(tensor.shape, tensor.sort, dtype, entries(tensor, tuple(map(Index, tensor.times))))

    def constant(self, value: Any, dtype: Any = None) -> Operand:
        """Return a constant as an operand: a literal if all entries are equal, else a table, whose definition is added.

        Raises UnreadableError for dtypes that numpy has not.
        """
        dtype = getattr(value, "dtype", None) if dtype is None else dtype
        try:
            array = np.asarray(value) if dtype is None else np.asarray(value, dtype)
        except TypeError:
            raise UnreadableError(f"a constant of dtype {dtype}") from None
        dtype = array.dtype
        shape, sort = tuple(map(size, array.shape)), sort_of(dtype)
        if array.size and (array == array.flat[0]).all():
            entry = array.flat[0]
            return Operand(shape, sort, dtype, lambda *index: self.literals(entry, dtype))
        tensor = Tensor(self.name(), shape, sort)
        self.tables.append(Table(tensor, tuple(self.literals(x, dtype) for x in array.flat)))
        return self.operand(tensor, dtype)

    def determined(self, definition: Determined | Opaque, dtypes: Sequence[Any]) -> list[Operand]:
        """Add a definition of several tensors; return these as operands."""
        self.definitions.append(definition)
        return [self.operand(t, d) for t, d in zip(definition.tensors, dtypes, strict=True)]

    def loop(self, length: Node | None, run: Callable[[str], Any]) -> Any:
        """Add a loop; `run(time)` reads its step, and returns its carries and anything else, which is returned.

        What is defined meanwhile is the loop's body. `length` is None for a while loop.
        """
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
    """Return the entries of a tensor at these times, as a function of the index."""
    return lambda *index: SortedEntry(tensor.name, (*times, *index), tensor.sort)
