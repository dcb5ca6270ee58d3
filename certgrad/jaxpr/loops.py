"""Loops whose steps are carried out one after the other, on values of any kind; `run` says what a program gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .programs import scan_counts

Run = Callable[[Any, list[Any]], Sequence[Any]]


def scanned(
    params: Mapping[str, Any], operands: Sequence[Any], run: Run, row: Callable[[Any, int], Any]
) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """What a `scan` carries after its last step, and the rows, in order, of each array that it stacks; of no array
    where it takes no step. `row` takes one from an operand.
    """
    consts, carries = scan_counts(params)
    fixed, carry, arrays = operands[:consts], operands[consts : consts + carries], operands[consts + carries :]
    steps = range(int(params["length"]))
    found: dict[int, Sequence[Any]] = {}
    for k in reversed(steps) if params["reverse"] else steps:
        out = run(params["jaxpr"], [*fixed, *carry, *(row(x, k) for x in arrays)])
        carry, found[k] = out[:carries], out[carries:]
    return list(carry), list(zip(*(found[k] for k in steps), strict=True))


def repeated(
    params: Mapping[str, Any], operands: Sequence[Any], run: Run, goes_on: Callable[[Any], bool], most: int
) -> list[Any] | None:
    """What a `while` carries when its test no longer holds; None where it does after so many steps."""
    ends = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    of_test, of_body, carry = operands[: ends[0]], operands[ends[0] : ends[1]], operands[ends[1] :]
    for _ in range(most):
        if not goes_on(*run(params["cond_jaxpr"], [*of_test, *carry])):
            return list(carry)
        carry = run(params["body_jaxpr"], [*of_body, *carry])
    return None
