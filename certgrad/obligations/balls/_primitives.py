"""The table of primitives, complete: importing this module fills it."""

from __future__ import annotations

from certgrad.obligations.balls import (  # noqa: F401
    _contractions,
    _control,
    _elementwise,
    _factorisations,
    _indexing,
    _linear_algebra,
    _logic,
    _reductions,
    _shapes,
    _solvers,
    _special,
    _windows,
)
from certgrad.obligations.balls._registry import RULES

__all__ = ["RULES"]
