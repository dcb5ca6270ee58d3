"""Derivatives of terms, and where piecewise terms have one."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import steps

__getattr__ = door(__name__, modules="steps")
