"""Tangents: the derivative of every scalar along one direction, beside its value.

A tangent is

- `None`: the scalar is constant near this point (it does not depend on the inputs, or is locally constant);
- a scalar of `_scalars`: the derivative;
- `KINK`: the scalar depends on the inputs and has no derivative here (a tie, a jump, the edge of a domain).

What has no derivative, such as an integer, a boolean or an index, has a mark in the place of a tangent: `None` where it
is constant near this point, KINK where it jumps here, UNKNOWN where that is open.

A derivative of 0 is not a constant: sqrt(t^2) has an inner derivative of 0 at t = 0. That is why `None` exists.
KINK propagates and is dropped only by a select that does not pick it, or by stop_gradient. A comparison, a maximum or
a rounding of a KINK is a KINK whatever the values are: the operand may be a jump, that crosses any distance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flint import fmpq

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._beyond import here, toward
from certgrad.obligations.balls._errors import Undecided
from certgrad.obligations.balls._functions import Function
from certgrad.obligations.balls._scalars import ONE, UNKNOWN, ZERO, Real


class Kink:
    """The type of `KINK`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "KINK"


KINK: Final = Kink()
Tangent = Any
"""None | Real | Kink; of an integer or a boolean its mark: None | KINK | UNKNOWN."""


def plus(da: Tangent, db: Tangent) -> Tangent:
    """The tangent of a sum."""
    if da is None:
        return db
    if db is None:
        return da
    return KINK if da is KINK or db is KINK else s.add(da, db)


def negated(da: Tangent) -> Tangent:
    """The tangent of -a."""
    return da if da is None or da is KINK else s.neg(da)


def minus(da: Tangent, db: Tangent) -> Tangent:
    """The tangent of a difference."""
    return plus(da, negated(db))


def scaled(coefficient: Real, da: Tangent) -> Tangent:
    """A partial derivative times the tangent it belongs to."""
    return da if da is None or da is KINK else s.mul(coefficient, da)


def by_partial(coefficient: Callable[[], Real], da: Tangent) -> Tangent:
    """Return coefficient · da, a kink where the partial derivative does not exist."""
    if da is None or da is KINK:
        return da
    slope = coefficient()
    return KINK if type(slope) is float else s.mul(slope, da)


def is_tie(a: Real, b: Real) -> bool | None:
    """Whether a and b are the same number; None where the balls cannot tell."""
    try:
        return s.compare(a, b) == 0
    except Undecided:
        return None


def chain(function: Function) -> Callable[[Real, Real, Tangent], Tangent]:
    """The tangent of f(x): f'(x) dx."""

    def tangent(y: Real, x: Real, dx: Tangent) -> Tangent:
        if not here.side or not is_tie(x, ZERO):
            return by_partial(lambda: function.derivative(x, y), dx)
        with toward(later(dx, None)):
            return by_partial(lambda: function.derivative(x, y), dx)

    return tangent


def product(out: Real, a: Real, b: Real, da: Tangent, db: Tangent) -> Tangent:
    """b da + a db; a product with a factor that stays 0 is constant."""
    if s.finite(out) and da is not KINK and db is not KINK and ((db is None and _is_0(b)) or (da is None and _is_0(a))):
        return None
    return plus(scaled(b, da), scaled(a, db))


def _is_0(a: Real) -> bool:
    return type(a) is fmpq and a == 0


def quotient(out: Real, a: Real, b: Real, da: Tangent, db: Tangent) -> Tangent:
    """(da - (a/b) db) / b."""
    return by_partial(lambda: s.div(ONE, b), minus(da, scaled(out, db)))


def later(da: Tangent, db: Tangent) -> int:
    """The order, just beyond the point, of two numbers that are equal at it; 0 if it is open or not examined."""
    if not here.side or any(d is KINK or d is UNKNOWN for d in (da, db)):
        return 0
    try:
        order = s.compare(ZERO if da is None else da, ZERO if db is None else db)
    except Undecided:
        return 0
    return order * here.side if order in (1, -1) else 0


def tangents_agree(da: Tangent, db: Tangent) -> bool:
    """Return whether two tangents are known to be equal, so that equal numbers stay equal along the direction."""
    if da is KINK or db is KINK:
        return False
    if da is UNKNOWN or db is UNKNOWN:
        return True
    return is_tie(ZERO if da is None else da, ZERO if db is None else db) is True


def extremum(side: int) -> Callable[..., Tangent]:
    """Return the rule for the tangent of max (side 1) or min (side -1): that of the one picked, a kink where they tie.

    Where they move alike, one direction does not tell whether they are the same all around, and there is no kink.
    """

    def tangent(out: Real, a: Real, b: Real, da: Tangent, db: Tangent) -> Tangent:
        if da is None and db is None:
            return None
        if da is KINK or db is KINK:
            return KINK
        try:
            order = s.compare(a, b)
        except Undecided:
            return UNKNOWN
        if order == 0:
            order = later(da, db)
        if order == 0 or order is None:
            return UNKNOWN if tangents_agree(da, db) else KINK
        return da if order * side > 0 else db

    return tangent


def either(da: Tangent, db: Tangent) -> Tangent:
    """Return the tangent of a number that is one of two and stays it."""
    if da is None and db is None:
        return None
    return KINK if da is KINK or db is KINK else s.either(ZERO if da is None else da, ZERO if db is None else db)


def jump(*tangents: Tangent) -> Tangent:
    """Return the mark of a result that jumps here: KINK where an operand moves, so that inputs can cross the jump."""
    return None if all(d is None for d in tangents) else KINK


def spread(*tangents: Tangent) -> Tangent:
    """Return the mark of an integer or boolean computed from marked ones."""
    if any(d is KINK for d in tangents):
        return KINK
    return UNKNOWN if any(d is UNKNOWN for d in tangents) else None


def comparison(tie: bool | None, da: Tangent, db: Tangent) -> Tangent:
    """Return the mark of a comparison: as `crossing`, but UNKNOWN at a tie of what moves alike."""
    if tie and later(da, db):
        return None
    if tie and (da is not None or db is not None) and tangents_agree(da, db):
        return UNKNOWN
    return crossing(tie, da, db)


def crossing(tie: bool | None, *tangents: Tangent) -> Tangent:
    """Return the mark of a locally constant result: KINK at a tie that inputs can cross, UNKNOWN if that is open."""
    if all(d is None for d in tangents):
        return None
    if any(d is KINK for d in tangents):
        return KINK
    return UNKNOWN if tie is None else KINK if tie else None
