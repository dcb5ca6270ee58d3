"""Programs of complex numbers, rewritten as programs of pairs of real numbers.

A complex value is its real and its imaginary part, and each primitive is rewritten as what it does to these two; the
discrete Fourier transform is the sum over roots of unity, at any length. Nothing is claimed of rounding, so it does not
matter in which order JAX multiplies. No convention for complex derivatives is needed: the programs of a rule take and
return real numbers, and contain JAX's transposes of `complex`, `real` and `imag`.

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
