"""State that the code of a rule reads and that outlives a call, and whether calls change it.

An audit is of what the code reads when it is traced, and covers the calls that read the same. For a program that is
recorded, that is the state when the program has ended. No method of the program's own objects is called here, so that
reading the state has no effects.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import sys
import threading
from collections import UserDict, UserList, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import _lru_cache_wrapper, cached_property, partial
from itertools import islice
from operator import is_
from types import BuiltinMethodType, FunctionType, GeneratorType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import jax
import numpy as np

from certgrad.jaxpr.closures import kind_of_rule
from certgrad.obligations.generality.reach import (
    CHECKERS,
    LIBRARIES,
    SYMBOLIC,
    attributes_of,
    each_once,
    is_users,
    loads,
    methods,
    results_of,
    runnable_parts,
    variables,
)

from .likeness import Likeness

MAX_OBJECTS = 2000
"""At most this many objects that one rule's code reads are compared outside of calls."""
MAX_ENTRIES = 4096
"""At most this many entries of a numpy array are compared in a call; they are evenly spaced in a larger one."""
EVERY = 32
"""Number of first calls in each of which all is compared; of later calls, each whose number is a power of two is."""
FEW, FEW_VALUES = 16, 256
"""With at most so many objects, and values in them, they are compared in every call."""
MANY, MANY_VALUES = 256, 4096
"""With more objects, or values, they are compared only in the calls whose number is a power of two, from the first."""
MAX_TEXT = 80
"""Values whose text is longer are not shown in messages."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_FIXED = (*_PLAIN, range, slice)
_RANDOM = (random.Random, np.random.Generator, np.random.RandomState)
_OF_PYTHON = (SimpleNamespace, argparse.Namespace, UserDict, UserList)
"""Classes of Python whose objects hold a program's settings."""
_LIBRARIES = frozenset((*LIBRARIES, *SYMBOLIC, *CHECKERS, "jaxlib", "equinox", "flax", "certgrad"))
_ANY_NAME = frozenset("getattr vars __dict__ asdict astuple fields replace attrgetter".split())
"""Code that names these may read any attribute."""
_MAKING = frozenset("__init__ __new__ __post_init__ __setattr__ __repr__ __str__ __init_subclass__ __del__".split())
"""Methods that are called for an object without being named, but not where a rule reads it."""

_BY_NAME, _ENTRY, _ATTRIBUTE, _VALUE = "{key}", "{owner}[{key}]", "{owner}.{key}", "the {key} of {owner}"


@dataclass(frozen=True)
class Contents:
    """The contents of an object: values by name or key, and the format in which a message writes a value's name."""

    form: str
    keys: Sequence[Any]
    values: Sequence[Any]


@dataclass(frozen=True)
class _Traced:
    """A stand-in for a traced value, which must not be kept."""

    key: Hashable


@dataclass(frozen=True)
class _Part:
    """An object that the code reads, with a name and its contents."""

    read: Callable[[], Contents]
    name: str
    then: Contents


