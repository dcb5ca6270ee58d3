"""Real scalars: exact rationals while they last, rigorous balls after that, and IEEE's special values.

A scalar is one of

- `fmpq`: exactly this rational (everything that rational operations produce; ties are decided exactly);
- `arb`: a finite real number inside the ball (every `arb` object stands for one real, so `a is b` means equal);
- `float`: exactly `inf`, `-inf` or `nan`. nan is *undefined*. Zero carries no sign, so x / 0 is nan;
- `UNKNOWN`: no information at this precision, for example 1 / [-1e-150, 1e-150]. It propagates like nan, so that
  an unselected lane poisons nothing, and only a comparison or a final comparison of sides trips over it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import isnan
from typing import Any, Final

from flint import arb, fmpq, fmpz

from certgrad.obligations.balls._errors import Undecided
from certgrad.process.threads import precision as precision

EXACT_BITS: Final = 4096
"""A rational that grows beyond this many bits is demoted to a ball."""


class Unknown:
    """The type of `UNKNOWN`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
Real = Any
"""fmpq | arb | float | Unknown; `Any` because python-flint ships no usable types."""

inf: Final = math.inf
nan: Final = math.nan
ZERO: Final = fmpq(0)
ONE: Final = fmpq(1)
TWO: Final = fmpq(2)
HALF: Final = fmpq(1, 2)


class _Watching(threading.local):
    """The distances to boundaries that a thread collects, if it watches them (see `watched`)."""

    into: list[Real] | None = None
    """The list that distances are added to; None while nothing watches."""
    rounding: bool = False
    """Whether what rounding down rests on is added too."""


_watching = _Watching()


@contextmanager
def watched(rounding: bool = False) -> Iterator[list[Real]]:
    """Yield a list that collects, in order, every scalar whose sign or vanishing decides something inside the block.

    Such a scalar is called a distance to a boundary. It is the difference of two compared numbers, a denominator, the
    distance of a number from the nearest integer where a program asks whether it is one, or an expression that vanishes
    where the domain of a function ends. With `rounding`, three numbers are added for each number a that is rounded
    down: the integer k = floor(a) as an `int`, a − k, and k + 1 − a.
    """
    distances: list[Real] = []
    before = _watching.into, _watching.rounding
    _watching.into, _watching.rounding = distances, rounding
    try:
        yield distances
    finally:
        _watching.into, _watching.rounding = before


def watch(*distances: Real) -> None:
    """Add distances to boundaries to the list of `watched`, if the thread is inside such a block."""
    if _watching.into is not None:
        _watching.into.extend(distances)


def watching() -> bool:
    """Return whether the thread collects distances to boundaries."""
    return _watching.into is not None


def rational(x: int | Fraction | fmpq) -> fmpq:
    """Return an exact Python number as an exact scalar."""
    return x if type(x) is fmpq else fmpq(int(x.numerator), int(x.denominator))


def ball_around(middle: Fraction, radius: Fraction) -> arb:
    """Return the ball of all numbers that are no farther than the radius from the middle."""
    return arb(rational(middle), arb(rational(radius)).upper())


def ball(x: Real) -> arb:
    """Return a finite scalar as a ball."""
    return x if type(x) is arb else arb(x)


def finite(x: Real) -> bool:
    """Return whether x is certainly a finite real number."""
    return type(x) is fmpq or type(x) is arb


def _exact_or_ball(q: fmpq) -> Real:
    return q if q.height_bits() <= EXACT_BITS else arb(q)


def if_finite(x: arb) -> Real:
    """Return the result of a ball function: x itself if it is finite, else UNKNOWN."""
    return x if x.is_finite() else UNKNOWN


def add(a: Real, b: Real) -> Real:
    """Return a + b."""
    ta, tb = type(a), type(b)
    if ta is fmpq and tb is fmpq:
        return _exact_or_ball(a + b)
    if (ta is arb or ta is fmpq) and (tb is arb or tb is fmpq):
        if ta is fmpq and not a:
            return b
        if tb is fmpq and not b:
            return a
        return a + b
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    return (a if ta is float else 0.0) + (b if tb is float else 0.0)


