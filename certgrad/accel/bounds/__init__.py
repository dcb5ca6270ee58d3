"""Bounds on what a certified graph, or its gradient, returns over a box of inputs: rigorous, by ball arithmetic."""

from certgrad.accel.bounds._bounds import Bounds, Box, bounds
from certgrad.accel.bounds._linear import LinearBounds, linear_bounds

__all__ = ["Bounds", "Box", "LinearBounds", "bounds", "linear_bounds"]
