"""Arrays of which each device of a mesh has its own, as one array whose first axes go along the devices.

An axis of the mesh stands in front only where devices along it may hold different arrays. Where it does not, all of
them hold the same: that is what an output without this axis needs, and it is seen here, not taken from a declaration.
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
    """A program for many devices that is not read. The message says why."""


@dataclass(frozen=True)
class Shards:
    """`array` has an axis for each of `axes`, in their order, and then the axes that each device sees."""

    array: Any
    axes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape on each device."""
        return tuple(self.array.shape[len(self.axes) :])


@dataclass(frozen=True)
class Mesh:
    """How many devices there are along each axis, in an order in which all shards have their axes."""

    sizes: Mapping[str, int]

    def ordered(self, names: Sequence[str] | set[str] | frozenset[str]) -> tuple[str, ...]:
        return tuple(name for name in self.sizes if name in names)

    def union(self, many: Sequence[Shards]) -> tuple[str, ...]:
        return self.ordered({name for one in many for name in one.axes})

    def along(self, x: Shards, names: Sequence[str]) -> Shards:
        """Return the same arrays with an axis for each of `names` as well."""
        axes = self.ordered({*x.axes, *names})
        shape = (*(self.sizes[name] for name in axes), *x.shape)
        at = [axes.index(name) for name in x.axes] + [len(axes) + k for k in range(len(x.shape))]
        return x if axes == x.axes else Shards(lax.broadcast_in_dim(x.array, shape, at), axes)

    def each(self, function: Callable[..., Sequence[Any]], operands: Sequence[Shards]) -> list[Shards]:
        """Return a function's results on each device; it uses no collectives."""
        axes = self.union(operands)
        for name in reversed(axes):
            function = jax.vmap(function, in_axes=[0 if name in x.axes else None for x in operands])
        return [Shards(out, axes) for out in function(*(x.array for x in operands))]

    def front(self, x: Shards, names: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
        """The array with one axis in front for the devices along `names`, counted with the last name fastest, and the
        other axes of the mesh that follow it."""
        x = self.along(x, names)
        rest = tuple(name for name in x.axes if name not in names)
        order = [x.axes.index(name) for name in (*names, *rest)]
        order += range(len(x.axes), x.array.ndim)
        array = turned(x.array, order)
        if len(names) != 1:
            array = lax.reshape(array, (self.count(names), *array.shape[len(names) :]))
        return array, rest

    def back(self, array: Any, names: Sequence[str], rest: Sequence[str]) -> Shards:
        """Return the inverse of `front`."""
        if len(names) != 1:
            array = lax.reshape(array, (*(self.sizes[name] for name in names), *array.shape[1:]))
        stands = (*names, *rest)
        axes = self.ordered(set(stands))
        order = [stands.index(name) for name in axes]
        order += range(len(axes), array.ndim)
        return Shards(turned(array, order), axes)

    def count(self, names: Sequence[str]) -> int:
        return prod(self.sizes[name] for name in names)

    def cut(self, x: Shards, spec: Any) -> Shards:
        """Return each device's part of an array by a specification: along an axis, blocks in the order of devices."""
        parts = names_of(spec, len(x.shape))
        outside = len(x.axes)
        shape: list[Any] = list(x.array.shape[:outside])
        kept, stands = [], list(x.axes)
        at: dict[str, int] = {name: k for k, name in enumerate(x.axes)}
        for n, names in zip(x.shape, parts, strict=True):
            for name in names:
                at[name] = len(shape)
                shape.append(self.sizes[name])
                stands.append(name)
            kept.append(len(shape))
            shape.append(n // self.count(names) if names else n)
        axes = self.ordered(set(stands))
        order = [at[name] for name in axes] + kept
        array = x.array if len(shape) == x.array.ndim else lax.reshape(x.array, shape)
        return Shards(turned(array, order), axes)

    def joined(self, x: Shards, spec: Any, inside: Sequence[str], checked: bool) -> Shards:
        """The array that the parts of devices along `inside` make. Where the specification leaves an axis out, all
        devices along it are to hold the same: JAX has `checked` it, or what differs is no number."""
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
        """Return the array that all devices along an axis hold alike."""
        axis = x.axes.index(name)
        first, *others = (lax.index_in_dim(x.array, k, axis, keepdims=False) for k in range(self.sizes[name]))
        for other in () if checked else others:
            first = jnp.where(first == other, first, no_number((), x.array.dtype))
        return Shards(first, tuple(other for other in x.axes if other != name))


def turned(array: Any, order: Sequence[int]) -> Any:
    """The array with its axes in another order; itself where that is the one that they have."""
    return array if [*order] == [*range(array.ndim)] else lax.transpose(array, order)


def names_of(spec: Any, rank: int) -> list[tuple[str, ...]]:
    """The axes of the mesh along each axis of an array.

    Raises:
        DevicesError: the specification says something else too.
    """
    if getattr(spec, "unreduced", None) or getattr(spec, "reduced", None):
        raise DevicesError("arrays whose parts are yet to be summed")
    parts = [() if one is None else (one,) if isinstance(one, str) else one for one in spec]
    if not all(isinstance(one, tuple) for one in parts):
        raise DevicesError("an axis whose partition is left open")
    return [*parts, *((),) * (rank - len(parts))]
