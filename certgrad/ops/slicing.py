"""Parts of an array: slices, at fixed places or at places that are values; the array reversed or rotated."""

import operator
from math import prod

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op, size_of


@op(
    case("*a p+n+q-2 *c -> *a n *c", start=size_of("p-1"), length=size_of("n"), axis=axis_of("n")),
    integers=True,
    torch="torch.narrow",
    source="Linear: the cotangent is the seed, with zeros before and after",
)
def slice(x, *, start, length, axis=0):
    """The `length` entries along one axis from `start` on."""
    return lax.slice_in_dim(x, start, start + length, axis=axis)


@slice.jvp
def _(x, dx, *, start, length, axis):
    return lax.slice_in_dim(dx, start, start + length, axis=axis)


@slice.vjp
def _(x, seed, *, start, length, axis):
    return _padded(seed, axis, start, x.shape[axis] - start - length)


def _padded(x, axis, before, after, between=0):
    """Return `x` with so many zeros before, after and between the entries along one axis."""
    widths = [(0, 0, 0)] * x.ndim
    widths[axis] = (before, after, between)
    return lax.pad(x, jnp.zeros((), x.dtype), widths)


def _strided(step, beyond):
    """Return the case of a slice of n entries in steps of `step`, with `beyond` entries left over after the last."""
    size = f"p-1+{step}*n-{step - 1 - beyond}"
    return case(f"*a {size} *c -> *a n *c", start=size_of("p-1"), step=step, axis=axis_of("n"))


@op(
    *(_strided(step, beyond) for step in (2, 3) for beyond in range(step)),
    integers=True,
    source="Linear: the cotangent is the seed, with zeros between its entries",
)
def strided_slice(x, *, start=0, step, axis=0):
    """Every `step`-th entry along one axis from `start` on: x[start::step], for a step made of factors 2 and 3."""
    return lax.slice_in_dim(x, start, x.shape[axis], step, axis=axis)


@strided_slice.jvp
def _(x, dx, *, start, step, axis):
    return lax.slice_in_dim(dx, start, x.shape[axis], step, axis=axis)


@strided_slice.vjp
def _(x, seed, *, start, step, axis):
    after = x.shape[axis] - start - (step * seed.shape[axis] - step + 1)
    return _padded(seed, axis, start, after, step - 1)


@strided_slice.several
def _(x, *, start=0, step, axis=0):
    step = operator.index(step)
    factors = [f for f in (2, 3) for _ in range(_exponent(step, f))] if step > 0 else []
    if not factors or prod(factors) != step:
        raise ValueError(f"strided_slice: step = {step} is no product of 2 and 3, the steps that are proved.")
    for factor in factors:
        x, start = strided_slice.call_case(x, start=start, step=factor, axis=axis), 0
    return x


def _exponent(number, factor):
    return 0 if number % factor else 1 + _exponent(number // factor, factor)


@op(
    case("*a n+m-1 *c, :int -> *a n *c", slice_size=size_of("n"), axis=axis_of("n")),
    integers=True,
    like="jax.lax.dynamic_slice_in_dim",
    source="Linear in x where the place is fixed: the cotangent is the seed, put back there",
)
def dynamic_slice(x, start, *, slice_size, axis=0):
    """The `slice_size` entries along one axis from `start` on, a value that is moved until they lie within."""
    return lax.dynamic_slice_in_dim(x, start, slice_size, axis)


@dynamic_slice.jvp
def _(x, start, dx, *, slice_size, axis):
    return lax.dynamic_slice_in_dim(dx, start, slice_size, axis)


@dynamic_slice.vjp
def _(x, start, seed, *, slice_size, axis):
    return lax.dynamic_update_slice_in_dim(jnp.zeros_like(x), seed, start, axis)


@op(
    case("*a n+m-1 *c, *a n *c, :int -> *a n+m-1 *c", axis=axis_of("n")),
    integers=True,
    like="jax.lax.dynamic_update_slice_in_dim",
    source="Linear in x and update where the place is fixed",
)
def dynamic_update_slice(x, update, start, *, axis=0):
    """The array with entries along one axis replaced from `start` on, which is moved until they lie within."""
    return lax.dynamic_update_slice_in_dim(x, update, start, axis)


@dynamic_update_slice.jvp
def _(x, update, start, dx, dupdate, *, axis):
    return lax.dynamic_update_slice_in_dim(dx, dupdate, start, axis)


@dynamic_update_slice.vjp
def _(x, update, start, seed, *, axis):
    ct_x = lax.dynamic_update_slice_in_dim(seed, jnp.zeros_like(update), start, axis)
    return ct_x, lax.dynamic_slice_in_dim(seed, start, update.shape[axis], axis)


@op(
    case("*a n *c -> *a n *c", axis=axis_of("n")),
    integers=True,
    like="jax.numpy.flip",
    torch="torch.flip",
    source="Linear: its own transpose",
)
def flip(x, *, axis):
    """The array reversed along one axis, several or all."""
    return jnp.flip(x, axis)


@flip.jvp
def _(x, dx, *, axis):
    return jnp.flip(dx, axis)


@flip.vjp
def _(x, seed, *, axis):
    return jnp.flip(seed, axis)


@flip.several
def _(x, axis=None):
    x = jnp.asarray(x)
    for one in range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,):
        x = flip.call_case(x, axis=one)
    return x


@op(
    case("*a n+m *c -> *a n+m *c", shift=size_of("n"), axis=axis_of("n")),
    integers=True,
    like="jax.numpy.roll",
    torch="torch.roll",
    source="Linear: the transpose rotates back",
)
def roll(x, *, shift, axis):
    """The array rotated along one axis, or several with a shift each; entries beyond the end come in at the start."""
    return _rotated(x, x.shape[axis] - shift, axis)


def _rotated(x, place, axis):
    """Return the entries of `x` from a place on, then those before that place, along the axis."""
    after, before = lax.slice_in_dim(x, place, x.shape[axis], axis=axis), lax.slice_in_dim(x, 0, place, axis=axis)
    return jnp.concatenate([after, before], axis)


@roll.jvp
def _(x, dx, *, shift, axis):
    return _rotated(dx, x.shape[axis] - shift, axis)


@roll.vjp
def _(x, seed, *, shift, axis):
    return _rotated(seed, shift, axis)


@roll.several
def _(x, shift, axis):
    x = jnp.asarray(x)
    shifts, axes = (tuple(one) if isinstance(one, tuple | list) else (one,) for one in (shift, axis))
    for k, one in zip(shifts, axes, strict=True):
        size = x.shape[operator.index(one)]
        if size and operator.index(k) % size:
            x = roll.call_case(x, shift=operator.index(k) % size, axis=one)
    return x
