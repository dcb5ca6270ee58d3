"""One rule, and its certificate: cases, attempts, judgement, witnesses, conventions."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import conventions, witnesses

__getattr__ = door(__name__, modules="conventions witnesses")
