"""References of the ops that move entries."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._reference import Reference


def broadcast_to(x, *, size, axis):
    return jnp.broadcast_to(x, (*x.shape[:axis], size, *x.shape[axis + 1 :]))


def tile(x, *, reps, axis):
    return jnp.tile(x, [reps if i == axis else 1 for i in range(x.ndim)])


def pad(x, *, pad_width, mode, axis, constant_values):
    widths = [pad_width if i == axis else (0, 0) for i in range(x.ndim)]
    given = {"constant_values": constant_values} if mode == "constant" else {}
    return jnp.pad(x, widths, mode=mode, **given)


def along(axis, part):
    """An index of an array that takes a slice along one axis."""
    return (*[slice(None)] * axis, part)


def at_places(axis_size, size):
    """Arguments x and places: integers from 0 on below the size of the axis."""

    def arrays(rng, shapes, keywords):
        x = rng.normal(size=shapes[0])
        return [x, rng.integers(0, axis_size(shapes, keywords), size=size(shapes))]

    return arrays


def x_and_start(rng, shapes, keywords):
    return [rng.normal(size=shapes[0]), np.asarray(rng.integers(-3, 5))]


def x_update_and_start(rng, shapes, keywords):
    return [rng.normal(size=shapes[0]), rng.normal(size=shapes[1]), np.asarray(rng.integers(-3, 5))]


def x_indices_and_updates(rng, shapes, keywords):
    return [rng.normal(size=shapes[0]), rng.integers(-2, 2, size=shapes[1]), rng.normal(size=shapes[2])]


def x_and_ids(rng, shapes, keywords):
    return [rng.normal(size=shapes[0]), rng.integers(-1, 4, size=shapes[1])]


INDICES = at_places(lambda shapes, kw: shapes[0][kw["axis"]], lambda shapes: shapes[1])

_DIAGONAL = "JAX slices the flat matrix with a stride and pads the seed back; the rule compares rows with columns."

REFERENCES: dict[str, Reference] = {
    "broadcast_to": Reference(broadcast_to),
    "concatenate": Reference(lambda x, y, *, axis: jnp.concatenate([x, y], axis)),
    "diag": Reference(slow=_DIAGONAL),
    "diag_embed": Reference(lambda x: jnp.expand_dims(x, -1) * jnp.eye(x.shape[-1], dtype=x.dtype)),
    "diagonal": Reference(lambda x: jnp.diagonal(x, axis1=-2, axis2=-1)),
    "dynamic_slice": Reference(
        lambda x, start, *, slice_size, axis: lax.dynamic_slice_in_dim(x, start, slice_size, axis), x_and_start
    ),
    "dynamic_update_slice": Reference(arrays=x_update_and_start),
    "pad": Reference(pad),
    "repeat": Reference(sizes={"r": 8}),
    "scatter_add": Reference(lambda x, i, u: x.at[i].add(u), x_indices_and_updates),
    "segment_sum": Reference(jax.ops.segment_sum, x_and_ids),
    "slice": Reference(lambda x, *, start, length, axis: x[along(axis, slice(start, start + length))]),
    "split": Reference(lambda x, *, index, axis: tuple(jnp.split(x, [index], axis))),
    "stack": Reference(lambda x, y, *, axis: jnp.stack([x, y], axis)),
    "strided_slice": Reference(lambda x, *, start, step, axis: x[along(axis, slice(start, None, step))]),
    "swapaxes": Reference(sizes={"n": 64, "m": 64}),
    "take": Reference(arrays=INDICES),
    "take_along_axis": Reference(arrays=INDICES),
    "tile": Reference(tile, sizes={"r": 8}),
    "top_k": Reference(lambda x, *, k: lax.top_k(x, k)[0]),
    "unstack": Reference(lambda x, *, axis: tuple(jnp.unstack(x, axis=axis))),
}
