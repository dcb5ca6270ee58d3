"""The ops by name."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from certgrad.errors import DeclarationError, UnknownOpError

if TYPE_CHECKING:
    from certgrad.ops._declare import Op


class Registry:
    """Ops in the order of their declaration, each under its name and its aliases."""

    def __init__(self) -> None:
        self._ops: dict[str, Op] = {}
        self._aliases: dict[str, str] = {}

    def add(self, op: Op) -> Op:
        """Register the op. Raises DeclarationError if one of its names is taken."""
        for name in (op.name, *op.aliases):
            if name in self._ops or name in self._aliases:
                other = self.get(name)
                raise DeclarationError(
                    f"The name '{name}' of the op at {op.where} is taken by the op '{other.name}' at {other.where}. "
                    "Give it another name, or a registry of its own: op(..., registry=Registry())."
                )
        self._ops[op.name] = op
        self._aliases.update(dict.fromkeys(op.aliases, op.name))
        return op

    def get(self, name: str) -> Op:
        """The op of that name or alias. Raises UnknownOpError with close matches."""
        if (found := self._ops.get(self._aliases.get(name, name))) is not None:
            return found
        close = get_close_matches(name, [*self._ops, *self._aliases], n=3)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise UnknownOpError(f"There is no op '{name}'.{hint} `certgrad list` shows all {len(self._ops)} ops.")

    def names(self) -> tuple[str, ...]:
        """The names of the ops, without aliases, in the order of declaration."""
        return tuple(self._ops)

    def freeze(self) -> None:
        """Raise DeclarationError if one of the ops lacks a rule."""
        for op in self:
            op.check_complete()

    def __iter__(self) -> Iterator[Op]:
        return iter(self._ops.values())

    def __len__(self) -> int:
        return len(self._ops)

    def __contains__(self, name: str) -> bool:
        return name in self._ops or name in self._aliases
