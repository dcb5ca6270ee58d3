"""Pooling of (.., n) and (.., h, w): maxima and means of windows.

The window, the padding before and the output's size are symbolic in the proof; strides are the declared ones.
"""

import operator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.ops._declare import case, op, size_of
from certgrad.ops.slicing import slice

_AXES = "hw"


def _cases(rank, stride, inside):
    """Return the case of a pooling whose first window starts p - 1 entries before the input.

    If `inside`, the last window starts in the input and ends h - 1 entries after it.
    """
    axes = _AXES[:rank]
    given = [f"{stride}*m{a}-{stride}+q{a}" if inside else f"n{a}" for a in axes]
    out = " ".join(f"m{a}" for a in axes)
    window = tuple(size_of(f"p{a}+q{a}+h{a}-2" if inside else f"k{a}") for a in axes)
    statics = {"window": window, "before": tuple(size_of(f"p{a}-1") for a in axes)}
    size = tuple(size_of(f"m{a}") for a in axes)
    return case(f"*b {' '.join(given)} -> *b {out}", stride=(stride,) * rank, size=size, **statics)


def _full(values, x, fill):
    """Return a tuple with these values for the last axes of `x`, and `fill` for all axes before them."""
    return (*(fill,) * (x.ndim - len(values)), *values)


def _after(sizes, window, before, out, stride):
    """Return how many entries to pad after each axis so that the windows fill it; to crop, where negative."""
    return [s * (m - 1) + k - n - p for n, k, p, m, s in zip(sizes, window, before, out, stride, strict=True)]


def _padding(x, window, before, size, stride):
    sizes = x.shape[x.ndim - len(window) :]
    return list(zip(before, _after(sizes, window, before, size, stride), strict=True))


def _max(x, window, before, size, stride):
    padding = _padding(x, window, before, size, stride)
    return lax.reduce_window(x, -np.inf, lax.max, _full(window, x, 1), _full(stride, x, 1), _full(padding, x, (0, 0)))


def _sum(x, window, before, size, stride):
    padding = _padding(x, window, before, size, stride)
    return lax.reduce_window(x, 0.0, lax.add, _full(window, x, 1), _full(stride, x, 1), _full(padding, x, (0, 0)))


def _spread(ct, sizes, window, before, stride):
    """Return the transpose of `_sum` for an input of these sizes: each entry gets the sum of `ct` over its windows."""
    size = ct.shape[ct.ndim - len(window) :]
    padding = [
        (k - 1 - p, n + p - s * (m - 1) - 1) for n, k, p, m, s in zip(sizes, window, before, size, stride, strict=True)
    ]
    return lax.reduce_window(
        ct,
        0.0,
        lax.add,
        _full(window, ct, 1),
        _full([1] * len(window), ct, 1),
        _full(padding, ct, (0, 0)),
        base_dilation=_full(stride, ct, 1),
    )


def _volume(window):
    total = 1
    for k in window:
        total = total * k
    return total


def _integers_per_axis(value, rank):
    """Return an integer for each of `rank` axes, from one for all or a list of one an axis."""
    values = tuple(value) if isinstance(value, tuple | list) else (value,) * rank
    return tuple(map(operator.index, values))


