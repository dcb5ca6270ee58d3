"""A key of what a value holds, by which two rules made anew by a function are one, or two.

Values with equal keys do the same. What cannot be read counts by its identity, and is kept alive so that no other value
takes that. No method of the program's own objects is called: to record must not do what the program does not.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Hashable, Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from certgrad.jaxpr.closures import captured, module_of
from certgrad.obligations.generality.reach import attributes_of

MAX_DEPTH = 12
"""Objects inside of each other that are compared; a deeper one counts by identity."""
MAX_PARTS = 1000
"""Objects in one key, at most; further ones count by identity."""
MAX_BYTES = 1 << 24
"""Larger arrays are told apart by identity."""
_PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis))
_PARTS = ("fun", "fwd", "bwd", "jvp", "nondiff_argnums", "symbolic_zeros")
_LIBRARIES = frozenset("builtins collections decimal fractions functools jax jaxlib numpy operator".split())
"""Objects of their classes say themselves what they are made of."""


class Itself:
    """A value that is equal to itself alone. It holds the value, so that no other takes its identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Likeness:
    """The key of what a value holds, and the traced values met in it."""

    def __init__(self, value: Any) -> None:
        self.traced: list[str] = []
        """What there is of traced values, in words."""
        self._open: dict[int, int] = {}
        self._left = MAX_PARTS
        self.key = self._of(value, 0)

    def _of(self, value: Any, depth: int) -> Hashable:
        """Return a key that is equal for values that hold the same; an object too deep, or too many, is its own."""
        kind = type(value)
        if kind is Itself:
            return value
        if kind in _PLAIN:
            return (kind.__name__, value)
        if kind in (float, complex):
            return (kind.__name__, repr(value))  # nan is not equal to itself
        if isinstance(value, jax.core.Tracer):
            self.traced.append(f"{value.dtype}{list(value.shape)}")
            return ("traced", str(value.dtype), tuple(map(str, value.shape)))
        if isinstance(value, (np.ndarray, np.generic, jax.Array)) and module_of(kind).split(".")[0] in _LIBRARIES:
            weak = bool(getattr(value, "weak_type", False))
            return (kind.__name__, str(value.dtype), tuple(value.shape), weak, *_bytes(value))
        if isinstance(value, enum.Enum):
            return (Itself(kind), value.name)
        if isinstance(value, (type, ModuleType)):
            return Itself(value)
        self._left -= 1
        if id(value) in self._open:
            return ("above", depth - self._open[id(value)])
        if depth > MAX_DEPTH or self._left < 0:
            return Itself(value)
        self._open[id(value)] = depth
        try:
            return (Itself(kind), *self._key_parts(value, kind, depth + 1))
        finally:
            del self._open[id(value)]

    def _key_parts(self, value: Any, kind: type, depth: int) -> Iterator[Hashable]:
        if isinstance(value, (jax.custom_vjp, jax.custom_jvp)):
            parts = vars(value)
            yield from (self._of(parts.get(name), depth) for name in _PARTS)
        elif isinstance(value, FunctionType):
            held = [*captured(value), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            own = {k: v for k, v in vars(value).items() if k != "__wrapped__"}
            yield from (value.__code__.co_filename, value.__code__, Itself(value.__globals__))
            yield from (self._of(x, depth) for x in (*held, *own.items()))
        elif isinstance(value, (MethodType, BuiltinFunctionType)):
            yield from (value.__name__, self._of(getattr(value, "__func__", None), depth))
            yield self._of(value.__self__, depth)
        elif isinstance(value, partial):
            yield from (self._of(x, depth) for x in (value.func, value.args, value.keywords))
        elif (inside := _jax_wrapped_function(value)) is not None:
            yield self._of(inside, depth)
        else:
            yield from (self._of(x, depth) for x in _contents(value, kind))


def _bytes(value: Any) -> tuple[Hashable, ...]:
    """The values of an array; its identity, where they are too many, or none that can be read."""
    try:
        if value.nbytes <= MAX_BYTES and value.dtype != object:
            plain = jax.random.key_data(value) if jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key) else value
            return (hashlib.blake2b(np.ascontiguousarray(plain).tobytes(), digest_size=16).digest(),)
    except Exception:  # an array that was donated, or that other processes have parts of
        pass
    return (Itself(value),)


def _contents(value: Any, kind: type) -> list[Any]:
    """Return the parts of a container or an object; the object itself, by identity, where they are not known."""
    found: list[Any] = []
    known = False
    for base, read in _CONTAINERS.items():
        if isinstance(value, base):
            found += read(value)
            known = True
            break
    own = _attributes(value, kind)
    if own is not None:
        found += own.items()
        known = True
    if not known and module_of(kind).split(".")[0] in _LIBRARIES:
        try:
            reduced = value.__reduce_ex__(4)
            return [str(reduced)] if isinstance(reduced, str) else [x for x in reduced if x is not None]
        except Exception:  # it cannot be taken apart
            known = False
    return found if known else [Itself(value)]


_CONTAINERS: dict[type, Any] = {
    dict: lambda x: [len(x), *dict.items(x)],
    list: lambda x: [*list.__iter__(x)],
    tuple: lambda x: [*tuple.__iter__(x)],
    set: lambda x: [*set.__iter__(x)],
    frozenset: lambda x: [*frozenset.__iter__(x)],
    float: lambda x: [float.__repr__(x)],
    int: lambda x: [int.__repr__(x)],
    str: lambda x: [str.__str__(x)],
    bytes: lambda x: [bytes.__repr__(x)],
}
"""How each is read without calling a method of a class of the program's that is derived from it."""


def _attributes(value: Any, kind: type) -> dict[str, Any] | None:
    """Return an object's attributes; None for a class that may hold more than these."""
    found = attributes_of(value)
    if not found and getattr(kind, "__dictoffset__", 0) == 0:
        return None
    plain = all(module_of(base).split(".")[0] not in _LIBRARIES or base is object for base in kind.__mro__[1:])
    return found if plain or any(isinstance(value, base) for base in _CONTAINERS) else None


def _jax_wrapped_function(value: Any) -> Any:
    """The function inside one of JAX's wrappers, such as `jit`."""
    return getattr(value, "__wrapped__", None) if module_of(type(value)).startswith("jax") else None
