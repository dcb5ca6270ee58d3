"""Arrays put together and taken apart along an axis."""

import operator

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op, size_of
from certgrad.ops.axes import expand_dims, squeeze


@op(
    case("*a n *c, *a m *c -> *a n+m *c", axis=axis_of("n")),
    integers=True,
    like="jax.numpy.concatenate",
    torch="torch.cat",
    source="Linear: the cotangents are the parts of the seed",
)
def concatenate(x, y, *, axis=0):
    """A sequence of any number of arrays, one after the other along one axis: joined pair by pair."""
    return jnp.concatenate([x, y], axis)


@concatenate.jvp
def _(x, y, dx, dy, *, axis):
    return jnp.concatenate([dx, dy], axis)


@concatenate.vjp
def _(x, y, seed, *, axis):
    return _before(seed, x.shape[axis], axis), _from(seed, x.shape[axis], axis)


def _before(x, place, axis):
    return lax.slice_in_dim(x, 0, place, axis=axis)


def _from(x, place, axis):
    return lax.slice_in_dim(x, place, x.shape[axis], axis=axis)


@concatenate.several
def _(arrays, axis=0):
    arrays = list(arrays)
    if not arrays:
        raise ValueError("concatenate: there is no array to join.")
    while len(arrays) > 1:
        pairs = zip(arrays[::2], arrays[1::2], strict=False)
        arrays = [concatenate.call_case(x, y, axis=axis) for x, y in pairs] + arrays[len(arrays) // 2 * 2 :]
    return jnp.asarray(arrays[0])


@op(
    case("*a *c, *a *c -> *a 2 *c", axis=axis_of("2", output=True)),
    integers=True,
    like="jax.numpy.stack",
    torch="torch.stack",
    source="Linear: the cotangents are the parts of the seed",
)
def stack(x, y, *, axis=0):
    """A sequence of any number of arrays of one shape, as the entries along a new axis."""
    return jnp.stack([x, y], axis)


@stack.jvp
def _(x, y, dx, dy, *, axis):
    return jnp.stack([dx, dy], axis)


@stack.vjp
def _(x, y, seed, *, axis):
    return tuple(lax.index_in_dim(seed, k, axis, keepdims=False) for k in (0, 1))


@stack.several
def _(arrays, axis=0):
    arrays = list(arrays)
    if len(arrays) == 2:
        return stack.call_case(*arrays, axis=axis)
    return concatenate([expand_dims(x, axis=axis) for x in arrays], axis=axis)


@op(
    case("*a n+m *c -> *a n *c, *a m *c", index=size_of("n"), axis=axis_of("n+m")),
    integers=True,
    like="jax.numpy.split",
    torch="torch.tensor_split",
    source="Linear: the cotangent is the seeds, joined",
)
def split(x, *, index, axis=0):
    """The parts of the array before, between and after the given places along one axis, or that many equal parts."""
    return _before(x, index, axis), _from(x, index, axis)


@split.jvp
def _(x, dx, *, index, axis):
    return _before(dx, index, axis), _from(dx, index, axis)


@split.vjp
def _(x, first, second, *, index, axis):
    return jnp.concatenate([first, second], axis)


@split.several
def _(x, indices_or_sections, axis=0):
    x = jnp.asarray(x)
    size = x.shape[operator.index(axis)]
    if isinstance(indices_or_sections, tuple | list):
        places = [operator.index(i) for i in indices_or_sections]
    else:
        count = operator.index(indices_or_sections)
        if count < 1 or size % count:
            raise ValueError(f"split: an axis of size {size} has no {count} equal parts.")
        places = [k * (size // count) for k in range(1, count)]
    if any(not a < b for a, b in zip([0, *places], [*places, size], strict=True)):
        raise ValueError(f"split: the places {places} do not rise from 0 to {size}, the size of the axis.")
    parts, start = [], 0
    for place in places:
        part, x = split.call_case(x, index=place - start, axis=axis)
        parts.append(part)
        start = place
    return [*parts, x]


@op(
    case("*a 2 *c -> *a *c, *a *c", axis=axis_of("2")),
    integers=True,
    like="jax.numpy.unstack",
    torch="torch.unbind",
    source="Linear: the cotangent is the seeds, stacked",
)
def unstack(x, *, axis=0):
    """The entries along one axis as a tuple of arrays."""
    return tuple(lax.index_in_dim(x, k, axis, keepdims=False) for k in (0, 1))


@unstack.jvp
def _(x, dx, *, axis):
    return tuple(lax.index_in_dim(dx, k, axis, keepdims=False) for k in (0, 1))


@unstack.vjp
def _(x, first, second, *, axis):
    return jnp.stack([first, second], axis)


@unstack.several
def _(x, axis=0):
    x = jnp.asarray(x)
    size = x.shape[operator.index(axis)]
    if size == 2:
        return unstack.call_case(x, axis=axis)
    return tuple(squeeze(part, axis=axis) for part in split(x, size, axis=axis))
