"""Terms and hypotheses in words, as text and as LaTeX. Nothing below reads what is written here."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import present, stated

__getattr__ = door(__name__, modules="present stated")
