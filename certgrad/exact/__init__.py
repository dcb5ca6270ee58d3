"""A second prover: rules evaluated exactly, over the reals and over a finite field at once (docs/exact.md).

It shares with the calculus what programs mean, `certgrad.specification`, and nothing else: there is no normal form, no
law that is applied and no search. In the order of reading:

- `_check.py`: a rule, case by case and shape by shape; `_result.py`: what is said of it
- `_rule.py`, `_programs.py`: from a rule to its programs at a shape; `_literals.py`: floats that stand for others
- `_at_shape.py`, `_points.py`: which points; `_claims.py`: what is compared at one; `_sides.py`: at seams
- `_number.py`, `_field.py`: a number of a point, its arithmetic and comparisons; `_model.py`: exp, log, the circle,
  roots and oracles; `_functions.py`: all functions by these; `_factors.py`: factors of matrices, and solutions;
  `_primes.py`: the moduli
- `_bound.py`: the probability of an error
- `_weights.py`: all sizes; `_width.py`, `_widths.py`: the degrees by which the theorem asks for sizes; `_index.py`,
  `_places.py`: at which indices entries are read; `_free.py`: where sums are compared; `_nonzero.py`: what may be
  divided by
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from ._at_shape import Limits
    from ._check import Check, check
    from ._claims import Difference
    from ._result import Result, level, together

_PUBLIC = {
    "Check": "_check",
    "Difference": "_claims",
    "Limits": "_at_shape",
    "Result": "_result",
    "check": "_check",
    "level": "_result",
    "together": "_result",
}

__all__ = ["Check", "Difference", "Limits", "Result", "check", "level", "together"]

__getattr__ = door(__name__, _PUBLIC)
