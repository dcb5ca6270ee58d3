"""Entries taken from, and added at, places that are integers."""

import jax
import jax.numpy as jnp

from certgrad.ops._declare import axis_of, case, op, size_of
from certgrad.ops.reshaping import ravel, reshape


@op(
    case("*a n *c, k:int -> *a k *c", axis=axis_of("n"), mode="clip"),
    case("*a n *c, k:int -> *a k *c", axis=axis_of("n"), mode="fill"),
    integers=True,
    like="jax.numpy.take",
    torch="torch.index_select",
    source="Linear in x: the cotangent of an entry is the sum over its uses",
)
def take(x, indices, *, axis, mode="fill"):
    """The entries at the indices along one axis, or along the flattened array if the axis is None.

    mode "clip" moves an index into range. mode "fill" counts negative ones from the end, and is NaN out of range.
    """
    return jnp.take(x, indices, axis=axis, mode=mode)


@take.jvp
def _(x, indices, dx, *, axis, mode):
    return jnp.take(dx, indices, axis=axis, mode=mode)


@take.vjp
def _(x, indices, seed, *, axis, mode):
    return _transposed(lambda y: jnp.take(y, indices, axis=axis, mode=mode), x, seed)


def _transposed(linear, x, seed):
    """Return the transpose at `seed` of a linear function of an array like `x`: for a gather, a scatter-add."""
    return jax.vjp(linear, x)[1](seed)[0]


@take.several
def _(x, indices, axis=None, mode="fill"):
    x, indices = jnp.asarray(x), jnp.asarray(indices)
    if axis is None:
        x, axis = ravel(x), 0
    if indices.ndim == 1:
        return take.call_case(x, indices, axis=axis, mode=mode)
    axis = range(x.ndim)[axis]
    found = take.call_case(x, jnp.ravel(indices), axis=axis, mode=mode)
    return reshape(found, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


@op(
    case("*a n *c, *a k *c:int -> *a k *c", axis=axis_of("n")),
    integers=True,
    like="jax.numpy.take_along_axis",
    torch="torch.gather",
    source="Linear in x: the cotangent of an entry is the sum over its uses",
)
def take_along_axis(x, indices, *, axis=-1):
    """The entries of each line along one axis at the indices of that line."""
    return jnp.take_along_axis(x, indices, axis=axis)


@take_along_axis.jvp
def _(x, indices, dx, *, axis):
    return jnp.take_along_axis(dx, indices, axis=axis)


@take_along_axis.vjp
def _(x, indices, seed, *, axis):
    return _transposed(lambda y: jnp.take_along_axis(y, indices, axis=axis), x, seed)


@op(
    "n *c, k:int, k *c -> n *c",
    integers=True,
    torch="torch.index_add",
    source="Linear in x and updates: the cotangent of an update is the seed where it went",
)
def scatter_add(x, indices, updates):
    """x with each update added to the entry at its index along the first axis; repeated indices add up."""
    return x.at[indices].add(updates)


@scatter_add.jvp
def _(x, indices, updates, dx, dupdates):
    return dx.at[indices].add(dupdates)


@scatter_add.vjp
def _(x, indices, updates, seed):
    return seed, _rows_or_zero(seed, jnp.where(indices < 0, indices + seed.shape[0], indices))


def _rows_or_zero(x, indices):
    """Return the entries of `x` along the first axis at the indices, zeros for indices out of range."""
    rows = jnp.take(x, indices, axis=0, mode="clip")
    inside = jnp.expand_dims((indices >= 0) & (indices < x.shape[0]), tuple(range(1, rows.ndim)))
    return jnp.where(inside, rows, 0)


@op(
    case("k *c, k:int -> n *c", num_segments=size_of("n")),
    integers=True,
    like="jax.ops.segment_sum",
    source="Linear: the cotangent of an entry is the seed of its segment",
)
def segment_sum(x, segment_ids, *, num_segments):
    """The sums of the entries along the first axis that have the same id; ids out of range are left out."""
    return jax.ops.segment_sum(x, segment_ids, num_segments)


@segment_sum.jvp
def _(x, segment_ids, dx, *, num_segments):
    return jax.ops.segment_sum(dx, segment_ids, num_segments)


@segment_sum.vjp
def _(x, segment_ids, seed, *, num_segments):
    return _rows_or_zero(seed, segment_ids)
