"""Where arrays lie: on which device, and along which axes of a mesh; and inside of which maps code is called.

There are endlessly many ways, and no few of them stand for the others. So code that asks is told that no mesh divides
anything, and its claim is about that alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import get_ident
from typing import Any

import jax
from jax.core import ShapedArray
from jax.sharding import AbstractMesh, NamedSharding

from certgrad._threads import one_at_a_time

from ..tracing.jax_internals import AxisEnv
from ._surroundings import of_rule

UNDIVIDED = "arrays on one device, the first, as its code asks where they lie"
OF_TYPES = frozenset({"sharding", "manual_axis_type", "vma"})
"""Of these a version of JAX has some."""
OF_ARRAYS = frozenset(
    "addressable_data addressable_shards committed device devices global_shards is_fully_addressable".split()
) | {"is_fully_replicated", "sharding"}


UNMAPPED = "calls inside of no map over named axes, as its code asks for these"
OF_AXES = frozenset({"axis_exists", "axis_size"})
"""What is asked of the axes that maps around a call name, through functions of these names."""


@one_at_a_time
def watched_axes() -> Iterator[list[str]]:
    """What code outside the libraries asks of the axes of maps around it, in this thread."""
    asked: list[str] = []
    thread = get_ident()
    own = {name: vars(AxisEnv)[name] for name in OF_AXES & vars(AxisEnv).keys()}

    def watching(name: str) -> Callable[..., Any]:
        def ask(self: Any, *args: Any) -> Any:
            frame: Any = sys._getframe(1)
            while frame is not None and frame.f_code.co_name.lstrip("_") in OF_AXES:
                frame = frame.f_back
            if get_ident() == thread and of_rule(frame):
                asked.append(name)
            return own[name](self, *args)

        return ask

    kind = AxisEnv
    try:
        for name in own:
            setattr(kind, name, watching(name))
        yield asked
    finally:
        for name, function in own.items():
            setattr(kind, name, function)


@one_at_a_time
def watched_placement() -> Iterator[list[str]]:
    """What code outside the libraries asks of where arrays lie, in this thread."""
    asked: list[str] = []
    thread = get_ident()

    def told(name: str) -> None:
        if get_ident() == thread and of_rule(sys._getframe(2)):
            asked.append(name)

    def whole(self: Any, name: str) -> Any:
        if not name.startswith("_"):
            told(name)
        return object.__getattribute__(self, name)

    def one(name: str, own: Any) -> property:
        def ask(self: Any) -> Any:
            told(name)
            return own.__get__(self, type(self))

        return property(ask, getattr(own, "__set__", None))

    arrays: Any = type(jax.numpy.zeros(()))
    kinds: list[Any] = [AbstractMesh, NamedSharding]
    watched = [(ShapedArray, OF_TYPES), (arrays, OF_ARRAYS)]
    parts = [(k, name, vars(k)[name]) for k, names in watched for name in names & vars(k).keys()]
    try:
        for kind in kinds:
            kind.__getattribute__ = whole
        for kind, name, own in parts:
            setattr(kind, name, one(name, own))
        yield asked
    finally:
        for kind in kinds:
            del kind.__getattribute__
        for kind, name, own in parts:
            setattr(kind, name, own)
