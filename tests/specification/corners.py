"""Corners: nothing, size 1, ties, indices out of range, steps backwards, padding between entries and taken away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@dataclass(frozen=True)
class Corner:
    """A call. `partial` says that JAX returns numbers where the specification defines none."""

    name: str
    run: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    partial: bool = False


def corner(name: str, run: Callable[..., Any], *arrays: Any, partial: bool = False) -> Corner:
    return Corner(name, run, tuple(np.asarray(a) for a in arrays), partial)


def numbers(*shape: int, step: float = 0.75, start: float = -2.0) -> np.ndarray:
    """Different numbers, of both signs."""
    return (start + step * np.arange(int(np.prod(shape)))).reshape(shape)


NONE = np.zeros((0,))
NONE_BY_3 = np.zeros((0, 3))
TIES = np.array([1.0, 3.0, -2.0, 3.0, 3.0, -2.0])
PLANE = numbers(3, 4)
WHOLE = np.array([-7, -3, -1, 0, 1, 3, 7])

NOTHING = [
    corner("sum of nothing", lambda x: x.sum(), NONE),
    corner("sums of nothing", lambda x: x.sum(0), NONE_BY_3),
    corner("product of nothing", lambda x: jnp.prod(x), NONE),
    corner("greatest of nothing", lambda x: lax.reduce_max_p.bind(x, axes=(0,), out_sharding=None), NONE),
    corner("some of nothing", lambda x: jnp.any(x > 0), NONE),
    corner("all of nothing", lambda x: jnp.all(x > 0), NONE),
    corner("matrix product over nothing", lambda x, y: x.T @ y, NONE_BY_3, NONE_BY_3),
    corner("concatenate with nothing", lambda x, y: jnp.concatenate([x, y, x]), NONE, TIES),
    corner("cumulative sum of nothing", jnp.cumsum, NONE),
    corner("sort nothing", jnp.sort, NONE),
    corner("reshape nothing", lambda x: x.reshape(3, 0), NONE_BY_3),
    corner("scan of no step", lambda x: lax.scan(lambda c, y: (c + y, c * y), 2.0, x), NONE),
    corner("while of no step", lambda x: lax.while_loop(lambda c: c > 0, lambda c: c - 1, x), np.array(-1.0)),
    corner("gather nothing", lambda x, i: x[i], TIES, np.zeros((0,), int)),
    corner("add nothing at places", lambda x, i, u: x.at[i].add(u), TIES, np.zeros((0,), int), NONE),
]

ONE = np.array([[1.5]])
SIZE_1 = [
    corner("size 1 meets size 3", lambda x, y: lax.add(x, y), np.array([[1.0], [2.0]]), np.array([[1.0], [4.0]])),
    corner("softmax of one", lambda x: jax.nn.softmax(x), ONE),
    corner("variance of one", lambda x: jnp.var(x, axis=1), ONE),
    corner("variance of one, less one", lambda x: jnp.var(x, axis=1, ddof=1), ONE),
    corner("broadcast of size 1", lambda x: jnp.broadcast_to(x, (3, 4)), ONE),
    corner("argmax of one", lambda x: jnp.argmax(x, 1), ONE),
    corner("cumulative product of one", lambda x: jnp.cumprod(x, 1, dtype=float), ONE),
    corner("sort one", lambda x: jnp.sort(x, 1), ONE),
    corner("median of one", lambda x: jnp.median(x, 1), ONE),
    corner("window of one", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1), (1, 1), "VALID"), ONE),
    corner("solve one by one", lambda a: jnp.linalg.solve(a, a), ONE),
    corner("inverse of one by one", jnp.linalg.inv, ONE),
]

TIED = [
    corner("argmax with ties", jnp.argmax, TIES),
    corner("argmin with ties", jnp.argmin, TIES),
    corner("sorted with ties", lambda x: jnp.argsort(x), TIES),
    corner("sorted downwards with ties", lambda x: jnp.argsort(x, descending=True), TIES),
    corner("two keys", lambda x, y: lax.sort((x, y, y * x), num_keys=2), TIES, TIES[::-1].copy()),
    corner("top with ties", lambda x: lax.top_k(x, 4), TIES),
    corner("max of equals", lambda x: jnp.maximum(x, x), TIES),
    corner("booleans in order", lambda x: jnp.sort(x > 0), TIES),
    corner("argmax of booleans", lambda x: jnp.argmax(x > 2), TIES),
    corner("unstable sort", lambda x: lax.sort(x, is_stable=False), TIES),
    corner("rounding halves to even", jnp.round, np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.25])),
    corner(
        "rounding halves away", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), np.array([-1.5, 0.5, 2.5])
    ),
    corner("sign of 0", jnp.sign, np.array([-1.0, 0.0, 2.0])),
    corner("clamp with its bounds crossed", lambda x: lax.clamp(1.0, x, -1.0), TIES),
    corner("atan2 on the axes", jnp.arctan2, np.array([0.0, 1.0, -1.0]), np.array([1.0, 0.0, 0.0])),
]


def _pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "VALID").sum()


def _pool_2d(x: Any) -> Any:
    return (lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (2, 1), "SAME") * jnp.arange(8.0).reshape(2, 4)).sum()


WINDOWS = [
    corner("gradient of a max-pool with ties", jax.grad(_pool), TIES),
    corner("tangent of a max-pool with ties", lambda x, t: jax.jvp(_pool, (x,), (t,))[1], TIES, numbers(6)),
    corner("gradient of a padded max-pool", jax.grad(_pool_2d), PLANE),
    corner("tangent of a padded max-pool", lambda x, t: jax.jvp(_pool_2d, (x,), (t,))[1], PLANE, numbers(3, 4)),
    corner("min-pool", lambda x: lax.reduce_window(x, jnp.inf, lax.min, (3,), (2,), "SAME"), TIES),
    corner(
        "sums of windows, dilated", lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (2,), [(1, 2)], (2,), (3,)), TIES
    ),
    corner(
        "maxima of windows, dilated",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (1,), [(1, 1)], (2,), (1,)),
        TIES,
    ),
    corner("cumulative sum backwards", lambda x: lax.cumsum(x, reverse=True), TIES),
    corner("cumulative maximum backwards", lambda x: lax.cummax(x, axis=1, reverse=True), PLANE),
    corner("cumulative log of sums", lambda x: lax.cumlogsumexp(x, axis=0, reverse=True), PLANE),
]


def _conv(x: Any, w: Any, **options: Any) -> Any:
    return lax.conv_general_dilated(x, w, dimension_numbers=("NHC", "HIO", "NHC"), **options)


SIGNAL, KERNEL = numbers(2, 5, 2, step=0.25), numbers(3, 2, 4, step=0.5, start=-5.0)
CONVOLUTIONS = [
    corner("convolution", lambda x, w: _conv(x, w, window_strides=(2,), padding=[(1, 2)]), SIGNAL, KERNEL),
    corner(
        "convolution, spread",
        lambda x, w: _conv(x, w, window_strides=(1,), padding=[(2, 0)], lhs_dilation=(2,), rhs_dilation=(3,)),
        SIGNAL,
        KERNEL,
    ),
    corner(
        "convolution, padding taken away",
        lambda x, w: _conv(x, w, window_strides=(1,), padding=[(-1, 0)]),
        SIGNAL,
        KERNEL,
    ),
    corner(
        "convolution in groups of features",
        lambda x, w: _conv(x, w[:, :1], window_strides=(1,), padding="SAME", feature_group_count=2),
        SIGNAL,
        KERNEL,
    ),
    corner(
        "convolution in groups of the batch",
        lambda x, w: _conv(x, w, window_strides=(1,), padding="SAME", batch_group_count=2),
        SIGNAL,
        KERNEL,
    ),
    corner(
        "contraction with batch axes", lambda x, y: jnp.einsum("bik,bkj->bij", x, y), numbers(2, 3, 2), numbers(2, 2, 3)
    ),
    corner("contraction of booleans", lambda x, y: lax.dot(x > 0, y > 0), PLANE, PLANE.T.copy()),
    corner("contraction of integers", lambda x, y: x @ y, WHOLE, WHOLE[::-1].copy()),
]

OUT = np.array([-9, -6, -1, 0, 2, 5, 6, 9])
MODES = ("clip", "fill", "wrap")
PLACES = [
    *(corner(f"take out of range, {m}", lambda x, i, m=m: jnp.take(x, i, mode=m), TIES, OUT) for m in MODES),
    corner("take out of range, another fill", lambda x, i: x.at[i].get(mode="fill", fill_value=7.0), TIES, OUT),
    corner("integers out of range", lambda x, i: x.at[i].get(mode="fill"), WHOLE, OUT),
    corner("booleans out of range", lambda x, i: (x > 0).at[i].get(mode="fill"), TIES, OUT),
    corner("add out of range", lambda x, i, u: x.at[i].add(u), TIES, OUT, numbers(8)),
    corner("add out of range, clipped", lambda x, i, u: x.at[i].add(u, mode="clip"), TIES, OUT, numbers(8)),
    corner("multiply twice", lambda x, i, u: x.at[i].multiply(u), TIES, np.array([1, 1, 3]), numbers(3)),
    corner("greatest twice", lambda x, i, u: x.at[i].max(u), TIES, np.array([2, 2, 5, 9]), numbers(4)),
    corner("least twice", lambda x, i, u: x.at[i].min(u), TIES, np.array([2, 2, 0, -9]), numbers(4)),
    corner("written once", lambda x, i, u: x.at[i].set(u), TIES, np.array([1, 3, 9]), numbers(3)),
    corner("written twice", lambda x, i, u: x.at[i].set(u), TIES, np.array([1, 1, 3]), numbers(3), partial=True),
    corner("rows", lambda x, i: x[i], PLANE, np.array([[2, 0], [-1, 1]])),
    corner("rows added", lambda x, i, u: x.at[i].add(u), PLANE, np.array([2, -1, 0]), numbers(3, 4)),
    corner("rows and columns", lambda x, i, j: x[i, j], PLANE, np.array([2, 0]), np.array([-1, 1])),
    corner("windows", lambda x, i: x[:, i], PLANE, np.array([3, -4, 1])),
    corner("a slice where it does not fit", lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3)), PLANE, np.array(3)),
    corner("a slice before the start", lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3)), PLANE, np.array(-1)),
    corner(
        "an update where it does not fit",
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i, i - 5)),
        PLANE,
        numbers(2, 2),
        np.array(2),
    ),
    corner("along an axis", lambda x, i: jnp.take_along_axis(x, i, 1), PLANE, np.array([[0, 3], [1, 1], [-1, 2]])),
]

MOVES = [
    corner("backwards by two", lambda x: x[4:0:-2], TIES),
    corner("both axes backwards", lambda x: x[::-1, ::-2], PLANE),
    corner("slice with a stride", lambda x: lax.slice(x, (1,), (6,), (2,)), TIES),
    corner("padding", lambda x: lax.pad(x, 9.0, [(1, 2, 0), (0, 1, 2)]), PLANE),
    corner("padding taken away", lambda x: lax.pad(x, 9.0, [(-1, 1, 0), (2, -2, 0)]), PLANE),
    corner("padding inside and taken away", lambda x: lax.pad(x, 9.0, [(-1, -1, 1), (-2, 3, 2)]), PLANE),
    corner("padding of nothing", lambda x: lax.pad(x, 9.0, [(1, 1, 3)]), NONE),
    corner("reshape", lambda x: x.reshape(2, 3, 2), PLANE),
    corner("reshape of a transpose", lambda x: x.T.reshape(6, 2), PLANE),
    corner("squeeze", lambda x: jnp.squeeze(x[:, None, :, None]), PLANE),
    corner("stack", lambda x, y: jnp.stack([x, y, x], 1), PLANE, PLANE + 1),
    corner("split", lambda x: jnp.split(x, [1, 3], axis=1), PLANE),
    corner("tile", lambda x: jnp.tile(x, (2, 3)), PLANE),
    corner("roll", lambda x: jnp.roll(x, 2, 1), PLANE),
    corner("triangles", lambda x: (jnp.tril(x, 1), jnp.triu(x, -1)), PLANE),
    corner("diagonal", lambda x: jnp.diag(x), PLANE),
]

ARITHMETIC = [
    corner(
        "integers divided", lambda x: (x // 2, x // -3, lax.div(x, 2), lax.div(x, -2), lax.rem(x, 3), x % -3), WHOLE
    ),
    corner("reals divided", lambda x: (x // 0.5, lax.rem(x, 1.5), x % -1.5), TIES),
    corner("bits", lambda x, y: (x & y, x | y, x ^ y, ~x), WHOLE, WHOLE[::-1].copy()),
    corner("divided by 0", lambda x: 1 / x, np.array([0.0, 2.0])),
    corner("log and root", lambda x: (jnp.log(x), jnp.sqrt(x), lax.rsqrt(x)), np.array([-1.0, 0.0, 4.0])),
    corner("powers", lambda x: (x**2, x**-1, x**0, lax.integer_pow(x, 3)), np.array([-1.5, 0.0, 2.0])),
    corner("fractional powers", lambda x: (x**0.5, x**-0.5, x**1.5), np.array([-1.0, 0.0, 4.0])),
    corner("powers of powers", lambda x, y: x**y, np.array([2.0, 0.0, 0.0]), np.array([-1.5, 2.0, -1.0])),
    corner(
        "inverse functions at their ends",
        lambda x: (jnp.arcsin(x), jnp.arccos(x), jnp.arctanh(x)),
        np.array([-1.0, 1.0, 0.5, 2.0]),
    ),
    corner("casts", lambda x: (x.astype(int), (x > 1).astype(float), x.astype(bool)), np.array([-1.75, 0.0, 2.5])),
    corner("unselected", lambda x: jnp.where(x > 0, jnp.log(x), 0.0), np.array([-1.0, 0.0, 2.0])),
    corner("masked softmax", lambda x: jax.nn.softmax(jnp.where(x > -1, x, -jnp.inf)), PLANE + 1.25),
    corner("log of a sum of masked", lambda x: jax.nn.logsumexp(jnp.where(x > 0, x, -jnp.inf), axis=1), PLANE + 2),
    corner(
        "functions of negative numbers",
        lambda x: (jnp.cbrt(x), lax.lgamma(x), lax.digamma(x)),
        np.array([-2.5, -1.0, 0.5]),
    ),
]

LOOPS = [
    corner("scan backwards", lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c - y), 1.0, x, reverse=True), TIES),
    corner("gradient through a scan", jax.grad(lambda x: lax.scan(lambda c, y: (jnp.sin(c) * y, c), 1.0, x)[0]), TIES),
    corner(
        "scan in a scan",
        lambda x: lax.scan(lambda c, row: lax.scan(lambda d, y: (d + y * c, d), c, row), 0.5, x),
        PLANE,
    ),
    corner(
        "while", lambda x: lax.while_loop(lambda c: c[0] < 20, lambda c: (c[0] * 2, c[1] + 1), (x, 0)), np.array(1.5)
    ),
    corner(
        "while in a scan",
        lambda x: lax.scan(lambda c, y: (c, lax.while_loop(lambda z: z < 4, lambda z: z + 1.5, y)), 0.0, x),
        TIES,
    ),
    corner("a loop of Python's range", lambda x: lax.fori_loop(0, 4, lambda i, c: c + x[i] * i, 0.0), TIES),
    corner("branches", lambda i, x: lax.switch(i, [jnp.sum, jnp.max, lambda y: y[0] / 0.5], x), np.array(1), TIES),
    corner("branches beyond the last", lambda i, x: lax.switch(i, [jnp.sum, jnp.max], x), np.array(5), TIES),
    corner(
        "a branch that is not defined",
        lambda x: lax.cond(x > 0, lambda y: jnp.log(y), lambda y: y * 0, x),
        np.array(-1.0),
    ),
]


def _positive(n: int) -> np.ndarray:
    a = numbers(n, n, step=0.375)
    return a @ a.T + np.eye(n)


MATRIX = numbers(3, 3, step=1.25) + np.array([[3.0, 0, 1], [0, -2, 0], [1, 5, -4]])


def _solved(a: Any, b: Any, solver: Callable[[Any], Any]) -> Any:
    """What a solver that is given with a linear map returns; nothing says that it inverts the map."""
    return lax.custom_linear_solve(lambda x: a @ x, b, lambda _, y: solver(y))


LINEAR_ALGEBRA = [
    corner("cholesky", jnp.linalg.cholesky, _positive(3)),
    corner("a symmetric matrix's vectors", jnp.linalg.eigh, _positive(3)),
    corner("vectors in a batch", jnp.linalg.eigh, np.stack([_positive(2), np.diag([1.0, 2.0])])),
    corner("singular values alone", lambda a: jnp.linalg.svd(a, compute_uv=False), numbers(2, 3)),
    corner("orthogonal factors", jnp.linalg.qr, numbers(3, 2) ** 2),
    *(
        corner(f"three bands, {n}", lax.linalg.tridiagonal_solve, *bands)
        for n, bands in (
            (3, (numbers(3), 9 + numbers(3), numbers(3) ** 2, numbers(3, 2))),
            (1, (numbers(1), 9 + numbers(1), numbers(1), numbers(1, 2))),
        )
    ),
    corner("rows swapped in turn", lambda i: lax.linalg.lu_pivots_to_permutation(i, 4), np.array([2, 2, 3], np.int32)),
    corner("shifted by nothing, to the left and far", lambda i: (i << 0, i << 3, i >> 40), WHOLE),
    corner("shifted by too much", lambda i: i >> 64, WHOLE, partial=True),
    corner("cholesky of what is not positive", jnp.linalg.cholesky, -np.eye(2)),
    corner("cholesky in a batch", jnp.linalg.cholesky, np.stack([_positive(2), np.eye(2)])),
    *(
        corner(
            f"triangular solve, {left=}, {lower=}, {transposed=}",
            lambda a, b, left=left, lower=lower, transposed=transposed: lax.linalg.triangular_solve(
                a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=lower
            ),
            MATRIX,
            numbers(3, 3),
        )
        for left, lower, transposed in (
            (True, True, False),
            (False, True, True),
            (True, False, True),
            (False, False, False),
        )
    ),
    corner("lu", lambda a: lax.linalg.lu(a), MATRIX),
    corner("lu of a wide matrix", lambda a: lax.linalg.lu(a), numbers(2, 4) ** 2),
    corner(
        "lu of a tall matrix in a batch",
        lambda a: lax.linalg.lu(a),
        np.stack([numbers(4, 2), numbers(4, 2)[::-1] ** 2]),
    ),
    corner("solve", jnp.linalg.solve, MATRIX, numbers(3, 2)),
    corner("solve a singular system", jnp.linalg.solve, np.ones((2, 2)), np.array([1.0, 2.0])),
    corner("solve with the transpose", lambda a, b: jax.vjp(jnp.linalg.solve, a, b)[1](b), MATRIX, numbers(3)),
    corner("solve a batch", jnp.linalg.solve, np.stack([MATRIX, MATRIX.T]), numbers(2, 3, 2)),
    corner("a solver that returns its right-hand side", lambda a, b: _solved(a, b, lambda y: y), MATRIX, numbers(3)),
    corner(
        "a solver for another matrix",
        lambda a, b: _solved(a, b, lambda y: jnp.linalg.solve(a.T, y)),
        MATRIX,
        numbers(3),
    ),
    corner("inverse", jnp.linalg.inv, MATRIX),
    corner("determinant", lambda a: jnp.linalg.slogdet(a), MATRIX),
]

FAR = np.array([-70000, -32769, -300, -129, -128, -1, 0, 1, 7, 8, 127, 128, 255, 256, 32768, 65536])
NEAR = np.array([-3.7, -1.0, -0.2, -0.0, 0.0, 0.9, 1.0, 126.9, -128.9])
NARROW = ("int4", "uint4", "int8", "uint8", "int16", "uint16")


def _to(dtype: str) -> Callable[..., Any]:
    return lambda x: x.astype(dtype).astype(int)


CASTS = [
    *(corner(f"integers to {dtype}", _to(dtype), FAR) for dtype in NARROW),
    *(corner(f"uint16 to {dtype}", _to(dtype), FAR.astype(np.uint16)) for dtype in NARROW),
    *(corner(f"int8 to {dtype}", _to(dtype), FAR.astype(np.int8)) for dtype in NARROW),
    *(corner(f"reals to {dtype}", _to(dtype), NEAR, partial=True) for dtype in ("int8", "uint8", "int32", "uint32")),
    corner("reals to booleans", lambda x: x.astype(bool), NEAR),
    corner("integers to booleans", lambda x: x.astype(bool), WHOLE),
    corner("booleans to int8", lambda x: (x > 0).astype(np.int8), NEAR),
]

EXTREME = {"int8": [3, -128, 127, 0, -1, 5], "uint8": [3, 255, 200, 0, 1, 5], "uint32": [3, 2**32 - 1, 2**31, 0, 1, 5]}
AT = np.array([5, 0, 7, -1, -9])
NUMBERED: dict[str, Callable[[Any], Any]] = {
    "sorted": jnp.sort,
    "padded": lambda x: lax.pad(x, x[1], [(2, -1, 1)]),
    "a slice beyond the end": lambda x: lax.dynamic_slice(x, (4,), (3,)),
    "an update beyond the end": lambda x: lax.dynamic_update_slice(x, x[1:3], (5,)),
    "entries elsewhere": lambda x: x.at[AT].get(mode="fill"),
    "entries replaced": lambda x: x.at[AT[:3]].set(x[:3], mode="drop"),
    "stacked": lambda x: jnp.stack([x, x[::-1]], 1),
    "split": lambda x: lax.split(x, (2, 4))[1],
    "repeated": lambda x: jnp.tile(x, 2),
    "the greatest": lambda x: jnp.max(x),
    "the least so far": lambda x: lax.cummin(x, 0, reverse=True),
    "the greatest of windows": lambda x: lax.reduce_window(
        x, x.dtype.type(np.iinfo(x.dtype).min), lax.max, (2,), (2,), "VALID"
    ),
    "the greater": lambda x: jnp.maximum(x, x[::-1]),
    "within": lambda x: jnp.clip(x, x[0], x[5]),
    "chosen": lambda x: jnp.where(x > 3, x, x[::-1]),
}
"""Of integers that wrap these are read: there is no arithmetic."""
WRAPPING = [
    corner(f"{name}, of {dtype}", lambda x, f=f: f(x).astype(np.int64), np.array(entries, dtype))
    for name, f in NUMBERED.items()
    for dtype, entries in EXTREME.items()
]

CORNERS = [
    *NOTHING,
    *SIZE_1,
    *TIED,
    *WINDOWS,
    *CONVOLUTIONS,
    *PLACES,
    *MOVES,
    *ARITHMETIC,
    *CASTS,
    *WRAPPING,
    *LOOPS,
    *LINEAR_ALGEBRA,
]
