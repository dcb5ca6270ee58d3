"""The ops by name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from types import FrameType
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
        """Register the op, in the place of one that the same code declared before: a cell of a notebook that runs
        again, a module that is reloaded. Raises DeclarationError if one of its names is taken otherwise.
        """
        earlier = self._ops.get(op.name)
        again = earlier is not None and _is_redefinition(earlier, op)
        aliases = {alias: name for alias, name in self._aliases.items() if not (again and name == op.name)}
        for name in (op.name, *op.aliases):
            if name in aliases or (name in self._ops and not (again and name == op.name)):
                other = self.get(name)
                raise DeclarationError(
                    f"The name '{name}' of the op at {op.where} is taken by the op '{other.name}' at {other.where}. "
                    "Give it another name, or a registry of its own: op(..., registry=Registry())."
                )
        self._ops[op.name] = op
        self._aliases = {**aliases, **dict.fromkeys(op.aliases, op.name)}
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


def _is_redefinition(earlier: Op, op: Op) -> bool:
    """The definition of an op ran again, perhaps edited, or its file as another module (as `__main__`, say). Two
    definitions in one run of a module are two ops.
    """
    one, other = (o.forward for o in (earlier, op))
    file = other.__code__.co_filename
    same_file = one.__code__.co_filename == file and os.path.isfile(file)
    if one.__qualname__ != other.__qualname__ or not (same_file or one.__module__ == other.__module__):
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        held = {id(c) for c in frame.f_code.co_consts}
        if id(other.__code__) in held:  # what defines it runs now
            return id(one.__code__) not in held
        frame = frame.f_back
    return False
