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
from ._surroundings import changed, of_rule

UNDIVIDED = "arrays on one device, the first, as its code asks where they lie"
OF_TYPES = frozenset({"sharding", "manual_axis_type", "vma"})
"""Of these a version of JAX has some."""
OF_ARRAYS = frozenset(
    "addressable_data addressable_shards committed device devices global_shards sharding "
    "is_fully_addressable is_fully_replicated".split()
)
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

    with changed([(AxisEnv, name, watching(name)) for name in own]):
        yield asked


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
    parts = [(kind, name) for kind, names in ((ShapedArray, OF_TYPES), (arrays, OF_ARRAYS)) for name in names]
    changes = [(kind, name, one(name, vars(kind)[name])) for kind, name in parts if name in vars(kind)]
    with changed([*changes, *((kind, "__getattribute__", whole) for kind in (AbstractMesh, NamedSharding))]):
        yield asked