class ReadState:
    """The state that code reads, as it was when this object was made.

    With `calls`, for calls that are made to see whether they change the state, what calls use up counts too: iterators,
    random generators, and the results in memos (`functools.lru_cache`). Then all objects are compared, and all entries
    of arrays.
    """

    def __init__(self, code: Any, calls: bool = False) -> None:
        self.difference = ""
        """What changed since, in words; "" while nothing was seen to change."""
        self._code, self._in_calls = code, calls
        self._memos: list[tuple[Any, int]] = []
        """The memos that the code reads, each with the number of results that it held."""
        self._calls = 0
        self._every: float = 0
        self._taken = 0
        self._parts: list[_Part] = []
        self._take()

    def called(self) -> bool:
        """Count a call, and in some of the calls compare the state: return whether it was compared and is unchanged."""
        self._calls += 1
        often = self._calls <= self._every or self._calls & (self._calls - 1) == 0
        return often and not self.difference and not self.compare()

    def compare(self) -> str:
        """Return what changed since this object was made, in words; "" for nothing."""
        if not self.difference and (difference := self._compared()):
            self.differs(difference)
        return self.difference

    def forget(self) -> bool:
        """Empty the memos of the code; return whether it has any."""
        self._memos = [(memo, 0) for memo, _ in self._memos]
        return forget(memo for memo, _ in self._memos)

    def differs(self, difference: str) -> None:
        """Note that something changed: from now on nothing is compared, nor kept alive."""
        self.difference, self._parts, self._code = difference, [], None

    def _take(self) -> None:
        """Read the state that is compared with from now on, and choose in how many calls it is compared."""
        self._taken += 1
        objects, read = _read_by(self._code, self._in_calls)
        self._memos = [(x, x.cache_info().currsize) for x in objects if isinstance(x, _lru_cache_wrapper)]
        names: dict[int, str] = {}
        self._parts = []
        for value in objects:
            if (reader := _reader(value, read, self._in_calls)) is None:
                continue
            if not (then := reader()).values and type(value) in (FunctionType, tuple, frozenset):
                continue  # what cannot be filled, or names nothing
            name = names.get(id(value), type(value).__name__)  # the name by which the walk came to it
            for key, x in zip(then.keys, then.values, strict=True):
                names.setdefault(id(x), _qualified_name(then.form, name, key))
            kept = [_Traced(Likeness(x).key) if isinstance(x, jax.core.Tracer) else x for x in then.values]
            self._parts.append(_Part(reader, name, Contents(then.form, then.keys, kept)))
        value_count = sum(len(p.then.values) for p in self._parts)
        few = self._taken <= EVERY and len(self._parts) <= FEW and value_count <= FEW_VALUES
        many = len(self._parts) > MANY or value_count > MANY_VALUES
        self._every = math.inf if few else 0 if many else EVERY

    def _compared(self) -> str:
        """Return the first difference from the state that was read, in words; "" for none.

        Values are compared by identity, and only where that fails by their keys (see `Likeness`).
        """
        made_anew = False
        for part in self._parts:
            now, then = part.read(), part.then
            if len(now.values) == len(then.values) and all(map(is_, now.values, then.values)):
                if all(map(is_, now.keys, then.keys)):
                    continue
            if difference := _difference(part, now):
                return difference
            made_anew = made_anew or not all(
                a is b or type(b) in _PLAIN for a, b in zip(then.values, now.values, strict=True)
            )
        filled = self._in_calls and any(memo.cache_info().currsize > result_count for memo, result_count in self._memos)
        if made_anew or filled:  # an equal object has replaced another: from now on this one may change
            self._take()
        return ""


def forget(values: Iterable[Any]) -> bool:
    """Empty the memos (`functools.lru_cache`) among these values; return whether there are any.

    A memo may hold the answer to an earlier question of a trace, so that the question would not be asked again.
    """
    memos = [value for value in values if isinstance(value, _lru_cache_wrapper)]
    for memo in memos:
        memo.cache_clear()
    return bool(memos)


def _difference(part: _Part, now: Contents) -> str:
    """Return what differs in a part's contents, in words; "" if nothing does."""
    then = part.then
    if all(type(k) in (str, int) for k in (*then.keys, *now.keys)):
        before, after = (dict(zip(c.keys, c.values, strict=True)) for c in (then, now))
        for key in before | after:
            if key not in before or key not in after:
                return _qualified_name(now.form, part.name, key)
            if before[key] is not after[key] and _key(before[key]) != _key(after[key]):
                return _qualified_name(then.form, part.name, key) + _values_text(before[key], after[key])
        return ""
    same = list(map(_key, then.keys)) == list(map(_key, now.keys))
    return "" if same and list(map(_key, then.values)) == list(map(_key, now.values)) else part.name


def _key(value: Any) -> Hashable:
    return value.key if type(value) is _Traced else Likeness(value).key


def _qualified_name(form: str, owner: str, key: Any) -> str:
    if form == _ENTRY:
        key = repr(key) if type(key) in _PLAIN else "…"
    return form.format(owner=owner, key=key)


def _values_text(before: Any, after: Any) -> str:
    """Return two values as text for a message; "" where they are no plain values, or long."""
    if any(type(x) not in _PLAIN or type(x) is bytes for x in (before, after)):
        return ""
    text = f" ({before!r}, later {after!r})"
    return text if len(text) < MAX_TEXT else ""


def _read_by(code: Any, calls: bool) -> tuple[list[Any], frozenset[str] | None]:
    """Return the objects that code reads, each once, and the names of the attributes that it reads; None for any name.

    The code of methods names further attributes, which lead to further objects: the walk is repeated until the names
    stay the same.
    """
    read: frozenset[str] | None = frozenset()
    while True:
        walk = each_once([code], partial(_reached_objects, read=read, calls=calls))
        objects = list(walk if calls else islice(walk, MAX_OBJECTS))
        if read is None:
            return objects, None
        named: set[str] = set()
        for function in filter(is_users, objects):
            loaded, attributes = loads(function.__code__)
            named.update(attributes, _ANY_NAME.intersection(loaded))
        if named <= read:
            return objects, read
        read = None if named & _ANY_NAME else read | named