def _call_with_window(one, rank, x, window_shape, strides, padding):
    """Return a call of `one`, a `call_case`, with a window, strides and padding on both sides.

    Strides of None are those of the window. Entries that no window reaches are cropped first.
    """
    x = jnp.asarray(x)
    window = _integers_per_axis(window_shape, rank)
    stride, before = _integers_per_axis(window if strides is None else strides, rank), _integers_per_axis(padding, rank)
    sizes = x.shape[x.ndim - rank :]
    size = tuple((n + 2 * p - k) // s + 1 for n, k, p, s in zip(sizes, window, before, stride, strict=True))
    for axis, after in enumerate(_after(sizes, window, before, size, stride), start=x.ndim - rank):
        x = slice(x, start=0, length=x.shape[axis] + after, axis=axis) if after < 0 else x
    return one(x, window=window, before=before, size=size, stride=stride)


def _max_jvp(x, dx, **how):
    return jax.jvp(lambda y: _max(y, **how), (x,), (dx,))[1]


def _max_vjp(x, seed, **how):
    return jax.vjp(lambda y: _max(y, **how), x)[1](seed)[0]


def _mean_jvp(x, dx, *, window, before, size, stride):
    return _sum(dx, window, before, size, stride) / _volume(window)


def _mean_vjp(x, seed, *, window, before, size, stride):
    return _spread(seed / _volume(window), x.shape[x.ndim - len(window) :], window, before, stride)


_MAX = "Scherer et al. 2010; the cotangent goes to the first greatest entry of each window"
_MEAN = "LeCun et al. 1989; padding counts, as PyTorch's count_include_pad"


@op(*(_cases(1, s, True) for s in (1, 2, 3)), torch="torch.nn.functional.max_pool1d", source=_MAX)
def max_pool1d(x, *, window, before, size, stride):
    """The greatest entry of each window of the last axis."""
    return _max(x, window, before, size, stride)


max_pool1d.jvp(_max_jvp)
max_pool1d.vjp(_max_vjp)


@max_pool1d.several
def _(x, window_shape, *, strides=None, padding=0):
    return _call_with_window(max_pool1d.call_case, 1, x, window_shape, strides, padding)


@op(*(_cases(2, s, True) for s in (1, 2, 3)), torch="torch.nn.functional.max_pool2d", source=_MAX)
def max_pool2d(x, *, window, before, size, stride):
    """The greatest entry of each window of the last two axes."""
    return _max(x, window, before, size, stride)


max_pool2d.jvp(_max_jvp)
max_pool2d.vjp(_max_vjp)


@max_pool2d.several
def _(x, window_shape, *, strides=None, padding=0):
    return _call_with_window(max_pool2d.call_case, 2, x, window_shape, strides, padding)


@op(*(_cases(1, s, False) for s in (1, 2, 3)), torch="torch.nn.functional.avg_pool1d", source=_MEAN)
def avg_pool1d(x, *, window, before, size, stride):
    """The mean of each window of the last axis; what is padded counts as 0."""
    return _sum(x, window, before, size, stride) / _volume(window)


avg_pool1d.jvp(_mean_jvp)
avg_pool1d.vjp(_mean_vjp)


@avg_pool1d.several
def _(x, window_shape, *, strides=None, padding=0):
    return _call_with_window(avg_pool1d.call_case, 1, x, window_shape, strides, padding)


@op(*(_cases(2, s, False) for s in (1, 2, 3)), torch="torch.nn.functional.avg_pool2d", source=_MEAN)
def avg_pool2d(x, *, window, before, size, stride):
    """The mean of each window of the last two axes; what is padded counts as 0."""
    return _sum(x, window, before, size, stride) / _volume(window)


avg_pool2d.jvp(_mean_jvp)
avg_pool2d.vjp(_mean_vjp)


@avg_pool2d.several
def _(x, window_shape, *, strides=None, padding=0):
    return _call_with_window(avg_pool2d.call_case, 2, x, window_shape, strides, padding)


@op("*b h w -> *b", torch="torch.nn.functional.adaptive_avg_pool2d", source="Lin et al. 2014; linear")
def global_avg_pool2d(x):
    """The mean over the last two axes."""
    return jnp.mean(x, axis=(-2, -1))


@global_avg_pool2d.jvp
def _(x, dx):
    return jnp.mean(dx, axis=(-2, -1))


@global_avg_pool2d.vjp
def _(x, seed):
    return jnp.broadcast_to(jnp.expand_dims(seed / (x.shape[-1] * x.shape[-2]), (-2, -1)), x.shape)


@op(
    case("*b m*p l*q -> *b m l", output_size=(size_of("m"), size_of("l"))),
    torch="torch.nn.functional.adaptive_avg_pool2d",
    source="Linear; the output's sizes divide the input's",
)
def adaptive_avg_pool2d(x, *, output_size):
    """The means of equal blocks of the last two axes, as many as `output_size` says."""
    return jnp.mean(_blocks(x, output_size), axis=(-3, -1))


def _blocks(x, output_size):
    m, k = output_size
    return jnp.reshape(x, (*x.shape[:-2], m, x.shape[-2] // m, k, x.shape[-1] // k))


@adaptive_avg_pool2d.jvp
def _(x, dx, *, output_size):
    return jnp.mean(_blocks(dx, output_size), axis=(-3, -1))


@adaptive_avg_pool2d.vjp
def _(x, seed, *, output_size):
    m, k = output_size
    each = seed * (m * k) / (x.shape[-1] * x.shape[-2])
    blocks = jnp.broadcast_to(jnp.expand_dims(each, (-3, -1)), _blocks(x, output_size).shape)
    return jnp.reshape(blocks, x.shape)
