"""Proved bounds on what rounding does to a program over a box of inputs, under a stated model of the arithmetic."""

from certgrad.accel.rounding._bound import RoundingBound, rounding_bound
from certgrad.accel.rounding._model import ACCURACY, MODEL

__all__ = ["ACCURACY", "MODEL", "RoundingBound", "rounding_bound"]
