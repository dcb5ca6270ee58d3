"""Rules that another module's function makes, kept under names."""

from .rules import make, square

total, tripled = make(0), make(0, 3.0)
__all__ = ["square", "total", "tripled"]
