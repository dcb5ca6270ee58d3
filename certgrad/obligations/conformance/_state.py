"""What code holds from one call to the next: whether calls change it.

A counter, a generator, a dictionary that is filled: what they do in later calls no trace shows. Their state is read
before calls and after, whatever changes it.
"""

from __future__ import annotations

import hashlib
import inspect
import random
from collections.abc import Iterable, Iterator
from functools import partial
from types import FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from certgrad._closures import captured

from ..generality.rank_blind import loads

DEPTH = 4
ENTRIES = 256


class State:
    """What functions can reach by a name that lives longer than a call, and what it was like at first."""

    def __init__(self, functions: Iterable[Any]) -> None:
        self._held: list[tuple[str, Any]] = []
        for function in functions:
            if isinstance(function, FunctionType):
                self._held += _held_by(function)
        self._before = [digest(value) for _, value in self._held]
        self._globals = [(f, dict(_named(f))) for f in functions if isinstance(f, FunctionType)]

    def changed(self) -> str:
        """The name of something that is not as it was, or an empty text."""
        for (name, value), before in zip(self._held, self._before, strict=True):
            if digest(value) != before:
                return name
        for function, before in self._globals:
            for name, value in _named(function):
                if before.get(name) is not value and digest(before.get(name)) != digest(value):
                    return name
        return ""


def _named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The global and the closed-over variables of a function, with their values now."""
    loaded, _ = loads(function.__code__)
    for name in loaded:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    if len(cells := captured(function)) == len(function.__code__.co_freevars):
        yield from zip(function.__code__.co_freevars, cells, strict=True)


def _held_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    yield from _named(function)
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield f"a default of {function.__name__}", value
    if vars(function):
        yield f"an attribute of {function.__name__}", {k: v for k, v in vars(function).items() if k != "__wrapped__"}


def digest(value: Any) -> str:
    """A text that changes when the state of a value does."""
    found = hashlib.blake2b(digest_size=16)
    for part in _read(value, DEPTH, set()):
        found.update(part.encode(errors="replace") + b"\0")
    return found.hexdigest()


def _read(value: Any, depth: int, seen: set[int]) -> Iterator[str]:
    kind = type(value)
    yield kind.__name__
    if isinstance(value, (int, float, complex, str, bytes, bool, type(None), range, slice)):
        yield repr(value)
    elif isinstance(value, np.ndarray):
        yield hashlib.blake2b(value.tobytes(), digest_size=8).hexdigest() if value.dtype != object else repr(value)
    elif depth == 0 or id(value) in seen or isinstance(value, (ModuleType, jax.Array)):
        yield str(id(value))
    elif isinstance(value, random.Random):
        yield str(value.getstate())
    elif isinstance(value, (np.random.Generator, np.random.RandomState)):
        bits = value.bit_generator if isinstance(value, np.random.Generator) else value
        yield str(bits.state if isinstance(value, np.random.Generator) else bits.get_state())  # type: ignore[union-attr]
    elif isinstance(value, GeneratorType):
        frame = value.gi_frame
        yield "ended" if frame is None else f"{frame.f_lasti} {frame.f_lineno}"
        if frame is not None:
            yield from _read(dict(frame.f_locals), depth - 1, seen | {id(value)})
    elif kind.__module__ in ("itertools", "builtins") and hasattr(value, "__next__"):
        yield repr(getattr(value, "__reduce__", lambda: None)())[:2000]
    else:
        yield from _parts(value, depth - 1, seen | {id(value)})


def _parts(value: Any, depth: int, seen: set[int]) -> Iterator[str]:
    if isinstance(value, dict):
        yield str(len(value))
        for k, v in list(value.items())[:ENTRIES]:
            yield from _read(k, depth, seen)
            yield from _read(v, depth, seen)
    elif isinstance(value, (list, tuple)):
        yield str(len(value))
        for v in value[:ENTRIES]:
            yield from _read(v, depth, seen)
    elif isinstance(value, (set, frozenset)):
        yield str(sorted(map(repr, value)))
    elif isinstance(value, FunctionType):
        yield from _read([v for _, v in _held_by(value)], depth, seen) if not _of_libraries(value) else ()
    elif isinstance(value, MethodType):
        yield from _read([value.__self__, value.__func__], depth, seen)
    elif isinstance(value, partial):
        yield from _read([value.func, value.args, value.keywords], depth, seen)
    elif isinstance(value, type):
        yield from _read(_data(value), depth, seen) if not _of_libraries(value) else ()
    elif not _of_libraries(value) and not inspect.isbuiltin(value):
        slots = [getattr(value, n) for n in _slots(type(value)) if hasattr(value, n)]
        yield from _read([getattr(value, "__dict__", {}), slots, type(value)], depth, seen)
    elif hasattr(value, "__next__") and hasattr(value, "__reduce__"):
        yield str(id(value))
    else:
        yield str(id(value))


def _data(kind: type) -> dict[str, Any]:
    """What a class holds beside its methods."""
    held = {k: v for k, v in vars(kind).items() if not k.startswith("__")}
    return {k: v for k, v in held.items() if not isinstance(v, (FunctionType, property, staticmethod, classmethod))}


def _slots(kind: type) -> list[str]:
    slots = getattr(kind, "__slots__", ())
    return [slots] if isinstance(slots, str) else list(slots)


def _of_libraries(value: Any) -> bool:
    module = getattr(value, "__module__", None) or type(value).__module__
    return str(module).split(".")[0] in ("jax", "jaxlib", "numpy", "equinox", "flax", "certgrad", "functools", "builtins")
