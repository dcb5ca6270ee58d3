"""Declarations as TOML, as `certgrad run --save` writes them, and as decorators, as `certgrad audit --fix` does."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from .declaration import Declaration
from .statics import Default, Each, Real, Referred, text_of


class UnwritableError(Exception):
    """Raised for a value of a declaration that no text can give; the message says which."""


def entries(declared: Declaration) -> list[str]:
    """Return the lines of a declaration in TOML: `signature = "n d"`. Options at their defaults get no line.

    Raises UnwritableError.
    """
    signature, static = _text_parts(declared)
    lines = [f"signature = {text(signature)}"]
    if static:
        inner = ", ".join(f"{name} = {_value(name, v)}" for name, v in static.items())
        lines.append(f"static = {{ {inner} }}")
    if declared.differentiable is not None:
        lines.append(f"differentiable = {_texts(declared.differentiable)}")
    if declared.domain:
        lines.append(
            f"domain = {text(declared.domain) if isinstance(declared.domain, str) else _texts(declared.domain)}"
        )
    if declared.surrogate:
        lines.append(f"surrogate = {text(declared.surrogate)}")
    if declared.approximates is not None:
        if not isinstance(declared.approximates, str):
            raise UnwritableError("what it approximates is a function, which text cannot say")
        lines.append(f"approximates = {text(declared.approximates)}")
    if declared.sizes:
        choices = [declared.sizes] if isinstance(declared.sizes, Mapping) else declared.sizes
        tables = ("{ " + ", ".join(f"{name} = {value}" for name, value in sizes.items()) + " }" for sizes in choices)
        lines.append(f"sizes = [{', '.join(tables)}]")
    if declared.order != 1:
        lines.append(f"order = {declared.order}")
    return lines


def _text_parts(declared: Declaration) -> tuple[str, dict[str, Any]]:
    """Return the signature as a text, and the static values but for defaults. Raises UnwritableError."""
    if not isinstance(declared.signature, str):
        raise UnwritableError("an argument is an object of a class, which text cannot say")
    return declared.signature, {n: value for n, value in declared.static.items() if not isinstance(value, Default)}


def inline(declared: Declaration) -> str:
    """Return the declaration as a value of `[tool.certgrad.signatures]`. Raises UnwritableError."""
    lines = entries(declared)
    return lines[0].partition(" = ")[2] if len(lines) == 1 else f"{{ {', '.join(lines)} }}"


def unwritten(declared: Declaration) -> list[str]:
    """Return the static values that a file cannot hold, in words: `config = Config(rate=0.1)`."""
    texts = []
    for name, value in declared.static.items():
        try:
            if not isinstance(value, Default):
                _value(name, value)
        except UnwritableError:
            several = value.values if isinstance(value, Each) else [value]
            texts.append(f"{name} = {', '.join(map(text_of, several))}")
    return texts


def call(declared: Declaration, module: str = "certgrad") -> str:
    """Return the declaration as a decorator, marked as inferred: `certgrad.declare("n d", inferred=True)`.

    `module` is the name of certgrad in the file of the decorator. Raises UnwritableError.
    """
    signature, static = _text_parts(declared)
    parts = [python(signature)]
    if static:
        inner = ", ".join(f"{python(name)}: {_python_value(name, v, module)}" for name, v in static.items())
        parts.append(f"static={{{inner}}}")
    if declared.conditions:
        parts.append(f"domain={python(list(declared.conditions))}")
    if declared.surrogate:
        parts.append(f"surrogate={python(declared.surrogate)}")
    return f"{module}.declare({', '.join([*parts, 'inferred=True'])})"


def python(value: str | list[str]) -> str:
    """Return a text as Python code in double quotes, or a list of texts; a list of one text is written as that text."""
    if isinstance(value, list):
        return python(value[0]) if len(value) == 1 else f"[{', '.join(map(python, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _python_value(name: str, value: Any, module: str) -> str:
    """Return the Python code of a static value. Raises UnwritableError; `name` is the argument, for its message."""
    if isinstance(value, Each):
        return f"{module}.each({', '.join(_python_value(name, v, module) for v in value.values)})"
    if isinstance(value, Real):
        return f"{module}.real({python(value.condition) if value.condition else ''})"
    if type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return python(value) if isinstance(value, str) else repr(value)
    if type(value) is list:
        return f"[{', '.join(_python_value(name, v, module) for v in value)}]"
    raise UnwritableError(f"{name} is of type {type(value).__name__}, which no text says")


def _value(name: str, value: Any) -> str:
    """Return a static value as TOML. Raises UnwritableError for one that would not be read back, as a tuple."""
    if isinstance(value, Each):
        return f"{{ each = [{', '.join(_value(name, v) for v in value.values)}] }}"
    if isinstance(value, Real):
        return f"{{ real = {text(value.condition)} }}"
    if isinstance(value, Referred):
        return f"{{ object = {text(value.name)} }}"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return repr(value) if math.isfinite(value) else str(value)
    if type(value) is str:
        return text(value)
    if type(value) is list:
        return f"[{', '.join(_value(name, v) for v in value)}]"
    raise UnwritableError(f"{name} is of type {type(value).__name__}, which the file cannot say")


def _texts(values: Iterable[str]) -> str:
    return f"[{', '.join(map(text, values))}]"


def text(value: str) -> str:
    """Return a text as a TOML string."""
    return json.dumps(value)
