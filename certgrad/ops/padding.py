"""Entries put before and after an array along an axis."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.ops._declare import axis_of, case, op, size_of
from certgrad.ops.joining import concatenate
from certgrad.ops.slicing import slice

_BOTH = (size_of("p-1"), size_of("q-1"))
_BEFORE = (size_of("p-1"), 0)


@op(
    case("*a n *c -> *a p+n+q-2 *c", pad_width=_BOTH, mode="constant", axis=axis_of("n")),
    case("*a n *c -> *a p+n+q-2 *c", pad_width=_BOTH, mode="edge", axis=axis_of("n")),
    case("*a n+p-1 *c -> *a n+2*p-2 *c", pad_width=_BEFORE, mode="reflect", axis=axis_of("n")),
    case("*a n+q-1 *c -> *a n+2*q-2 *c", pad_width=(0, size_of("q-1")), mode="reflect", axis=axis_of("n")),
    case("*a n+p-2 *c -> *a n+2*p-3 *c", pad_width=_BEFORE, mode="wrap", axis=axis_of("n")),
    params={"constant_values": None},
    integers=True,
    like="jax.numpy.pad",
    torch="torch.nn.functional.pad",
    source="Linear up to the constant: the cotangent of an entry is the sum over its copies",
)
def pad(x, *, pad_width, mode, axis, constant_values=0):
    """The array with entries before and after it: a constant, its "edge", a "reflect"ion or a "wrap", as in numpy.

    A reflection adds less than there is, a wrap no more. Several axes are padded one after the other.
    """
    before, after = pad_width
    size = x.shape[axis]
    if mode == "constant":
        return _pad_axis(x, constant_values, axis, before, after)
    if mode == "edge":
        first, last = _slice_axis(x, 0, 1, axis), _slice_axis(x, size - 1, 1, axis)
        return jnp.concatenate([_copies(first, before, axis), x, _copies(last, after, axis)], axis)
    if mode == "wrap":
        return jnp.concatenate([_slice_axis(x, size - before, before, axis), x], axis)
    if not (isinstance(before, int) and before == 0):
        return jnp.concatenate([jnp.flip(_slice_axis(x, 1, before, axis), axis), x], axis)
    return jnp.concatenate([x, jnp.flip(_slice_axis(x, size - 1 - after, after, axis), axis)], axis)


def _slice_axis(x, start, length, axis):
    return lax.slice_in_dim(x, start, start + length, axis=axis)


def _pad_axis(x, value, axis, before, after):
    widths = [(0, 0, 0)] * x.ndim
    widths[axis] = (before, after, 0)
    return lax.pad(x, jnp.asarray(value, x.dtype), widths)


def _copies(x, count, axis):
    return jnp.broadcast_to(x, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


@pad.jvp
def _(x, dx, *, pad_width, mode, axis):
    return pad.forward(dx, pad_width=pad_width, mode=mode, axis=axis)


@pad.vjp
def _(x, seed, *, pad_width, mode, axis):
    before, after = pad_width
    size = x.shape[axis]
    inner = _slice_axis(seed, before, size, axis)
    if mode == "constant":
        return inner
    head, tail = _slice_axis(seed, 0, before, axis), _slice_axis(seed, before + size, after, axis)
    if mode == "edge":
        first, last = (jnp.sum(one, axis=axis, keepdims=True) for one in (head, tail))
        return inner + _pad_axis(first, 0, axis, 0, size - 1) + _pad_axis(last, 0, axis, size - 1, 0)
    if mode == "wrap":
        return inner + _pad_axis(head, 0, axis, size - before, 0)
    if not (isinstance(before, int) and before == 0):
        return inner + _pad_axis(jnp.flip(head, axis), 0, axis, 1, size - 1 - before)
    return inner + _pad_axis(jnp.flip(tail, axis), 0, axis, size - 1 - after, 1)


@pad.several
def _(x, pad_width, mode="constant", *, constant_values=0):
    x = jnp.asarray(x)
    for axis, (before, after) in enumerate(np.broadcast_to(np.asarray(pad_width, int), (x.ndim, 2)).tolist()):
        if mode in ("constant", "edge") and (before or after):
            x = pad.call_case(x, pad_width=(before, after), mode=mode, axis=axis, constant_values=constant_values)
            continue
        if before:
            x = pad.call_case(x, pad_width=(before, 0), mode=mode, axis=axis)
        if after and mode == "wrap":
            x = concatenate([x, slice(x, start=before, length=after, axis=axis)], axis=axis)
        elif after:
            x = pad.call_case(x, pad_width=(0, after), mode=mode, axis=axis)
    return x
