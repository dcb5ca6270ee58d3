"""What a Pallas kernel computes, as a program without references: its grid gone through step by step.

The kernel's body is JAX's own, its references discharged into values by JAX. What the steps leave in a block is the
next step's where that works on the same block, as Pallas promises for a grid whose steps run one after another; all
else that a kernel finds in its outputs and its scratch is no number. What the compiler makes of a kernel is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

MAX_STEPS = 4096
"""Of a grid, and of a loop in a kernel that is gone through."""
MAX_EQUATIONS = 20_000

_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}
"""Where calls hold what they run, of those that are gone into. Others are left as they are."""


class KernelError(Exception):
    """A kernel that is not read. The message says why."""


def program(params: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """A function of the operands of the `pallas_call`. Raises KernelError when it is traced."""
    return lambda *operands: _Kernel(params).run(operands)


class _Kernel:
    def __init__(self, params: Mapping[str, Any]) -> None:
        from jax._src.pallas.core import Blocked, Squeezed

        self.mapping = mapping = params["grid_mapping"]
        if mapping.num_dynamic_grid_bounds or not all(isinstance(n, int) for n in mapping.grid):
            raise KernelError("a grid whose extent is computed")
        if mapping.num_index_operands:
            raise KernelError("operands that are prefetched for the index maps")
        if mapping.local_grid_env is not None or params.get("mesh") is not None:
            raise KernelError("a mesh of cores")
        self.grid = tuple(mapping.grid)
        if np.prod(self.grid, initial=1) > MAX_STEPS:
            raise KernelError(f"a grid of more than {MAX_STEPS} steps")
        self.aliases = {out: given for given, out in params["input_output_aliases"]}
        self.blocks = [_Blocks.of(one, Blocked, Squeezed) for one in mapping.block_mappings]
        self.in_order = not _is_for_gpus(params.get("compiler_params"))
        self.body, self.consts, self.scratch = _discharged(params["jaxpr"], mapping)

    def run(self, operands: Sequence[Any]) -> list[Any]:
        given = len(operands)
        inputs = [one.padded(x) for one, x in zip(self.blocks, operands, strict=False)]
        outputs = self.blocks[given:]
        scratch = [_no_number(a.shape, a.dtype) for a in self.scratch]
        written: list[dict[tuple[int, ...], Any]] = [{} for _ in outputs]
        before: list[tuple[int, ...] | None] = [None for _ in outputs]
        budget = [MAX_EQUATIONS]
        for step, place in enumerate(np.ndindex(*self.grid)):
            at = [one.at(place) for one in self.blocks]
            own = [one.read(x, k) for one, x, k in zip(self.blocks, inputs, at, strict=False)]
            for k, one in enumerate(outputs):
                here = at[given + k]
                same = here == before[k]
                if not self.in_order and here in written[k]:
                    raise KernelError("steps of its grid, which run beside each other on a GPU, share a block")
                own.append(written[k][here] if same else _no_number(one.inner_shape, one.dtype))
            if step and scratch and not self.in_order:
                scratch = [_no_number(a.shape, a.dtype) for a in self.scratch]
            shown = [n for axis, n in enumerate(place) if axis not in self.mapping.vmapped_dims]
            sizes = [n for axis, n in enumerate(self.grid) if axis not in self.mapping.vmapped_dims]
            after = _Body(shown, sizes, budget).run(self.body, self.consts, [*own, *scratch])
            scratch = after[given + len(outputs) :]
            for k in range(len(outputs)):
                written[k][at[given + k]] = after[given + k]
                before[k] = at[given + k]
        finished = []
        for k, (one, blocks) in enumerate(zip(outputs, written, strict=True)):
            initial = operands[self.aliases[k]] if k in self.aliases else None
            finished.append(one.joined(blocks, initial))
        return finished


def _is_for_gpus(compiler_params: Any) -> bool:
    """It is compiled for a GPU: so much is known where the parameters are those of one of its compilers."""
    modules = {type(compiler_params).__module__}
    if isinstance(compiler_params, Mapping):
        modules |= {type(one).__module__ for one in compiler_params.values()} | set(compiler_params)
    return any("triton" in name or "mosaic_gpu" in name for name in modules)


def _discharged(body: Any, mapping: Any) -> tuple[Any, Sequence[Any], Sequence[Any]]:
    from jax._src.pallas.hlo_interpreter import kernel_to_hlo_jaxpr

    try:
        return kernel_to_hlo_jaxpr(body, (), mapping)
    except NotImplementedError as error:
        text = str(error).partition("\n")[0].strip()
        raise KernelError(f"JAX does not turn its references into values ({text})") from None


def _no_number(shape: Sequence[int], dtype: Any) -> Any:
    """What memory holds that nothing was written to."""
    nothing = jnp.full(tuple(shape), jnp.nan, jnp.result_type(float))
    if jnp.issubdtype(dtype, jnp.bool_):
        return nothing > 0
    return nothing.astype(dtype)


# --- blocks


@dataclass(frozen=True)
class _Blocks:
    """How an array is cut into blocks, and which of them a step works on."""

    shape: tuple[int, ...]
    dtype: Any
    block: tuple[int, ...]
    squeezed: tuple[int, ...]
    index_map: Any

    @classmethod
    def of(cls, mapping: Any, blocked: type, squeezed: type) -> _Blocks:
        if not all(isinstance(one, blocked | squeezed) for one in mapping.block_shape):
            raise KernelError("blocks that lie at single entries")
        block = tuple(1 if isinstance(one, squeezed) else int(one.block_size) for one in mapping.block_shape)
        left_out = tuple(axis for axis, one in enumerate(mapping.block_shape) if isinstance(one, squeezed))
        array = mapping.array_aval
        if not all(isinstance(n, int) for n in (*array.shape, *block)):
            raise KernelError("sizes that are not numbers")
        return cls(tuple(array.shape), array.dtype, block, left_out, mapping.index_map_jaxpr)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many blocks there are along each axis."""
        return tuple(-(-n // b) for n, b in zip(self.shape, self.block, strict=True))

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """As the kernel sees a block."""
        return tuple(n for axis, n in enumerate(self.block) if axis not in self.squeezed)

    def at(self, place: Sequence[int]) -> tuple[int, ...]:
        """The block of a step of the grid."""
        from jax._src.state.discharge import discharge_state

        # The operands that its references would refer to are none here: there is nothing to prefetch.
        found = _Body((), (), [MAX_EQUATIONS]).closed(discharge_state(self.index_map), [np.int32(k) for k in place])
        if not all(map(_known, found)):
            raise KernelError("blocks at places that are computed")
        index = tuple(int(k) for k in found[: len(self.shape)])
        if any(not 0 <= k < n for k, n in zip(index, self.counts, strict=True)):
            raise KernelError(f"block {list(index)} lies outside of the array")
        return index

    def padded(self, x: Any) -> Any:
        """An array with what stands beyond its end in the last blocks."""
        return self._padded(x, _no_number((), self.dtype))

    def _padded(self, x: Any, value: Any) -> Any:
        beyond = [(0, n * b - have, 0) for n, b, have in zip(self.counts, self.block, self.shape, strict=True)]
        return lax.pad(x, value, beyond) if any(high for _, high, _ in beyond) else x

    def read(self, x: Any, index: Sequence[int]) -> Any:
        start = [k * b for k, b in zip(index, self.block, strict=True)]
        return lax.squeeze(lax.slice(x, start, [s + b for s, b in zip(start, self.block, strict=True)]), self.squeezed)

    def joined(self, blocks: Mapping[tuple[int, ...], Any], initial: Any) -> Any:
        """The array that blocks make, with what stood there where none was written."""
        before = None if initial is None else self.padded(initial)

        def block(index: tuple[int, ...]) -> Any:
            if index in blocks:
                return lax.expand_dims(blocks[index], self.squeezed)
            if before is not None:
                return lax.expand_dims(self.read(before, index), self.squeezed)
            return _no_number(self.block, self.dtype)

        def joined(index: tuple[int, ...]) -> Any:
            axis = len(index)
            if axis == len(self.shape):
                return block(index)
            parts = [joined((*index, k)) for k in range(self.counts[axis])]
            return parts[0] if len(parts) == 1 else lax.concatenate(parts, axis)

        if not all(self.counts):
            return jnp.zeros(self.shape, self.dtype)
        out = joined(())
        return out if out.shape == self.shape else lax.slice(out, [0] * out.ndim, self.shape)


# --- the body at one step


@dataclass
class _Body:
    """Evaluates a kernel's body at one step of the grid: what its place decides is decided, and loops whose number of
    steps is then known are gone through, so that what is read and written lies at numbers."""

    place: Sequence[int]
    grid: Sequence[int]
    budget: list[int]

    def run(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if hasattr(atom, "val") else values[atom]

        for eqn in jaxpr.eqns:
            self.budget[0] -= 1
            if self.budget[0] < 0:
                raise KernelError(f"more than {MAX_EQUATIONS} operations over all steps of its grid")
            found = self.equation(eqn, [read(atom) for atom in eqn.invars])
            values.update(zip(eqn.outvars, found, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def equation(self, eqn: Any, operands: list[Any]) -> Sequence[Any]:
        name, params = eqn.primitive.name, eqn.params
        if name == "program_id":
            return [np.int32(self.place[params["axis"]])]
        if name == "num_programs":
            return [np.int32(self.grid[params["axis"]])]
        if name in _CALLS:
            return self.closed(params[_CALLS[name]], operands)
        if name == "cond":
            return self.branch(params["branches"], operands)
        if name == "scan":
            return self.scan(params, operands)
        if name == "while":
            return self.loop(params, operands)
        # Numbers are computed; arrays stay as they are made, so that places in them are known by their indices.
        settled = all(map(_known, operands)) and not any(v.aval.shape for v in eqn.outvars)
        with jax.ensure_compile_time_eval() if settled else nullcontext():
            found = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(params))
        found = found if eqn.primitive.multiple_results else [found]
        return [np.asarray(x) for x in found] if settled else found

    def closed(self, closed: Any, operands: Sequence[Any]) -> list[Any]:
        return self.run(getattr(closed, "jaxpr", closed), getattr(closed, "consts", ()), operands)

    def branch(self, branches: Sequence[Any], operands: list[Any]) -> Sequence[Any]:
        which, *rest = operands
        if _known(which):
            return self.closed(branches[min(max(int(which), 0), len(branches) - 1)], rest)
        return lax.switch(which, [lambda *x, one=one: self.closed(one, x) for one in branches], *rest)

    def scan(self, params: Mapping[str, Any], operands: list[Any]) -> Sequence[Any]:
        consts, rest = operands[: params["num_consts"]], operands[params["num_consts"] :]
        carry, xs = rest[: params["num_carry"]], rest[params["num_carry"] :]
        length, body = params["length"], params["jaxpr"]
        if length > MAX_STEPS:
            raise KernelError(f"a loop of more than {MAX_STEPS} steps")
        steps = reversed(range(length)) if params["reverse"] else range(length)
        rows: dict[int, Sequence[Any]] = {}
        for k in steps:
            out = self.closed(body, [*consts, *carry, *(x[k] for x in xs)])
            carry, rows[k] = out[: len(carry)], out[len(carry) :]
        if not length:
            avals = [v.aval for v in body.jaxpr.outvars[len(carry) :]]
            return [*carry, *(np.zeros((0, *a.shape), a.dtype) for a in avals)]
        return [*carry, *(jnp.stack([rows[k][j] for k in range(length)]) for j in range(len(rows[0])))]

    def loop(self, params: Mapping[str, Any], operands: list[Any]) -> Sequence[Any]:
        count = params["cond_nconsts"]
        tests, bodies = operands[:count], operands[count : count + params["body_nconsts"]]
        carry = operands[count + params["body_nconsts"] :]
        for _ in range(MAX_STEPS):
            (goes_on,) = self.closed(params["cond_jaxpr"], [*tests, *carry])
            if not _known(goes_on):
                raise KernelError("a loop whose number of steps depends on what it computes")
            if not goes_on:
                return carry
            carry = self.closed(params["body_jaxpr"], [*bodies, *carry])
        raise KernelError(f"a loop of more than {MAX_STEPS} steps")


def _known(x: Any) -> bool:
    """It is a number, and not traced."""
    return not isinstance(x, jax.core.Tracer) and not np.shape(x)
