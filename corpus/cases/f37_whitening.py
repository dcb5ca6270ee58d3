"""Batch whitening with a Cholesky factor (decorrelated batch norm, training mode)."""

from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular


def _whiten(x, eps):
    n, d = x.shape
    xc = x - jnp.mean(x, axis=0)
    cov = xc.T @ xc / n + eps * jnp.eye(d, dtype=x.dtype)
    chol = jnp.linalg.cholesky(cov)
    z = solve_triangular(chol, xc.T, lower=True).T
    return z, (xc, chol, z)


def _phi(m):
    """Lower triangle with the diagonal halved."""
    return jnp.tril(m) - 0.5 * jnp.diag(jnp.diagonal(m))


def _centred_cotangent(res, g):
    xc, chol, z = res
    n = xc.shape[0]
    gxc = solve_triangular(chol, g.T, lower=True, trans=1).T
    gchol = -jnp.tril(gxc.T @ z)
    inner = _phi(chol.T @ gchol)
    left = solve_triangular(chol, inner, lower=True, trans=1)
    gcov = solve_triangular(chol, left.T, lower=True, trans=1).T
    return gxc + xc @ (gcov + gcov.T) / n


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def right(x, eps=1e-3):
    return _whiten(x, eps)[0]


def _right_bwd(eps, res, g):
    gxc = _centred_cotangent(res, g)
    return (gxc - jnp.mean(gxc, axis=0),)


right.defvjp(_whiten, _right_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def wrong(x, eps=1e-3):
    return _whiten(x, eps)[0]


def _wrong_bwd(eps, res, g):
    return (_centred_cotangent(res, g),)


wrong.defvjp(_whiten, _wrong_bwd)
