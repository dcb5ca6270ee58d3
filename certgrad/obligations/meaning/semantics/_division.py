"""Semantics of division and remainder, of reals and of integers."""

from __future__ import annotations

from dataclasses import replace

from flint import fmpq

from certgrad.obligations.assume.conditions import UNDEFINED_EVERYWHERE, condition, merge_clauses
from certgrad.obligations.assume.signs import NEG, NONNEG, NONZERO, POS, ZERO, times
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.functions import truncated, whole_or_zero
from certgrad.obligations.terms.index import Ix
from certgrad.obligations.terms.index_terms import index_equal, index_number, index_pred
from certgrad.obligations.terms.integers import quotient, remainder
from certgrad.obligations.terms.polynomials import ONE, Poly, number
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import fn, power
from certgrad.obligations.terms.rounded import as_rounded_index

from ._elementwise import common, rests_on_exp, settle
from ._infinite import finite, meant
from ._registry import Context


def whole_quotient(x: Tensor, y: Tensor) -> Poly:
    """The quotient towards 0: of an index by a size, an index again where it is not negative."""
    ix = _by_size(x, y)
    if ix is None:
        return truncated(x.body * power(y.body, -1))
    return index_number(quotient(ix, y.body)) + _up(x, ix, y.body)


def _whole_remainder(x: Tensor, y: Tensor) -> Poly:
    """Return the remainder of the quotient towards 0."""
    ix = _by_size(x, y)
    if ix is None:
        return x.body - y.body * truncated(x.body * power(y.body, -1))
    return index_number(remainder(ix, y.body)) - y.body * _up(x, ix, y.body)


def _by_size(x: Tensor, y: Tensor) -> Ix | None:
    """The dividend as an index, where the divisor is a size."""
    if y.signs != POS or not y.body.positive or y.body.free:
        return None
    return as_rounded_index(x.body)


def _up(x: Tensor, ix: Ix, divisor: Poly) -> Poly:
    """Return the difference of the quotient towards 0 and ⌊x / m⌋: 1 where x < 0 and m does not divide it, else 0."""
    if not x.signs & NEG:
        return NOTHING
    return (ONE - index_pred(ix)) * (ONE - index_equal(remainder(ix, divisor)))


def floored(x: Tensor, divisor: int) -> Poly:
    """⌊k / divisor⌋ for integers k: of an index, an index again."""
    ix = as_rounded_index(x.body)
    if ix is not None:
        return index_number(quotient(ix, number(divisor)))
    return fn("floor", x.body.scale(fmpq(1, divisor)))


def divided(which: str, x: Tensor, divisor: int) -> Tensor:
    """⌊k / divisor⌋, or what that leaves of an integer."""
    whole = floored(x, divisor)
    if which == "quotient":
        return replace(x, body=whole, signs=x.signs | ZERO)
    return replace(x, body=x.body - whole.scale(divisor), signs=NONNEG)


def ratio(ctx: Context, x: Tensor, y: Tensor, shape: tuple[Poly, ...], origin: str = "division") -> Tensor:
    """x / y; of integers towards 0. A number divided by an infinity is 0."""
    x, y = finite(x), finite(y) if meant(y) else y
    _, defined, smooth = common([shape], x, y)
    if y.infinite:
        own = tuple(c.guarded(y.kept, True) for c in settle(condition("!= 0", y.body, origin), ctx.facts, y.signs))
        body = y.kept * x.body * power(y.kept * y.body + ONE - y.kept, -1)
        signs = times(x.signs, y.signs & NONZERO) | ZERO
        return Tensor(shape, body, x.kind, merge_clauses(defined, own), merge_clauses(smooth, own), signs)
    own = settle(condition("!= 0", y.body, origin), ctx.facts, y.signs)
    if y.body.is_zero:
        return Tensor(shape, NOTHING, x.kind, UNDEFINED_EVERYWHERE, UNDEFINED_EVERYWHERE)
    if x.kind == "i":
        signs = times(x.signs, y.signs & NONZERO) | ZERO
        return Tensor(shape, whole_quotient(x, y), "i", merge_clauses(defined, own), merge_clauses(smooth, own), signs)
    rests_on_exp(ctx, y.body, own)
    signs = times(x.signs, y.signs & NONZERO)
    return Tensor(
        shape, x.body * power(y.body, -1), x.kind, merge_clauses(defined, own), merge_clauses(smooth, own), signs
    )


def truncated_remainder(ctx: Context, x: Tensor, y: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """x − y·⌊x / y⌋, rounded towards 0: it has the sign of x."""
    _, defined, smooth = common([shape], x, y)
    if y.body.is_zero:
        return Tensor(shape, NOTHING, x.kind, UNDEFINED_EVERYWHERE, UNDEFINED_EVERYWHERE)
    own = settle(condition("!= 0", y.body, "remainder"), ctx.facts, y.signs)
    signs = x.signs | ZERO
    if x.kind == "i":
        return Tensor(
            shape, _whole_remainder(x, y), "i", merge_clauses(defined, own), merge_clauses(smooth, own), signs
        )
    quotient = x.body * power(y.body, -1)
    whole = settle(whole_or_zero(quotient, "remainder"), ctx.facts)
    body = x.body - y.body * truncated(quotient)
    return Tensor(shape, body, x.kind, merge_clauses(defined, own), merge_clauses(smooth, own, whole), signs)