def neg(a: Real) -> Real:
    """Return -a."""
    return UNKNOWN if a is UNKNOWN else -a


def sub(a: Real, b: Real) -> Real:
    """Return a - b; exactly 0 where both are the same number."""
    ta, tb = type(a), type(b)
    if ta is fmpq and tb is fmpq:
        return _exact_or_ball(a - b)
    if a is b and ta is arb:
        return ZERO
    return add(a, neg(b))


def mul(a: Real, b: Real) -> Real:
    """Return a * b; exactly 0 where a factor is exactly 0 and the other is finite."""
    ta, tb = type(a), type(b)
    if ta is fmpq and tb is fmpq:
        return _exact_or_ball(a * b)
    if (ta is arb or ta is fmpq) and (tb is arb or tb is fmpq):
        if (ta is fmpq and not a) or (tb is fmpq and not b):
            return ZERO
        return a * b
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    try:
        return _unit(a) * _unit(b)
    except Undecided:
        return UNKNOWN


def _unit(a: Real) -> float:
    """Return an infinity or NaN as it is, and of a finite number its sign: enough for a product with an infinity."""
    return a if type(a) is float else float(sign(a))


def div(a: Real, b: Real) -> Real:
    """Return a / b; NaN where b is exactly 0, UNKNOWN where b may be 0."""
    ta, tb = type(a), type(b)
    watch(b)
    if (ta is arb or ta is fmpq) and (tb is arb or tb is fmpq):
        if tb is fmpq:
            if not b:
                return nan
            return _exact_or_ball(a / b) if ta is fmpq else a / b
        quotient = if_finite(a / b)
        if quotient is UNKNOWN:
            return UNKNOWN
        if a is b:  # one ball object is one number
            return ONE
        return ZERO if ta is fmpq and not a else quotient
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    if tb is float:
        return nan if ta is float or isnan(b) else ZERO
    try:
        side = sign(b)
    except Undecided:
        return UNKNOWN
    return a * side if side else nan


def power(a: Real, n: int) -> Real:
    """Return a to an integer power; a**0 = 1, and undefined for a = 0 and n < 0."""
    if n == 0:
        return UNKNOWN if a is UNKNOWN else ONE
    if n < 0:
        return div(ONE, power(a, -n))
    if type(a) is fmpq:
        if a.height_bits() * n > EXACT_BITS:
            return arb(a) ** n
        return a**n
    if type(a) is arb:
        return a**n
    return UNKNOWN if a is UNKNOWN else a**n


def compare(a: Real, b: Real) -> int | None:
    """Return -1, 0 or 1 as a is below, equal to or above b; None if either is nan.

    Raises:
        Undecided: the balls overlap and the two are not known to be the same number.
    """
    ta, tb = type(a), type(b)
    if _watching.into is not None:
        _watching.into.append(sub(a, b))
    if ta is fmpq and tb is fmpq:
        return -1 if a < b else int(a > b)
    if a is UNKNOWN or b is UNKNOWN:
        raise Undecided("a value that is not known at this precision is compared")
    if ta is float or tb is float:
        x, y = a if ta is float else 0.0, b if tb is float else 0.0
        return None if isnan(x) or isnan(y) else -1 if x < y else int(x > y)
    if a < b:
        return -1
    if a > b:
        return 1
    if a is b or a == b:
        return 0
    raise Undecided(f"{_brief(a)} against {_brief(b)}")


def sign(a: Real) -> int:
    """Return -1, 0 or 1 as a is negative, 0 or positive; a is not nan. Raises Undecided where that is open."""
    if type(a) is fmpq:
        watch(a)
        return -1 if a < 0 else int(a > 0)
    order = compare(a, ZERO)
    assert order is not None
    return order


def maximum(a: Real, b: Real) -> Real:
    """Return the larger number; nan if either is nan; an enclosure of it where the balls overlap."""
    return _extremum(a, b, 1)


