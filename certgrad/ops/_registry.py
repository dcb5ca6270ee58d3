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
        """Register the op and return it.

        It replaces an op that the same code declared before, as when a cell of a notebook runs again or a module is
        reloaded. Raises DeclarationError if one of its names is taken by any other op.
        """
        earlier = self._ops.get(op.name)
        redefined = earlier is not None and _is_redefinition(earlier, op)
        aliases = {alias: name for alias, name in self._aliases.items() if not (redefined and name == op.name)}
        for name in (op.name, *op.aliases):
            if name in aliases or (name in self._ops and not (redefined and name == op.name)):
                owner = self.get(name)
                raise DeclarationError(
                    f"The name '{name}' of the op at {op.where} is taken by the op '{owner.name}' at {owner.where}. "
                    "Give it another name, or a registry of its own: op(..., registry=Registry())."
                )
        self._ops[op.name] = op
        self._aliases = {**aliases, **dict.fromkeys(op.aliases, op.name)}
        return op

    def get(self, name: str) -> Op:
        """Return the op of that name or alias. Raises UnknownOpError, with similar names."""
        if (op := self._ops.get(self._aliases.get(name, name))) is not None:
            return op
        close = get_close_matches(name, [*self._ops, *self._aliases], n=3)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise UnknownOpError(f"There is no op '{name}'.{hint} `certgrad list` shows all {len(self._ops)} ops.")

    def names(self) -> tuple[str, ...]:
        """Return the names of the ops, without aliases, in the order of declaration."""
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
    """Return whether the definition of `earlier` ran again and made `op`.

    It may have been edited meanwhile, or its file run as another module, such as `__main__`. Two definitions in one run
    of a module are two ops: the code object that runs now then holds the functions of both as constants.
    """
    earlier_forward, forward = (o.forward for o in (earlier, op))
    file = forward.__code__.co_filename
    same_file = earlier_forward.__code__.co_filename == file and os.path.isfile(file)
    if earlier_forward.__qualname__ != forward.__qualname__ or not (
        same_file or earlier_forward.__module__ == forward.__module__
    ):
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        constants = {id(c) for c in frame.f_code.co_consts}
        if id(forward.__code__) in constants:  # the code that defines `op`
            return id(earlier_forward.__code__) not in constants
        frame = frame.f_back
    return False
