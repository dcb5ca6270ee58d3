"""The record of a run, which begins with its first call of a rule."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ._notice import noticed

if TYPE_CHECKING:
    from ._notes import Notes


class Record:
    """What is noted inside of `noticing()`."""

    def __init__(self) -> None:
        self.notes: Notes | None = None
        """None where no rule was called."""

    def noticing(self) -> AbstractContextManager[None]:
        """Note the calls inside the block."""
        return noticed(self._told)

    def begin(self) -> None:
        """Note calls from now on, where there is no block to speak of."""
        self._block = self.noticing()
        self._block.__enter__()

    def end(self) -> None:
        """The end of what `begin` began."""
        self._block.__exit__(None, None, None)

    def _told(self, custom: Any, args: tuple, kwargs: dict) -> None:
        if self.notes is None:
            from ._notes import Notes  # it needs JAX, which the program has imported by now

            self.notes = Notes()
        self.notes.told(custom, args, kwargs)
