"""Statements as JSON, and the schema of what holds them."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from .tree import Statement


def encode(statement: Statement) -> str:
    """Return the statement as JSON, on one line."""
    return msgspec.json.encode(statement).decode()


def decode(data: str | bytes) -> Statement:
    """Return the decoded value; unknown fields and wrong types raise msgspec.ValidationError."""
    return _DECODER.decode(data)


def schema(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of a struct.

    Descriptions are docstrings without their indentation, which msgspec kept before its version 0.23.
    """
    cleaned: dict[str, Any] = _cleaned(msgspec.json.schema(kind))
    return cleaned


def _cleaned(part: Any) -> Any:
    """Return a part of a schema with its descriptions without indentation."""
    if isinstance(part, list):
        return [_cleaned(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: inspect.cleandoc(value) if key == "description" and isinstance(value, str) else _cleaned(value)
        for key, value in part.items()
    }


_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Statement)
