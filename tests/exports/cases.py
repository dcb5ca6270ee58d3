"""Small functions, each with the primitive that it is there for: what the tables of other languages are compared by."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Case = tuple[Callable[..., Any], Sequence[Any]]
R = np.random.default_rng(7)


def real(*shape: int) -> np.ndarray:
    return R.normal(size=shape).astype(np.float32)


X, Y, POSITIVE = real(3, 4), real(3, 4), np.abs(real(3, 4)) + 0.1
UNIT = np.asarray(R.uniform(-0.9, 0.9, (3, 4)), np.float32)
FLAGS, OTHERS = X > 0, Y > 0
WHOLE = np.array([[3, -2, 7], [0, 5, 1]], np.int32)
IMAGE, KERNEL = real(2, 6, 7, 4), real(3, 2, 4, 6)
LABELS = np.array([2, 0, 3], np.int32)
OUTSIDE = np.array([2, -1, 9], np.int32)


def conv(x: Any, k: Any, **given: Any) -> Any:
    dimensions = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, k, given.pop("strides", (1, 1)), given.pop("padding", "SAME"), dimension_numbers=dimensions, **given
    )


def gradient(fn: Callable[..., Any], *args: Any) -> Case:
    """The vjp of a function at a seed that is one of its own values."""
    return lambda *xs: jax.vjp(fn, *xs)[1](jnp.cos(fn(*xs))), args


def pool(x: Any, empty: float, fold: Any, size: int, stride: int, padding: Any) -> Any:
    return lax.reduce_window(x, empty, fold, (1, size, size, 1), (1, stride, stride, 1), padding)


def collatz(n: Any) -> Any:
    return lax.while_loop(lambda s: s[0] > 1.5, lambda s: (s[0] / 2, s[1] + 1), (n, jnp.int32(0)))


def running(x: Any, reverse: bool) -> Any:
    return lax.scan(lambda c, r: (c * 0.5 + r, jnp.sin(c) * r), jnp.ones(4), x, reverse=reverse)


UNARY: dict[str, tuple[Callable[..., Any], Any]] = {
    "abs": (jnp.abs, X),
    "acos": (lax.acos, UNIT),
    "acosh": (lax.acosh, 1 + POSITIVE),
    "asin": (lax.asin, UNIT),
    "asinh": (lax.asinh, X),
    "atan": (lax.atan, X),
    "atanh": (lax.atanh, UNIT),
    "cbrt": (lax.cbrt, X),
    "ceil": (lax.ceil, X),
    "cos": (lax.cos, X),
    "cosh": (lax.cosh, X),
    "erf": (lax.erf, X),
    "erfc": (lax.erfc, X),
    "exp": (lax.exp, X),
    "exp2": (lax.exp2, X),
    "expm1": (lax.expm1, np.concatenate([X, X * 1e-4])),
    "floor": (lax.floor, X),
    "log": (lax.log, POSITIVE),
    "log1p": (lax.log1p, np.concatenate([POSITIVE, X * 1e-4, POSITIVE * 1e4])),
    "logistic": (lax.logistic, X),
    "neg": (lax.neg, X),
    "not": (lax.bitwise_not, FLAGS),
    "round": (jnp.round, np.array([0.5, 1.5, -2.5, 1.2], np.float32)),
    "rsqrt": (lax.rsqrt, POSITIVE),
    "sign": (lax.sign, np.array([-2.0, 0, 3], np.float32)),
    "sin": (lax.sin, X),
    "sinh": (lax.sinh, X),
    "sqrt": (lax.sqrt, POSITIVE),
    "square": (lax.square, X),
    "tan": (lax.tan, X),
    "tanh": (lax.tanh, X),
    "is_finite": (lax.is_finite, np.array([1, np.inf, np.nan], np.float32)),
}
CASES: dict[str, list[Case]] = {
    **{name: [(fn, (x,))] for name, (fn, x) in UNARY.items()},
    "add": [(lax.add, (X, Y)), (lambda x: x + 2, (X,)), (lambda x: x + 2, (WHOLE,))],
    "add_any": [gradient(lambda x: x * jnp.sin(x), X)],
    "and": [(lax.bitwise_and, (FLAGS, OTHERS)), (lax.bitwise_and, (WHOLE, WHOLE + 3))],
    "argmax": [(lambda x: jnp.argmax(x, 1), (X,))],
    "argmin": [(lambda x: jnp.argmin(x, 0), (X,))],
    "broadcast_in_dim": [
        (lambda x: jnp.broadcast_to(x[:, None], (3, 4, 4)), (X,)),
        (lambda x: lax.broadcast_in_dim(x, (4, 2, 3), (2, 0)), (X.reshape(3, 4),)),
        (lambda: jnp.full((2, 3), 2.5), ()),
    ],
    "clamp": [(lambda x: lax.clamp(-0.5, x, 0.5), (X,))],
    "concatenate": [(lambda x, y: jnp.concatenate([x, y, x], 1), (X, Y))],
    "cond": [
        (lambda x: lax.cond(x.sum() > 0, jnp.sin, lambda y: y * 2, x), (X,)),
        (lambda k, x: lax.switch(k, [jnp.sin, jnp.cos, lambda y: y * 3], x), (np.int32(1), X)),
        (lambda k, x: lax.switch(k, [lambda y: (y, y[0]), lambda y: (-y, y[1])], x), (np.int32(7), X)),
    ],
    "conv_general_dilated": [
        (conv, (IMAGE, KERNEL)),
        (lambda x, k: conv(x, k, strides=(2, 1), padding=((1, 2), (0, 1))), (IMAGE, KERNEL)),
        (lambda x, k: conv(x, k, rhs_dilation=(2, 1), padding="VALID"), (IMAGE, KERNEL)),
        (lambda x, k: conv(x, k, lhs_dilation=(2, 3), padding=((-1, 2), (2, -2))), (IMAGE, KERNEL)),
        (lambda x, k: conv(x, k, feature_group_count=2), (IMAGE, KERNEL[:, :, :2])),
        gradient(lambda x, k: conv(x, k, strides=(2, 2)), IMAGE, KERNEL),
        gradient(lambda x, k: conv(x, k, strides=(2, 1), feature_group_count=2), IMAGE, KERNEL[:, :, :2]),
        (lambda x, k: lax.conv(x, k, (1,), "SAME"), (real(2, 3, 8), real(5, 3, 3))),
    ],
    "convert_element_type": [
        (lambda x: x.astype(jnp.int32), (X * 3,)),
        (lambda x: x.astype(jnp.float32), (FLAGS,)),
        (lambda x: x.astype(bool), (WHOLE,)),
    ],
    "cumsum": [(lambda x: jnp.cumsum(x, 1), (X,)), (lambda x: lax.cumsum(x, 0, reverse=True), (X,))],
    "div": [(lax.div, (X, POSITIVE)), (lax.div, (WHOLE, np.full_like(WHOLE, -2)))],
    "dot_general": [
        (jnp.matmul, (X, real(4, 5))),
        (jnp.matmul, (real(2, 3, 4), real(2, 4, 5))),
        (jnp.dot, (real(4), real(4))),
        (lambda a, b: jnp.einsum("bhid,bhjd->bhij", a, b), (real(2, 3, 4, 5), real(2, 3, 6, 5))),
        (lambda a, b: jnp.einsum("ij,ji->j", a, b), (X, real(4, 3))),
        (lambda a, b: jnp.tensordot(a, b, 2), (real(2, 3, 4), real(3, 4, 2))),
        (lambda a, b: a.T @ b, (X, Y)),
        (lambda a, b: jnp.einsum("ia,jb->iajb", a, b), (X, Y)),
        (lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32), (WHOLE, WHOLE.T)),
    ],
    "dynamic_slice": [
        (lambda x, k: lax.dynamic_slice(x, (k, 9), (2, 2)), (X, np.int32(-3))),
        (lambda x, k: x[k], (X, np.int32(-1))),
    ],
    "dynamic_update_slice": [(lambda x, k: lax.dynamic_update_slice(x, -jnp.ones((2, 2)), (k, 9)), (X, np.int32(1)))],
    "eq": [(lambda x: x == 0, (WHOLE,)), (lax.eq, (FLAGS, OTHERS))],
    "gather": [
        (lambda x, i: x[i], (X, np.array([[2, 0], [1, 1]], np.int32))),
        (lambda x, i: x[:, i], (X, LABELS)),
        (lambda x, i: jnp.take(x, i, axis=1), (X, OUTSIDE)),
        (lambda x, i: jnp.take_along_axis(x, i[:, None], 1), (X, LABELS)),
        (lambda x, i: x[jnp.arange(3), i], (X, LABELS)),
        (lambda x, i: x.at[i].get(mode="clip"), (X, OUTSIDE)),
    ],
    "ge": [(lax.ge, (X, Y))],
    "gt": [(lax.gt, (X, Y))],
    "integer_pow": [(lambda x, k=k: x**k, (POSITIVE,)) for k in (2, 3, -1, -3, 7)],
    "iota": [(lambda: jnp.arange(5), ()), (lambda: lax.broadcasted_iota(jnp.float32, (2, 3), 1), ())],
    "le": [(lax.le, (X, Y))],
    "lt": [(lax.lt, (X, Y))],
    "max": [(jnp.maximum, (X, Y)), (lambda x: jnp.maximum(x, 0), (X,)), (jnp.maximum, (FLAGS, OTHERS))],
    "min": [(jnp.minimum, (X, Y)), (jnp.minimum, (FLAGS, OTHERS))],
    "mul": [(lax.mul, (X, Y))],
    "ne": [(lax.ne, (WHOLE, abs(WHOLE)))],
    "or": [(lax.bitwise_or, (FLAGS, OTHERS)), (lax.bitwise_or, (WHOLE, WHOLE + 3))],
    "pad": [
        (lambda x: jnp.pad(x, ((1, 2), (0, 1)), constant_values=3), (X,)),
        (lambda x: lax.pad(x, 2.0, ((-1, 2, 1), (1, -2, 2))), (X,)),
    ],
    "pow": [(lax.pow, (POSITIVE, Y)), (lambda x: x**0.5, (POSITIVE,))],
    "reduce_and": [(lambda x: jnp.all(x, 0), (FLAGS,))],
    "reduce_max": [(lambda x: jnp.max(x, 1), (X,))],
    "reduce_min": [(lambda x: jnp.min(x), (X,))],
    "reduce_or": [(lambda x: jnp.any(x, 1), (FLAGS,))],
    "reduce_prod": [(lambda x: jnp.prod(x, 1), (X,)), (lambda x: jnp.prod(x), (X,))],
    "reduce_sum": [(lambda x: jnp.sum(x, (0, 1)), (X,)), (lambda x: jnp.sum(x, 0), (X,))],
    "reduce_window_max": [
        (lambda x: pool(x, -jnp.inf, lax.max, 2, 2, "VALID"), (IMAGE,)),
        (lambda x: pool(x, -jnp.inf, lax.max, 3, 2, "SAME"), (IMAGE,)),
    ],
    "reduce_window_min": [(lambda x: pool(x, jnp.inf, lax.min, 2, 1, "VALID"), (IMAGE,))],
    "reduce_window_sum": [
        (lambda x: pool(x, 0.0, lax.add, 3, 2, "SAME"), (IMAGE,)),
        gradient(lambda x: pool(x, 0.0, lax.add, 3, 2, "SAME"), IMAGE),
    ],
    "rem": [(lax.rem, (X, POSITIVE)), (lax.rem, (WHOLE, np.full_like(WHOLE, -2)))],
    "reshape": [(lambda x: x.reshape(2, 6), (X,))],
    "rev": [(lambda x: x[::-1, ::-1], (X,))],
    "scan": [
        (lambda x: running(x, False), (X,)),
        (lambda x: running(x, True), (X,)),
        (lambda x: lax.scan(lambda c, _: (c * 0.9 + 1, c.sum()), x, None, length=5), (X,)),
        (lambda x: lax.scan(lambda c, _: (c * 0.9 + 1, c.sum()), x, None, length=5, reverse=True), (X,)),
        (lambda x: lax.scan(lambda c, r: (c, r * 2), (), x), (X,)),
        gradient(lambda x: running(x, False)[1], X),
    ],
    "scatter": [(lambda x, i: x.at[i].set(-1.0, mode="promise_in_bounds"), (X, np.array([2, 0], np.int32)))],
    "scatter-add": [
        gradient(lambda x: x[jnp.array([2, 0, 2])], X),
        (lambda x, i: x.at[jnp.arange(3), i].add(2.0), (X, LABELS)),
        (lambda x, i: x.at[i].add(jnp.ones((3, 4))), (X, OUTSIDE)),
        (lambda x, i: x.at[:, i].add(jnp.ones((3, 3))), (X, LABELS)),
        gradient(lambda x: jnp.take_along_axis(x, jnp.asarray(LABELS)[:, None], 1), X),
    ],
    "scatter-max": [(lambda x, i: x.at[i].max(-0.5 * x[:2]), (X, np.array([2, 0], np.int32)))],
    "scatter-min": [(lambda x, i: x.at[i].min(-0.5 * x[:2]), (X, np.array([2, 0], np.int32)))],
    "scatter-mul": [(lambda x, i: x.at[i].multiply(x[:2]), (X, np.array([2, 0], np.int32)))],
    "select_and_scatter_add": [
        gradient(lambda x: pool(x, -jnp.inf, lax.max, 2, 2, "VALID"), IMAGE),
        gradient(lambda x: pool(x, -jnp.inf, lax.max, 3, 2, "SAME"), IMAGE),
        gradient(lambda x: pool(x, -jnp.inf, lax.max, 3, 1, "VALID"), np.round(IMAGE)),
        gradient(lambda x: pool(x, jnp.inf, lax.min, 2, 2, "VALID"), IMAGE),
    ],
    "select_n": [
        (lambda p, x, y: jnp.where(p, x, y), (FLAGS, X, Y)),
        (lambda p, x, y: jnp.where(p, x, y), (FLAGS, OTHERS, ~OTHERS)),
        (lambda k, x, y: lax.select_n(k, x, y, x + y), (LABELS.clip(0, 2), X[:, 0], Y[:, 0])),
    ],
    "slice": [(lambda x: x[1:, ::2], (X,)), (lambda x: x[:2, 1:3], (X,))],
    "sort": [(lambda x: jnp.sort(x, 0), (X,)), (lambda x: lax.sort((x, x * 2), num_keys=1), (X,))],
    "split": [(lambda x: lax.split(x, (1, 3), 1), (X,))],
    "squeeze": [(lambda x: jnp.squeeze(x, 1), (X[:, :1],))],
    "sub": [(lax.sub, (X, Y))],
    "top_k": [(lambda x: lax.top_k(x, 2), (X,))],
    "transpose": [(lambda x: jnp.transpose(x, (2, 0, 1)), (real(2, 3, 4),))],
    "while": [
        (collatz, (np.float32(37),)),
        (lambda n, x: lax.fori_loop(0, n, lambda k, c: c * 0.5 + k, x), (np.int32(4), X)),
        (lambda x, y: lax.while_loop(lambda c: c.sum() < y.sum(), lambda c: c + y, x), (X, POSITIVE)),
    ],
    "xor": [(lax.bitwise_xor, (FLAGS, OTHERS)), (lax.bitwise_xor, (WHOLE, WHOLE + 3))],
}
UNREACHED = {
    "dim_as_value",
    "one_minus_square",
    "pvary",
    "real",
}
"""Rows of primitives of other versions of JAX, on meshes, or that stand only in programs of symbolic sizes."""
