"""Rules of Pallas kernels: blocks taken for others, accumulators, masks of the last block, what a step finds."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .attack import Attack
from .makers import saved

KIND = "B kernels"
B = 2


def call(kernel, out, grid, ins, outs, *operands, **how):
    shape = jax.ShapeDtypeStruct(out, operands[0].dtype)
    return pl.pallas_call(kernel, out_shape=shape, grid=grid, in_specs=ins, out_specs=outs, interpret=True, **how)(
        *operands
    )


def one(name, value, bwd, signature, *at, plain=None, **more):
    return Attack(f"kernel_{name}", KIND, saved(value, bwd), plain or value, signature, lambda: at, **more)


def blocks(kernel, *operands, where=lambda i: (i,), out_where=None, out=None, **how):
    """One axis in blocks of two."""
    n = operands[0].shape[0]
    spec = pl.BlockSpec((B,), where)
    out_spec = pl.BlockSpec((B,), out_where or (lambda i: (i,)))
    return call(kernel, out or (n,), (n // B,), [spec] * len(operands), out_spec, *operands, **how)


def square_kernel(x, o):
    o[...] = x[...] * x[...]


def double_kernel(x, g, o):
    o[...] = 2 * x[...] * g[...]


def square(x):
    return x * x


def fills(name, kernel, signature="2*r -> 2*r", at=None, **how):
    """x² by a kernel, and a backward kernel of x and g."""
    at = np.linspace(1.0, 2.0, 8) if at is None else at
    return one(
        name,
        lambda x: blocks(square_kernel, x),
        lambda x, g: (blocks(kernel, x, g, **how),),
        signature,
        at,
        plain=square,
    )


def first_step_only(x, g, o):
    o[...] = jnp.where(pl.program_id(0) < 3, 2, 1) * x[...] * g[...]


def last_step_too(x, g, o):
    o[...] = jnp.where(pl.program_id(0) == pl.num_programs(0) - 1, x[...], 2 * x[...]) * g[...]


def first_lane(x, g, o):
    o[...] = 2 * x[...] * g[0]


def unwritten(x, g, o):
    @pl.when(pl.program_id(0) != 2)
    def _():
        o[...] = 2 * x[...] * g[...]


def added_to_what_is_there(x, g, o):
    o[...] += 2 * x[...] * g[...]


def through_a_slice(x, g, o):
    o[pl.ds(0, 1)] = 2 * x[pl.ds(0, 1)] * g[pl.ds(0, 1)]
    o[pl.ds(1, 1)] = 2 * x[pl.ds(1, 1)] * g[pl.ds(0, 1)]


def left_in_scratch(x, g, o, kept):
    """The step before leaves what this one adds."""

    @pl.when(pl.program_id(0) == 0)
    def _():
        kept[...] = jnp.zeros_like(kept)

    o[...] = 2 * x[...] * g[...] + kept[...]
    kept[...] = jnp.where(pl.program_id(0) == 1, 1.0, 0.0) * g[...]


def by_number(x, g, o):
    """The number of the step decides, at a number that no block of few steps reaches."""
    k = pl.program_id(0)
    o[...] = 2 * x[...] * g[...] * jnp.where(k * k == 9, 2, 1)


SCRATCH = [pltpu.VMEM((B,), jnp.float64)]


def total(kernel, x, n, block=B):
    """A sum over steps into one block."""
    spec = pl.BlockSpec((block,), lambda i: (i,))
    out = pl.BlockSpec((1,), lambda i: (0,))
    return call(kernel, (1,), (pl.cdiv(n, block),), [spec], out, x)


def sums(x, o):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o[...] = jnp.zeros_like(o)

    o[...] += jnp.sum(x[...] ** 2)[None]


def masked_sums(n, x, o):
    i = pl.program_id(0)

    @pl.when(i == 0)
    def _():
        o[...] = jnp.zeros_like(o)

    lane = i * B + jnp.arange(B)
    o[...] += jnp.sum(jnp.where(lane < n, x[...], 0) ** 2)[None]


def grid2(kernel, *operands, where=lambda i, j: (i, j), out_where=lambda i, j: (i, j), first=None, **how):
    n, m = operands[0].shape
    spec, out = pl.BlockSpec((B, B), where), pl.BlockSpec((B, B), out_where)
    ins = [first or spec] + [spec] * (len(operands) - 1)
    return call(kernel, (n, m), (n // B, m // B), ins, out, *operands, **how)


def squares2(x):
    return grid2(square_kernel, x)


def turned(name, kernel=double_kernel, **how):
    return one(name, squares2, lambda x, g: (grid2(kernel, x, g, **how),), "2*r 2*r -> 2*r 2*r", X44, plain=square)


def row_and_column(x, g, o):
    o[...] = 2 * x[...] * g[...] * jnp.where(pl.program_id(0) > pl.program_id(1), 2, 1)


def by_the_other_extent(x, g, o):
    o[...] = 2 * x[...] * g[...] * jnp.where(pl.program_id(0) < pl.num_programs(1), 1, 2)


def products(kernel, a, b):
    (n, k), m = a.shape, b.shape[1]
    left = pl.BlockSpec((B, B), lambda i, j, s: (i, s))
    right = pl.BlockSpec((B, B), lambda i, j, s: (s, j))
    out = pl.BlockSpec((B, B), lambda i, j, s: (i, j))
    return call(kernel, (n, m), (n // B, m // B, k // B), [left, right], out, a, b)


def accumulated(a, b, o):
    @pl.when(pl.program_id(2) == 0)
    def _():
        o[...] = jnp.zeros_like(o)

    o[...] += a[...] @ b[...]


def last_only(a, b, o):
    o[...] = a[...] @ b[...]


def never_cleared(a, b, o):
    @pl.when((pl.program_id(2) == 0) & (pl.program_id(0) == 0))
    def _():
        o[...] = jnp.zeros_like(o)

    o[...] += a[...] @ b[...]


def matmul(a, b):
    return products(accumulated, a, b)


def matmul_back(kernel, swapped=False):
    def bwd(args, g):
        a, b = args
        return products(kernel, g, b if swapped else b.T), products(accumulated, a.T, g)

    return bwd


def loop_over_lanes(x, g, o):
    def body(i, _):
        o[i] = 2 * x[i] * g[i]
        return 0

    lax.fori_loop(0, B - (pl.program_id(0) == 3), body, 0)


X44 = np.linspace(1.0, 2.0, 16).reshape(4, 4)
X7 = np.linspace(1.0, 2.0, 7)

ATTACKS = [
    fills("right_in_three_steps", first_step_only),
    fills("last_step", last_step_too),
    fills("first_lane", first_lane),
    fills("a_step_that_writes_nothing", unwritten),
    fills("added_to_what_is_there", added_to_what_is_there),
    fills("a_slice_of_the_other", through_a_slice),
    fills("left_in_scratch", left_in_scratch, signature="8 -> 8", scratch_shapes=SCRATCH),
    fills("by_the_square_of_a_number", by_number),
    fills("blocks_backwards_in", double_kernel, where=lambda i: (3 - i,), signature="8 -> 8"),
    fills("blocks_backwards_out", double_kernel, out_where=lambda i: (3 - i,), signature="8 -> 8"),
    fills("each_block_twice", double_kernel, where=lambda i: (i // 2,), signature="8 -> 8"),
    fills("blocks_around", double_kernel, where=lambda i: ((i + 1) % 4,), signature="8 -> 8"),
    fills("half_of_the_blocks", double_kernel, out_where=lambda i: (i // 2 * 2,), signature="8 -> 8"),
    fills("lanes_of_the_fourth_step", loop_over_lanes),
    fills("lanes_of_the_fourth_step_at_numbers", loop_over_lanes, signature="8 -> 8"),
    one(
        "sum_of_blocks",
        lambda x: total(sums, x, x.shape[0])[0],
        lambda x, g: (
            blocks(
                lambda x, o: o.__setitem__(
                    ...,
                    2
                    * x[...]
                    * (pl.program_id(0) + 1)
                    / (pl.program_id(0) + 1)
                    * jnp.where(pl.program_id(0) == 2, 0, 1),
                ),
                x,
            )
            * g,
        ),
        "8 -> ",
        np.linspace(1, 2, 8),
        plain=lambda x: jnp.sum(x * x),
    ),
    one(
        "sum_with_a_part_of_a_block",
        lambda x: total(partial(masked_sums, 7), x, 7)[0],
        lambda x, g: (2 * x * g * (jnp.arange(7) < 6),),
        "7 -> ",
        X7,
        plain=lambda x: jnp.sum(x * x),
    ),
    one(
        "sum_masked_too_late",
        lambda x: total(partial(masked_sums, 7), x, 7)[0],
        lambda x, g: (
            2 * x * g * jnp.where(jnp.arange(7) < 6, 1, total(partial(masked_sums, 8), jnp.ones_like(x), 7)[0] - 6),
        ),
        "7 -> ",
        X7,
        plain=lambda x: jnp.sum(x * x),
    ),
    turned("blocks_transposed", where=lambda i, j: (j, i)),
    turned("results_transposed", out_where=lambda i, j: (j, i)),
    turned("one_operand_transposed", first=pl.BlockSpec((B, B), lambda i, j: (j, i))),
    turned("one_operand_of_the_diagonal", first=pl.BlockSpec((B, B), lambda i, j: (i, i))),
    turned("below_the_diagonal", row_and_column),
    one(
        "the_other_extent",
        squares2,
        lambda x, g: (grid2(by_the_other_extent, x, g),),
        "2*r 2*s -> 2*r 2*s",
        np.linspace(1.0, 2.0, 16).reshape(8, 2),
        plain=square,
    ),
    one(
        "product_of_the_last_step",
        matmul,
        matmul_back(last_only),
        "4 4, 4 4 -> 4 4",
        X44,
        X44[::-1].copy(),
        plain=lambda a, b: a @ b,
    ),
    one(
        "product_that_is_not_cleared",
        matmul,
        matmul_back(never_cleared),
        "4 4, 4 4 -> 4 4",
        X44,
        X44[::-1].copy(),
        plain=lambda a, b: a @ b,
    ),
    one(
        "product_not_transposed",
        matmul,
        matmul_back(accumulated, swapped=True),
        "4 4, 4 4 -> 4 4",
        X44,
        X44[::-1].copy(),
        plain=lambda a, b: a @ b,
    ),
]
