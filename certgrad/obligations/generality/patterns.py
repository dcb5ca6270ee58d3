"""The patterns of calls of a rule that sees symbolic zeros: which inputs are perturbed, which outputs are used.

The cotangent of an output that is not used is a symbolic zero. JAX turns it into an array of zeros where it has to: the
rule with all outputs used covers that call, as it is linear in each cotangent. So a rule is right wherever JAX calls it
if it is right for each choice of inputs and of outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from certgrad.obligations.tracing.jax_internals import equations_of

INPUTS = 16
"""At most this many patterns of perturbed inputs are traced, for a rule that can see which are perturbed."""
PATTERNS = 4 * INPUTS
"""At most this many patterns of inputs and outputs together are traced."""
_OPS = str(Path(__file__).parents[2] / "ops" / "_execute.py")
Item = TypeVar("Item")


def choices(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    """Return each choice of one or more of the items: all of them first, single ones last."""
    return [c for k in range(len(items), 0, -1) for c in combinations(items, k)]


def too_many(inputs: int, outputs: int) -> str:
    """Return why a rule with so many inputs and outputs is not tried in each pattern; "" where it is."""
    of_inputs, of_outputs = max(1, 2**inputs - 1), max(1, 2**outputs - 1)
    if of_inputs > INPUTS:
        return f"which of {inputs} arrays are differentiated is {of_inputs} cases"
    if of_inputs * of_outputs > PATTERNS:
        return f"which of {outputs} outputs are used is {of_inputs * of_outputs} cases"
    return ""


def pattern_text(moving: Sequence[str] | None, used: Sequence[int] | None) -> str:
    """Return the perturbed inputs and used outputs in words; None stands for all."""
    parts = [] if moving is None else [f"only {', '.join(moving)} moves"]
    parts += [] if used is None else [f"only output {', '.join(map(str, used))} is used"]
    return " and ".join(parts)


def sees_zeros(jaxpr: Any) -> bool:
    """Return whether a rule that the program calls, or a backward (`custom_lin`), sees symbolic zeros.

    Rules of certgrad's ops do not count: they see symbolic zeros only to choose among declared rules, which are proved.
    """
    return any(eqn.params.get("symbolic_zeros") is True and not _of_op(eqn) for eqn in equations_of(jaxpr))


def _of_op(eqn: Any) -> bool:
    """Return whether the rule that an equation calls is the one that runs certgrad's ops."""
    infos = (getattr(part, "debug_info", None) for part in eqn.params.values())
    return any(getattr(info, "func_filename", None) == _OPS for info in infos)
