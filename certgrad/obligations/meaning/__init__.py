"""The meaning of programs: semantics of primitives, of literals and of declared domains."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import domain

__getattr__ = door(__name__, modules="domain")
