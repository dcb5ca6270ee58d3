"""The same entries under other axes: permuted, added, left out, merged, split, repeated."""

import itertools
import operator

import jax.numpy as jnp

from certgrad.ops._declare import axis_of, case, op


@op(
    case("*a n *b m *c -> *a m *b n *c", axis1=axis_of("n"), axis2=axis_of("m")),
    case("*a n *b m *c -> *a m *b n *c", axis1=axis_of("m"), axis2=axis_of("n")),
    case("*a n *c -> *a n *c", axis1=axis_of("n"), axis2=axis_of("n")),
    integers=True,
    like="jax.numpy.swapaxes",
    torch="torch.swapaxes",
    source="Linear: its own transpose",
)
def swapaxes(x, *, axis1, axis2):
    """The array with two axes exchanged."""
    return jnp.swapaxes(x, axis1, axis2)


@swapaxes.jvp
def _(x, dx, *, axis1, axis2):
    return jnp.swapaxes(dx, axis1, axis2)


@swapaxes.vjp
def _(x, seed, *, axis1, axis2):
    return jnp.swapaxes(seed, axis1, axis2)


@op(
    case("*a n *b *c -> *a *b n *c", source=axis_of("n"), destination=axis_of("n", output=True)),
    case("*a *b n *c -> *a n *b *c", source=axis_of("n"), destination=axis_of("n", output=True)),
    integers=True,
    like="jax.numpy.moveaxis",
    torch="torch.moveaxis",
    source="Linear: the transpose moves the axis back",
)
def moveaxis(x, *, source, destination):
    """The array with one axis moved to another place; the others keep their order."""
    return jnp.moveaxis(x, source, destination)


@moveaxis.jvp
def _(x, dx, *, source, destination):
    return jnp.moveaxis(dx, source, destination)


@moveaxis.vjp
def _(x, seed, *, source, destination):
    return jnp.moveaxis(seed, destination, source)


_AXES = ("n", "m", "k", "l")


def _permutation(order):
    return case(f"{' '.join(_AXES[: len(order)])} -> {' '.join(_AXES[i] for i in order)}", axes=order)


_OF_FOUR = ((0, 2, 1, 3), (0, 1, 3, 2), (0, 2, 3, 1), (0, 3, 1, 2))


@op(
    *(_permutation(order) for rank in (2, 3) for order in itertools.permutations(range(rank))),
    *map(_permutation, _OF_FOUR),
    integers=True,
    like="jax.numpy.transpose",
    torch="torch.permute",
    source="Linear: the transpose permutes back",
)
def transpose(x, *, axes):
    """The array with its axes in another order, reversed if no order is given; of many axes one is moved at a time."""
    return jnp.transpose(x, axes)


@transpose.jvp
def _(x, dx, *, axes):
    return jnp.transpose(dx, axes)


@transpose.vjp
def _(x, seed, *, axes):
    return jnp.transpose(seed, tuple(axes.index(i) for i in range(len(axes))))


@transpose.several
def _(x, axes=None):
    x = jnp.asarray(x)
    order = tuple(range(x.ndim))[::-1] if axes is None else tuple(operator.index(i) for i in axes)
    if sorted(i + x.ndim * (i < 0) for i in order) != list(range(x.ndim)):
        raise ValueError(f"transpose: {order} is no order of the {x.ndim} axes of x.")
    order = tuple(i % x.ndim for i in order)
    if x.ndim in (2, 3) or order in _OF_FOUR:
        return transpose.call_case(x, axes=order)
    left = list(range(x.ndim))
    for place, axis in enumerate(order):
        if left[place] != axis:
            x = moveaxis(x, source=left.index(axis), destination=place)
            left.insert(place, left.pop(left.index(axis)))
    return x


@op(
    case("*a *c -> *a 1 *c", axis=axis_of("1", output=True)),
    integers=True,
    like="jax.numpy.expand_dims",
    torch="torch.unsqueeze",
    source="Linear: the transpose leaves the axis out",
)
def expand_dims(x, *, axis):
    """The array with an axis of size 1 put in."""
    return jnp.expand_dims(x, axis)


@expand_dims.jvp
def _(x, dx, *, axis):
    return jnp.expand_dims(dx, axis)


@expand_dims.vjp
def _(x, seed, *, axis):
    return jnp.squeeze(seed, axis)


@op(
    case("*a 1 *c -> *a *c", axis=axis_of("1")),
    integers=True,
    like="jax.numpy.squeeze",
    torch="torch.squeeze",
    source="Linear: the transpose puts the axis back",
)
def squeeze(x, *, axis):
    """The array without an axis of size 1."""
    return jnp.squeeze(x, axis)


@squeeze.jvp
def _(x, dx, *, axis):
    return jnp.squeeze(dx, axis)


@squeeze.vjp
def _(x, seed, *, axis):
    return jnp.expand_dims(seed, axis)
