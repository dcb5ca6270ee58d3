"""The meaning of traced programs: each primitive's semantics, and the interpreter that applies them."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

from ._interpreter import constant, interpret
from ._opaque import Opaque
from ._registry import RULES, Context, UnprovedError

__all__ = ["RULES", "Context", "Opaque", "UnprovedError", "constant", "interpret"]

if TYPE_CHECKING:
    from . import _casts, _division, _index_numbers, _integers, _order, _positions, _special, _tables

__getattr__ = door(__name__, modules="_casts _division _index_numbers _integers _order _positions _special _tables")
