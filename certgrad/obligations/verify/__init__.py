"""A second way to check a certificate, which shares nothing with the calculus that proved it.

The op's code is traced again and compared by digest; then the traced programs are evaluated by rigorous arithmetic, at
concrete shapes and rational points inside the hypotheses and on the boundaries of what the programs compare. This is
no proof. It is independent of the terms, the normal form, the derivative and the case split of the proof.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from ._case import AtShape, PointClaims
    from ._excluded import Excluded, Look, Outside, bounds_no_gradient, excluded_look, look_outside
    from ._look import failing, first_shape, last_look, least_shape, ordinary_runs
    from ._verify import Verification, verify

_PUBLIC = {
    "PointClaims": "_case",
    "AtShape": "_case",
    "Excluded": "_excluded",
    "bounds_no_gradient": "_excluded",
    "excluded_look": "_excluded",
    "Look": "_excluded",
    "Outside": "_excluded",
    "Verification": "_verify",
    "failing": "_look",
    "ordinary_runs": "_look",
    "first_shape": "_look",
    "last_look": "_look",
    "least_shape": "_look",
    "look_outside": "_excluded",
    "verify": "_verify",
}

__getattr__ = door(__name__, _PUBLIC)
