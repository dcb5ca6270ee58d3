"""Entries repeated along an axis."""

import operator

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op, size_of
from certgrad.ops.axes import expand_dims


@op(
    case("*a n *c -> *a r*n *c", reps=size_of("r"), axis=axis_of("n")),
    integers=True,
    torch="torch.tile",
    source="numpy.tile along one axis; linear: the cotangent of an entry is the sum over its copies",
)
def tile(x, *, reps, axis=-1):
    """The array put `reps` times after itself along one axis."""
    return _merge_axes(_copied(x, reps, axis), axis)


def _copied(x, reps, axis):
    """Return `x` with a new axis of `reps` equal entries before `axis`."""
    shape = (*x.shape[:axis], reps, *x.shape[axis:])
    return lax.broadcast_in_dim(x, shape, [i for i in range(x.ndim + 1) if i != axis])


def _merge_axes(x, axis):
    """Return `x` with `axis` and the axis after it joined to one."""
    return jnp.reshape(x, (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :]))


def _split_axis(x, axis, first, second):
    """Return `x` with `axis` split into two axes of these sizes."""
    return jnp.reshape(x, (*x.shape[:axis], first, second, *x.shape[axis + 1 :]))


@tile.jvp
def _(x, dx, *, reps, axis):
    return _merge_axes(_copied(dx, reps, axis), axis)


@tile.vjp
def _(x, seed, *, reps, axis):
    return jnp.sum(_split_axis(seed, axis, reps, x.shape[axis]), axis=axis)


@op(
    case("*a n *c -> *a n*r *c", repeats=size_of("r"), axis=axis_of("n")),
    integers=True,
    like="jax.numpy.repeat",
    torch="torch.repeat_interleave",
    source="Linear: the cotangent of an entry is the sum over its copies",
)
def repeat(x, *, repeats, axis=-1):
    """The array with each entry along one axis repeated in place."""
    return _merge_axes(_copied(x, repeats, axis + 1), axis)


@repeat.jvp
def _(x, dx, *, repeats, axis):
    return _merge_axes(_copied(dx, repeats, axis + 1), axis)


@repeat.vjp
def _(x, seed, *, repeats, axis):
    return jnp.sum(_split_axis(seed, axis, x.shape[axis], repeats), axis=axis + 1)


@tile.several
def _(x, reps):
    x = jnp.asarray(x)
    counts = [operator.index(n) for n in (reps if isinstance(reps, tuple | list) else (reps,))]
    for _ in range(len(counts) - x.ndim):
        x = expand_dims(x, axis=0)
    counts = [1] * (x.ndim - len(counts)) + counts
    for axis, count in enumerate(counts):
        x = x if count == 1 else tile.call_case(x, reps=count, axis=axis)
    return x


@op(
    case("*a 1 *c -> *a n *c", size=size_of("n"), axis=axis_of("1")),
    integers=True,
    like="jax.numpy.broadcast_to",
    torch="torch.broadcast_to",
    source="Linear: the cotangent of an entry is the sum over its copies",
)
def broadcast_to(x, *, size, axis):
    """The array broadcast to a shape, by numpy's rules: one axis of size 1 after another."""
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return jnp.broadcast_to(x, shape)


@broadcast_to.jvp
def _(x, dx, *, size, axis):
    return broadcast_to.forward(dx, size=size, axis=axis)


@broadcast_to.vjp
def _(x, seed, *, size, axis):
    return jnp.sum(seed, axis=axis, keepdims=True)


@broadcast_to.several
def _(x, shape):
    x = jnp.asarray(x)
    sizes = tuple(map(operator.index, shape if isinstance(shape, tuple | list) else (shape,)))
    forms = zip(x.shape[::-1], sizes[::-1], strict=False)
    if x.ndim > len(sizes) or any(n not in (1, size) for n, size in forms):
        raise ValueError(f"broadcast_to: the shape {x.shape} does not broadcast to {sizes}.")
    for _ in range(len(sizes) - x.ndim):
        x = expand_dims(x, axis=0)
    for axis, size in enumerate(sizes):
        x = x if x.shape[axis] == size else broadcast_to.call_case(x, size=size, axis=axis)
    return x
