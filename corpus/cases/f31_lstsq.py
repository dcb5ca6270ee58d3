"""Least squares through a QR factorisation, for tall A of full column rank."""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular


def _solve(a, b):
    q, r = jnp.linalg.qr(a)
    return solve_triangular(r, q.T @ b), r


@jax.custom_vjp
def right(a, b):
    """argmin_x ||a x - b||, a: (m, n), b: (m,)."""
    return _solve(a, b)[0]


def _fwd(a, b):
    x, r = _solve(a, b)
    return x, (a, b, x, r)


def _bwd(res, g):
    a, b, x, r = res
    z = solve_triangular(r, solve_triangular(r, g, trans=1))  # (A^T A)^-1 g
    az = a @ z
    resid = b - a @ x
    return jnp.outer(resid, z) - jnp.outer(az, x), az


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(a, b):
    return _solve(a, b)[0]


def _bwd_like_solve(res, g):
    a, _, x, r = res
    z = solve_triangular(r, solve_triangular(r, g, trans=1))
    az = a @ z
    return -jnp.outer(az, x), az


wrong.defvjp(_fwd, _bwd_like_solve)