def minimum(a: Real, b: Real) -> Real:
    """Return the smaller number; nan if either is nan; an enclosure of it where the balls overlap."""
    return _extremum(a, b, -1)


def _extremum(a: Real, b: Real, side: int) -> Real:
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    try:
        order = compare(a, b)
    except Undecided:
        return ball(a).max(ball(b)) if side > 0 else ball(a).min(ball(b))
    if order is None:
        return nan
    return a if order * side >= 0 else b


class _Choosing(threading.local):
    last: bool = False


_choosing = _Choosing()


@contextmanager
def last_counts() -> Iterator[None]:
    """Let the last of several writes to one entry count inside the block, which is one way for machines to run."""
    before, _choosing.last = _choosing.last, True
    try:
        yield
    finally:
        _choosing.last = before


def last_known_to_count() -> bool:
    """Return whether the last of several writes to one entry counts, as inside a block of `last_counts`."""
    return _choosing.last


def either(a: Real, b: Real) -> Real:
    """Return what an entry holds after the writes a, then b: an enclosure of both, as either write may count.

    Inside a block of `last_counts` it is b. UNKNOWN where a write is not finite.
    """
    if a is b or _choosing.last:
        return b
    return if_finite(ball(a).union(ball(b))) if finite(a) and finite(b) else UNKNOWN


def floor(a: Real) -> Real:
    """Return the largest integer that is at most a; UNKNOWN where the ball does not determine it."""
    if type(a) is fmpq:
        return _noted(a, fmpq(a.floor()))
    if type(a) is arb:
        whole = a.floor().unique_fmpz()
        return _noted(a, UNKNOWN if whole is None else fmpq(whole))
    return a


def _noted(a: Real, whole: Real) -> Real:
    """Return `whole`, the floor of a; the numbers that decide it are added to the list of `watched(rounding=True)`."""
    if _watching.rounding and whole is not UNKNOWN:
        watch(int(whole.numerator), sub(a, whole), sub(add(whole, ONE), a))
    return whole


def ceil(a: Real) -> Real:
    """Return the smallest integer that is at least a; UNKNOWN where the ball does not determine it."""
    return neg(floor(neg(a)))


def truncate(a: Real) -> Real:
    """Return a rounded toward zero; UNKNOWN where the ball does not determine it."""
    try:
        return a if not finite(a) else floor(a) if sign(a) >= 0 else ceil(a)
    except Undecided:
        return ZERO if abs(a) < 1 else UNKNOWN


def is_integer(a: Real) -> bool:
    """Return whether a is an integer. Raises Undecided where the ball leaves that open, and for special values."""
    if type(a) is fmpq:
        if _watching.into is not None:
            _watching.into.append(a - fmpq((a + HALF).floor()))
        return a.denominator == 1
    if type(a) is arb:
        if not a.contains_integer():
            return False
        raise Undecided(f"whether {_brief(a)} is an integer")
    raise Undecided("whether a special value is an integer")


def as_int(a: Real) -> int:
    """Return an exact integer scalar as a Python int. Raises Undecided for any other scalar."""
    if type(a) is not fmpq or a.denominator != 1:
        raise Undecided("an integer that is not exactly known")
    return int(a.numerator)


def overlap(a: Real, b: Real) -> bool:
    """Return whether a and b, two finite scalars, can be the same number."""
    if type(a) is fmpq and type(b) is fmpq:
        return bool(a == b)
    return bool(ball(a).overlaps(ball(b)))


def whole_root(q: fmpq, n: int) -> fmpq | None:
    """Return the exact n-th root of a non-negative rational; None where it is irrational."""
    p, r = _whole_root(q.numerator, n), _whole_root(q.denominator, n)
    return None if p is None or r is None else fmpq(p, r)


def _whole_root(p: fmpz, n: int) -> fmpz | None:
    root = p.isqrt() if n == 2 else p.root(n)
    return root if root**n == p else None


def _brief(a: Real) -> str:
    return str(a) if type(a) is not arb else a.str(12)
