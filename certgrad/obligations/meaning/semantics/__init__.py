"""The meaning of traced programs: each primitive's semantics, and the interpreter that applies them."""

from . import (  # registration
    _branches,
    _casts,
    _cumulative,
    _division,
    _elementwise,
    _factorisations,
    _gathers,
    _integers,
    _linear_algebra,
    _loops,
    _order,
    _reductions,
    _solvers,
    _special,
    _structure,
    _windows,
)
from ._interpreter import constant, interpret
from ._opaque import Opaque
from ._registry import RULES, Context, UnprovedError

__all__ = ["RULES", "Context", "Opaque", "UnprovedError", "constant", "interpret"]
