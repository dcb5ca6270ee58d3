"""The meaning of collectives: sums, moves and copies along the axes of devices.

The rules follow JAX's definitions (`jax.lax.psum` and the others) and lowerings. Where a collective is along several
axes of the mesh, its devices are counted with the last axis fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from ._shards import DevicesError, Mesh, Shards

Collective = Callable[[Mesh, Mapping[str, Any], Shards], Shards]
_BY_NAME: dict[str, Collective] = {}


def _collective(*names: str) -> Callable[[Collective], Collective]:
    def register(meaning: Collective) -> Collective:
        _BY_NAME.update(dict.fromkeys(names, meaning))
        return meaning

    return register


_UNREAD = frozenset(
    """psend precv pbroadcast_dynamic unreduced_pmax unreduced_pmin ragged_all_to_all all_gather_start
    all_gather_reduced_start psum_start psum_invariant_start unreduced_psum_start reduce_scatter_start
    unreduced_reduce_scatter_start all_to_all_start pbroadcast_start ppermute_start all_gather_done psum_done
    reduce_scatter_done all_to_all_done pbroadcast_done ppermute_done""".split()
)
NAMES = frozenset({*_UNREAD, "axis_index"})
"""Names of all primitives that are about devices; those of `_BY_NAME` are added below."""


def meaning(mesh: Mesh, eqn: Any, operands: Sequence[Shards]) -> list[Shards]:
    """Return the results of an equation of `NAMES` for all devices. Raises DevicesError where there is no rule."""
    name, params = eqn.primitive.name, eqn.params
    if params.get("axis_index_groups") is not None:
        raise DevicesError(f"{name} within groups of devices")
    if name == "axis_index":
        names = _names(params["axis_name"])
        return [mesh.back(lax.iota(jnp.int32, mesh.count(names)), names, ())]
    if name not in _BY_NAME:
        raise DevicesError(f"{name} is not read")
    return [_BY_NAME[name](mesh, params, x) for x in operands]


def _names(axis_name: Any) -> tuple[str, ...]:
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


_CASTS = "pvary pcast preduced reduced_vary_cast reduced_vary_cast_p vary_unreduced_cast vary_unreduced_cast_p"


@_collective(*_CASTS.split())
def _cast(mesh: Mesh, params: Mapping[str, Any], x: Shards) -> Shards:
    """Return the same arrays: only their types in JAX change, for example to "a part of a sum"."""
    return x


def _reduction(reduce: Callable[..., Any]) -> Collective:
    """Return the collective that reduces the arrays of all devices by a sum, a maximum or a minimum.

    Its axes may be names of the mesh and, where a `vmap` is around it, axes of the array.
    """

    def reduced(mesh: Mesh, params: Mapping[str, Any], x: Shards) -> Shards:
        names = [axis for axis in params["axes"] if not isinstance(axis, int)]
        x = mesh.along(x, names)
        over = [x.axes.index(name) for name in names]
        over += [len(x.axes) + axis for axis in params["axes"] if isinstance(axis, int)]
        return Shards(reduce(x.array, tuple(over)), tuple(name for name in x.axes if name not in names))

    return reduced


_collective("psum", "psum_invariant", "unreduced_psum")(_reduction(lambda x, axis: jnp.sum(x, axis, dtype=x.dtype)))
_collective("pmax")(_reduction(jnp.max))
_collective("pmin")(_reduction(jnp.min))


@_collective("ppermute")
def _permuted(mesh: Mesh, params: Mapping[str, Any], x: Shards) -> Shards:
    """Return the array that each device receives, zeros for a device that receives none.

    Runs of devices that receive from consecutive senders are moved as one slice. Raises DevicesError for axes in
    another order than that of the mesh: JAX 0.10 then counts devices as the mesh does, and JAX 0.11 raises by default.
    """
    names = _names(params["axis_name"])
    if names != mesh.ordered(names):
        raise DevicesError("ppermute along axes in another order than that of the mesh")
    array, rest = mesh.front(x, names)
    count = mesh.count(names)
    source: list[int | None] = [None] * count  # by receiver, its sender
    for sender, receiver in params["perm"]:
        if source[receiver % count] is not None:
            raise DevicesError("ppermute to a device from two others")
        source[receiver % count] = sender % count
    pieces = [
        jnp.zeros((length, *array.shape[1:]), array.dtype)
        if start is None
        else lax.slice_in_dim(array, start, start + length)
        for start, length in _runs(source)
    ]
    return mesh.back(pieces[0] if len(pieces) == 1 else lax.concatenate(pieces, 0), names, rest)


def _runs(source: Sequence[int | None]) -> Iterator[tuple[int | None, int]]:
    """Yield the runs of consecutive numbers and the runs of None: the first item of each, and its length."""
    start = 0
    for k in range(1, len(source) + 1):
        first = source[start]
        follows = None if first is None else first + k - start
        if k == len(source) or source[k] != follows:
            yield first, k - start
            start = k


@_collective("pbroadcast")
def _from_one(mesh: Mesh, params: Mapping[str, Any], x: Shards) -> Shards:
    """Return one device's array on all devices."""
    array, rest = mesh.front(x, _names(params["axis_name"]))
    return Shards(lax.index_in_dim(array, params["source"], keepdims=False), rest)


def _merge_axes(array: Any, axis: int) -> Any:
    """Return the array with an axis and the next one merged into one, in row-major order."""
    shape = list(array.shape)
    return lax.reshape(array, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _split_axis(array: Any, axis: int, count: int) -> Any:
    """Return the array with an axis split into two: `count` blocks, and the places in a block."""
    shape = list(array.shape)
    return lax.reshape(array, (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :]))


@_collective("all_gather", "all_gather_invariant", "all_gather_reduced")
def _gathered(mesh: Mesh, params: Mapping[str, Any], x: Shards) -> Shards:
    """Return all devices' arrays on each device: stacked, or concatenated along an axis."""
    array, rest = mesh.front(x, _names(params["axis_name"]))
    axis = len(rest) + params["all_gather_dimension"]
    array = jnp.moveaxis(array, 0, axis)
    return Shards(_merge_axes(array, axis) if params["tiled"] else array, rest)


@_collective("reduce_scatter", "unreduced_reduce_scatter")
def _scattered(mesh: Mesh, params: Mapping[str, Any], x: Shards) -> Shards:
    """Return for each device its block (if `tiled`) or its entry of the sum of all devices' arrays."""
    names = _names(params["axis_name"])
    array, rest = mesh.front(x, names)
    total = jnp.sum(array, 0, dtype=array.dtype)
    axis = len(rest) + params["scatter_dimension"]
    if params["tiled"]:
        total = _split_axis(total, axis, mesh.count(names))
    return mesh.back(jnp.moveaxis(total, axis, 0), names, rest)


@_collective("all_to_all")
def _exchanged(mesh: Mesh, params: Mapping[str, Any], x: Shards) -> Shards:
    """Return for each device j the j-th blocks of all devices' arrays.

    The blocks are cut along `split_axis`, and concatenated in the order of devices along `concat_axis`.
    """
    names = _names(params["axis_name"])
    array, rest = mesh.front(x, names)
    outside = 1 + len(rest)
    split, concat = outside + params["split_axis"], outside + params["concat_axis"]
    array = _split_axis(array, split, mesh.count(names))
    array = jnp.moveaxis(array, split, 0)  # axes: the receiver, the sender, other devices, the array
    array = jnp.moveaxis(array, 1, concat)
    return mesh.back(_merge_axes(array, concat), names, rest)


NAMES |= frozenset(_BY_NAME)
