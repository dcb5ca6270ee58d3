"""The arrays of all devices of a mesh as one array, whose first axes run along the devices.

The array has an axis of the mesh only if devices along that axis may hold different arrays. Else all of them hold the
same array, which is what an output that is not split along the axis needs. So that is derived here, and not taken from
a declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from certgrad.jaxpr.programs import no_number


class DevicesError(Exception):
    """A program for many devices cannot be rewritten. The message says why."""


@dataclass(frozen=True)
class Shards:
    """The arrays of all devices: `array` has first an axis for each name in `axes`, then the axes on each device."""

    array: Any
    axes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape on each device."""
        return tuple(self.array.shape[len(self.axes) :])


@dataclass(frozen=True)
class Mesh:
    """The number of devices along each axis, by name. All shards have their axes in the order of `sizes`."""

    sizes: Mapping[str, int]

    def ordered(self, names: Sequence[str] | set[str] | frozenset[str]) -> tuple[str, ...]:
        return tuple(name for name in self.sizes if name in names)

    def union(self, many: Sequence[Shards]) -> tuple[str, ...]:
        return self.ordered({name for shards in many for name in shards.axes})

    def along(self, x: Shards, names: Sequence[str]) -> Shards:
        """Return the same arrays, broadcast along those of the `names` that are no axes of them yet."""
        axes = self.ordered({*x.axes, *names})
        shape = (*(self.sizes[name] for name in axes), *x.shape)
        at = [axes.index(name) for name in x.axes] + [len(axes) + k for k in range(len(x.shape))]
        return x if axes == x.axes else Shards(lax.broadcast_in_dim(x.array, shape, at), axes)

    def each(self, function: Callable[..., Sequence[Any]], operands: Sequence[Shards]) -> list[Shards]:
        """Return a function's results on each device. The function may not use collectives."""
        axes = self.union(operands)
        for name in reversed(axes):
            function = jax.vmap(function, in_axes=[0 if name in x.axes else None for x in operands])
        return [Shards(out, axes) for out in function(*(x.array for x in operands))]

    def front(self, x: Shards, names: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
        """Return the array with one axis in front for the devices along `names`, and the names of its other mesh axes.

        The devices are counted with the last name fastest.
        """
        x = self.along(x, names)
        rest = tuple(name for name in x.axes if name not in names)
        order = [x.axes.index(name) for name in (*names, *rest)]
        order += range(len(x.axes), x.array.ndim)
        array = turned(x.array, order)
        if len(names) != 1:
            array = lax.reshape(array, (self.count(names), *array.shape[len(names) :]))
        return array, rest

    def back(self, array: Any, names: Sequence[str], rest: Sequence[str]) -> Shards:
        """Return the shards of an array whose first axis is for the devices along `names`: the inverse of `front`."""
        if len(names) != 1:
            array = lax.reshape(array, (*(self.sizes[name] for name in names), *array.shape[1:]))
        present = (*names, *rest)
        axes = self.ordered(set(present))
        order = [present.index(name) for name in axes]
        order += range(len(axes), array.ndim)
        return Shards(turned(array, order), axes)

    def count(self, names: Sequence[str]) -> int:
        return prod(self.sizes[name] for name in names)

    def cut(self, x: Shards, spec: Any) -> Shards:
        """Return each device's part of an array, by a partition specification: blocks in the order of devices.

        An axis that is split over devices becomes axes for the devices and one for the block, by a reshape; then the
        axes of devices are moved to the front.
        """
        parts = names_of(spec, len(x.shape))
        outside = len(x.axes)
        shape: list[Any] = list(x.array.shape[:outside])
        block_axes, present = [], list(x.axes)
        at: dict[str, int] = {name: k for k, name in enumerate(x.axes)}
        for n, names in zip(x.shape, parts, strict=True):
            for name in names:
                at[name] = len(shape)
                shape.append(self.sizes[name])
                present.append(name)
            block_axes.append(len(shape))
            shape.append(n // self.count(names) if names else n)
        axes = self.ordered(set(present))
        order = [at[name] for name in axes] + block_axes
        array = x.array if len(shape) == x.array.ndim else lax.reshape(x.array, shape)
        return Shards(turned(array, order), axes)

    def joined(self, x: Shards, spec: Any, inside: Sequence[str], checked: bool) -> Shards:
        """Return the array that the parts of the devices along `inside` make, by a partition specification.

        Along an axis that the specification leaves out, all devices have to hold the same array: either JAX has
        `checked` that, or entries that differ are undefined.
        """
        parts = names_of(spec, len(x.shape))
        named = [name for names in parts for name in names]
        for name in [name for name in x.axes if name in inside and name not in named]:
            x = self.same(x, name, checked)
        x = self.along(x, named)
        outside = tuple(name for name in x.axes if name not in named)
        order = [x.axes.index(name) for name in outside]
        shape: list[Any] = [x.array.shape[k] for k in order]
        for k, (n, names) in enumerate(zip(x.shape, parts, strict=True)):
            order += [*(x.axes.index(name) for name in names), len(x.axes) + k]
            shape.append(n * self.count(names))
        array = turned(x.array, order)
        return Shards(lax.reshape(array, shape) if named else array, outside)

    def same(self, x: Shards, name: str, checked: bool) -> Shards:
        """Return the array that all devices along an axis hold; entries that differ are undefined, unless `checked`."""
        axis = x.axes.index(name)
        first, *other_arrays = (lax.index_in_dim(x.array, k, axis, keepdims=False) for k in range(self.sizes[name]))
        for other in () if checked else other_arrays:
            first = jnp.where(first == other, first, no_number((), x.array.dtype))
        return Shards(first, tuple(other for other in x.axes if other != name))


def turned(array: Any, order: Sequence[int]) -> Any:
    """Return the array with its axes in another order; the same array if the order does not change."""
    return array if [*order] == [*range(array.ndim)] else lax.transpose(array, order)


def names_of(spec: Any, rank: int) -> list[tuple[str, ...]]:
    """Return for each axis of an array of this rank the names of the mesh axes over which it is split.

    Raises:
        DevicesError: the specification also has parts of sums, or leaves the partition of an axis open.
    """
    if getattr(spec, "unreduced", None) or getattr(spec, "reduced", None):
        raise DevicesError("arrays whose parts are yet to be summed")
    parts = [() if names is None else (names,) if isinstance(names, str) else names for names in spec]
    if not all(isinstance(names, tuple) for names in parts):
        raise DevicesError("an axis whose partition is left open")
    return [*parts, *((),) * (rank - len(parts))]