def _reached_objects(value: Any, read: frozenset[str] | None, calls: bool) -> list[Any]:
    """Return the objects that a value holds, and those that it runs where it is code or has methods.

    `read` are the names of attributes that code reads, None for any; `calls` as in `ReadState`. Values that cannot
    change are left out.
    """
    reader = _reader(value, read, calls)
    objects = [] if reader is None else [*reader().values]
    kind = type(value)
    if isinstance(value, (MethodType, BuiltinMethodType)):
        objects.append(value.__self__)
    if calls and isinstance(value, _lru_cache_wrapper):
        objects += results_of(value)
    # Code that an object runs: of a function what it names, of an object of the program's the methods that code names.
    if kind in (FunctionType, MethodType) or not (_of_own(kind) or isinstance(value, type)):
        if kind not in _READERS and not kind_of_rule(value):  # what these hold is read
            objects += runnable_parts(value)
    else:
        cls = value if isinstance(value, type) else kind
        special = (n for base in cls.__mro__ if _of_own(base) for n in _class_vars(base) if n.startswith("__"))
        # Code runs a special method, as `__add__`, without naming it.
        unnamed = ["__call__"] if calls else [n for n in special if n not in _MAKING]
        objects += methods(value, [*(read or ()), *unnamed])
    return [x for x in objects if not isinstance(x, (*_FIXED, jax.Array))]


def _reader(value: Any, read: frozenset[str] | None, calls: bool) -> Callable[[], Contents] | None:
    """Return a function that reads a value's contents; None where they cannot change, or are a library's.

    Of modules, objects and classes it reads the attributes that are named in `read`, or all where that is None.
    """
    kind = type(value)
    if kind is FunctionType:
        return partial(_of_function, value) if is_users(value) else None
    if kind is ModuleType:
        return partial(_of_module, value, read) if _is_own(value.__name__) else None
    if calls and (used_up := _used_up(value, kind)) is not None:
        return partial(used_up, value)
    if (base := next((base for base in _READERS if isinstance(value, base)), None)) is not None:
        derived = kind is not base and _of_own(kind)
        return partial(_of_derived, base, value, read) if derived else partial(_READERS[base], value)
    if kind_of_rule(value):
        return partial(_of_rule, value)
    if isinstance(value, type):
        return partial(_of_class, value, read) if _of_own(value) else None
    return partial(_of_object, value, read) if _of_own(kind) else None


def _used_up(value: Any, kind: type) -> Callable[[Any], Contents] | None:
    """Return a function that reads the state which each use of a value of type `kind` changes: of an iterator, a
    generator or a source of random numbers; of an array all entries. None for any other value.
    """
    if kind is GeneratorType:
        return _of_generator
    if isinstance(value, np.ndarray):
        return partial(_of_array, most=math.inf)
    return _of_iterator if isinstance(value, _RANDOM) or (hasattr(kind, "__next__") and not _of_own(kind)) else None


_NOTHING = Contents("", (), ())


def _of_generator(generator: GeneratorType) -> Contents:
    """Return where a generator has stopped, and its local variables."""
    frame = generator.gi_frame
    return (
        _NOTHING
        if frame is None
        else Contents(_VALUE, ("place", *frame.f_locals), (frame.f_lasti, *frame.f_locals.values()))
    )


def _of_iterator(value: Any) -> Contents:
    """Return what pickle would save of an iterator or a random generator; nothing where pickle refuses it."""
    with suppress(Exception):  # it may refuse
        return Contents(_VALUE, ("state",), (value.__reduce_ex__(4),))
    return _NOTHING


def _of_module(module: ModuleType, read: frozenset[str] | None) -> Contents:
    """Return the variables of a module that code reads by name, or all where `read` is None."""
    return _by_name({n: v for n, v in vars(module).items() if not n.startswith("__") and (read is None or n in read)})


def _of_function(function: FunctionType) -> Contents:
    """Return the values that a function's code reaches by a name, and the function's own attributes."""
    named_values = dict(variables(function, lazy=False))
    attributes = {f"{function.__name__}.{k}": v for k, v in vars(function).items() if not k.startswith("__")}
    return Contents(_BY_NAME, [*named_values, *attributes], [*named_values.values(), *attributes.values()])


def _of_rule(rule: Any) -> Contents:
    """Return the attributes of a `custom_vjp` or `custom_jvp`: its functions."""
    attributes = {k: v for k, v in attributes_of(rule).items() if not k.startswith("__")}
    return Contents("its {key}", [*attributes], [*attributes.values()])


