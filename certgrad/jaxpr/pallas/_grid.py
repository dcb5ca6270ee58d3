"""The grid of a kernel: which blocks each step works on, and the arrays that the blocks make after all steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.jaxpr.programs import no_number

from ._body import MAX_EQUATIONS, MAX_STEPS, Body, new_cell, number
from ._memory import Cell, KernelError, Value, is_size

Index = tuple[int, ...]


def program(params: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """Return a function of the operands of the `pallas_call`, which raises KernelError for what is not modelled."""
    return lambda *operands: _Kernel(params).run(operands)


def in_order(params: Mapping[str, Any]) -> bool:
    """Return whether the result depends on the order of the grid's steps: they share an output block, or scratch."""
    kernel = _Kernel(params)
    if kernel.named:
        return False
    unread = [Cell(np.zeros(aval.shape, aval.dtype)) for aval in kernel.prefetched]
    at = [[_known_numbers(out.at(place, unread)) for out in kernel.outputs] for place in np.ndindex(*kernel.grid)]
    shared = any(len({row[k] for row in at} - {None}) < len(at) for k in range(len(kernel.outputs)))
    return len(at) > 1 and (shared or bool(kernel.scratch))


class _Kernel:
    """A `pallas_call`: its grid, the blocks of its operands and outputs, its scratch memory, and its body."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the grid, blocks and aliases of a `pallas_call`. Raises KernelError for what is not modelled."""
        mapping = params["grid_mapping"]
        if mapping.local_grid_env is not None or params.get("mesh") is not None:
            raise KernelError("a mesh of cores")
        # `vmap` adds axes to the grid, which the kernel's `program_id` does not count.
        own = [axis for axis in range(len(mapping.grid)) if axis not in mapping.vmapped_dims]
        self.own_axes = own
        self.aliases = {out: operand for operand, out in params["input_output_aliases"]}
        blocks = [_Blocks.of(part) for part in mapping.block_mappings]
        self.inputs, self.outputs = blocks[: mapping.num_inputs], blocks[mapping.num_inputs :]
        self.beside = _parallel_axes(params.get("compiler_params"), len(mapping.grid))
        self.body = params["jaxpr"]
        avals, ahead = [v.aval for v in self.body.invars], mapping.num_index_operands
        self.prefetched, self.scratch = avals[:ahead], avals[ahead + len(blocks) :]
        """`prefetched` are the types of the operands that index maps may read too; they are the first operands."""
        if self.prefetched and self.aliases:
            raise KernelError("operands that are written to, and others that are prefetched for the index maps")
        self.grid = tuple(mapping.grid)
        self.computed = [axis for axis, n in enumerate(self.grid) if not isinstance(n, int)]
        """Axes of the grid with a symbolic extent, which JAX passes as an operand too."""
        if not all(map(is_size, self.grid)) or len(self.computed) != mapping.num_dynamic_grid_bounds:
            raise KernelError("a grid whose extent is computed")
        sizes = [n for part in blocks for n in (*part.shape, *part.block)]
        self.named = not all(isinstance(n, int) for n in (*self.grid, *sizes))  # some size is symbolic
        if not self.named and prod(self.grid) > MAX_STEPS:
            raise KernelError(f"a grid of more than {MAX_STEPS} steps")

    def run(self, operands: Sequence[Any]) -> list[Any]:
        """Return the outputs of the kernel. Operands come in the order: extents of the grid, prefetched ones, arrays.

        Outputs are undefined where an operand that is the extent of an axis is not the size that it should be.
        """
        count, ahead = len(self.computed), len(self.computed) + len(self.prefetched)
        extents, ahead_cells, operands = operands[:count], [Cell(x) for x in operands[count:ahead]], operands[ahead:]
        if self.named and ahead_cells:
            raise KernelError("operands that are prefetched for the index maps, and sizes that are names")
        outputs = self.at_once(operands) if self.named else self.step_by_step(ahead_cells, operands)
        for axis, n in zip(self.computed, extents, strict=True):
            fits = n == jnp.asarray(self.grid[axis], jnp.int32)
            outputs = [jnp.where(fits, x, no_number((), x.dtype)) for x in outputs]
        return outputs

    def at_once(self, operands: Sequence[Any]) -> list[Any]:
        """Return the outputs of a kernel at symbolic sizes, by one step that is mapped over the grid.

        The steps have to be independent: each writes output blocks of its own. Raises KernelError otherwise.
        """
        if self.aliases:
            raise KernelError("operands that are written to, and sizes that are names")
        axes = [array.axes(self.grid) for array in self.outputs]
        if any(sorted(a for a in block_axes if a is not None) != [*range(len(self.grid))] for block_axes in axes):
            raise KernelError("steps that share blocks, and sizes that are names")
        reads = [array.axes(self.grid) for array in self.inputs]
        sizes = [number(np.int32(n)) if isinstance(n, int) else Value(jnp.asarray(n, jnp.int32)) for n in self.grid]

        def step(*place: Any) -> list[Any]:
            blocks_read = [
                array.taken(x, block_axes, place)
                for array, x, block_axes in zip(self.inputs, operands, reads, strict=True)
            ]
            blocks_written = [no_number(array.inner_shape, array.dtype) for array in self.outputs]
            scratch = [new_cell(aval) for aval in self.scratch]
            body = Body([Value(place[a]) for a in self.own_axes], [sizes[a] for a in self.own_axes], [MAX_EQUATIONS])
            return self.after(body, (), blocks_read, blocks_written, scratch)

        all_steps: Any = step
        for axis in reversed(range(len(self.grid))):
            all_steps = jax.vmap(all_steps, in_axes=[0 if a == axis else None for a in range(len(self.grid))])
        results = all_steps(*(jnp.arange(n, dtype=jnp.int32) for n in self.grid))
        return [array.laid_out(x, block_axes) for array, x, block_axes in zip(self.outputs, results, axes, strict=True)]

    def after(
        self, body: Body, ahead: Sequence[Cell], given: Sequence[Any], made: Sequence[Any], scratch: Sequence[Cell]
    ) -> list[Any]:
        """Return the contents of the output blocks after a step.

        `given` are the blocks that it reads, `made` the contents of its output blocks before. Raises KernelError where
        the kernel writes to its operands.
        """
        read, written, ahead_before = [Cell(x) for x in given], [Cell(x) for x in made], [cell.holds for cell in ahead]
        body.run(self.body, (), [*ahead, *read, *written, *scratch])
        if any(cell.holds is not x for cell, x in zip([*ahead, *read], [*ahead_before, *given], strict=True)):
            raise KernelError("a kernel that writes to its operands")
        return [cell.holds for cell in written]

    def _look_at_aliases(
        self, at: Sequence[Index], read: Sequence[Index | None], left: Sequence[Mapping[Index, Any]]
    ) -> None:
        """Raise KernelError where an operand may be read after an output was written over it.

        An output that is an alias of an operand has to be written in the same blocks in which the operand is read, each
        once. `at` are the blocks written by the present step, `read` those read, `left` those written before.
        """
        for k, operand in self.aliases.items():
            same = self.inputs[operand].block == self.outputs[k].block and read[operand] == at[k]
            if not same or at[k] in left[k]:
                raise KernelError("an operand that may be read after an output was written over it")

    def step_by_step(self, ahead: Sequence[Cell], operands: Sequence[Any]) -> list[Any]:
        """Return the outputs of a kernel whose grid has known numbers of steps, run one after the other.

        Steps along parallel axes run on different cores; a core is named by its place along these axes. Scratch memory,
        and an output block that the next step of a core writes too, keep their contents; other blocks begin undefined.
        Raises KernelError where two cores write to one block.
        """
        inputs = [array.padded(x) for array, x in zip(self.inputs, operands, strict=True)]
        scratch: list[Cell] = []
        blocks_so_far: list[dict[Index, Any]] = [{} for _ in self.outputs]
        cores: list[dict[Index, Index]] = [{} for _ in self.outputs]
        last_step: tuple[Index, list[Index]] | None = None
        budget = [MAX_EQUATIONS]
        for place in np.ndindex(*self.grid):
            at = [array.known_at(place, ahead) for array in self.outputs]
            read = [array.at(place, ahead) for array in self.inputs]
            self._look_at_aliases(at, [_known_numbers(index) for index in read], blocks_so_far)
            core = tuple(place[axis] for axis in self.beside)
            if any(cores_of.setdefault(index, core) != core for cores_of, index in zip(cores, at, strict=True)):
                raise KernelError("steps of its grid that run beside each other share a block")
            blocks_written = [no_number(array.inner_shape, array.dtype) for array in self.outputs]
            # Only what the last step of the same core left is there: its scratch, and blocks that both steps write.
            if last_step is not None and last_step[0] == core:
                blocks_written = [
                    written[index] if index == last else nothing
                    for written, index, last, nothing in zip(
                        blocks_so_far, at, last_step[1], blocks_written, strict=True
                    )
                ]
            else:
                scratch = [new_cell(aval) for aval in self.scratch]
            blocks_read = [array.read(x, index) for array, x, index in zip(self.inputs, inputs, read, strict=True)]
            places, sizes = ([number(np.int32(of[a])) for a in self.own_axes] for of in (place, self.grid))
            results = self.after(Body(places, sizes, budget), ahead, blocks_read, blocks_written, scratch)
            for written, index, x in zip(blocks_so_far, at, results, strict=True):
                written[index] = x
            last_step = core, at
        initial = [operands[self.aliases[k]] if k in self.aliases else None for k in range(len(self.outputs))]
        return [array.joined(blocks, x) for array, blocks, x in zip(self.outputs, blocks_so_far, initial, strict=True)]


