"""A second way to check a certificate, which shares nothing with the calculus that proved it.

The op's code is traced again and compared by digest; then the traced programs are evaluated by rigorous arithmetic, at
concrete shapes and rational points inside the hypotheses and on the boundaries of what the programs compare. This is
no proof. It is independent of the terms, the normal form, the derivative and the case split of the proof.
"""

from ._case import Asked
from ._look import failing, first_shape, last_look, least_shape, ordinary_runs
from ._programs import Programs
from ._shapes import MAX_ENTRIES, Shape
from ._verify import Verification, verify

__all__ = [
    "MAX_ENTRIES",
    "Asked",
    "Programs",
    "Shape",
    "Verification",
    "failing",
    "first_shape",
    "last_look",
    "least_shape",
    "ordinary_runs",
    "verify",
]
