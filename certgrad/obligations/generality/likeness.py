"""A key of what a value holds, by which two rules that a function made in two calls count as one rule or as two.

Values with equal keys do the same. A value that cannot be read counts by its identity, and is kept alive so that no
other value takes its id. No method of the program's own objects is called, since recording must have no effects.
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
"""At most this many levels of objects inside of each other are compared; a deeper one counts by identity."""
MAX_PARTS = 1000
"""At most this many objects are read for one key; further ones count by identity."""
MAX_BYTES = 1 << 24
"""Larger arrays are told apart by identity."""
_PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis))
_PARTS = ("fun", "fwd", "bwd", "jvp", "nondiff_argnums", "symbolic_zeros")
_LIBRARIES = frozenset("builtins collections decimal fractions functools jax jaxlib numpy operator".split())
"""Objects of these packages' classes are read by what pickle would save of them."""


class Itself:
    """A key that is equal only for the same object. It keeps the object alive, so that no other takes its id."""

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
        """The dtype and the shape of each traced value that was met, as text."""
        self._open: dict[int, int] = {}
        self._left = MAX_PARTS
        self.key = self._of(value, 0)

    def _of(self, value: Any, depth: int) -> Hashable:
        """Return a key that is equal for values that hold the same.

        An object beyond `MAX_DEPTH` or `MAX_PARTS` counts by its identity. An object inside of itself is keyed by how
        many levels above it stands, so that the walk ends.
        """
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
        """Yield the keys of what a rule, a function, a method, a wrapper, or any other object holds."""
        if isinstance(value, (jax.custom_vjp, jax.custom_jvp)):
            parts = vars(value)
            yield from (self._of(parts.get(name), depth) for name in _PARTS)
        elif isinstance(value, FunctionType):
            captures = [*captured(value), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            attributes = {k: v for k, v in vars(value).items() if k != "__wrapped__"}
            yield from (value.__code__.co_filename, value.__code__, Itself(value.__globals__))
            yield from (self._of(x, depth) for x in (*captures, *attributes.items()))
        elif isinstance(value, (MethodType, BuiltinFunctionType)):
            yield from (value.__name__, self._of(getattr(value, "__func__", None), depth))
            yield self._of(value.__self__, depth)
        elif isinstance(value, partial):
            yield from (self._of(x, depth) for x in (value.func, value.args, value.keywords))
        elif (wrapped := _jax_wrapped_function(value)) is not None:
            yield self._of(wrapped, depth)
        else:
            yield from (self._of(x, depth) for x in _contents(value, kind))


def _bytes(value: Any) -> tuple[Hashable, ...]:
    """Return a digest of an array's values; the array by identity, where they are too many or cannot be read."""
    try:
        if value.nbytes <= MAX_BYTES and value.dtype != object:
            plain = jax.random.key_data(value) if jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key) else value
            return (hashlib.blake2b(np.ascontiguousarray(plain).tobytes(), digest_size=16).digest(),)
    except Exception:  # an array that was donated, or that other processes have parts of
        pass
    return (Itself(value),)


def _contents(value: Any, kind: type) -> list[Any]:
    """Return the parts of a container or an object; the object itself, by identity, where they are not known.

    An object of a class of the program's that is derived from a container has entries and attributes.
    """
    parts: list[Any] = []
    readable = False
    for base, read in _CONTAINERS.items():
        if isinstance(value, base):
            parts += read(value)
            readable = True
            break
    attributes = _attributes(value, kind)
    if attributes is not None:
        parts += attributes.items()
        readable = True
    if not readable and module_of(kind).split(".")[0] in _LIBRARIES:
        try:
            reduced = value.__reduce_ex__(4)
            return [str(reduced)] if isinstance(reduced, str) else [x for x in reduced if x is not None]
        except Exception:  # it cannot be taken apart
            readable = False
    return parts if readable else [Itself(value)]


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
"""How a value of each type is read without calling methods that a derived class of the program's may override."""


def _attributes(value: Any, kind: type) -> dict[str, Any] | None:
    """Return an object's attributes; None for a class that may hold more, as one derived from a library's."""
    attributes = attributes_of(value)
    if not attributes and getattr(kind, "__dictoffset__", 0) == 0:
        return None
    plain = all(module_of(base).split(".")[0] not in _LIBRARIES or base is object for base in kind.__mro__[1:])
    return attributes if plain or any(isinstance(value, base) for base in _CONTAINERS) else None


def _jax_wrapped_function(value: Any) -> Any:
    """Return the function inside one of JAX's wrappers, such as `jit`; None for any other value."""
    return getattr(value, "__wrapped__", None) if module_of(type(value)).startswith("jax") else None
