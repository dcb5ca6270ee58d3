"""The meaning of traced programs: each primitive's semantics, and the interpreter that applies them."""

from . import _elementwise, _gathers, _reductions, _structure, _windows  # noqa: F401  (registration)
from ._interpreter import constant, interpret
from ._registry import RULES, Context, UnprovedError

__all__ = ["RULES", "Context", "UnprovedError", "constant", "interpret"]
