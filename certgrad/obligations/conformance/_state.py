"""What code holds from one call to the next: whether calls change it.

A counter, a generator, a dictionary that is filled: what they do in later calls no trace shows. So all that the code
reaches and that outlives a call is read before calls and after, whatever changes it.
"""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import _lru_cache_wrapper, cached_property, partial
from types import (
    BuiltinMethodType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import jax
import numpy as np

from certgrad.jaxpr.closures import closed_over

from ..generality.reach import attributes_of, each_once, is_users, parts, results_of, values_in

DEPTH = 6
ENTRIES = 256
_PLAIN = (int, float, complex, str, bytes, bool, type(None), range, slice)
_FIXED = (*_PLAIN, ModuleType, jax.Array)
_TABLES = (dict, list, set, tuple, np.ndarray)
_WEAK = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet)
_CODE = (FunctionType, MethodType, BuiltinMethodType, MethodWrapperType, ModuleType)
_OF_CLASSES = (property, classmethod, staticmethod, cached_property, MemberDescriptorType, GetSetDescriptorType)
_OF_PYTHON = "__warningregistry__"
"""In a module: which warnings were shown, as Python notes them."""
_LIBRARIES = frozenset("jax jaxlib numpy equinox flax certgrad functools builtins".split())


class State:
    """What the code can reach that lives longer than a call, as it was at first.

    With `modules` also the numbers and tables of its modules that the code does not name: calls may change these.
    """

    def __init__(self, roots: Iterable[Any], modules: bool = True) -> None:
        known: Known = {}
        held = held_by(roots)
        self._held = [(value, digest(value, known)) for value in held]
        self._functions = [(f, {n: (v, digest(v, known)) for n, v in _named(f)}) for f in filter(is_users, held)]
        tables = [f.__globals__ for f, _ in self._functions] + [vars(m) for m in held if isinstance(m, ModuleType)]
        self._modules = {id(names): (names, _numbers(names)) for names in tables if modules}
        self._caches = [value for value in held if isinstance(value, _lru_cache_wrapper)]
        self._remembered: dict[tuple[int, int], str] = {}
        """Of what caches of the code held once, which is made when it is first asked for."""

    def forget(self) -> bool:
        """Empty the caches of the code itself; whether it has any."""
        return forget(value for value, _ in self._held)

    def changed(self) -> str:
        """What is not as it was, in words, or an empty text."""
        known: Known = {}
        for function, before in self._functions:
            for name, value in _named(function):
                if name not in before or (before[name][0] is not value and before[name][1] != digest(value, known)):
                    return name
        for value, text in self._held:
            if digest(value, known) != text:
                return self._name_of(value)
        for names, then in self._modules.values():
            if other := next((n for n, v in _numbers(names).items() if not _equal(then.get(n), v)), ""):
                return other
        return next((c.__name__ for c in self._caches if self._holds_others(c, known)), "")

    def _holds_others(self, cache: Any, known: Known) -> bool:
        """What a cache holds has changed since it was looked at last; what it holds since then has not."""
        texts = {(id(cache), id(value)): digest(value, known) for value in results_of(cache)}
        before, self._remembered = self._remembered, {**texts, **self._remembered}
        return any(before.get(key, text) != text for key, text in texts.items())

    def _name_of(self, value: Any) -> str:
        named = (name for f, before in self._functions for name, (held, _) in before.items() if held is value)
        return next(named, f"an object of type {type(value).__name__}")


def forget(values: Iterable[Any]) -> bool:
    """Empty those that are caches of code, which may hold what was so earlier, and hide what is asked now; whether
    there are any."""
    caches = [value for value in values if isinstance(value, _lru_cache_wrapper)]
    for cache in caches:
        cache.cache_clear()
    return bool(caches)


def held_by(roots: Iterable[Any]) -> list[Any]:
    """All that code reaches and that may outlive a call, each once."""
    return list(each_once(roots, _reached))


def _reached(value: Any) -> list[Any]:
    """What a value reaches that may outlive a call, itself code or data."""
    found: list[Any] = []
    with suppress(Exception):  # an object may refuse to be looked at
        found += [*parts(value), *_attributes(value)]
        if is_users(value):
            found += values_in(value)
        elif isinstance(value, (MethodType, BuiltinMethodType, MethodWrapperType)):
            found.append(value.__self__)
    return [v for v in found if not isinstance(v, _FIXED) or (isinstance(v, ModuleType) and not _is_librarys(v))]


def _attributes(value: Any) -> Iterator[Any]:
    """What an object, or a class, outside the libraries holds under names."""
    if isinstance(value, type):
        own = () if _of_python_or_library(value) else vars(value).items()
        yield from (v for k, v in own if not (k.startswith("__") or isinstance(v, (*_CODE, *_OF_CLASSES))))
    elif isinstance(value, SimpleNamespace) or not (isinstance(value, _CODE) or _of_python_or_library(type(value))):
        yield from attributes_of(value).values()


def _named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The global and closed-over variables of a function, with their values now."""
    names = [n for n in function.__code__.co_names if n in function.__globals__]
    yield from ((n, function.__globals__[n]) for n in names)
    yield from closed_over(function)


def _equal(a: Any, b: Any) -> bool:
    """The same number; NaN is one."""
    return bool(a == b or (a != a and b != b))


def _numbers(names: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers and texts of a module, and how much its tables hold."""
    own = [(n, v) for n, v in list(names.items()) if n != _OF_PYTHON]
    plain = {n: v for n, v in own if isinstance(v, (int, float, str))}
    return plain | {n: len(v) for n, v in own if type(v) in (list, dict, set)}


