"""The body of a kernel at one step of its grid, as operations on values.

What the step's place decides is decided, and loops whose number of steps is then known are gone through, so that what
is read and written lies at numbers. Arrays stay as they are made: what is known of their entries says where memory is
read, and is no constant of the program.
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
"""Of a grid, and of a loop in a kernel that is gone through."""
MAX_EQUATIONS = 20_000
MAX_KNOWN = 1 << 16
"""Entries of an array that is known."""

_SILENT = frozenset("debug_print debug_callback debug_barrier_p delay".split())
_HINTS = frozenset("multiple_of max_contiguous".split())
"""They say something of their operand, and give it back."""

Operand = Value | Cell


@dataclass
class Body:
    """Evaluates a kernel at a place in its grid. `budget` is the number of operations left to the whole kernel."""

    place: Sequence[Value]
    grid: Sequence[Value]
    budget: list[int]

    def run(self, jaxpr: Any, consts: Sequence[Operand], args: Sequence[Operand]) -> list[Any]:
        values: dict[Any, Operand] = dict(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))

        def get(atom: Any) -> Operand:
            return Value(atom.val, np.asarray(atom.val)) if hasattr(atom, "val") else values[atom]

        for eqn in jaxpr.eqns:
            self.budget[0] -= 1
            if self.budget[0] < 0:
                raise KernelError(f"more than {MAX_EQUATIONS} operations over all steps of its grid")
            found = self.equation(eqn, [get(atom) for atom in eqn.invars])
            values.update(zip(eqn.outvars, found, strict=True))
        return [get(atom) for atom in jaxpr.outvars]

    def equation(self, eqn: Any, operands: list[Any]) -> Sequence[Operand]:
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
        outs = [v.aval for v in eqn.outvars]
        # Of known floats, what is moved is known: nothing is rounded.
        exact = eqn.primitive.name in MOVES_ENTRIES or not any(jnp.issubdtype(a.dtype, jnp.inexact) for a in outs)
        small = all(all(isinstance(n, int) for n in a.shape) and prod(a.shape) <= MAX_KNOWN for a in outs)
        settled = exact and small and all(x.known is not None for x in operands)
        known = _bound(eqn, [x.known for x in operands], now=True) if settled else [None for _ in outs]
        if settled and not any(a.shape or jnp.issubdtype(a.dtype, jnp.inexact) for a in outs):
            return [number(x) for x in known]
        traced = _bound(eqn, [x.traced for x in operands])
        return [Value(x, None if k is None else np.asarray(k)) for x, k in zip(traced, known, strict=True)]

    def closed(self, closed: Any, operands: Sequence[Operand]) -> list[Any]:
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
        if params.get("collective_axes"):
            raise KernelError("memory that cores share")
        inner = params["jaxpr"]
        return self.run(inner, operands, [new_cell(v.aval) for v in inner.invars])

    # --- control

    def branch(self, params: Mapping[str, Any], operands: list[Any]) -> Sequence[Operand]:
        which, *rest = operands
        branches = params["branches"]
        if which.number is not None:
            return self.closed(branches[min(max(which.number, 0), len(branches) - 1)], rest)
        cells = [x for x in rest if isinstance(x, Cell)]
        before = [cell.holds for cell in cells]
        found = []
        for one in branches:
            outs = self.closed(one, rest)
            found.append([*(x.traced for x in outs), *(cell.holds for cell in cells)])
            for cell, held in zip(cells, before, strict=True):
                cell.holds = held
        chosen = jnp.clip(which.traced, 0, len(branches) - 1) if which.traced.dtype != bool else which.traced
        merged = [_selected(chosen, cases) for cases in zip(*found, strict=True)]
        for cell, held in zip(cells, merged[len(merged) - len(cells) :], strict=True):
            cell.holds = held
        return [Value(x) for x in merged[: len(merged) - len(cells)]]

    def scan(self, params: Mapping[str, Any], operands: list[Any]) -> Sequence[Operand]:
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
        found = repeated(params, operands, self.closed, _goes_on, MAX_STEPS)
        if found is None:
            raise KernelError(f"a loop of more than {MAX_STEPS} steps")
        return found


def _goes_on(test: Value) -> bool:
    if test.number is None:
        raise KernelError("a loop whose number of steps depends on what it computes")
    return bool(test.number)


def _rolled(x: Value, shift: Value, *, axis: int, stride: int | None, stride_axis: int | None) -> Any:
    """Entries moved along an axis and around its end, as `pallas.tpu.roll` does; with a stride each slice further."""
    by = shift.traced if shift.number is None else shift.number
    if stride is None or stride_axis is None:
        return jnp.roll(x.traced, by, axis)
    slices = jnp.split(x.traced, x.traced.shape[stride_axis], stride_axis)
    return jnp.concatenate([jnp.roll(one, by + k * stride, axis) for k, one in enumerate(slices)], stride_axis)


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
    """Return memory that nothing was written to. Raises KernelError for what holds no numbers."""
    if not any(jnp.issubdtype(aval.dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_)):
        raise KernelError(f"memory of type {aval.dtype}")
    return Cell(no_number(aval.shape, aval.dtype))


def number(x: Any) -> Value:
    """Return a known number as a value."""
    known = np.asarray(x)
    return Value(known[()], known)


def _bound(eqn: Any, operands: Sequence[Any], now: bool = False) -> list[Any]:
    if not now:
        found = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    else:
        with jax.ensure_compile_time_eval():
            found = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    return list(found) if eqn.primitive.multiple_results else [found]


def _selected(which: Any, cases: Sequence[Any]) -> Any:
    if all(one is cases[0] for one in cases):
        return cases[0]
    return lax.select_n(which, *(jnp.asarray(one) for one in cases))


def _through(x: Any, transforms: Sequence[Any], mask: Value | None = None, other: Value | None = None) -> Any:
    """Return what is read through a chain of views; a mask applies to the last one."""
    for k, transform in enumerate(transforms):
        last = k == len(transforms) - 1
        x = load_entries(x, transform, mask if last else None, other if last else None)
    return x


def _write_through_views(cell: Cell, transforms: Sequence[Any], new: Any, mask: Value | None = None) -> Value:
    """Writes through one view after another. Gives what stood there before."""
    before = _through(cell.holds, transforms)
    seen = [cell.holds]
    for transform in transforms[:-1]:
        seen.append(load_entries(seen[-1], transform, None, None))
    for k, (x, transform) in enumerate(zip(reversed(seen), reversed(transforms), strict=False)):
        new = updated_memory(x, transform, new, mask if not k else None)
    cell.holds = new
    return Value(before)
