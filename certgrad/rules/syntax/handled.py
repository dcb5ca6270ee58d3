"""Whether code handles values of an argument by itself: it compares the argument alone with a number or a size.

A forward that masks the labels below 0 means something by them, and so does one that clips a scale at 0: a rule that is
wrong there has forgotten it. A forward that never compares the argument says nothing of such values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from certgrad.jaxpr.kinds import CASTS, CLIPS, MOVES_ENTRIES, ORDERS
from certgrad.jaxpr.programs import results
from certgrad.obligations.tracing.jax_internals import (
    Program,
    branch_programs,
    inner_program,
    scan_loop,
    while_loop,
)

UNKNOWN = float("nan")
"""A number that the program does not write down."""
ABOVE_LITERALS = float("inf")
"""A number that is a size, above all that are written."""
_OF_NUMBERS = frozenset(
    "and div integer_pow mul neg not or population_count pow rem shift_left shift_right_arithmetic "
    "shift_right_logical xor".split()
)
"""What makes a number of an integer that is no index or label: it means something by its sign."""
_AS_IT_IS = MOVES_ENTRIES | CASTS
_BY_SIGN = frozenset(("abs", "sign"))


class _Of(Enum):
    """What a value of a program depends on."""

    NUMBERS = 0
    ARGUMENT = 1
    """It is the argument, perhaps in another shape or dtype."""
    SHIFTED = 2
    """The argument with a number added."""
    NEGATIVE = 3
    """Whether the argument is below 0: JAX asks it of an index, which it then counts from the end."""
    TOLD = 4
    """It depends on the argument by comparisons with numbers alone, which were met: a mask, or what one counts."""
    ALONE = 5
    """Something computed of the argument and of numbers."""
    OTHERS = 6


@dataclass(frozen=True)
class _Value:
    of: _Of
    number: float = UNKNOWN
    """Which one, where it is a number."""


_OTHERS = _Value(_Of.OTHERS)


@dataclass(frozen=True)
class Comparison:
    """The number that an argument alone is compared with, `ABOVE_LITERALS`, or `UNKNOWN`."""

    number: float
    equal: bool = False
    """The comparison is with the number itself (==, !=), not an order."""


def handled(program: Program, place: int) -> Iterator[Comparison]:
    """The comparisons that a program makes of its argument at `place` alone; a negative place is counted from the end.

    The wrapping of negative indices is left out, as JAX writes it into each look-up.
    """
    start = [_OTHERS] * len(program.jaxpr.invars)
    start[place] = _Value(_Of.ARGUMENT)
    walk = _Walk(np.issubdtype(program.jaxpr.invars[place].aval.dtype, np.integer))
    walk.run(program, start)
    yield from walk.met


class _Walk:
    """Values through a program, called programs inlined."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        """The argument is of integers."""
        self.met: list[Comparison] = []

    def run(self, program: Program, operands: Sequence[_Value]) -> list[_Value]:
        return results(program, operands, self.equation, lambda value, aval: _number(value))

    def equation(self, eqn: Any, operands: list[_Value]) -> list[_Value]:
        name, count = eqn.primitive.name, len(eqn.outvars)
        inner = inner_program(eqn)
        if inner is not None and len(inner.jaxpr.invars) == len(operands):
            return self.run(inner, operands)
        bodies: list[tuple[Program, list[_Value]]] = []
        if name == "cond":
            bodies = [(branch, operands[1:]) for branch in branch_programs(eqn)]
        elif name == "scan":
            bodies = [(scan_loop(eqn).body, operands)]
        elif name == "while":
            loop = while_loop(eqn)
            tested, held = operands[: loop.test_consts], operands[loop.test_consts :]
            bodies = [(loop.test, [*tested, *held[loop.body_consts :]]), (loop.body, held)]
        for body, given in bodies:
            self.run(body, given)
        if bodies:
            self.read_as_truth(operands)
            return [_together(operands)] * count
        return [self.value(name, operands)] * count

    def value(self, name: str, operands: list[_Value]) -> _Value:
        """Return how a result depends on the argument, and note which numbers the argument is compared with."""
        kinds = [x.of for x in operands]
        if self.whole and name in _OF_NUMBERS and _Of.ARGUMENT in kinds:
            self.met.append(Comparison(UNKNOWN))
        if name == "iota" or _Of.OTHERS in kinds:
            if _Of.NEGATIVE in kinds:
                self.read_as_truth(operands)
            return _OTHERS
        if name in _AS_IT_IS and len(operands) == 1:
            return operands[0]
        if name == "lt" and kinds == [_Of.ARGUMENT, _Of.NUMBERS] and operands[1].number == 0:
            return _Value(_Of.NEGATIVE)
        if name == "select_n" and kinds == [_Of.NEGATIVE, _Of.ARGUMENT, _Of.SHIFTED]:
            return _Value(_Of.ALONE)
        self.read_as_truth(operands)
        if name == "select_n" and kinds[0] is _Of.TOLD and {*kinds[1:]} == {_Of.ARGUMENT, _Of.NUMBERS}:
            return _Value(_Of.ARGUMENT)  # or a number in its place
        if _Of.TOLD in kinds and {*kinds} <= {_Of.TOLD, _Of.NUMBERS}:
            return _Value(_Of.TOLD)
        if name.startswith("scatter") and kinds[0] is kinds[-1] is _Of.NUMBERS:
            return _OTHERS  # how often an index occurs: to compare a count says nothing of the index
        if all(kind is _Of.NUMBERS for kind in kinds):
            of_a_size = name in ("add", "sub") and operands[0].number == ABOVE_LITERALS
            return _Value(_Of.NUMBERS, ABOVE_LITERALS if of_a_size or name == "dim_as_value" else UNKNOWN)
        if name in ORDERS:
            known = all(kind in (_Of.NUMBERS, _Of.ARGUMENT) for kind in kinds)
            numbers = [x.number if known else UNKNOWN for x in operands if x.of is _Of.NUMBERS] or [UNKNOWN]
            self.met += [Comparison(n, name in ("eq", "ne")) for n in numbers]
            if known and name not in CLIPS:
                return _Value(_Of.TOLD)
        if name in _BY_SIGN:
            self.met.append(Comparison(0.0 if kinds == [_Of.ARGUMENT] else UNKNOWN))
        if name == "add" and sorted(kinds, key=lambda k: k.value) == [_Of.NUMBERS, _Of.ARGUMENT]:
            return _Value(_Of.SHIFTED)
        return _Value(_Of.ALONE)

    def read_as_truth(self, operands: Sequence[_Value]) -> None:
        """A test for a negative number decides something else than where an index is counted from."""
        if any(x.of is _Of.NEGATIVE for x in operands):
            self.met.append(Comparison(0.0))


def _number(value: Any) -> _Value:
    try:
        return _Value(_Of.NUMBERS, float(value) if np.ndim(value) == 0 else UNKNOWN)
    except (TypeError, ValueError):  # a key, or a size left open
        return _Value(_Of.NUMBERS)


def _together(operands: Sequence[_Value]) -> _Value:
    if any(x.of is _Of.OTHERS for x in operands):
        return _OTHERS
    return _Value(_Of.NUMBERS if all(x.of is _Of.NUMBERS for x in operands) else _Of.ALONE)
