"""The session: the tables that one proof keeps. Every thread has its own session, and each proof starts an empty one.

Within a session atoms are interned, so that equality is identity. Each session has a mark, which its atoms carry: terms
of two sessions are compared by their keys, and are made anew in the present session where they become parts of one
term.
"""

from __future__ import annotations

import threading
from typing import Any, Generic, Protocol, TypeVar


class Keyed(Protocol):
    """An object with a key that determines all of its structure."""

    key: str


K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A", bound=Keyed)


class MixedSessionsError(AssertionError):
    """One term has atoms of two proofs: equal atoms of it would not be identical."""


class Session(threading.local):
    """The interned atoms of a proof, its memos, and the count of fresh variables."""

    def __init__(self) -> None:
        self.interned: dict[str, Any] = {}
        self.memos: list[dict] = []
        self.fresh = 0
        self.mark = object()
        self.laws: dict[Any, None] = {}
        """The laws that were applied, in order."""

    def forget(self) -> None:
        """Start anew: called between proofs."""
        self.interned.clear()
        for table in self.memos:
            table.clear()
        self.laws.clear()
        self.fresh = 0
        self.mark = object()


session = Session()


class Memo(threading.local, Generic[K, V]):
    """A table of the session, which `Session.forget` empties."""

    def __init__(self) -> None:
        self.table: dict[K, V] = {}
        session.memos.append(self.table)


def intern(atom: A) -> A:
    """Return the session's atom with this key: the given one, if there was none before."""
    return session.interned.setdefault(atom.key, atom)


def clear_caches() -> None:
    """Forget interned atoms and all memos."""
    session.forget()
