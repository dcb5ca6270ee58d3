"""Whether code handles some values of an argument: it compares the argument alone with a number or a size.

A forward that masks labels below 0, or clips a scale at 0, gives such values a meaning; a rule that is wrong at them
has forgotten it. A forward that never compares the argument says nothing about such values.
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
"""In place of a number that is no literal of the program."""
ABOVE_LITERALS = float("inf")
"""In place of a number that is a size, or a size plus or minus a number: it counts as above all literals."""
_OF_NUMBERS = frozenset(
    "and div integer_pow mul neg not or population_count pow rem shift_left shift_right_arithmetic "
    "shift_right_logical xor".split()
)
"""Primitives that compute with an integer as a number: an argument that is used so is no index or label."""
_AS_IT_IS = MOVES_ENTRIES | CASTS
_BY_SIGN = frozenset(("abs", "sign"))


class _Of(Enum):
    """What a value of a program depends on."""

    NUMBERS = 0
    ARGUMENT = 1
    """The argument itself, perhaps in another shape or dtype."""
    SHIFTED = 2
    """The argument with a number added."""
    NEGATIVE = 3
    """Whether the argument is below 0, which JAX tests of an index, to count it from the end."""
    TOLD = 4
    """A value that depends on the argument through comparisons with numbers alone, such as a mask or a count of it."""
    ALONE = 5
    """Any other value that is computed from the argument and from numbers."""
    OTHERS = 6
    """A value that depends on other arguments."""


@dataclass(frozen=True)
class _Value:
    of: _Of
    number: float = UNKNOWN
    """The number, if the value is a known one."""


_OTHERS = _Value(_Of.OTHERS)


@dataclass(frozen=True)
class Comparison:
    """A comparison of an argument alone with a number, which may be `ABOVE_LITERALS` or `UNKNOWN`."""

    number: float
    equal: bool = False
    """Whether the comparison is == or !=, and no order."""


def handled(program: Program, place: int) -> Iterator[Comparison]:
    """Yield the comparisons that a program makes of the argument at `place` alone; a negative one counts from the end.

    The test of an index for a negative number is left out, as JAX writes it into each look-up.
    """
    start = [_OTHERS] * len(program.jaxpr.invars)
    start[place] = _Value(_Of.ARGUMENT)
    walk = _Walk(np.issubdtype(program.jaxpr.invars[place].aval.dtype, np.integer))
    walk.run(program, start)
    yield from walk.met


class _Walk:
    """Follows through a program, with called programs inlined, what each value depends on.

    The comparisons that it meets are in `met`.
    """

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        """Whether the argument is of integers."""
        self.met: list[Comparison] = []

    def run(self, program: Program, operands: Sequence[_Value]) -> list[_Value]:
        """Return what the outputs of a program depend on, given that for its inputs."""
        return results(program, operands, self.equation, lambda value, aval: _number(value))

    def equation(self, eqn: Any, operands: list[_Value]) -> list[_Value]:
        """Return what the outputs of an equation depend on.

        The bodies of loops and branches are followed once, for the comparisons in them; the outputs then depend on all
        operands together.
        """
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
            test_consts, of_body = operands[: loop.test_consts], operands[loop.test_consts :]
            bodies = [(loop.test, [*test_consts, *of_body[loop.body_consts :]]), (loop.body, of_body)]
        for body, inputs in bodies:
            self.run(body, inputs)
        if bodies:
            self.read_as_truth(operands)
            return [_together(operands)] * count
        return [self.value(name, operands)] * count

    def value(self, name: str, operands: list[_Value]) -> _Value:
        """Return what the result of a primitive depends on, and note the comparisons of the argument that it makes."""
        kinds = [x.of for x in operands]
        if self.whole and name in _OF_NUMBERS and _Of.ARGUMENT in kinds:
            self.met.append(Comparison(UNKNOWN))
        if name == "iota" or _Of.OTHERS in kinds:
            if _Of.NEGATIVE in kinds:
                self.read_as_truth(operands)
            return _OTHERS
        if name in _AS_IT_IS and len(operands) == 1:
            return operands[0]
        # JAX wraps an index i by select(i < 0, i, i + n); this `i < 0` is no comparison of the author's.
        if name == "lt" and kinds == [_Of.ARGUMENT, _Of.NUMBERS] and operands[1].number == 0:
            return _Value(_Of.NEGATIVE)
        if name == "select_n" and kinds == [_Of.NEGATIVE, _Of.ARGUMENT, _Of.SHIFTED]:
            return _Value(_Of.ALONE)
        self.read_as_truth(operands)
        if name == "select_n" and kinds[0] is _Of.TOLD and {*kinds[1:]} == {_Of.ARGUMENT, _Of.NUMBERS}:
            return _Value(_Of.ARGUMENT)  # a masked argument counts as the argument
        if _Of.TOLD in kinds and {*kinds} <= {_Of.TOLD, _Of.NUMBERS}:
            return _Value(_Of.TOLD)
        if name.startswith("scatter") and kinds[0] is kinds[-1] is _Of.NUMBERS:
            return _OTHERS  # a count of how often an index occurs, whose comparison says nothing about the index
        if all(kind is _Of.NUMBERS for kind in kinds):
            of_a_size = name in ("add", "sub") and operands[0].number == ABOVE_LITERALS
            return _Value(_Of.NUMBERS, ABOVE_LITERALS if of_a_size or name == "dim_as_value" else UNKNOWN)
        if name in ORDERS:
            of_argument = all(kind in (_Of.NUMBERS, _Of.ARGUMENT) for kind in kinds)
            numbers = [x.number if of_argument else UNKNOWN for x in operands if x.of is _Of.NUMBERS] or [UNKNOWN]
            self.met += [Comparison(n, name in ("eq", "ne")) for n in numbers]
            if of_argument and name not in CLIPS:
                return _Value(_Of.TOLD)
        if name in _BY_SIGN:
            self.met.append(Comparison(0.0 if kinds == [_Of.ARGUMENT] else UNKNOWN))
        if name == "add" and sorted(kinds, key=lambda k: k.value) == [_Of.NUMBERS, _Of.ARGUMENT]:
            return _Value(_Of.SHIFTED)
        return _Value(_Of.ALONE)

    def read_as_truth(self, operands: Sequence[_Value]) -> None:
        """Note a comparison with 0 if a test `x < 0` is used for anything but the wrapping of an index."""
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
