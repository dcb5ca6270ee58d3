"""A traced program on balls that stand for whole intervals: where a comparison stays open, both branches count.

A ball stands for any number in it. Where two branches are possible the result is their hull, so that an enclosure needs
no case distinction. Only some primitives take a truth value that is open; any other one is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import arb

from certgrad.jaxpr import kinds
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._evaluate import Step, program
from certgrad.obligations.balls._values import Array, Context, Value, boxed

Maybe = bool | None
"""A truth value, or None where a comparison is open."""


class Truths(Value):
    """An array of `Maybe`, for truth values of which some are open. Only the rules of this module may read it."""

    __slots__ = ()


def enclose(jaxpr: Any, arguments: Sequence[Value], decided: bool = False) -> list[Array]:
    """Return enclosures of a program's outputs over the arguments.

    With `decided`, every comparison must be decided over the box. Raises BallError where there is no enclosure.
    """
    with np.errstate(all="ignore"):
        outs = _run_closed(jaxpr, list(arguments)) if decided else _run(jaxpr, list(arguments))
        return [_decided_value(out).primal for out in outs]


def _run(jaxpr: Any, arguments: list[Value]) -> list[Value]:
    return program(jaxpr).by(_enclose_step, arguments)


def _run_closed(jaxpr: Any, arguments: list[Value]) -> list[Value]:
    """Run an inner program as `_run` does; a comparison that is not decided raises."""
    return program(jaxpr).by(_closed, arguments)


def _closed(step: Step, operands: list[Value]) -> Value | list[Value]:
    """Return the results of one equation. Raises Undecided where a truth value among them is open."""
    out = _enclose_step(step, operands, _CLOSED)
    if any(isinstance(x, Truths) for x in ([out] if isinstance(out, Value) else out)):
        raise Undecided(f"{step.name} is open over the box")
    return out


def _run_decided(jaxpr: Any, arguments: list[Value]) -> list[Value]:
    """Run an inner program of a loop or branch, whose truth values have to be decided."""
    return [_decided_value(out) for out in _run(jaxpr, arguments)]


_CALLING, _DECIDED, _CLOSED = (Context(run=run, keep_stopped=True) for run in (_run, _run_decided, _run_closed))


def _enclose_step(step: Step, operands: list[Value], calling: Context = _CALLING) -> Value | list[Value]:
    """Return the results of one equation over the operands; `calling` runs the programs that it calls.

    Raises Unsupported for a primitive without a rule, and Undecided where one gets an open truth value.
    """
    rule = _RULES.get(step.name)
    if rule is not None and (special := rule(*operands)) is not None:
        return special
    if step.rule is None:
        raise Unsupported(f"primitive {step.name}")
    if step.name in kinds.CALLS:
        return step.rule(calling, step.params, *operands)
    if not any(isinstance(x, Truths) for x in operands):
        return step.rule(_CLOSED if calling is _CLOSED else _DECIDED, step.params, *operands)
    if step.name == "convert_element_type" and np.dtype(step.params["new_dtype"]).kind == "f":
        return Value(_entries(_as_number, operands[0].primal))
    if step.name not in kinds.MOVES_ENTRIES and step.name not in kinds.JOINS:
        raise Undecided(f"{step.name} of a truth value that is open over the box")
    result = step.rule(_DECIDED, step.params, *operands)
    assert isinstance(result, Value)
    return Truths(result.primal)


def _decided_value(out: Value) -> Value:
    if isinstance(out, Truths):
        raise Undecided("a truth value that is open over the box is returned")
    return out


def _entries(function: Callable[..., Any], *arrays: Array) -> Array:
    return boxed(np.frompyfunc(function, len(arrays), 1)(*arrays))


def _truths(array: Array) -> Value:
    """Return truth values as plain booleans where all are decided."""
    if any(x is None for x in array.flat):
        return Truths(array)
    return Value(array.astype(bool))


def _as_number(x: Maybe) -> Any:
    return arb(0.5, 0.5) if x is None else s.ONE if x else s.ZERO


def _comparison(
    holds: Callable[[int | None], bool], equal: bool | None = None
) -> Callable[[Value, Value], Value | None]:
    """Return the rule of a comparison over boxes; an entry of its result is None where it is open.

    `holds` says whether the comparison holds by the order of two numbers (−1, 0, 1; None for a NaN). `equal` is True
    for ==, False for !=, which compare truth values too, and None for an order.
    """

    def truth_of(a: Any, b: Any) -> Maybe:
        try:
            return holds(s.compare(a, b))
        except Undecided:
            return None

    def rule(a: Value, b: Value) -> Value | None:
        if isinstance(a, Truths) or isinstance(b, Truths):
            if equal is None:
                raise Undecided("an order of truth values that are open over the box")
            equal_or_open = lambda x, y: None if x is None or y is None else bool(x) == bool(y)  # noqa: E731
            are_equal = _entries(equal_or_open, *_objects((a, b)))
            return _truths(are_equal if equal else _entries(_not, are_equal))
        return _truths(_entries(truth_of, a.primal, b.primal)) if a.real and b.real else None

    return rule


def _and(a: Maybe, b: Maybe) -> Maybe:
    return False if a is False or b is False else None if a is None or b is None else True


def _not(a: Maybe) -> Maybe:
    return None if a is None else not a


def _logic(function: Callable[..., Maybe]) -> Callable[..., Value | None]:
    """Return the rule of a logical operation on truth values of which some are open; it gives None if none is."""

    def rule(*operands: Value) -> Value | None:
        if not any(isinstance(x, Truths) for x in operands):
            return None
        return _truths(
            _entries(lambda *xs: function(*(None if x is None else bool(x) for x in xs)), *_objects(operands))
        )

    return rule


def _objects(operands: Sequence[Value]) -> list[Array]:
    return [x.primal.astype(object) for x in operands]


def _select(which: Value, *cases: Value) -> Value | None:
    """Return a selection by truth values, the hull of both cases where one is open; None if none is."""
    if not isinstance(which, Truths):
        return None
    if len(cases) != 2 or not all(c.real for c in cases) or any(isinstance(c, Truths) for c in cases):
        raise Undecided("a selection between integers or truth values that is open over the box")
    picked = np.broadcast_to(which.primal, cases[0].primal.shape)
    return Value(_entries(_chosen, picked, cases[0].primal, cases[1].primal))


def _chosen(which: Maybe, no: Any, yes: Any) -> Any:
    return yes if which is True else no if which is False else hull(no, yes)


def hull(a: Any, b: Any) -> Any:
    """Return a ball around two scalars; unknown if one of them is."""
    if a is b:
        return a
    if not (s.finite(a) and s.finite(b)):
        return s.UNKNOWN
    return s.if_finite(s.ball(a).union(s.ball(b)))


def _sign(x: Value) -> Value | None:
    """Return the sign of each entry, and the interval from −1 to 1 where it is open; None for integers."""

    def sign_of(a: Any) -> Any:
        if a is s.UNKNOWN:
            return arb(0, 1)
        try:
            return s.rational(s.sign(a))
        except Undecided:
            return arb(0, 1)

    return Value(_entries(sign_of, x.primal)) if x.real else None


_RULES: dict[str, Callable[..., Value | None]] = {
    "eq": _comparison(lambda order: order == 0, equal=True),
    "ne": _comparison(lambda order: order != 0, equal=False),
    "lt": _comparison(lambda order: order == -1),
    "gt": _comparison(lambda order: order == 1),
    "le": _comparison(lambda order: order in (-1, 0)),
    "ge": _comparison(lambda order: order in (0, 1)),
    "and": _logic(_and),
    "or": _logic(lambda a, b: _not(_and(_not(a), _not(b)))),
    "not": _logic(_not),
    "select_n": _select,
    "sign": _sign,
}
