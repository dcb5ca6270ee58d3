"""One language for entries of programs, hypotheses, statements for Coq and guards of running graphs."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import coding, evaluate, lengths, parse, prose, relations, text

__getattr__ = door(__name__, modules="coding evaluate lengths parse prose relations text")
