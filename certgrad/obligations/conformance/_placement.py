"""Where arrays lie: on which device, and along which axes of a mesh.

There are endlessly many ways to lie, and no few of them stand for the others. So code that asks is told that no mesh
divides anything, and its claim is about that alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from threading import get_ident
from typing import Any

import jax
from jax.core import ShapedArray
from jax.sharding import AbstractMesh, NamedSharding

from certgrad._threads import one_at_a_time

from ._surroundings import of_rule

UNDIVIDED = "arrays on one device, the first, as its code asks where they lie"
OF_TYPES = frozenset({"sharding", "manual_axis_type", "vma"})
"""Of these a version of JAX has some."""
OF_ARRAYS = frozenset(
    "addressable_data addressable_shards committed device devices global_shards is_fully_addressable".split()
) | {"is_fully_replicated", "sharding"}


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
