"""Barycentric coordinates of a 2-D point, for interpolation on triangle meshes."""

import jax
import jax.numpy as jnp


def _system(tri):
    """3x3 matrix taking barycentric weights to (x, y, 1)."""
    ones = jnp.ones_like(tri[:, :1])
    return jnp.concatenate([tri, ones], axis=1).T


def _bary(p, tri):
    rhs = jnp.append(p, jnp.ones((), p.dtype))
    return jnp.linalg.solve(_system(tri), rhs)


@jax.custom_jvp
def right(p, tri):
    """p: (2,), tri: (3, 2) -> weights (3,) with weights @ tri == p."""
    return _bary(p, tri)


@right.defjvp
def _right_jvp(primals, tangents):
    p, tri = primals
    dp, dtri = tangents
    lam = _bary(p, tri)
    moved = dp - lam @ dtri
    rhs = jnp.append(moved, jnp.zeros((), moved.dtype))
    return lam, jnp.linalg.solve(_system(tri), rhs)


@jax.custom_jvp
def wrong(p, tri):
    return _bary(p, tri)


@wrong.defjvp
def _wrong_jvp(primals, tangents):
    p, tri = primals
    dp, dtri = tangents
    lam = _bary(p, tri)
    moved = dp - dtri[0]
    rhs = jnp.append(moved, jnp.zeros((), moved.dtype))
    return lam, jnp.linalg.solve(_system(tri), rhs)
