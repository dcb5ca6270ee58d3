"""log(sum_k w_k exp(a_k)) along one axis, w > 0 (scipy's logsumexp with ``b``)."""

from functools import partial

import jax
import jax.numpy as jnp


def _unbroadcast(g, shape):
    g = jnp.sum(g, axis=tuple(range(g.ndim - len(shape))))
    return jnp.sum(g, axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


def _wlse(a, w, axis):
    a, w = jnp.broadcast_arrays(a, w)
    top = jnp.max(a, axis=axis, keepdims=True)
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    s = jnp.sum(w * jnp.exp(a - top), axis=axis)
    return jnp.log(s) + jnp.squeeze(top, axis)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def right(a, w, axis=-1):
    return _wlse(a, w, axis)


def _fwd(a, w, axis):
    out = _wlse(a, w, axis)
    return out, (a, w, out)


def _bwd(axis, res, g):
    a, w, out = res
    ratio = jnp.exp(jnp.broadcast_arrays(a, w)[0] - jnp.expand_dims(out, axis))
    g = jnp.expand_dims(g, axis)
    return (_unbroadcast(g * w * ratio, jnp.shape(a)), _unbroadcast(g * ratio, jnp.shape(w)))


right.defvjp(_fwd, _bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def wrong(a, w, axis=-1):
    return _wlse(a, w, axis)


def _bwd_wrong(axis, res, g):
    a, w, out = res
    p = w * jnp.exp(a - jnp.expand_dims(out, axis))
    gp = jnp.expand_dims(g, axis) * p
    return _unbroadcast(gp, jnp.shape(a)), _unbroadcast(gp, jnp.shape(w))


wrong.defvjp(_fwd, _bwd_wrong)