def _of_derived(base: type, value: Any, read: frozenset[str] | None) -> Contents:
    """Return the entries and the attributes of a container whose class the program derives from `base`."""
    table, attributes = _READERS[base](value), _of_object(value, read)
    return (
        Contents(table.form, [*table.keys, *attributes.keys], [*table.values, *attributes.values])
        if attributes.values
        else table
    )


def _of_object(value: Any, read: frozenset[str] | None) -> Contents:
    """Return an object's attributes, those of its class among them, without cached properties.

    All of its own attributes are read where its class computes attributes on request.
    """
    kind = type(value)
    by_class = _class_attributes(kind, read)
    computed = any("__getattr__" in _class_vars(b) or "__getattribute__" in _class_vars(b) for b in kind.__mro__[:-1])
    pairs = attributes_of(value).items()
    values = by_class | {k: v for k, v in pairs if read is None or computed or k in read}
    return _by_name({k: v for k, v in values.items() if not isinstance(by_class.get(k), cached_property)})


def _of_class(kind: type, read: frozenset[str] | None) -> Contents:
    return _by_name(_class_attributes(kind, read))


def _class_attributes(kind: type, read: frozenset[str] | None) -> dict[str, Any]:
    """Return the attributes of a class and its bases that are the program's, as named in `read`, or all if None."""
    attributes: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if _of_own(base):
            pairs = _class_vars(base).items()
            attributes |= {k: v for k, v in pairs if (read is None and not k.startswith("__")) or (read and k in read)}
    return attributes


def _by_name(found: dict[str, Any]) -> Contents:
    return Contents(_ATTRIBUTE, [*found], [*found.values()])


def _class_vars(kind: type) -> Any:
    return type.__dict__["__dict__"].__get__(kind)


def _of_own(kind: type) -> bool:
    """Return whether a class is the program's, or one of Python's that holds a program's settings."""
    return kind in _OF_PYTHON or _is_own(str(getattr(kind, "__module__", "")))


def _is_own(module: str) -> bool:
    """Return whether a module, given by name, is the program's: no library's and not Python's."""
    top = module.partition(".")[0]
    return not (top in _LIBRARIES or top in sys.stdlib_module_names)


def _of_table(table: dict[Any, Any]) -> Contents:
    return Contents(_ENTRY, [*dict.keys(table)], [*dict.values(table)])


def _of_row(values: Iterable[Any]) -> Contents:
    entries = [*values]
    return Contents(_ENTRY, range(len(entries)), entries)


def _of_array(array: np.ndarray, most: float = MAX_ENTRIES) -> Contents:
    """Return a digest of an array's dtype, shape and about `most` entries, evenly spaced; of objects all entries."""
    plain = array.view(np.ndarray) if type(array) is np.ndarray else np.ndarray.view(array, np.ndarray)
    if plain.dtype.hasobject:
        return _of_row(plain.ravel().tolist())
    step = max(1, math.ceil(plain.size / most))
    entries = plain if step == 1 else plain.reshape(-1)[::step] if plain.flags.c_contiguous else plain.flat[::step]
    kind = f"{plain.dtype.str}{plain.shape}".encode()
    return Contents(_VALUE, ("values",), (hashlib.blake2b(kind + entries.tobytes(), digest_size=16).digest(),))


def _of_context(variable: ContextVar[Any]) -> Contents:
    try:
        return Contents(_VALUE, ("value",), (variable.get(),))
    except LookupError:  # it has none here
        return _NOTHING


def _of_thread(local: threading.local) -> Contents:
    if type(local).__init__ is not object.__init__:  # it is called in each thread that looks
        return _NOTHING
    return _by_name(threading.local.__getattribute__(local, "__dict__"))


_READERS: dict[type, Callable[[Any], Contents]] = {
    dict: _of_table,
    list: lambda x: _of_row(list.__iter__(x)),
    tuple: lambda x: _of_row(tuple.__iter__(x)),
    set: lambda x: _of_row(set.__iter__(x)),
    frozenset: lambda x: _of_row(frozenset.__iter__(x)),
    deque: lambda x: _of_row(deque.__iter__(x)),
    bytearray: lambda x: Contents(_VALUE, ("values",), (bytes(x),)),
    np.ndarray: _of_array,
    ContextVar: _of_context,
    threading.local: _of_thread,
}
"""How a value of each type is read without calling methods that a derived class of the program's may override."""
