"""What a value is like, without its numbers: by this two rules that a function makes anew are one, or two.

No method of the program's own objects is called: to record must not do what the program does not.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from certgrad._closures import captured

MAX_DEPTH = 6
MAX_ENTRIES = 64
MAX_PARTS = 1000
_PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis))
_PARTS = ("fun", "fwd", "bwd", "jvp", "nondiff_argnums", "symbolic_zeros")


class Likeness:
    """The likeness of a value, and what was met on the way."""

    def __init__(self, value: Any, *, values: bool = True) -> None:
        self.traced: list[str] = []
        """What there is of traced values, in words."""
        self._values = values
        self._open: set[int] = set()
        self._left = MAX_PARTS
        self.key = self._of(value, 0)

    def _of(self, value: Any, depth: int) -> Hashable:
        kind = type(value)
        if kind in _PLAIN:
            return (kind.__name__, value if self._values or kind is type(None) else None)
        if kind in (float, complex):
            return (kind.__name__, repr(value) if self._values else "")  # nan is not equal to itself
        if isinstance(value, jax.core.Tracer):
            self.traced.append(f"{value.dtype}{list(value.shape)}")
            return ("traced", str(value.dtype), tuple(map(str, value.shape)))
        if isinstance(value, (np.ndarray, np.generic, jax.Array)):
            return ("array", str(value.dtype), tuple(value.shape))
        if isinstance(value, enum.Enum):
            return (kind.__qualname__, value.name)
        if isinstance(value, (type, ModuleType, BuiltinFunctionType)):
            return (kind.__name__, getattr(value, "__module__", None), getattr(value, "__qualname__", value.__name__))
        self._left -= 1
        if id(value) in self._open or depth > MAX_DEPTH or self._left < 0:
            return ("…", kind.__qualname__)
        self._open.add(id(value))
        try:
            return self._made(value, kind, depth + 1)
        finally:
            self._open.discard(id(value))

    def _made(self, value: Any, kind: type, depth: int) -> Hashable:
        if isinstance(value, (jax.custom_vjp, jax.custom_jvp)):
            parts = vars(value)
            return (kind.__name__, *(self._of(parts.get(name), depth) for name in _PARTS))
        if isinstance(value, FunctionType):
            held = [*captured(value), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            return (value.__code__.co_filename, value.__code__, *(self._of(x, depth) for x in held))
        if isinstance(value, partial):
            given = [value.func, *value.args, *value.keywords.values()]
            return ("partial", *value.keywords, *(self._of(x, depth) for x in given))
        if isinstance(value, MethodType):
            return ("method", self._of(value.__func__, depth), self._of(value.__self__, depth))
        if kind in (list, tuple, set, frozenset):
            return (kind.__name__, len(value), *(self._of(x, depth) for x in list(value)[:MAX_ENTRIES]))
        if kind is dict:
            entries = list(value.items())[:MAX_ENTRIES]
            return ("dict", len(value), *((self._of(k, depth), self._of(x, depth)) for k, x in entries))
        inside = _within(value)
        if inside is not None:
            return (kind.__name__, self._of(inside, depth))
        try:
            own = object.__getattribute__(value, "__dict__")
        except AttributeError:
            own = None
        return (kind.__module__, kind.__qualname__, self._of(dict(own) if type(own) is dict else None, depth))


def _within(value: Any) -> Any:
    """The function inside one of JAX's wrappers, such as `jit`."""
    return getattr(value, "__wrapped__", None) if type(value).__module__.startswith("jax") else None
