"""The body of a kernel at one step of its grid, as operations on values.

A value that the step's place in the grid determines is computed as a number, and a loop whose number of steps is then
known is unrolled, so that memory is read and written at known places. An array whose entries are known is still traced
as an operation: its known entries only tell which places are read, and are not put into the program as constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.jaxpr.kinds import MOVES_ENTRIES
from certgrad.jaxpr.programs import called_program, consts_of, jaxpr_of, no_number, repeated, scanned

from ._memory import Cell, KernelError, Value, load_entries, updated_memory

MAX_STEPS = 4096
"""Most steps of a grid, and of a loop in a kernel, that are run one after the other."""
MAX_EQUATIONS = 20_000
"""Most operations over all steps of a grid."""
MAX_KNOWN = 1 << 16
"""Most entries of an array that is also computed as numbers."""

_SILENT = frozenset("debug_print debug_callback debug_barrier_p delay".split())
_HINTS = frozenset("multiple_of max_contiguous".split())
"""Primitives that only tell the compiler something of their operand, and return it."""

Operand = Value | Cell


@dataclass
class Body:
    """Evaluates a kernel at one place in its grid. `budget` is a list of one: the operations left to all steps.

    References are `Cell`s, which are changed in place; all other values are `Value`s.
    """

    place: Sequence[Value]
    grid: Sequence[Value]
    budget: list[int]

    def run(self, jaxpr: Any, consts: Sequence[Operand], args: Sequence[Operand]) -> list[Any]:
        """Return the outputs of an open jaxpr. Raises KernelError where the budget is used up."""
        values: dict[Any, Operand] = dict(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))

        def get(atom: Any) -> Operand:
            return Value(atom.val, np.asarray(atom.val)) if hasattr(atom, "val") else values[atom]

        for eqn in jaxpr.eqns:
            self.budget[0] -= 1
            if self.budget[0] < 0:
                raise KernelError(f"more than {MAX_EQUATIONS} operations over all steps of its grid")
            results = self.equation(eqn, [get(atom) for atom in eqn.invars])
            values.update(zip(eqn.outvars, results, strict=True))
        return [get(atom) for atom in jaxpr.outvars]

    def equation(self, eqn: Any, operands: list[Any]) -> Sequence[Operand]:
        """Return the results of an equation. Raises KernelError for an unknown operation on a reference."""
        name, params = eqn.primitive.name, eqn.params
        if name in ("program_id", "num_programs"):
            return [(self.place if name == "program_id" else self.grid)[params["axis"]]]
        if (inner := called_program(eqn)) is not None:
            return self.closed(inner, operands)
        if name in _STRUCTURED:
            return _STRUCTURED[name](self, params, operands)
        if name in _SILENT and not eqn.outvars:
            return []
        if name in _HINTS:
            return operands[:1]
        if name == "roll":
            return [Value(_rolled(*operands, **params))]
        if any(isinstance(x, Cell) for x in operands):
            raise KernelError(f"{name} of a reference")
        return self.operation(eqn, operands)

    def operation(self, eqn: Any, operands: Sequence[Value]) -> list[Value]:
        """Return the results of an operation on values: traced, and as numbers if those of the operands are known.

        Numbers are computed only where nothing is rounded: for integers and booleans, and for moves of entries. A known
        integer or boolean scalar is not traced at all.
        """
        outs = [v.aval for v in eqn.outvars]
        exact = eqn.primitive.name in MOVES_ENTRIES or not any(jnp.issubdtype(a.dtype, jnp.inexact) for a in outs)
        small = all(all(isinstance(n, int) for n in a.shape) and prod(a.shape) <= MAX_KNOWN for a in outs)
        settled = exact and small and all(x.known is not None for x in operands)
        known = _bound(eqn, [x.known for x in operands], now=True) if settled else [None for _ in outs]
        if settled and not any(a.shape or jnp.issubdtype(a.dtype, jnp.inexact) for a in outs):
            return [number(x) for x in known]
        traced = _bound(eqn, [x.traced for x in operands])
        return [Value(x, None if k is None else np.asarray(k)) for x, k in zip(traced, known, strict=True)]

    def closed(self, closed: Any, operands: Sequence[Operand]) -> list[Any]:
        """Return the outputs of a closed jaxpr."""
        consts = [Value(c) for c in consts_of(closed)]
        return self.run(jaxpr_of(closed), consts, operands)

    # --- memory

    def get(self, params: Mapping[str, Any], operands: list[Any]) -> list[Value]:
        cell, *flat = operands
        return [Value(_through(cell.holds, jax.tree.unflatten(params["tree"], flat)))]

    def swap(self, params: Mapping[str, Any], operands: list[Any]) -> list[Value]:
        cell, new, *flat = operands
        return [_write_through_views(cell, jax.tree.unflatten(params["tree"], flat), new.traced)]

    def add(self, params: Mapping[str, Any], operands: list[Any]) -> list[Value]:
        cell, new, *flat = operands
        transforms = jax.tree.unflatten(params["tree"], flat)
        _write_through_views(cell, transforms, _through(cell.holds, transforms) + new.traced)
        return []

    def load(self, params: Mapping[str, Any], operands: list[Any]) -> list[Value]:
        cell, transforms, mask, other = params["args_tree"].unflatten(operands)
        return [Value(_through(cell.holds, transforms, mask, other))]

    def store(self, params: Mapping[str, Any], operands: list[Any]) -> list[Value]:
        cell, transforms, new, mask = params["args_tree"].unflatten(operands)
        return [_write_through_views(cell, transforms, new.traced, mask)]

    def scoped(self, params: Mapping[str, Any], operands: list[Any]) -> list[Any]:
        """Return the outputs of a program that is run with new memory, which holds nothing yet."""
        if params.get("collective_axes"):
            raise KernelError("memory that cores share")
        inner = params["jaxpr"]
        return self.run(inner, operands, [new_cell(v.aval) for v in inner.invars])

    # --- control

    def branch(self, params: Mapping[str, Any], operands: list[Any]) -> Sequence[Operand]:
        """Return the outputs of the branch that is taken; memory has its contents after that branch.

        If it is not known which one is taken, every branch is run on the memory as it was before, and outputs and
        contents are selected from the results.
        """
        which, *rest = operands
        branches = params["branches"]
        if which.number is not None:
            return self.closed(branches[min(max(which.number, 0), len(branches) - 1)], rest)
        cells = [x for x in rest if isinstance(x, Cell)]
        before = [cell.holds for cell in cells]
        results = []
        for branch in branches:
            outs = self.closed(branch, rest)
            results.append([*(x.traced for x in outs), *(cell.holds for cell in cells)])
            for cell, contents in zip(cells, before, strict=True):
                cell.holds = contents
        chosen = jnp.clip(which.traced, 0, len(branches) - 1) if which.traced.dtype != bool else which.traced
        merged = [_selected(chosen, cases) for cases in zip(*results, strict=True)]
        for cell, contents in zip(cells, merged[len(merged) - len(cells) :], strict=True):
            cell.holds = contents
        return [Value(x) for x in merged[: len(merged) - len(cells)]]

    def scan(self, params: Mapping[str, Any], operands: list[Any]) -> Sequence[Operand]:
        """Return the outputs of a scan, unrolled. Raises KernelError for more than `MAX_STEPS` steps."""
        length = params["length"]
        if not isinstance(length, int) or length > MAX_STEPS:
            raise KernelError(f"a loop of more than {MAX_STEPS} steps")
        carry, columns = scanned(
            params, operands, self.closed, lambda x, k: Value(x.traced[k], None if x.known is None else x.known[k])
        )
        if not length:
            avals = [v.aval for v in jaxpr_of(params["jaxpr"]).outvars[len(carry) :]]
            return [*carry, *(Value(jnp.zeros((0, *a.shape), a.dtype)) for a in avals)]
        return [*carry, *(Value(jnp.stack([x.traced for x in column])) for column in columns)]

    def loop(self, params: Mapping[str, Any], operands: list[Any]) -> Sequence[Operand]:
        """Return the outputs of a `while`, unrolled. Raises KernelError unless it ends within `MAX_STEPS` steps."""
        carry = repeated(params, operands, self.closed, _goes_on, MAX_STEPS)
        if carry is None:
            raise KernelError(f"a loop of more than {MAX_STEPS} steps")
        return carry


def _goes_on(test: Value) -> bool:
    """Return whether the test of a loop holds. Raises KernelError where that is not known."""
    if test.number is None:
        raise KernelError("a loop whose number of steps depends on what it computes")
    return bool(test.number)


def _rolled(x: Value, shift: Value, *, axis: int, stride: int | None, stride_axis: int | None) -> Any:
    """Return the entries rolled along an axis, as `pallas.tpu.roll` does.

    With a stride, slice k along `stride_axis` is rolled by shift + k·stride.
    """
    by = shift.traced if shift.number is None else shift.number
    if stride is None or stride_axis is None:
        return jnp.roll(x.traced, by, axis)
    slices = jnp.split(x.traced, x.traced.shape[stride_axis], stride_axis)
    return jnp.concatenate([jnp.roll(part, by + k * stride, axis) for k, part in enumerate(slices)], stride_axis)


_STRUCTURED = {
    "get": Body.get,
    "swap": Body.swap,
    "addupdate": Body.add,
    "masked_load": Body.load,
    "masked_swap": Body.store,
    "run_scoped": Body.scoped,
    "cond": Body.branch,
    "scan": Body.scan,
    "while": Body.loop,
}


def new_cell(aval: Any) -> Cell:
    """Return memory to which nothing was written. Raises KernelError for memory of another type than numbers."""
    if not any(jnp.issubdtype(aval.dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_)):
        raise KernelError(f"memory of type {aval.dtype}")
    return Cell(no_number(aval.shape, aval.dtype))


def number(x: Any) -> Value:
    """Return a scalar number as a known value."""
    known = np.asarray(x)
    return Value(known[()], known)


def _bound(eqn: Any, operands: Sequence[Any], now: bool = False) -> list[Any]:
    """Return the results of the equation's primitive at these operands; with `now`, computed and not traced."""
    if not now:
        out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    else:
        with jax.ensure_compile_time_eval():
            out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    return list(out) if eqn.primitive.multiple_results else [out]


def _selected(which: Any, cases: Sequence[Any]) -> Any:
    """Return the case with the number `which`; the one object if all cases are the same."""
    if all(case is cases[0] for case in cases):
        return cases[0]
    return lax.select_n(which, *(jnp.asarray(case) for case in cases))


def _through(x: Any, transforms: Sequence[Any], mask: Value | None = None, other: Value | None = None) -> Any:
    """Return the entries that are read through a chain of views; `mask` and `other` apply to the last view."""
    for k, transform in enumerate(transforms):
        last = k == len(transforms) - 1
        x = load_entries(x, transform, mask if last else None, other if last else None)
    return x


def _write_through_views(cell: Cell, transforms: Sequence[Any], new: Any, mask: Value | None = None) -> Value:
    """Write through a chain of views, and return the entries that were there before.

    The new entries are written into the last view but one, that view into the one before it, and so on to the memory.
    """
    before = _through(cell.holds, transforms)
    views = [cell.holds]
    for transform in transforms[:-1]:
        views.append(load_entries(views[-1], transform, None, None))
    for k, (x, transform) in enumerate(zip(reversed(views), reversed(transforms), strict=False)):
        new = updated_memory(x, transform, new, mask if not k else None)
    cell.holds = new
    return Value(before)