def _known_numbers(index: Sequence[Value]) -> Index | None:
    """Return the index of a block as numbers; None where one of them is not known."""
    numbers = [k.number for k in index]
    return None if any(k is None for k in numbers) else tuple(k for k in numbers if k is not None)


def _parallel_axes(compiler_params: Any, rank: int) -> list[int]:
    """Return the axes of the grid along which steps run in parallel: on a GPU all, on a TPU those marked `parallel`.

    Which of them it is, the compiler parameters tell; without any, no axis counts as parallel.
    """
    named = compiler_params if isinstance(compiler_params, Mapping) else {}
    kinds = {type(options).__module__ for options in (compiler_params, *named.values())} | set(named)
    if any("triton" in name or "mosaic_gpu" in name for name in kinds):
        return [*range(rank)]
    semantics = (getattr(options, "dimension_semantics", None) for options in (compiler_params, *named.values()))
    axes = next((kinds_of_axes for kinds_of_axes in semantics if kinds_of_axes is not None), ())
    return [rank - len(axes) + k for k, kind in enumerate(axes) if "parallel" in str(kind).lower()]


@dataclass(frozen=True)
class _Blocks:
    """The blocks into which an array is cut, and the index map that says which of them a step works on.

    `squeezed` are the axes that a block has in the array (with size 1), and not in the kernel.
    """

    shape: tuple[int, ...]
    dtype: Any
    block: tuple[int, ...]
    squeezed: tuple[int, ...]
    index_map: Any

    @classmethod
    def of(cls, mapping: Any) -> _Blocks:
        """Return the blocks by JAX's block mapping. Raises KernelError for blocks of another kind."""
        from jax._src.pallas.core import Blocked, Squeezed

        if not all(isinstance(size, Blocked | Squeezed) for size in mapping.block_shape):
            raise KernelError("blocks that lie at single entries")
        block = tuple(1 if isinstance(size, Squeezed) else size.block_size for size in mapping.block_shape)
        squeezed = tuple(axis for axis, size in enumerate(mapping.block_shape) if isinstance(size, Squeezed))
        array = mapping.array_aval
        if not all(map(is_size, (*array.shape, *block))):
            raise KernelError("sizes that are computed")
        return cls(tuple(array.shape), array.dtype, block, squeezed, mapping.index_map_jaxpr)

    @property
    def counts(self) -> Index:
        """The number of blocks along each axis."""
        return tuple(-(-n // b) for n, b in zip(self.shape, self.block, strict=True))

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """The shape of a block as the kernel sees it."""
        return tuple(n for axis, n in enumerate(self.block) if axis not in self.squeezed)

    def axes(self, grid: Sequence[Any]) -> list[int | None]:
        """Return for each axis of the array the axis of the grid along which its blocks go; None for a single block.

        Raises KernelError where the blocks are not taken one by one, or are not known to fill the array.
        """
        steps = self.steps
        for n, b, at in zip(self.shape, self.block, steps, strict=True):
            if at is False or n != (b if at is None else b * grid[at]):
                raise KernelError("blocks that do not go along the grid one by one, and sizes that are names")
        return steps

    @property
    def steps(self) -> list[Any]:
        """For each axis of the array, the axis of the grid whose step is the number of the block.

        None where it is always the first block, False where the number is computed in another way."""
        jaxpr = getattr(self.index_map, "jaxpr", self.index_map)
        out: list[Any] = []
        for at in jaxpr.outvars[: len(self.shape)]:
            constant = None if getattr(at, "val", None) == 0 else False
            out.append(jaxpr.invars.index(at) if at in jaxpr.invars else constant)
        return out

    def taken(self, x: Any, axes: Sequence[int | None], place: Sequence[Any]) -> Any:
        """Return the block of the array at a traced place of the grid."""
        start = [0 if a is None else place[a] * b for a, b in zip(axes, self.block, strict=True)]
        start = [jnp.asarray(s, jnp.int32) for s in start]
        return lax.squeeze(lax.dynamic_slice(x, start, self.block), self.squeezed)

    def laid_out(self, x: Any, axes: Sequence[int | None]) -> Any:
        """Return the array that is made of its blocks; `x` has the axes of the grid first, then those of a block."""
        steps = len([a for a in axes if a is not None])
        x = lax.expand_dims(x, [steps + axis for axis in self.squeezed])
        order: list[int] = []
        for axis, along in enumerate(axes):
            order += [steps + axis] if along is None else [along, steps + axis]
        return lax.reshape(lax.transpose(x, order), self.shape)

    def at(self, place: Sequence[int], ahead: Sequence[Cell]) -> list[Value]:
        """Return the index of the block of a step, by the index map and the prefetched operands."""
        numbers = [Value(np.int32(k), np.asarray(k, np.int32)) for k in place]
        index = Body((), (), [MAX_EQUATIONS]).closed(self.index_map, [*numbers, *ahead])[: len(self.shape)]
        if any(v.number is not None and not 0 <= v.number < n for v, n in zip(index, self.counts, strict=True)):
            raise KernelError(f"block {[v.number for v in index]} lies outside of the array")
        return index

    def known_at(self, place: Sequence[int], ahead: Sequence[Cell]) -> Index:
        """Return the index of the block of a step as numbers. Raises KernelError where they are not known."""
        index = _known_numbers(self.at(place, ahead))
        if index is None:
            raise KernelError("blocks at places that are computed")
        return index

    def padded(self, x: Any) -> Any:
        """Return the array padded to whole blocks with undefined entries."""
        beyond = [(0, n * b - size, 0) for n, b, size in zip(self.counts, self.block, self.shape, strict=True)]
        return lax.pad(x, no_number((), x.dtype), beyond) if any(high for _, high, _ in beyond) else x

    def read(self, x: Any, index: Sequence[Value]) -> Any:
        """Return a block of the padded array; its entries are undefined where a computed index lies outside."""
        numbers = _known_numbers(index)
        if numbers is not None:
            return self.block_of(x, numbers)
        at = [jnp.asarray(value.traced, jnp.int32) for value in index]
        entries = lax.dynamic_slice(x, [k * np.int32(b) for k, b in zip(at, self.block, strict=True)], self.block)
        for k, value, count in zip(at, index, self.counts, strict=True):
            if value.number is None:
                entries = jnp.where((k >= 0) & (k < count), entries, no_number((), x.dtype))
        return lax.squeeze(entries, self.squeezed)

    def block_of(self, x: Any, index: Index) -> Any:
        """Return the block of the padded array at a known index."""
        start = [k * b for k, b in zip(index, self.block, strict=True)]
        return lax.squeeze(lax.slice(x, start, [s + b for s, b in zip(start, self.block, strict=True)]), self.squeezed)

    def joined(self, blocks: Mapping[Index, Any], initial: Any) -> Any:
        """Return the array that the written blocks make.

        A block that no step wrote has its entries of `initial`, or is undefined if that is None.
        """
        if not all(self.counts):
            return jnp.zeros(self.shape, self.dtype)
        before = None if initial is None else self.padded(initial)

        def block(index: Index) -> Any:
            if index not in blocks and before is None:
                return no_number(self.block, self.dtype)
            return lax.expand_dims(blocks[index] if index in blocks else self.block_of(before, index), self.squeezed)

        def joined(index: Index) -> Any:
            axis = len(index)
            if axis == len(self.shape):
                return block(index)
            parts = [joined((*index, k)) for k in range(self.counts[axis])]
            return parts[0] if len(parts) == 1 else lax.concatenate(parts, axis)

        out = joined(())
        return out if out.shape == self.shape else lax.slice(out, [0] * out.ndim, self.shape)
