"""The record of a run; its notes are made at the first call of a rule."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ._notice import noticed

if TYPE_CHECKING:
    from ._functions import Functions
    from ._notes import Notes


class Record:
    """The notes made inside of `noticing()`; with `graphs`, differentiated functions are noted too."""

    def __init__(self, graphs: bool = False) -> None:
        self.notes: Notes | None = None
        """The notes of called rules; None where no rule was called."""
        self.functions: Functions | None = None
        """The functions that were differentiated, if they are noted; None where there was none."""
        self._graphs = graphs

    def noticing(self) -> AbstractContextManager[None]:
        """Return a context in which calls are noted."""
        return noticed(self._note, self._differentiated if self._graphs else None)

    def begin(self) -> None:
        """Note calls from now on, until `end`."""
        self._block = self.noticing()
        self._block.__enter__()

    def end(self) -> None:
        """Stop noting calls, after `begin`."""
        self._block.__exit__(None, None, None)

    def _note(self, custom: Any, args: tuple, kwargs: dict) -> None:
        if self.notes is None:
            from ._notes import Notes  # it needs JAX, which the program has imported by now

            self.notes = Notes()
        self.notes.note(custom, args, kwargs)

    def _differentiated(self, function: Any, has_aux: bool, args: tuple, kwargs: dict) -> None:
        if self.functions is None:
            from ._functions import Functions

            self.functions = Functions()
        self.functions.note(function, has_aux, args, kwargs)
