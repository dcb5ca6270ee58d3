"""Programs of complex numbers as programs of pairs of real ones: what a complex value means.

A complex value is its real and its imaginary part, and each primitive is read as what it does to these; the discrete
Fourier transform is the sum over roots of unity, at any length. Nothing is claimed of rounding, so it does not matter
in which order JAX multiplies. What JAX takes for the derivative of a complex function needs no convention here: the
programs of a rule start and end in real numbers, and the transposes of `complex`, `real` and `imag` stand in them.

The calculus and the second check read the same pairs; that they are what JAX computes is tested against JAX itself.
"""

from ._pairs import NoPairsError, on_pairs
from ._pi import NAME as PI
from ._pi import pi

__all__ = ["PI", "NoPairsError", "on_pairs", "pi"]
