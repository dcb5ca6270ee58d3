"""Tangents: the derivative of every scalar along one direction, beside its value.

A tangent is

- `None`: the scalar is constant near this point (it does not depend on the inputs, or is locally constant);
- a scalar of `_scalars`: the derivative;
- `KINK`: the scalar depends on the inputs and has no derivative here (a tie, a jump, the edge of a domain).

What has no derivative, such as an integer, a boolean or an index, has a mark in the place of a tangent: `None` where it
is constant near this point, KINK where it jumps here, UNKNOWN where that is open.

A derivative of 0 does not make a constant: in sqrt(t^2) the inner derivative is 0 at t = 0. That is why `None` exists.
KINK propagates and is dropped only by a select that does not pick it, or by stop_gradient. A comparison, a maximum or
a rounding of a KINK is a KINK whatever the values are: the operand may jump here, by any distance.
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
    """Return the tangent of a + b."""
    if da is None:
        return db
    if db is None:
        return da
    return KINK if da is KINK or db is KINK else s.add(da, db)


def negated(da: Tangent) -> Tangent:
    """Return the tangent of -a."""
    return da if da is None or da is KINK else s.neg(da)


def minus(da: Tangent, db: Tangent) -> Tangent:
    """Return the tangent of a - b."""
    return plus(da, negated(db))


def scaled(coefficient: Real, da: Tangent) -> Tangent:
    """Return coefficient · da, where the coefficient is a partial derivative."""
    return da if da is None or da is KINK else s.mul(coefficient, da)


def by_partial(coefficient: Callable[[], Real], da: Tangent) -> Tangent:
    """Return coefficient() · da; KINK where the partial derivative is infinite or NaN. Constants do not compute it."""
    if da is None or da is KINK:
        return da
    slope = coefficient()
    return KINK if type(slope) is float else s.mul(slope, da)


def is_tie(a: Real, b: Real) -> bool | None:
    """Return whether a and b are the same number; None where the balls cannot tell."""
    try:
        return s.compare(a, b) == 0
    except Undecided:
        return None


def chain(function: Function) -> Callable[[Real, Real, Tangent], Tangent]:
    """Return the tangent rule of a function f: f'(x) dx.

    Where one side of the point is examined and x is 0 at it, f' is taken on the side of 0 that x is on there.
    """

    def tangent(y: Real, x: Real, dx: Tangent) -> Tangent:
        if not here.side or not is_tie(x, ZERO):
            return by_partial(lambda: function.derivative(x, y), dx)
        with toward(later(dx, None)):
            return by_partial(lambda: function.derivative(x, y), dx)

    return tangent


def product(out: Real, a: Real, b: Real, da: Tangent, db: Tangent) -> Tangent:
    """Return the tangent of a·b, b da + a db; None where a factor is constantly 0."""
    if s.finite(out) and da is not KINK and db is not KINK and ((db is None and _is_0(b)) or (da is None and _is_0(a))):
        return None
    return plus(scaled(b, da), scaled(a, db))


def _is_0(a: Real) -> bool:
    return type(a) is fmpq and a == 0


def quotient(out: Real, a: Real, b: Real, da: Tangent, db: Tangent) -> Tangent:
    """Return the tangent of a / b, (da - (a/b) db) / b."""
    return by_partial(lambda: s.div(ONE, b), minus(da, scaled(out, db)))


def later(da: Tangent, db: Tangent) -> int:
    """Return the order, just beside the point, of two numbers that are equal at it: −1, 0 or 1.

    Just after the point, the number that grows faster is the greater one. The order is 0 where that is open, or where
    no side of the point is examined (`_beyond`).
    """
    if not here.side or any(d is KINK or d is UNKNOWN for d in (da, db)):
        return 0
    try:
        order = s.compare(ZERO if da is None else da, ZERO if db is None else db)
    except Undecided:
        return 0
    return order * here.side if order in (1, -1) else 0


def tangents_agree(da: Tangent, db: Tangent) -> bool:
    """Return whether two tangents are equal, so that equal numbers stay equal along the direction.

    An unknown tangent counts as equal: nothing shows that the numbers part.
    """
    if da is KINK or db is KINK:
        return False
    if da is UNKNOWN or db is UNKNOWN:
        return True
    return is_tie(ZERO if da is None else da, ZERO if db is None else db) is True


def extremum(side: int) -> Callable[..., Tangent]:
    """Return the tangent rule of max (side 1) or min (side -1): the tangent of the operand that is picked.

    At a tie it is KINK; but if the operands have the same tangent it is UNKNOWN, as they may be the same number all
    around the point.
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
    """Return the tangent of an entry that is one of two numbers, unknown which: an enclosure of both tangents."""
    if da is None and db is None:
        return None
    return KINK if da is KINK or db is KINK else s.either(ZERO if da is None else da, ZERO if db is None else db)


def jump(*tangents: Tangent) -> Tangent:
    """Return the mark of a result that jumps here: KINK where an operand moves, so that inputs can cross the jump."""
    return None if all(d is None for d in tangents) else KINK


def spread(*tangents: Tangent) -> Tangent:
    """Return the mark of an integer or boolean that is computed from others with these marks."""
    if any(d is KINK for d in tangents):
        return KINK
    return UNKNOWN if any(d is UNKNOWN for d in tangents) else None


def comparison(tie: bool | None, da: Tangent, db: Tangent) -> Tangent:
    """Return the mark of a comparison of two numbers; `tie` says whether they are equal, None if that is open.

    It is that of `crossing`, but for two kinds of ties: None where one side of the point is examined and the numbers
    are ordered there, and UNKNOWN where they have the same tangent.
    """
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
