"""The arguments that are not arrays: one value, each of several values, or every real number.

`certgrad.each(0, 1)` gives a case for each value; several such arguments give their product. `certgrad.real("c > 0")`
leaves a number open: the proof is about every real number that satisfies the condition.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import product
from typing import Any

from certgrad.errors import UsageError
from certgrad.jaxpr.closures import captured

MAX_CASES = 64
"""Combinations of static values, at most; more are a UsageError."""
MAX_SHOWN = 16
"""An array of so many integers is shown by its entries."""


@dataclass(frozen=True)
class Real:
    """Every real number, or every one that satisfies a condition over the argument's name."""

    condition: str = ""


@dataclass(frozen=True)
class Each:
    """Each of some values."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Referred:
    """The object that a name leads to: `mypkg.physics:argon`."""

    name: str


@dataclass(frozen=True)
class Default:
    """The value that an argument has where nobody says another."""

    value: Any


@dataclass(frozen=True)
class Named:
    """A value that is no number or text, under a text that is the same in every run."""

    value: Any
    text: str

    def __str__(self) -> str:
        return self.text


def real(condition: str = "") -> Real:
    """For `static`: the argument is every real number (`real("eps > 0")`: every positive one).

    The claim is proved with the number left open. Code that needs to know it, in a comparison, a test of its type or a
    call of `float`, is not followed; give its values by `each` then.
    """
    return Real(condition)


def each(*values: Any) -> Each:
    """For `static`: each of these values. Several arguments with several values give every combination."""
    if not values:
        raise UsageError("certgrad.each needs at least one value.")
    return Each(values)


def reals(static: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the arguments that are left open, each with its condition."""
    return {name: v.condition or None for name, v in static.items() if isinstance(v, Real)}


def combinations(static: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every choice of the values of the other arguments. Raises UsageError for too many."""
    choices = {n: v.values if isinstance(v, Each) else (v,) for n, v in static.items() if not isinstance(v, Real)}
    out = [
        {name: _as_named(value) for name, value in zip(choices, values, strict=True)}
        for values in product(*choices.values())
    ]
    if len(out) > MAX_CASES:
        raise UsageError(f"{len(out)} combinations of static values are more than {MAX_CASES}; check them in parts.")
    return out


def different(values: Iterable[Any]) -> list[Any]:
    """Return the values, each once; 1, 1.0 and True are three."""
    out: list[Any] = []
    for value in values:
        if not any(type(value) is type(one) and value == one for one in out):
            out.append(value)
    return out


def plain_values(statics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as the function takes them."""
    return {name: v.value if isinstance(v, Named) else v for name, v in statics.items()}


def from_table(value: Any) -> Any:
    """A static value as TOML says it: `{ real = "c > 0" }`, `{ each = [0, 1] }`, `{ object = "mypkg.physics:argon" }`,
    or the value itself.
    """
    if isinstance(value, dict) and len(value) == 1:
        if isinstance(value.get("real"), str):
            return real(value["real"])
        if isinstance(value.get("object"), str):
            return Referred(value["object"])
        if isinstance(value.get("each"), list) and value["each"]:
            return each(*map(from_table, value["each"]))
    return value


def _as_named(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool, type(None), Named)) else Named(value, text_of(value))


def text_of(value: Any) -> str:
    """Return a value in words that are the same in every run and on every machine."""
    if isinstance(value, partial):
        given = [*map(text_of, value.args), *(f"{k}={text_of(v)}" for k, v in value.keywords.items())]
        return f"partial({', '.join([text_of(value.func), *given])})"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(text_of, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {text_of(v)}" for k, v in value.items()) + "}"
    if callable(value):
        return _function(value)
    if hasattr(value, "shape") and hasattr(value, "tobytes"):
        if value.dtype.kind in "biu" and 0 < value.size <= MAX_SHOWN:
            return f"array of {value.dtype} {value.tolist()}"
        data = hashlib.blake2b(value.tobytes(), digest_size=4).hexdigest()
        return f"array of {value.dtype}{list(value.shape)} #{data}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def path_of(value: Any) -> tuple[str, str] | None:
    """The module of a function, a class or a member of an enum and its name there, where that leads to the value."""
    kind = type(value)
    module = getattr(kind if isinstance(value, Enum) else value, "__module__", "")
    name = f"{kind.__qualname__}.{value.name}" if isinstance(value, Enum) else getattr(value, "__qualname__", "")
    try:
        held: Any = importlib.import_module(module)
        for part in (name or getattr(value, "__name__", "")).split("."):
            held = getattr(held, part)
    except (ImportError, AttributeError, ValueError, TypeError):
        return None
    return (module, name or value.__name__) if held is value else None


def _function(value: Callable) -> str:
    """Return a function's full name, where that leads to it; else its name and a digest of its code."""
    module = getattr(value, "__module__", "")
    name = getattr(value, "__qualname__", "") or getattr(value, "__name__", "")
    if not name:  # an object that can be called
        return f"{type(value).__module__}.{type(value).__qualname__}"
    if path_of(value) is not None:
        return f"{module}.{name}"
    outer = _described.get()
    if any(one is value for one in outer):  # a function that calls itself has itself in its closure
        return f"{name}, {next(k for k, one in enumerate(reversed(outer)) if one is value)} functions further out"
    digest = hashlib.blake2b(digest_size=4)
    for part in _code(getattr(value, "__code__", None)):
        digest.update(repr(part).encode())
    token = _described.set((*outer, value))
    try:
        digest.update(", ".join(map(text_of, captured(value))).encode())
    finally:
        _described.reset(token)
    return f"{name} #{digest.hexdigest()}"


_described: ContextVar[tuple[Callable, ...]] = ContextVar("_described", default=())
"""The functions whose closures are being described."""


def _code(code: Any) -> Iterator[Any]:
    if code is not None:
        yield code.co_code
        yield code.co_names
        for constant in code.co_consts:
            if hasattr(constant, "co_code"):
                yield from _code(constant)
            else:
                yield constant


def annotations_of(plain: Callable) -> tuple[dict[str, Any], Any]:
    """The annotations of the arguments and of the result; of arguments alone as texts, where these are no code."""
    for as_code in (True, False):
        try:
            found = inspect.signature(plain, eval_str=as_code)
        except Exception:  # an annotation that is a text can be any code, or none: `x: "n d"`
            continue
        result = found.return_annotation if as_code else inspect.Signature.empty
        return {n: p.annotation for n, p in found.parameters.items()}, result
    return {}, inspect.Signature.empty
