"""Vectors brought to a length."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.ops._declare import axis_of, case, op, size_of
from certgrad.ops._magnitudes import Magnitudes


@op(
    case("*a n *c -> *a n *c", axis=axis_of("n")),
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.normalize",
    source="PyTorch's normalize: the length is bounded below by eps; at the bound the rules hold it constant",
)
def l2_normalize(x, *, axis=-1, eps=1e-12):
    """x / max(‖x‖, eps) along one axis."""
    return x * _inverse(x, axis, eps)[0]


def _inverse(x, axis, eps):
    """Return 1 / max(‖x‖, eps), and whether ‖x‖ > eps, with norms along the axis."""
    square = jnp.sum(x * x, axis=axis, keepdims=True)
    above = jnp.greater(square, eps * eps)
    return lax.rsqrt(jnp.where(above, square, eps * eps)), above


@l2_normalize.jvp
def _(x, dx, *, axis, eps):
    inverse, above = _inverse(x, axis, eps)
    y = x * inverse
    return inverse * (dx - jnp.where(above, y * jnp.sum(y * dx, axis=axis, keepdims=True), 0))


@l2_normalize.vjp
def _(x, seed, *, axis, eps):
    inverse, above = _inverse(x, axis, eps)
    y = x * inverse
    return inverse * (seed - jnp.where(above, y * jnp.sum(y * seed, axis=axis, keepdims=True), 0))


@op(
    "*b n, *b -> *b n",
    torch="torch.nn.utils.parametrizations.weight_norm",
    source="Salimans and Kingma 2016",
    magnitudes=Magnitudes(most=1 / 4, least=1 / 4),
)
def weight_norm(v, g):
    """g * v / ‖v‖ for each row v."""
    return v * _per_row(v) * jnp.expand_dims(g, -1)


def _per_row(v):
    return lax.rsqrt(jnp.sum(v * v, axis=-1, keepdims=True))


@weight_norm.jvp
def _(v, g, dv, dg):
    inverse = _per_row(v)
    y = v * inverse
    dy = inverse * (dv - y * jnp.sum(y * dv, axis=-1, keepdims=True))
    return dy * jnp.expand_dims(g, -1) + y * jnp.expand_dims(dg, -1)


@weight_norm.vjp
def _(v, g, seed):
    inverse = _per_row(v)
    y = v * inverse
    along = jnp.sum(y * seed, axis=-1, keepdims=True)
    return jnp.expand_dims(g, -1) * inverse * (seed - y * along), jnp.squeeze(along, -1)


@op(
    case("*b c n -> *b c n", size=size_of("k")),
    params={"alpha": "alpha >= 0", "beta": None, "k": "k > 0"},
    torch="torch.nn.functional.local_response_norm",
    source="Krizhevsky et al. 2012, with PyTorch's mean over the window",
)
def local_response_norm(x, *, size, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + alpha * mean of x² over a window of channels)^beta, for (.., channels, pixels)."""
    return x * jnp.power(_base(x, size, alpha, k), -beta)


def _window(x, before, after):
    """Return for each channel the sum over it and so many channels before and after it, as far as there are."""
    return lax.reduce_window(
        x,
        np.zeros((), x.dtype),
        lax.add,
        (*[1] * (x.ndim - 2), before + after + 1, 1),
        (1,) * x.ndim,
        (*[(0, 0)] * (x.ndim - 2), (before, after), (0, 0)),
    )


def _base(x, size, alpha, k):
    return k + alpha / size * _window(x * x, size // 2, (size - 1) // 2)


@local_response_norm.jvp
def _(x, dx, *, size, alpha, beta, k):
    base = _base(x, size, alpha, k)
    dbase = 2 * alpha / size * _window(x * dx, size // 2, (size - 1) // 2)
    return jnp.power(base, -beta) * dx - beta * x * jnp.power(base, -beta - 1) * dbase


@local_response_norm.vjp
def _(x, seed, *, size, alpha, beta, k):
    base = _base(x, size, alpha, k)
    along = _window(seed * x * jnp.power(base, -beta - 1), (size - 1) // 2, size // 2)
    return jnp.power(base, -beta) * seed - 2 * alpha * beta / size * x * along
