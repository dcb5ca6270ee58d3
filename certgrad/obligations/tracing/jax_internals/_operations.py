"""Estimates of how long a program takes, before it is run."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ._live import scan_loop
from ._programs import inner_program


def operations(jaxpr: Any) -> int:
    """Return about how many scalar operations a program at numeric sizes takes.

    A `scan` counts as often as it has steps. Loops without a number of steps, and branches, count as one operation for
    each entry of their operands or outputs.
    """
    total = 0
    for eqn in jaxpr.eqns:
        inner = inner_program(eqn)
        if eqn.primitive.name == "scan":
            loop = scan_loop(eqn)
            total += int(loop.length) * operations(loop.body.jaxpr)
        elif inner is not None:
            total += operations(inner.jaxpr)
        else:
            total += _of_one(eqn)
    return total


def _of_one(eqn: Any) -> int:
    """Return about how many scalar operations an equation takes that runs no program."""
    count = sum(prod(v.aval.shape) for v in eqn.outvars)
    if eqn.primitive.name == "dot_general":
        axes = eqn.params["dimension_numbers"][0][0]
        return count * prod(eqn.invars[0].aval.shape[k] for k in axes)
    if eqn.primitive.name == "conv_general_dilated":
        axes = eqn.params["dimension_numbers"].rhs_spec[1:]
        return count * prod(eqn.invars[1].aval.shape[k] for k in axes)
    return max(count, *(prod(np.shape(getattr(v, "aval", 0))) for v in eqn.invars), 0)
