"""Semantics of bits: booleans, and machine integers.

Sums, products and the like of integers are those of whole numbers (`_elementwise`); the certificate notes that they
stay in the range of their type. What depends on the bits is a function that the calculus knows nothing of, but that it
is a function: its name carries the integer type wherever the value depends on the width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from flint import fmpq

from certgrad.obligations.assume.signs import ANY, NEG, NONNEG, ZERO
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.terms.polynomials import ONE, Poly
from certgrad.obligations.terms.power import fn
from certgrad.obligations.tracing.jax_internals import bits_of

from ._elementwise import common
from ._registry import Context, Params, Rule, UnprovedError, rule

_BOOLEAN: dict[str, Callable[[Poly, Poly], Poly]] = {
    "and": lambda p, q: p * q,
    "or": lambda p, q: p + q - p * q,
    "xor": lambda p, q: p + q - (p * q).scale(2),
}


def _bitwise(name: str) -> Rule:
    def apply(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
        x, y = args
        shape, defined, smooth = common(args, shapes)
        if x.kind == "b":
            return [Tensor(shape, _BOOLEAN[name](x.body, y.body), "b", defined, smooth, NONNEG)]
        signs = ANY if (x.signs | y.signs) & NEG else NONNEG
        first, second = sorted((x.body, y.body), key=lambda p: p.key)
        return [Tensor(shape, fn(f"bitwise_{name}", first, second), "i", defined, smooth, signs)]

    return apply


for _name in _BOOLEAN:
    rule(_name)(_bitwise(_name))


@rule("not")
def _not(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    """−1 − k in two's complement."""
    (x,) = args
    if x.kind == "b":
        return [replace(x, body=ONE - x.body, signs=NONNEG)]
    return [replace(x, body=-ONE - x.body, signs=ANY)]


@rule("shift_left")
def _shift_left(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    places = _places(ctx, args)
    if places is None:
        return _opaque(ctx, "shift_left", args, shapes)
    return [_shifted(args, shapes, args[0].body.scale(2**places))]


def _shift_right(name: str) -> Rule:
    """⌊k / 2ᵖ⌋, where the first bit of k is its sign or k is not negative."""

    def apply(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
        x = args[0]
        places = _places(ctx, args)
        if places is None or (name == "shift_right_logical" and x.signs & NEG):
            return _opaque(ctx, name, args, shapes)
        return [_shifted(args, shapes, fn("floor", x.body.scale(fmpq(1, 2**places))))]

    return apply


for _name in ("shift_right_arithmetic", "shift_right_logical"):
    rule(_name)(_shift_right(_name))


def _places(ctx: Context, args: list[Tensor]) -> int | None:
    """By how many places, where that is one number, and all of them are within the type's width."""
    c = args[1].body.constant()
    return int(c.p) if c is not None and 0 <= c < bits_of(ctx.dtypes[0]) else None


def _shifted(args: list[Tensor], shapes: list[tuple], body: Poly) -> Tensor:
    shape, defined, smooth = common(args, shapes)
    return Tensor(shape, body, "i", defined, smooth, args[0].signs | ZERO)


def _opaque(ctx: Context, name: str, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    if any(a.kind != "i" for a in args):
        raise UnprovedError(f"{name} of numbers that are no integers")
    shape, defined, smooth = common(args, shapes)
    dtype = np.dtype(ctx.dtypes[0])
    return [Tensor(shape, fn(f"{name}:{dtype}", *(a.body for a in args)), "i", defined, smooth, ANY)]


def _bits(name: str) -> Rule:
    return lambda ctx, params, args, shapes: _opaque(ctx, name, args, shapes)


for _name in ("population_count", "clz", "mulhi"):
    rule(_name)(_bits(_name))
