"""When two Python functions count as the same: a callback is often a closure that each call makes anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType
from typing import Any

import jax
import numpy as np

from certgrad.jaxpr.closures import module_of

_PLAIN = (bool, int, str, bytes, type(None))
_ONE_BY_OWNER = (BuiltinFunctionType, MethodType, MethodWrapperType, type)
"""Types whose objects are made anew at each look-up (a bound method), and are equal only if their owner is the same."""
_TREE = type(jax.tree.structure(0))


def as_made(value: Any) -> Any:
    """Return a key that is equal for two functions only if they have the same code and hold the same values.

    Such functions do the same, as long as they keep no state of their own, which JAX requires of callbacks. A value
    that a function holds counts by type and value where it is a plain constant, and else by identity, as two equal
    lists can come to differ. Other objects than functions count by identity, whatever their class says of equality;
    only methods, builtins, classes and objects of JAX's are their own keys. The key is valid while the value exists.
    """
    key = _function_key(value, ())
    return _itself(value) if key is None else key


def _itself(value: Any) -> Hashable:
    """Return a value that is its own key, as its class compares; for other values a key by identity."""
    if type(value) in _ONE_BY_OWNER or module_of(type(value)).partition(".")[0] in ("jax", "jaxlib"):
        return value
    return "one", id(value)


def _function_key(value: Any, within: tuple[int, ...]) -> Hashable | None:
    """Return the key of a function, a `partial` or a callback as JAX wraps it; None for other values.

    `within` are the ids of the functions around it: None too for a function that holds itself, which would be endless.
    """
    if id(value) in within:
        return None
    within = (*within, id(value))
    if type(value) is FunctionType:
        cells = value.__closure__ or ()
        try:
            captured = [cell.cell_contents for cell in cells]
        except ValueError:  # a cell is empty until its variable is assigned
            return None
        named = [*sorted((value.__kwdefaults__ or {}).items()), ("", None), *sorted(value.__dict__.items())]
        named += [("", None), *sorted(value.__annotations__.items())]
        texts = (value.__name__, value.__qualname__, value.__module__, value.__doc__)  # which other code may ask for
        parts = [*texts, *captured, *(value.__defaults__ or ()), *(x for _, x in named)]
        plain_parts = (
            value.__code__,
            id(value.__globals__),
            id(getattr(value, "__builtins__", None)),
            len(captured),
            *(n for n, _ in named),
        )
        return _key_of_parts(FunctionType, plain_parts, parts, within)
    if type(value) is partial:
        named = sorted(value.keywords.items())
        return _key_of_parts(
            partial, tuple(n for n, _ in named), [value.func, *value.args, *(x for _, x in named)], within
        )
    if dataclasses.is_dataclass(value) and module_of(type(value)).startswith("jax."):  # how JAX holds a callback
        return _key_of_parts(type(value), (), [getattr(value, f.name) for f in dataclasses.fields(value)], within)
    return None


def _key_of_parts(kind: type, said: tuple[Any, ...], parts: list[Any], within: tuple[int, ...]) -> Hashable | None:
    """Return a key of a kind, of hashable parts (`said`) and of parts that get keys; None if one has no key."""
    keys = [_part_key(x, within) for x in parts]
    return None if any(k is None for k in keys) else (kind, said, tuple(keys))


def _part_key(value: Any, within: tuple[int, ...]) -> Hashable | None:
    """Return the key of a value that a function holds; None where it has a part without a key."""
    if type(value) in (float, complex):  # 0.0 and −0.0 are equal
        return type(value), repr(value)
    if type(value) in _PLAIN or type(value) is jax.ShapeDtypeStruct or _says_all(value):
        return type(value), value
    if type(value) is tuple:
        return _key_of_parts(tuple, (), list(value), within)
    if type(value) is _TREE:
        return _tree(value, within)
    if type(value) is FunctionType or type(value) is partial:
        return _function_key(value, within)
    return _itself(value) if type(value) in _ONE_BY_OWNER else ("one", id(value))


def _says_all(value: Any) -> bool:
    """Return whether a value is a dtype whose equality says everything: it has no metadata and no fields."""
    return isinstance(value, np.dtype) and value.metadata is None and value.names is None


def _tree(tree: Any, within: tuple[int, ...]) -> Hashable | None:
    """Return a key of a tree structure of JAX's; data of its nodes count as values that a function holds."""
    node = tree.node_data()
    if node is None:
        return _TREE, str(tree)
    kind, kept = node
    kept = tuple(kept) if type(kept) is list else kept  # the names in a dictionary
    return _key_of_parts(_TREE, (kind,), [kept, *tree.children()], within)
