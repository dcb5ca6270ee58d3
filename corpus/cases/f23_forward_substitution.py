"""Solve L x = b with L lower triangular (only the lower triangle of L is read)."""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular


def _solve(l, b):
    if l.ndim != 2 or b.ndim > 2:
        raise ValueError("one matrix at a time; vmap over batches")
    return solve_triangular(l, b, lower=True)


@jax.custom_vjp
def right(l, b):
    return _solve(l, b)


def _fwd(l, b):
    x = _solve(l, b)
    return x, (l, x)


def _as_columns(v):
    return v[:, None] if v.ndim == 1 else v


def _bwd(res, g):
    l, x = res
    gb = solve_triangular(l, g, trans=1, lower=True)
    gl = -_as_columns(gb) @ _as_columns(x).T
    return jnp.tril(gl), gb


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(l, b):
    return _solve(l, b)


def _bwd_dense(res, g):
    l, x = res
    gb = solve_triangular(l, g, trans=1, lower=True)
    gl = -_as_columns(gb) @ _as_columns(x).T
    return gl, gb


wrong.defvjp(_fwd, _bwd_dense)
