"""Average pooling over time, padding not counted (count_include_pad=False)."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def _window_sum(x, window, stride, pad):
    return lax.reduce_window(
        x,
        np.zeros((), x.dtype),
        lax.add,
        window_dimensions=(1, window, 1),
        window_strides=(1, stride, 1),
        padding=((0, 0), (pad, pad), (0, 0)),
    )


def _counts(length, dtype, window, stride, pad):
    return _window_sum(jnp.ones((1, length, 1), dtype), window, stride, pad)


def _pool(x, window, stride, pad):
    if not 0 <= pad < window:
        raise ValueError("padding must be smaller than the window")
    return _window_sum(x, window, stride, pad) / _counts(x.shape[1], x.dtype, window, stride, pad)


@partial(jax.custom_vjp, nondiff_argnums=(1, 2, 3))
def right(x, window=3, stride=2, pad=1):
    return _pool(x, window, stride, pad)


def _fwd(x, window, stride, pad):
    return _pool(x, window, stride, pad), x


def _bwd(window, stride, pad, x, g):
    spread = jax.linear_transpose(lambda t: _window_sum(t, window, stride, pad), x)
    return spread(g / _counts(x.shape[1], g.dtype, window, stride, pad))


right.defvjp(_fwd, _bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1, 2, 3))
def wrong(x, window=3, stride=2, pad=1):
    return _pool(x, window, stride, pad)


def _bwd_full_window(window, stride, pad, x, g):
    spread = jax.linear_transpose(lambda t: _window_sum(t, window, stride, pad), x)
    return spread(g / window)


wrong.defvjp(_fwd, _bwd_full_window)
