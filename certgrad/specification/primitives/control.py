"""Loops as recurrences, and branches as cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from certgrad.language.build import least_over
from certgrad.language.tree import WHILE_A_TEST_HOLDS, If, Index, Integer, Node, Not, SortedEntry

from .._jax import size
from ..program import Carry
from ..rule import ONE, Operand, at_most, structured

if TYPE_CHECKING:
    from ..reading import Reader


def _carried(reader: Reader, initial: Sequence[Operand]) -> list[Operand]:
    """Return new tensors for what a loop carries, as its step reads them, that is before the step."""
    return [reader.operand(reader.tensor(reader.name(), x.shape, x.sort), x.dtype) for x in initial]


def _carry(reader: Reader, carried: Operand, start: Operand, step: Operand) -> Carry:
    """Return the definition of a carried tensor by its start and its step."""
    axes = tuple(f"i{k}" for k in range(carried.rank))
    index = tuple(map(Index, axes))
    read = carried.at(*index)
    assert isinstance(read, SortedEntry)
    tensor = reader.tensor(read.name, carried.shape, carried.sort)
    return Carry(tensor, (*reader.times[:-1], *axes), start.at(*index), step.at(*index))


def _loop_value_at(x: Operand, before: Sequence[Node], time: Node, shape: tuple[Node, ...]) -> Operand:
    """Return a tensor of a loop, carried or made by its steps, at one time; `before` are the times of outer loops."""
    read = x.at(*(Integer(0) for _ in shape))
    assert isinstance(read, SortedEntry)
    name, sort = read.name, read.sort
    return Operand(shape, sort, x.dtype, lambda *i: SortedEntry(name, (*before, time, *i), sort))


@structured("scan")
def scan(reader: Reader, eqn: Any, *operands: Operand) -> list[Operand]:
    """A step for each entry along the first axis, in order, or from the last on with `reverse`"""
    params = eqn.params
    consts, carry = params["num_consts"], params["num_carry"]
    length = size(params["length"])
    constants, initial, stacked = operands[:consts], operands[consts : consts + carry], operands[consts + carry :]
    before = list(map(Index, reader.times))

    def place(time: Node) -> Node:
        return length - ONE - time if params["reverse"] else time

    def slice_at(x: Operand, time: Node) -> Operand:
        return Operand(x.shape[1:], x.sort, x.dtype, lambda *i: x.at(place(time), *i))

    def run(time: str) -> tuple[list[Carry], tuple[list[Operand], list[Operand]]]:
        # The rows that a step returns are tensors with names, so that results can read them at each time.
        carried = _carried(reader, initial)
        outs = reader.read(params["jaxpr"], [*constants, *carried, *(slice_at(x, Index(time)) for x in stacked)])
        rows_of_step = [reader.named("scan", y) for y in outs[carry:]]
        steps = zip(carried, initial, outs[:carry], strict=True)
        return [_carry(reader, *carry_parts) for carry_parts in steps], (carried, rows_of_step)

    carried, rows_of_step = reader.loop(length, run)
    last = [_loop_value_at(c, before, length, c.shape) for c in carried]
    return [*last, *(_stacked(y, before, place, (length, *y.shape)) for y in rows_of_step)]


def _stacked(y: Operand, before: Sequence[Node], place: Any, shape: tuple[Node, ...]) -> Operand:
    """Return a tensor that each step makes, with the steps along a new first axis; `place` gives an index's time."""

    def at(*i: Node) -> Node:
        return _loop_value_at(y, before, place(i[0]), shape[1:]).at(*i[1:])

    return Operand(shape, y.sort, y.dtype, at)


@structured("while")
def while_(reader: Reader, eqn: Any, *operands: Operand) -> list[Operand]:
    """Steps as long as the condition holds: what is carried at the first time at which it does not"""
    params = eqn.params
    for_test, for_body = params["cond_nconsts"], params["body_nconsts"]
    test_consts, body_consts = operands[:for_test], operands[for_test : for_test + for_body]
    initial = operands[for_test + for_body :]
    before = list(map(Index, reader.times))

    def run(time: str) -> tuple[list[Carry], tuple[list[Operand], Operand]]:
        carried = _carried(reader, initial)
        (goes_on,) = reader.read(params["cond_jaxpr"], [*test_consts, *carried])
        test = reader.named("while", goes_on)
        outs = reader.read(params["body_jaxpr"], [*body_consts, *carried])
        steps = zip(carried, initial, outs, strict=True)
        return [_carry(reader, *carry_parts) for carry_parts in steps], (carried, test)

    carried, test = reader.loop(None, run)

    def first(*_: Node) -> Node:
        """Return the first time at which the test fails."""
        return least_over("k0", WHILE_A_TEST_HOLDS, Not(_loop_value_at(test, before, Index("k0"), ()).at()))

    # The number of steps is a tensor of its own, as all results are carries at this time.
    end = reader.named("while", Operand((), "integer", None, first))
    return [_loop_value_at(c, before, end.at(), c.shape) for c in carried]


@structured("cond")
def cond(reader: Reader, eqn: Any, which: Operand, *operands: Operand) -> list[Operand]:
    """The results of the branch that the index numbers; below 0 the first, above the last"""
    branches = [reader.read(branch, operands) for branch in eqn.params["branches"]]
    return [reader.named("cond", _case(which, results)) for results in zip(*branches, strict=True)]


def _case(which: Operand, cases: Sequence[Operand]) -> Operand:
    """Return the result of the branch that `which` numbers, entry by entry."""

    def at(*i: Node) -> Node:
        out = cases[-1].at(*i)
        for k in reversed(range(len(cases) - 1)):
            taken = Not(which.at()) if which.sort == "boolean" else at_most(which.at(), Integer(k))
            out = If(taken, cases[k].at(*i), out)
        return out

    first = cases[0]
    return Operand(first.shape, first.sort, first.dtype, at)