Known = dict[tuple[int, int], tuple[Any, str]]
"""Digests by what was read and how deep: with the value, held so that no other takes its identity."""


def digest(value: Any, known: Known | None = None) -> str:
    """A text that changes when the state of a value does. What is `known` holds while nothing is run."""
    return _digest(value, DEPTH, frozenset(), {} if known is None else known)[0]


def _digest(value: Any, depth: int, above: frozenset[int], known: Known) -> tuple[str, bool]:
    """Also whether it holds nothing of what is above it, so that it is the same wherever the value is met."""
    if (found := known.get((id(value), depth))) is not None:
        return found[1], True
    if (text := _plain(value, depth)) is not None:
        return text, True
    if id(value) in above:
        return f"{type(value).__name__} {id(value)}", False
    read, alone = hashlib.blake2b(type(value).__name__.encode(), digest_size=16), True
    with suppress(Exception):  # an object may refuse to be looked at
        for part in _parts(value):
            text, free = _digest(part, depth - 1, above | {id(value)}, known)
            read.update(text.encode(errors="replace") + b"\0")
            alone = alone and free
    if alone:
        known[id(value), depth] = value, read.hexdigest()
    return read.hexdigest(), alone


def _plain(value: Any, depth: int) -> str | None:
    """Of what has no parts, or is not read deeper."""
    kind = type(value).__name__
    if isinstance(value, _PLAIN):
        return f"{kind} {value!r}"
    if isinstance(value, bytearray):
        return f"{kind} {bytes(value)!r}"
    if isinstance(value, memoryview) or (isinstance(value, np.ndarray) and not (value.dtype.hasobject and depth)):
        return f"{kind} {hashlib.blake2b(value.tobytes(), digest_size=8).hexdigest()}"
    if depth == 0 and type(value) in (dict, list, tuple):  # reading may have made it: its id says nothing
        return f"{kind} {len(value)}"
    if depth == 0 or isinstance(value, (ModuleType, jax.Array)):
        return f"{kind} {id(value)}"
    return None


def _parts(value: Any) -> Iterable[Any]:
    """What the state of a value consists of."""
    if type(value) in _WEAK:  # what is kept for nothing goes at any time
        return []
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()
    if isinstance(value, dict):
        return [len(value), *_entries(list(value.items()))]
    if isinstance(value, (list, tuple)):
        return [len(value), *_entries(value)]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, GeneratorType):
        frame = value.gi_frame
        return ["ended"] if frame is None else [frame.f_lasti, frame.f_locals]
    if isinstance(value, (MethodType, BuiltinMethodType, MethodWrapperType)):
        return [value.__self__]
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, FunctionType):
        own = {k: v for k, v in vars(value).items() if k != "__wrapped__"}
        return [value.__defaults__, value.__kwdefaults__, own, getattr(value, "__annotations__", None)]
    if isinstance(value, ContextVar):
        return [value.get(None)]
    if isinstance(value, type):
        return [_data(value), _data(type(value))]
    if _of_library(type(value)) and not hasattr(value, "__next__") and not _of_random(value):
        return []
    return [*_saved(value), type(value)]


def _entries(values: Sequence[Any]) -> Iterator[Any]:
    """All entries; of many, the numbers and texts together."""
    yield from values[:ENTRIES]
    plain = hashlib.blake2b(digest_size=16)
    for value in values[ENTRIES:]:
        if all(isinstance(one, _PLAIN) for one in (value if type(value) is tuple else (value,))):
            plain.update(repr(value).encode(errors="replace") + b"\0")
        else:
            yield value
    yield plain.hexdigest()


def _saved(value: Any) -> Iterator[Any]:
    """What pickle would save of an object, and how far a file has been read or written."""
    with suppress(Exception):
        _, arguments, *state = value.__reduce_ex__(4)
        yield [arguments, *(list(s)[:ENTRIES] if hasattr(s, "__next__") else s for s in state)]
    for ask in ("tell", "qsize", "__len__", "__length_hint__", "cache_info"):
        with suppress(Exception):
            yield str(getattr(value, ask)())
    yield dict(getattr(value, "__dict__", {}))


def _data(kind: type) -> dict[str, Any]:
    """What a class outside the libraries holds that is a number, a text, a table or an object of such a class."""
    if _of_python_or_library(kind):
        return {}
    held = {k: v for k, v in vars(kind).items() if not k.startswith("__")}
    return {k: v for k, v in held.items() if isinstance(v, (*_PLAIN, *_TABLES)) or not _of_python_or_library(type(v))}


def _of_python_or_library(kind: type) -> bool:
    return _of_library(kind) or _top(kind) in sys.stdlib_module_names


def _of_random(value: Any) -> bool:
    return isinstance(value, (np.random.Generator, np.random.RandomState))


def _of_library(kind: type) -> bool:
    return _top(kind) in _LIBRARIES


def _is_librarys(module: ModuleType) -> bool:
    top = module.__name__.partition(".")[0]
    return top in _LIBRARIES or top in sys.stdlib_module_names


def _top(kind: type) -> str:
    return str(kind.__module__).split(".")[0]
