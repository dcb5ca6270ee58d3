"""The state of a proof: the terms that are known, and what was worked out about them."""

from __future__ import annotations

from typing import Protocol, TypeVar


class Keyed(Protocol):
    """What has a key that says all of its structure."""

    key: str


K = TypeVar("K", bound=Keyed)
_interned: dict[str, Keyed] = {}
_memos: list[dict] = []


def intern(atom: K) -> K:
    """The one atom with this key."""
    return _interned.setdefault(atom.key, atom)  # type: ignore[return-value]


def known(key: str) -> Keyed | None:
    """The atom with this key, if there is one."""
    return _interned.get(key)


def memo() -> dict:
    """A cache that `clear_caches` empties."""
    table: dict = {}
    _memos.append(table)
    return table


def clear_caches() -> None:
    """Forget interned atoms and all memos. Called between proofs; terms of two proofs are never mixed."""
    _interned.clear()
    for table in _memos:
        table.clear()
