"""Bessel functions of a real order, each written by two whose orders are 1 apart, by their recurrences.

With F for J, Y, I or K and the signs of DLMF 10.6.1 and 10.29.1,

    F_{v+1}(x) = a·F_{v-1}(x) + b·(2v/x)·F_v(x),

so that F of an order v + k, k an integer, is a combination of F_v and F_{v+1}, with powers of 1/x as coefficients:
terms that are equal by a recurrence are then the same. Where that divides, x is not 0 (`laws.functions` says so).
"""

from __future__ import annotations

from flint import fmpq

from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, number
from certgrad.obligations.terms.power import UndefinedTermError, fn, power

STEPS = {"bessel_j": (-1, 1), "bessel_y": (-1, 1), "bessel_i": (1, -1), "bessel_k": (1, 1)}
"""The signs (a, b) of the recurrence above, by function."""
FURTHEST = 64
"""The most steps of the recurrence that are taken: a function of an order v + k with a larger |k| stays as it is."""


def split_order(order: Poly) -> tuple[Poly, int]:
    """Return (v, k) with order = v + k, where k is an integer and the constant part of v is in [0, 1)."""
    constant = dict(order.items()).get((), fmpq(0))
    k = int(constant.floor())
    return order - number(k), k


def bessel(name: str, order: Poly, x: Poly) -> Poly:
    """Return F_order(x) as a combination of F_v(x) and F_{v+1}(x), where order = v + k and `split_order` gives v and k.

    The recurrence is applied upwards from v + 1 for k > 1, downwards from v for k < 0. Where |k| > `FURTHEST`, the
    function stays as it is. Raises UndefinedTermError where the recurrence divides by x and x is 0.
    """
    constant = order.constant()
    if name == "bessel_k" and constant is not None and constant < 0:
        order = -order  # K is even in its order
    low, k = split_order(order)
    if abs(k) > FURTHEST:
        return fn(name, order, x)
    a, b = STEPS[name]
    here, above = _atom(name, low, x), _atom(name, low + ONE, x)
    if k in (0, 1):
        return above if k else here
    if x.is_zero:
        raise UndefinedTermError("1/x at x = 0")
    applied(Law.BESSEL_RECURRENCE)
    for step in range(1, k):  # above is of the order low + step
        factor = (low + number(step)) * power(x, -1)
        here, above = above, here.scale(a) + (above * factor).scale(2 * b)
    for step in range(0, k, -1):  # here is of the order low + step
        factor = (low + number(step)) * power(x, -1)
        here, above = (above - (here * factor).scale(2 * b)).scale(a), here
    return above if k > 0 else here


def _atom(name: str, order: Poly, x: Poly) -> Poly:
    if name == "bessel_i" and order in (ZERO, ONE):
        return fn("bessel_i1" if order == ONE else "bessel_i0", x)
    return fn(name, order, x)


def slope(name: str, order: Poly, x: Poly) -> Poly:
    """Return ∂F_v/∂x = ±F_{v+1} + (v/x)·F_v for the order v (DLMF 10.6.2, 10.29.2)."""
    above = bessel(name, order + ONE, x)
    if order.is_zero:
        return above if name == "bessel_i" else -above
    current = order * power(x, -1) * bessel(name, order, x)
    return current + above if name == "bessel_i" else current - above
