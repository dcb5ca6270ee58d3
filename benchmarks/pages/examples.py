"""A small call of each primitive, at sizes n and m: for the document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.jaxpr.solves import solves

Shape = tuple[Any, ...]
Calls = Mapping[str, tuple[Callable[..., Any], tuple[Any, ...]]]
"""By primitive: a function, and what it is called on."""


def _real(*shape: Any) -> Any:
    return jax.ShapeDtypeStruct(shape, np.float32)


def _whole(*shape: Any) -> Any:
    return jax.ShapeDtypeStruct(shape, np.int32)


def _truth(*shape: Any) -> Any:
    return jax.ShapeDtypeStruct(shape, np.bool_)


UNARY = (
    "neg abs sign square exp log sqrt cbrt sin cos asin acos atan sinh cosh tanh asinh acosh atanh erf erf_inv lgamma "
    "digamma exp2 expm1 log1p rsqrt tan logistic erfc bessel_i0e bessel_i1e floor ceil stop_gradient is_finite"
).split()
BINARY = "add sub mul div rem max min pow atan2 polygamma zeta igamma igammac igamma_grad_a eq ne lt le gt ge".split()


def calls(n: Any, m: Any) -> Calls:
    """The calls, for two symbolic sizes."""
    x, plane, square, place = _real(n), _real(n, m), _real(n, n), _whole(m)
    kernel, signal = _real(3, m, 4), _real(2, n, m)
    pool = lambda y: lax.reduce_window(y, -jnp.inf, lax.max, (2,), (2,), [(1, 0)])  # noqa: E731
    names = {"max": "max", "min": "min"}
    return {
        **{name: (getattr(lax, name), (x,)) for name in UNARY},
        **{name: (getattr(lax, names.get(name, name)), (x, x)) for name in BINARY},
        "clamp": (lax.clamp, (_real(), x, _real())),
        "integer_pow": (lambda y: lax.integer_pow(y, -2), (x,)),
        "round": (lambda y: lax.round(y, lax.RoundingMethod.TO_NEAREST_EVEN), (x,)),
        "regularized_incomplete_beta": (lax.betainc, (x, x, x)),
        "and": (lax.bitwise_and, (_truth(n), _truth(n))),
        "or": (lax.bitwise_or, (_truth(n), _truth(n))),
        "xor": (lax.bitwise_xor, (_truth(n), _truth(n))),
        "shift_left": (lambda k: k << 2, (place,)),
        "shift_right_arithmetic": (lambda k: k >> 2, (place,)),
        "not": (lax.bitwise_not, (_truth(n),)),
        "select_n": (lax.select, (_truth(n), x, x)),
        "convert_element_type": (lambda y: y.astype(np.int32), (x,)),
        "dim_as_value": (lambda y: jnp.asarray(y.shape[0]), (x,)),
        "iota": (lambda y: lax.broadcasted_iota(np.int32, y.shape, 1), (plane,)),
        "broadcast_in_dim": (lambda y: lax.broadcast_in_dim(y, (m, *y.shape), (1,)), (x,)),
        "reshape": (lambda y: y.reshape(-1), (plane,)),
        "transpose": (lambda y: y.T, (plane,)),
        "squeeze": (lambda y: lax.squeeze(y, (1,)), (_real(n, 1, m),)),
        "rev": (lambda y: lax.rev(y, (1,)), (plane,)),
        "slice": (lambda y: lax.slice(y, (1,), y.shape, (2,)), (x,)),
        "tile": (lambda y: lax.tile(y, (3,)), (x,)),
        "concatenate": (lambda y, z: lax.concatenate([y, z], 0), (x, _real(m))),
        "split": (lambda y: lax.split(y, (2, 3), 1), (_real(n, 5),)),
        "stack": (lambda y, z: jnp.stack([y, z], 1), (x, x)),
        "unstack": (lambda y: jnp.unstack(y, axis=1), (_real(n, 2),)),
        "pad": (lambda y, v: lax.pad(y, v, [(-1, 2, 1)]), (x, _real())),
        "dynamic_slice": (lambda y, i: lax.dynamic_slice(y, (i,), (3,)), (x, _whole())),
        "dynamic_update_slice": (lambda y, u, i: lax.dynamic_update_slice(y, u, (i,)), (x, _real(3), _whole())),
        "reduce_sum": (lambda y: lax.reduce_sum(y, (1,)), (plane,)),
        "reduce_prod": (lambda y: lax.reduce_prod(y, (1,)), (plane,)),
        "reduce_max": (lambda y: lax.reduce_max(y, (1,)), (plane,)),
        "reduce_min": (lambda y: lax.reduce_min(y, (1,)), (plane,)),
        "reduce_or": (lambda y: lax.reduce_or(y, (1,)), (_truth(n, m),)),
        "reduce_and": (lambda y: lax.reduce_and(y, (1,)), (_truth(n, m),)),
        "argmax": (lambda y: lax.argmax(y, 1, np.int32), (plane,)),
        "argmin": (lambda y: lax.argmin(y, 1, np.int32), (plane,)),
        "cumsum": (lambda y: lax.cumsum(y, 1), (plane,)),
        "cumprod": (lambda y: lax.cumprod(y, 0), (x,)),
        "cummax": (lambda y: lax.cummax(y, 0, reverse=True), (x,)),
        "cummin": (lambda y: lax.cummin(y, 0), (x,)),
        "cumlogsumexp": (lambda y: lax.cumlogsumexp(y, 0), (x,)),
        "dot_general": (lambda y, z: y @ z, (plane, _real(m, 5))),
        "conv_general_dilated": (
            lambda y, w: lax.conv_general_dilated(y, w, (2,), [(1, 1)], dimension_numbers=("NHC", "HIO", "NHC")),
            (signal, kernel),
        ),
        "sort": (lambda y: lax.sort(y), (x,)),
        "approx_top_k": (lambda y: lax.approx_max_k(y, 2), (x,)),
        "top_k": (lambda y: lax.top_k(y, 3), (x,)),
        "gather": (lambda y, i: y.at[i].get(mode="fill", wrap_negative_indices=False), (plane, place)),
        "scatter-add": (lambda y, i, u: y.at[i].add(u, wrap_negative_indices=False), (x, place, _real(m))),
        "scatter-mul": (lambda y, i, u: y.at[i].multiply(u, wrap_negative_indices=False), (x, place, _real(m))),
        "scatter-max": (lambda y, i, u: y.at[i].max(u, wrap_negative_indices=False), (x, place, _real(m))),
        "scatter-min": (lambda y, i, u: y.at[i].min(u, wrap_negative_indices=False), (x, place, _real(m))),
        "scatter": (lambda y, i, u: y.at[i].set(u, wrap_negative_indices=False), (x, place, _real(m))),
        "reduce_window_sum": (lambda y: lax.reduce_window(y, 0.0, lax.add, (2,), (2,), [(1, 0)]), (x,)),
        "reduce_window_max": (pool, (x,)),
        "reduce_window_min": (lambda y: lax.reduce_window(y, jnp.inf, lax.min, (2,), (2,), [(1, 0)]), (x,)),
        "select_and_scatter_add": (lambda y, s: jax.vjp(pool, y)[1](s)[0], (x, _real((n - 1) // 2 + 1))),
        "select_and_gather_add": (lambda y, t: jax.jvp(pool, (y,), (t,))[1], (x, x)),
        "scan": (lambda c, y: lax.scan(lambda a, b: (a * b, a), c, y), (_real(), x)),
        "while": (lambda y: lax.while_loop(lambda c: c < 9, lambda c: c * c, y), (_real(),)),
        "cond": (lambda i, y: lax.cond(i, jnp.negative, jnp.exp, y), (_truth(), x)),
        "triangular_solve": (
            lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
            (square, plane),
        ),
        "custom_linear_solve": (
            jnp.linalg.solve,
            (square, x),
        ),
        "tridiagonal_solve": (lambda d, e, b: lax.linalg.tridiagonal_solve(e, d, e, b), (x, x, plane)),
        "certgrad_solution": (solves(lambda z, c: z - c * jnp.cos(z))(lambda c: c), (x,)),
        "eigh": (lambda a: lax.linalg.eigh(a, symmetrize_input=False), (square,)),
        "svd": (lax.linalg.svd, (square,)),
        "qr": (lax.linalg.qr, (square,)),
        "lu_pivots_to_permutation": (lambda i: lax.linalg.lu_pivots_to_permutation(i, m), (place,)),
        "cholesky": (lax.linalg.cholesky_p.bind, (square,)),
        "lu": (lax.linalg.lu, (square,)),
    }
