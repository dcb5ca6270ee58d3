"""When two Python functions are the same one: a callback is often a closure that each call makes anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from functools import partial
from types import FunctionType
from typing import Any

import jax
import numpy as np

_PLAIN = (bool, int, str, bytes, type(None))


def as_made(value: Any) -> Any:
    """A key that is equal for two functions only if they have one code and hold the same values.

    Such functions do the same, as long as they keep no state of their own, which JAX asks of what it calls back. What
    is held is told apart by its type and value where it is a plain constant, and by its identity elsewhere: two equal
    lists can come to differ. What is no function is its own key. The key is valid while the value exists.
    """
    made = _made(value, ())
    return value if made is None else made


def _made(value: Any, within: tuple[int, ...]) -> Hashable | None:
    """None where the value is its own key, as it holds itself or is no function."""
    if id(value) in within:
        return None
    within = (*within, id(value))
    if type(value) is FunctionType:
        cells = value.__closure__ or ()
        try:
            held = [cell.cell_contents for cell in cells]
        except ValueError:  # one is empty until its variable is assigned
            return None
        named = [*sorted((value.__kwdefaults__ or {}).items()), ("", None), *sorted(value.__dict__.items())]
        parts = [*held, *(value.__defaults__ or ()), *(x for _, x in named)]
        said = (value.__code__, id(value.__globals__), len(held), *(n for n, _ in named))
        return _all(FunctionType, said, parts, within)
    if type(value) is partial:
        named = sorted(value.keywords.items())
        return _all(partial, tuple(n for n, _ in named), [value.func, *value.args, *(x for _, x in named)], within)
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith("jax."):  # how JAX holds a callback
        fields = [getattr(value, f.name) for f in dataclasses.fields(value)]
        keys = [_made(x, within) if type(x) in (FunctionType, partial) else x for x in fields]
        return None if any(k is None for k in keys) else (type(value), tuple(keys))
    return None


def _all(kind: type, said: tuple[Any, ...], parts: list[Any], within: tuple[int, ...]) -> Hashable | None:
    keys = [_held(x, within) for x in parts]
    return None if any(k is None for k in keys) else (kind, said, tuple(keys))


def _held(value: Any, within: tuple[int, ...]) -> Hashable | None:
    if type(value) in (float, complex):  # 0.0 and −0.0 are equal
        return type(value), repr(value)
    if type(value) in _PLAIN or isinstance(value, (np.dtype, jax.ShapeDtypeStruct)):
        return type(value), value
    if type(value) is tuple:
        keys = tuple(_held(x, within) for x in value)
        return None if any(k is None for k in keys) else (tuple, keys)
    if type(value) is FunctionType or type(value) is partial:
        return _made(value, within)
    return "one", id(value)
