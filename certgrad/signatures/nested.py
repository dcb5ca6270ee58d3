"""Nested arguments as text: `{w: d m, b: m}`, `(n d, n:int)`, `[n, m]`, `None`, `Params(w: d m, bias=True)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

from certgrad.errors import SignatureError

BRACKETS = {"{": "}", "(": ")", "[": "]"}
_SCALAR = re.compile(r"\(\)\s*(:\s*\w+)?")
"""Matches `()`, with a dtype or without: an array without dims, as numpy writes it, and not an empty tuple."""
_OF_CLASS = re.compile(r"([A-Za-z_]\w*)\((.*:.*)\)", re.DOTALL)
"""Matches an object by its class and fields. A function of sizes, such as `max(n, m)`, has no colon in its brackets."""
Leaf = Callable[[str], Any]
"""A function that reads the text of one array's shape."""


@dataclass(frozen=True)
class OfClass:
    """An object by the name of its class: the structures of its fields of arrays, and literals for other fields.

    Fields that are in neither have their defaults.
    """

    name: str
    fields: Mapping[str, Any]
    values: tuple[tuple[str, Any], ...] = ()


def has_fields(kind: Any) -> bool:
    """Return whether an object is a class of named tuples or a dataclass."""
    return isinstance(kind, type) and (is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")))


def nested(text: str, leaf: Leaf, whole: str) -> Any:
    """Return the structure that a text writes: None, tuples, lists, dicts and OfClass, with results of `leaf` in it.

    Raises SignatureError, which quotes the `whole` text.
    """
    text = text.strip()
    if text == "None":
        return None
    if (match := _OF_CLASS.fullmatch(text)) is not None:
        parts = split_at_commas(match[2], whole)
        fields = dict(_entry(p, leaf, whole) for p in parts if "=" not in p)
        return OfClass(match[1], fields, tuple(_value(p, whole) for p in parts if "=" in p))
    if text[:1] not in BRACKETS or not text or _SCALAR.fullmatch(text):
        return leaf(text)
    if text[-1] != BRACKETS[text[0]]:
        raise SignatureError(f"The signature '{whole}' does not parse: '{text}' does not close.")
    inner = text[1:-1]
    parts = split_at_commas(inner, whole) if inner.strip() else []
    if text[0] == "{":
        return dict(_entry(p, leaf, whole) for p in parts)
    items = [nested(p, leaf, whole) for p in parts if p.strip() or len(parts) > 1]
    return tuple(items) if text[0] == "(" else items


def leaves(text: str) -> list[str]:
    """Return the texts of the shapes in the arguments of a signature, in order. Raises SignatureError."""
    shapes: list[str] = []
    for part in split_at_commas(text, text):
        nested(part, shapes.append, text)
    return [shape.strip() for shape in shapes]


def _entry(text: str, leaf: Leaf, whole: str) -> tuple[str, Any]:
    """Return the key and the structure of an entry `w: n d`. Raises SignatureError."""
    key, colon, value = text.partition(":")
    if not colon or not key.strip().isidentifier():
        raise SignatureError(f"The signature '{whole}' does not parse: '{text.strip()}' is no entry such as 'w: n d'.")
    return key.strip(), nested(value, leaf, whole)


def _value(text: str, whole: str) -> tuple[str, Any]:
    """Return the name and the literal of a field `bias=True`. Raises SignatureError."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        raise SignatureError(f"The signature '{whole}' does not parse: '{value.strip()}' is no literal.") from None


def split_at_commas(text: str, whole: str) -> list[str]:
    """Return the parts of a text between commas outside of brackets. Raises SignatureError if brackets do not match."""
    parts, depth, start = [], 0, 0
    for k, c in enumerate(text):
        depth += (c in "{([") - (c in "})]")
        if depth < 0:
            break
        if c == "," and depth == 0:
            parts.append(text[start:k])
            start = k + 1
    if depth:
        raise SignatureError(f"The signature '{whole}' does not parse: its brackets do not match.")
    return [*parts, text[start:]]
