"""Kernels as people write them, each with the shapes of its operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plgpu


def called(kernel: Callable[..., None], out: tuple[int, ...], **how: Any) -> Callable[..., Any]:
    """The call of a kernel with one output, in interpret mode."""

    def call(*operands: Any) -> Any:
        shape = jax.ShapeDtypeStruct(out, operands[0].dtype)
        return pl.pallas_call(kernel, out_shape=shape, interpret=True, **how)(*operands)

    return call


def by_rows(kernel: Callable[..., None], rows: int, columns: int, block: int) -> Callable[..., Any]:
    spec = pl.BlockSpec((block, columns), lambda i: (i, 0))

    def call(*operands: Any) -> Any:
        grid = (pl.cdiv(rows, block),)
        return called(kernel, (rows, columns), grid=grid, in_specs=[spec] * len(operands), out_specs=spec)(*operands)

    return call


def softmax(x: Any, o: Any) -> None:
    e = jnp.exp(x[...] - x[...].max(-1, keepdims=True))
    o[...] = e / e.sum(-1, keepdims=True)


def softmax_backward(y: Any, g: Any, o: Any) -> None:
    o[...] = y[...] * (g[...] - (g[...] * y[...]).sum(-1, keepdims=True))


def accumulated(a: Any, b: Any, o: Any) -> None:
    @pl.when(pl.program_id(2) == 0)
    def _() -> None:
        o[...] = jnp.zeros_like(o)

    o[...] += a[...] @ b[...]


def not_initialised(a: Any, b: Any, o: Any) -> None:
    o[...] += a[...] @ b[...]


def product(kernel: Callable[..., None], m: int, k: int, n: int, block: int = 2) -> Callable[..., Any]:
    left, right, out = (
        pl.BlockSpec((block, block), where)
        for where in (lambda i, j, p: (i, p), lambda i, j, p: (p, j), lambda i, j, p: (i, j))
    )
    grid = (m // block, n // block, k // block)
    return called(kernel, (m, n), grid=grid, in_specs=[left, right], out_specs=out)


def squares(x: Any, o: Any, total: Any) -> None:
    """Σ x² over rows, in scratch."""
    total[...] = jnp.zeros_like(total)

    def add(i: Any, _: Any) -> None:
        total[...] += x[i] ** 2

    lax.fori_loop(0, x.shape[0], add, None)
    o[...] = total[...]


def masked(x: Any, o: Any, other: float = 0.0) -> None:
    """x / √mean(x²), read and written in blocks that are wider than the row."""
    at = jnp.arange(8)
    inside = at < x.shape[0]
    row = plgpu.load(x.at[at], mask=inside, other=other)
    scale = lax.rsqrt((row * row).sum() / x.shape[0] + 1)
    plgpu.store(o.at[at], row * scale, mask=inside)


def masked_backward(x: Any, g: Any, o: Any) -> None:
    n = x.shape[0]
    at = jnp.arange(8)
    inside = at < n
    row, seed = (plgpu.load(one.at[at], mask=inside, other=0.0) for one in (x, g))
    scale = lax.rsqrt((row * row).sum() / n + 1)
    plgpu.store(o.at[at], seed * scale - row * scale**3 * (row * seed).sum() / n, mask=inside)


def streamed(q: Any, k: Any, v: Any, o: Any, block: int = 1, corrected: bool = True) -> None:
    """Attention of a row to blocks of keys, with a running maximum from −∞."""

    def step(i: Any, carry: Any) -> Any:
        top, total, out = carry
        here = pl.ds(i * block, block)
        scores = k[here, :] @ q[...]
        new = jnp.maximum(top, scores.max())
        p, old = jnp.exp(scores - new), jnp.exp(top - new) if corrected else 1.0
        return new, total * old + p.sum(), out * old + p @ v[here, :]

    start = (jnp.asarray(-jnp.inf, q.dtype), jnp.asarray(0, q.dtype), jnp.zeros(v.shape[1], v.dtype))
    _, total, out = lax.fori_loop(0, k.shape[0] // block, step, start)
    o[...] = out / total


# --- what only the meaning is tested of


def at_columns(x: Any, o: Any) -> None:
    rows, columns = jnp.arange(2)[:, None] + 1, jnp.arange(4)[None, :]
    inside = (columns < 3) & (rows < 4)
    part = plgpu.load(x.at[rows, columns], mask=inside, other=1.0)
    o[...] = jnp.zeros_like(o)
    plgpu.store(o.at[columns, rows], 2 * part, mask=inside)


def with_strides(x: Any, o: Any) -> None:
    o[0:2, :] = x[pl.ds(0, 2, 2), :]
    o[pl.ds(2, 2), :] = x[2:4, :]


def at_computed_rows(x: Any, which: Any, o: Any) -> None:
    def row(i: Any, _: Any) -> None:
        o[pl.ds(i, 1), :] = x[pl.ds(which[i], 1), :]

    lax.fori_loop(0, o.shape[0], row, None)


def by_sign(x: Any, o: Any) -> None:
    o[...] = x[...]

    @pl.when(x[0, 0] > 0)
    def _() -> None:
        o[1:2, :] = -x[1:2, :]


def while_small(x: Any, o: Any) -> None:
    last = pl.program_id(0)
    _, total = lax.while_loop(lambda c: c[0] <= last, lambda c: (c[0] + 1, c[1] + x[...]), (0, x[...] * 0))
    o[...] = total


def in_a_branch(x: Any, o: Any) -> None:
    place = pl.program_id(0)
    o[...] = lax.cond(x[0, 0] > 0, lambda row: row * place, lambda row: row, x[...])


def scoped(x: Any, o: Any) -> None:
    def within(held: Any) -> None:
        held[...] = x[...] * 3
        o[...] = held[...] + 1

    pl.run_scoped(within, pltpu.VMEM(x.shape, x.dtype))


def turned(x: Any, o: Any) -> None:
    view = o.at[1:3]
    o[...] = jnp.zeros_like(o)
    view[:, 0] = x[0:2, 1]
    view[0] += x[3]


rows_of = partial(by_rows, rows=4, columns=3, block=2)


def swapped_pairs(x: Any, o: Any) -> None:
    lanes = lax.broadcasted_iota(jnp.int32, x.shape, 1)
    o[...] = jnp.where(lanes % 2 == 0, pltpu.roll(x[...], x.shape[1] - 1, 1), pltpu.roll(x[...], 1, 1))


def rolled_further(x: Any, o: Any) -> None:
    o[...] = pltpu.roll(x[...], 2, 1, stride=1, stride_axis=0)


MEANT: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "softmax, the last block not full": (by_rows(softmax, 5, 3, 2), [(5, 3)]),
    "product over the grid": (product(accumulated, 4, 6, 2), [(4, 6), (6, 2)]),
    "scratch": (called(squares, (3,), scratch_shapes=[pltpu.VMEM((3,), jnp.float32)]), [(4, 3)]),
    "masks": (called(masked, (5,)), [(5,)]),
    "attention": (called(streamed, (2,)), [(3,), (4, 3), (4, 2)]),
    "columns": (called(at_columns, (4, 4)), [(4, 3)]),
    "strides": (called(with_strides, (4, 3)), [(4, 3)]),
    "signs": (called(by_sign, (4, 3)), [(4, 3)]),
    "while": (rows_of(while_small), [(4, 3)]),
    "in a branch": (rows_of(in_a_branch), [(4, 3)]),
    "scoped": (called(scoped, (4, 3)), [(4, 3)]),
    "views": (called(turned, (4, 3)), [(4, 3)]),
    "squeezed": (
        called(
            softmax,
            (2, 3, 4),
            grid=(2,),
            in_specs=[pl.BlockSpec((None, 3, 4), lambda i: (i, 0, 0))],
            out_specs=pl.BlockSpec((None, 3, 4), lambda i: (1 - i, 0, 0)),
        ),
        [(2, 3, 4)],
    ),
    "rolled": (called(swapped_pairs, (3, 4)), [(3, 4)]),
    "rolled in blocks": (by_rows(swapped_pairs, 4, 6, 2), [(4, 6)]),
    "rolled with a stride": (called(rolled_further, (3, 5)), [(3, 5)]),
    "vmap": (jax.vmap(by_rows(softmax, 4, 3, 2)), [(2, 4, 3)]),
}
