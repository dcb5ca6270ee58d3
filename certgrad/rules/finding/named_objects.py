"""The objects that the variables of a module hold, at any depth, each with the name that leads to it.

`TABLE['sin'][1]` is an entry, `settings.activation` an attribute, `sine.<closure>.inner` a value that a function closes
over, `apply.<default>.rule` a default, `bound.<argument>.0` an argument of a `partial` or the object of a method.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from types import FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from certgrad._subject import is_op
from certgrad.jaxpr.closures import closed_over, kind_of_rule
from certgrad.obligations.generality.reach import LIBRARIES, attributes_of, each_once
from certgrad.rules.subject.layers import parts_of_rule

MOST_OBJECTS = 50_000
"""At most this many objects of one module are visited."""
_PLAIN = frozenset({int, float, complex, bool, str, bytes, bytearray, type(None), range, slice, type(...)})
_CLOSED = frozenset({*LIBRARIES, "jaxlib", "certgrad", *sys.stdlib_module_names})
"""Packages whose objects and classes are not searched; values that their functions close over and wrap are."""
_CONTAINERS = (dict, MappingProxyType, list, tuple, set, frozenset, deque)


class TooManyError(Exception):
    """A module leads to more than `MOST_OBJECTS` objects."""


def named_objects(module: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield pairs of a name and an object, for all objects that variables of a module hold, nearest first.

    An object with several names gets the first of them.

    Raises:
        TooManyError: after `MOST_OBJECTS` objects.
    """
    names: dict[int, str] = {}
    for name, value in variables.items():
        names.setdefault(id(value), name)

    def reached(value: Any) -> list[Any]:
        """Return the objects that a value leads to, and note their names."""
        try:
            parts = [(suffix, part) for suffix, part in _suffixed_parts(module, value) if type(part) not in _PLAIN]
        except Exception:  # an object may answer any question about its attributes with an error
            return []
        for suffix, part in parts:
            names.setdefault(id(part), names[id(value)] + suffix)
        return [part for _, part in parts]

    values = [value for value in variables.values() if type(value) not in _PLAIN]
    for count, value in enumerate(each_once(values, reached, nearest_first=True)):
        if count >= MOST_OBJECTS:
            raise TooManyError
        yield names[id(value)], value


def _suffixed_parts(module: str, value: Any) -> Iterable[tuple[str, Any]]:
    """Return pairs of a suffix and an object, for all objects that a value leads to in one step."""
    if isinstance(value, ModuleType):
        return []
    if isinstance(value, type):
        members = sorted(vars(value).items()) if value.__module__ == module else []
        return [(f".{name}", _function_of(member)) for name, member in members]
    if isinstance(value, _CONTAINERS):
        return _entries(value)
    if isinstance(value, FunctionType):
        return _of_function(value)
    if isinstance(value, partial):
        given = [*enumerate(value.args), *value.keywords.items()]
        return [(".<function>", value.func), *((f".<argument>.{name}", part_value) for name, part_value in given)]
    if isinstance(value, MethodType):
        return [(".<function>", value.__func__), (".<argument>.0", value.__self__)]
    if kind_of_rule(value) or is_op(value):
        return [pair for part in parts_of_rule(value) for pair in _of_function(part)]
    # Read as it is stored: an object may compute any attribute, as a new object each time.
    if (inner := inspect.getattr_static(value, "__wrapped__", None)) is not None:
        return [(".__wrapped__", inner)]
    kind = type(value)
    if kind is not SimpleNamespace and str(kind.__module__).partition(".")[0] in _CLOSED:
        return []
    return [(f".{name}", part_value) for name, part_value in attributes_of(value).items()]


def _function_of(member: Any) -> Any:
    """Return the function of a static or class method, a property or a cached property; any other member as it is."""
    if isinstance(member, (staticmethod, classmethod)):
        return member.__func__
    if isinstance(member, property):
        return member.fget
    return member.func if isinstance(member, cached_property) else member


def _entries(value: Any) -> Iterable[tuple[str, Any]]:
    """Return the entries of a container, and the keys of a dict that are objects, each with its suffix."""
    if isinstance(value, (set, frozenset)):  # named by their text, as their order changes between processes
        return [(f".<member>.{_text(entry)}", entry) for entry in value if type(entry) not in _PLAIN]
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(value, (dict, MappingProxyType)):
        keys = [(f".<key>.{_text(key)}", key) for key in value if type(key) not in _PLAIN]
        return [*((f"[{_text(key)}]", entry) for key, entry in value.items() if type(entry) not in _PLAIN), *keys]
    pairs = enumerate(value)
    return [(f"[{k}]", entry) for k, entry in pairs if type(entry) not in _PLAIN]


def _of_function(function: Any) -> list[tuple[str, Any]]:
    """Return a function's closed-over values, defaults and attributes (`__wrapped__` too), each with its suffix."""
    code = function.__code__
    parts = [(f".<closure>.{name}", value) for name, value in closed_over(function)]
    defaults = function.__defaults__ or ()
    with_default = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    given = [*zip(with_default, defaults, strict=True), *(function.__kwdefaults__ or {}).items()]
    parts += [(f".<default>.{name}", value) for name, value in given]
    return parts + [(f".{name}", value) for name, value in vars(function).items()]


def _text(key: Any) -> str:
    """Return a text for a key that is the same in every process: its qualified name, or its repr without addresses."""
    name = getattr(key, "__qualname__", None)
    return name if isinstance(name, str) else re.sub(r" at 0x[0-9a-fA-F]+", "", repr(key))
