"""Which shapes, ranks and dtypes were looked at, and why they stand for all others."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import alike, open_code

__getattr__ = door(__name__, modules="alike open_code")
