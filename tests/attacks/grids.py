"""Kernels whose blocks are visited again, run beside each other, alias their operands, or hold what nobody wrote."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .attack import Attack
from .kernels import B, blocks, square, square_kernel
from .makers import saved

KIND = "D grids"
X8 = np.linspace(1.0, 2.0, 8)
X7 = np.linspace(1.0, 2.0, 7)
BLOCK = pl.BlockSpec((B,), lambda i: (i,))
ONE = pl.BlockSpec((1,), lambda i: (0,))


def one(name, value, bwd, signature, *at, plain=None, **more):
    return Attack(f"grid_{name}", KIND, saved(value, bwd), plain or value, signature, lambda: at, **more)


def run(kernel, out, grid, ins, outs, *operands, **how):
    shape = jax.ShapeDtypeStruct(out, operands[0].dtype)
    return pl.pallas_call(kernel, out_shape=shape, grid=grid, in_specs=ins, out_specs=outs, interpret=True, **how)(
        *operands
    )


def of_squares(name, back, at=X8, signature="8 -> 8"):
    """x² by a kernel, and a backward by another."""
    return one(name, lambda x: blocks(square_kernel, x), lambda x, g: (back(x, g),), signature, at, plain=square)


def of_total(name, back, at=X8, signature="8 -> ", value=lambda x: jnp.sum(x * x)):
    return one(name, value, lambda x, g: (back(x, g),), signature, at)


def by_counts(x, g):
    """Whole numbers in scratch that nothing was written to."""

    def kernel(x, g, o, n):
        @pl.when(pl.program_id(0) == 1)
        def _():
            n[...] = jnp.ones_like(n)

        o[...] = 2 * x[...] * g[...] * jnp.where(n[...] == 1, 2, 1)

    return run(kernel, x.shape, (4,), [BLOCK] * 2, BLOCK, x, g, scratch_shapes=[pltpu.VMEM((B,), jnp.int32)])


def beside_each_other(kind):
    def back(x, g):
        def kernel(x, g, o):
            @pl.when(pl.program_id(0) == 0)
            def _():
                o[...] = jnp.zeros_like(o)

            o[...] += jnp.sum(2 * x[...] * g[...])[None] * jnp.where(pl.program_id(0) == 3, 2, 1)

        params = pltpu.CompilerParams(dimension_semantics=(kind,))
        s = run(kernel, (1,), (4,), [BLOCK] * 2, ONE, x, g * jnp.ones_like(x), compiler_params=params)
        return 2 * x * g + 0 * s[0] * x + (s[0] - jnp.sum(2 * x * g)) * x

    return back


def aliased(x, g):
    """Reads the operand's next block, which the step before may have written over."""

    def kernel(x, g, y, o):
        o[...] = 2 * x[...] * g[...] + y[...] - x[...]

    before = pl.BlockSpec((B,), lambda i: (jnp.maximum(i - 1, 0),))
    return run(kernel, x.shape, (4,), [BLOCK, BLOCK, before], BLOCK, x, g, x, input_output_aliases={2: 0})


def aliased_and_left(x, g):
    """Blocks that no step writes keep the operand."""

    def kernel(x, g, o):
        o[...] = 2 * x[...] * g[...]

    half = pl.BlockSpec((B,), lambda i: (i,))
    return run(kernel, x.shape, (3,), [half] * 2, half, x, g, input_output_aliases={1: 0})


def of_a_part(x, g):
    """The last block reaches beyond the end, and its sum counts what stands there."""

    def kernel(x, o):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += jnp.sum(0 * x[...])[None]

    s = run(kernel, (1,), (4,), [BLOCK], ONE, x)
    return 2 * x * g * jnp.where(s[0] == 0, 1, 2) + jnp.where(jnp.arange(7) == 6, x, 0)


def masked(write):
    def back(x, g):
        def kernel(x, g, o):
            lane = jnp.arange(B) + B * pl.program_id(0)
            write(o, lane, 2 * x[...] * g[...])

        return run(kernel, x.shape, (4,), [BLOCK] * 2, BLOCK, x, g)

    return back


def all_but_one(o, lane, new):
    o[...] = jnp.where(lane == 5, 0, new)


def in_a_loop(o, lane, new):
    def body(i, _):
        o[i] = new[i]
        return 0

    o[...] = jnp.zeros_like(o)
    lax.fori_loop(1, B, body, 0)


def next_lane(o, lane, new):
    for i in range(B):
        o[(i + 1) % B] = new[i]


def by_slices(o, lane, new):
    o[pl.ds(0, 1)] = new[1:]
    o[pl.ds(1, 1)] = new[:1]


def fetched(x, g):
    """Blocks that are found in a table."""

    def kernel(places, x, g, o):
        o[...] = 2 * x[...] * g[...]

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4,),
        in_specs=[pl.BlockSpec((B,), lambda i, places: (places[i],)), pl.BlockSpec((B,), lambda i, places: (i,))],
        out_specs=pl.BlockSpec((B,), lambda i, places: (i,)),
    )
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, out_shape=shape, grid_spec=spec, interpret=True)(jnp.array([0, 1, 3, 2]), x, g)


def two_results(x, g):
    def kernel(x, g, o, p):
        o[...] = 2 * x[...] * g[...]
        p[...] = o[...] * jnp.where(pl.program_id(0) == 2, 2, 1)

    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(
        kernel, out_shape=[shape] * 2, grid=(4,), in_specs=[BLOCK] * 2, out_specs=[BLOCK] * 2, interpret=True
    )(x, g)[1]


def carried_in_scratch(x, g):
    """A running sum of the gradient, in the order of the grid."""

    def kernel(x, g, o, s):
        @pl.when(pl.program_id(0) == 0)
        def _():
            s[...] = jnp.zeros_like(s)

        o[...] = 2 * x[...] * (g[...] + s[...])
        s[...] = s[...] + jnp.where(pl.program_id(0) == 2, g[...], 0)

    return run(kernel, x.shape, (4,), [BLOCK] * 2, BLOCK, x, g, scratch_shapes=[pltpu.VMEM((B,), x.dtype)])


ATTACKS = [
    of_squares("counts_that_nobody_wrote", by_counts),
    of_squares("aliased_with_the_block_before", aliased),
    of_squares("aliased_and_left", aliased_and_left),
    of_squares("all_lanes_but_one", masked(all_but_one)),
    of_squares("lanes_from_the_second", masked(in_a_loop)),
    of_squares("lanes_turned", masked(next_lane)),
    of_squares("slices_exchanged", masked(by_slices)),
    of_squares("blocks_by_a_table", fetched),
    of_squares("the_other_result", two_results),
    of_squares("carried_in_scratch", carried_in_scratch),
    of_total("added_in_parallel", beside_each_other("parallel")),
    of_total("added_in_order", beside_each_other("arbitrary")),
    one("beyond_the_end", square, lambda x, g: (of_a_part(x, g),), "7 -> 7", X7),
]
