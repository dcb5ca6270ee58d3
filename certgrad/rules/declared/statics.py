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
"""Entries of an array of integers, at most, that is shown by its entries; a longer one by a digest."""


@dataclass(frozen=True)
class Real:
    """A static argument that is every real number, or every one that satisfies a condition on the argument's name."""

    condition: str = ""


@dataclass(frozen=True)
class Each:
    """A static argument that takes each of some values, one case for each."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Referred:
    """A static argument that is the object of a name: `mypkg.physics:argon`."""

    name: str


@dataclass(frozen=True)
class Default:
    """The default of an argument for which no value is declared."""

    value: Any


@dataclass(frozen=True)
class Named:
    """A value that is no number or text, with a text for it that is the same in every run."""

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
    """Return the static arguments that are open real numbers, each with its condition, or None without one."""
    return {name: v.condition or None for name, v in static.items() if isinstance(v, Real)}


def combinations(static: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every choice of values of the static arguments that are no open numbers.

    Raises UsageError for more than `MAX_CASES` choices.
    """
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
        if not any(type(value) is type(earlier) and value == earlier for earlier in out):
            out.append(value)
    return out


def plain_values(statics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the static values as the function takes them, without the texts of `Named` ones."""
    return {name: v.value if isinstance(v, Named) else v for name, v in statics.items()}


def from_table(value: Any) -> Any:
    """Return the static value that TOML writes as a table; any other value as it is.

    The tables are `{ real = "c > 0" }`, `{ each = [0, 1] }` and `{ object = "mypkg.physics:argon" }`.
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
    """Return a text for a value that is the same in every run and on every machine.

    Functions are described by their full name or a digest of their code, arrays by their entries or a digest of them.
    """
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
    """Return the module of a function, a class or a member of an enum, and its name there.

    None is returned if the name in the module is not bound to that very value.
    """
    kind = type(value)
    module = getattr(kind if isinstance(value, Enum) else value, "__module__", "")
    name = f"{kind.__qualname__}.{value.name}" if isinstance(value, Enum) else getattr(value, "__qualname__", "")
    try:
        named: Any = importlib.import_module(module)
        for part in (name or getattr(value, "__name__", "")).split("."):
            named = getattr(named, part)
    except (ImportError, AttributeError, ValueError, TypeError):
        return None
    return (module, name or value.__name__) if named is value else None


def _function(value: Callable) -> str:
    """Return a function's full name if it can be found by that; else its name and a digest of its code and closure."""
    module = getattr(value, "__module__", "")
    name = getattr(value, "__qualname__", "") or getattr(value, "__name__", "")
    if not name:  # an object that can be called
        return f"{type(value).__module__}.{type(value).__qualname__}"
    if path_of(value) is not None:
        return f"{module}.{name}"
    outer = _described.get()
    if any(f is value for f in outer):  # a function that calls itself has itself in its closure
        return f"{name}, {next(k for k, f in enumerate(reversed(outer)) if f is value)} functions further out"
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
"""The functions whose closures `_function` is describing, the outermost first."""


def _code(code: Any) -> Iterator[Any]:
    """Yield the bytecode, the names and the constants of a code object, and of those inside of it."""
    if code is not None:
        yield code.co_code
        yield code.co_names
        for constant in code.co_consts:
            if hasattr(constant, "co_code"):
                yield from _code(constant)
            else:
                yield constant


def annotations_of(plain: Callable) -> tuple[dict[str, Any], Any]:
    """Return the annotations of a function's arguments, by name, and of its result.

    Annotations that are texts are evaluated. Where one of them is no code, such as `x: "n d"`, those of the arguments
    are returned as they are, and none of the result. A function without a signature has none.
    """
    for as_code in (True, False):
        try:
            signature = inspect.signature(plain, eval_str=as_code)
        except Exception:  # an annotation that is a text can be any code, or none: `x: "n d"`
            continue
        result = signature.return_annotation if as_code else inspect.Signature.empty
        return {n: p.annotation for n, p in signature.parameters.items()}, result
    return {}, inspect.Signature.empty
