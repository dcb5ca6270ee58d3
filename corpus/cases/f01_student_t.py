"""Student-t negative log likelihood for heavy-tailed regression heads."""

import math
from functools import partial

import jax
import jax.numpy as jnp


def _reduce_to(g, ref):
    """Undo numpy broadcasting: sum ``g`` down to the shape of ``ref``."""
    shape = jnp.shape(ref)
    extra = g.ndim - len(shape)
    g = jnp.sum(g, axis=tuple(range(extra)))
    keep = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    g = jnp.sum(g, axis=keep, keepdims=True)
    return g.astype(jnp.result_type(ref))


def _nll(y, loc, log_scale, df):
    z = (y - loc) * jnp.exp(-log_scale)
    const = math.lgamma(0.5 * df) - math.lgamma(0.5 * (df + 1.0)) + 0.5 * math.log(df * math.pi)
    return 0.5 * (df + 1.0) * jnp.log1p(z * z / df) + log_scale + const


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def right(y, loc, log_scale, df=4.0):
    """Elementwise -log p(y | loc, exp(log_scale), df)."""
    return _nll(y, loc, log_scale, df)


def _fwd(y, loc, log_scale, df):
    return _nll(y, loc, log_scale, df), (y, loc, log_scale)


def _bwd(df, res, g):
    y, loc, log_scale = res
    inv = jnp.exp(-log_scale)
    z = (y - loc) * inv
    dz = (df + 1.0) * z / (df + z * z)
    gy = g * dz * inv
    gs = g * (1.0 - z * dz)
    return _reduce_to(gy, y), _reduce_to(-gy, loc), _reduce_to(gs, log_scale)


right.defvjp(_fwd, _bwd)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def wrong(y, loc, log_scale, df=4.0):
    return _nll(y, loc, log_scale, df)


def _wrong_bwd(df, res, g):
    y, loc, log_scale = res
    inv = jnp.exp(-log_scale)
    z = (y - loc) * inv
    dz = df * z / (df + z * z)
    gy = g * dz * inv
    gs = g * (1.0 - z * dz)
    return _reduce_to(gy, y), _reduce_to(-gy, loc), _reduce_to(gs, log_scale)


wrong.defvjp(_fwd, _wrong_bwd)
