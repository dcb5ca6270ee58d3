"""Programs of complex numbers as programs of pairs of real ones: what a complex value means.

A complex value is its real and its imaginary part, and each primitive is read as what it does to these; the discrete
Fourier transform is the sum over roots of unity, at any length. Nothing is claimed of rounding, so it does not matter
in which order JAX multiplies. What JAX takes for the derivative of a complex function needs no convention here: the
programs of a rule start and end in real numbers, and the transposes of `complex`, `real` and `imag` stand in them.

The calculus and the second check read the same pairs; that they are what JAX computes is tested against JAX itself.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from ._pair import NoPairsError, has_complex
    from ._pairs import on_pairs
    from ._pi import PI, pi

_PUBLIC = {"PI": "_pi", "NoPairsError": "_pair", "has_complex": "_pair", "on_pairs": "_pairs", "pi": "_pi"}

__getattr__ = door(__name__, _PUBLIC)
