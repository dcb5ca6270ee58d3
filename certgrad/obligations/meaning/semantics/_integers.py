"""Semantics of the bits of machine integers.

Sums, products and the like of integers are those of whole numbers (`_elementwise`); the certificate notes that they
stay in the range of their type. What depends on the bits is a function that the calculus knows nothing of, but that it
is a function: its name carries the integer type wherever the value depends on the width.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from certgrad.obligations.assume.signs import ANY_SIGN, NEG, NONNEG, ZERO
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.polynomials import Poly, number
from certgrad.obligations.terms.power import fn
from certgrad.obligations.tracing.jax_internals import bits_of

from ._division import floored
from ._elementwise import common
from ._registry import Context, Params, Rule, UnprovedError, rule


def bitwise(name: str, x: Tensor, y: Tensor) -> Tensor:
    """The bits of two integers: `and`, `or` or `xor`."""
    shape, defined, smooth = common([x.shape], x, y)
    signs = ANY_SIGN if (x.signs | y.signs) & NEG else NONNEG
    for one, other in ((x, y), (y, x)):
        if (c := other.body.constant()) is not None:
            bits = _low_bits(one, int(c.p))
            body = {"and": bits, "or": one.body + number(c) - bits, "xor": one.body + number(c) - bits.scale(2)}
            signs = NONNEG if name == "and" and not one.signs & other.signs & NEG else signs
            return Tensor(shape, body[name], "i", defined, smooth, signs)
    first, second = sorted((x.body, y.body), key=lambda p: p.key)
    return Tensor(shape, fn(f"bitwise_{name}", first, second), "i", defined, smooth, signs)


def _low_bits(x: Tensor, mask: int) -> Poly:
    """Return k & mask."""
    if mask < 0:
        return x.body - _low_bits(x, -1 - mask)
    out, at = NOTHING, 0
    while mask >> at:
        first = at + ((mask >> at) & -(mask >> at)).bit_length() - 1
        at = first + (~(mask >> first) & ((mask >> first) + 1)).bit_length() - 1
        out = out + _whole_parts(x, first) - _whole_parts(x, at)
    return out


def _whole_parts(x: Tensor, bits: int) -> Poly:
    """2ᵇ·⌊k / 2ᵇ⌋."""
    return floored(x, 2**bits).scale(2**bits) if bits else x.body


@rule("shift_left")
def _shift_left(ctx: Context, params: Params, shapes: list[tuple], x: Tensor, y: Tensor) -> list[Tensor]:
    places = _places(ctx, y)
    if places is None:
        return _opaque("shift_left", ctx, params, shapes, x, y)
    return [_shifted(shapes, x, y, x.body.scale(2**places))]


def _shift_right(name: str) -> Rule:
    """⌊k / 2ᵖ⌋, where the first bit of k is its sign or k is not negative."""

    def apply(ctx: Context, params: Params, shapes: list[tuple], x: Tensor, y: Tensor) -> list[Tensor]:
        places = _places(ctx, y)
        if places is None or (name == "shift_right_logical" and x.signs & NEG):
            return _opaque(name, ctx, params, shapes, x, y)
        return [_shifted(shapes, x, y, floored(x, 2**places))]

    return apply


for _name in ("shift_right_arithmetic", "shift_right_logical"):
    rule(_name)(_shift_right(_name))


def _places(ctx: Context, y: Tensor) -> int | None:
    """Return the shift if it is one number within the type's width, else None."""
    c = y.body.constant()
    return int(c.p) if c is not None and 0 <= c < bits_of(ctx.dtypes[0]) else None


def _shifted(shapes: list[tuple], x: Tensor, y: Tensor, body: Poly) -> Tensor:
    shape, defined, smooth = common(shapes, x, y)
    return Tensor(shape, body, "i", defined, smooth, x.signs | ZERO)


def _opaque(name: str, ctx: Context, params: Params, shapes: list[tuple], *args: Tensor) -> list[Tensor]:
    if any(a.kind != "i" for a in args):
        raise UnprovedError(f"{name} of numbers that are no integers")
    shape, defined, smooth = common(shapes, *args)
    dtype = np.dtype(ctx.dtypes[0])
    return [Tensor(shape, fn(f"{name}:{dtype}", *(a.body for a in args)), "i", defined, smooth, ANY_SIGN)]


for _name in ("population_count", "clz", "mulhi"):
    rule(_name)(partial(_opaque, _name))
