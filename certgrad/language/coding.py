"""Statements as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from .tree import Statement


def encode(statement: Statement) -> str:
    """The statement as JSON, on one line."""
    return msgspec.json.encode(statement).decode()


def decode(data: str | bytes) -> Statement:
    """Strict. Raises msgspec.ValidationError."""
    return _DECODER.decode(data)


_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Statement)
