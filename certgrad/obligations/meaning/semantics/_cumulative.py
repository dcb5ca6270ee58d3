"""Semantics of cumulative reductions other than sums."""

from __future__ import annotations

from dataclasses import replace

from certgrad.obligations.assume.signs import ANY, POS, signs_of_product
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.range_products import product_over
from certgrad.obligations.terms.polynomials import ONE
from certgrad.obligations.terms.power import exp_of, log_of

from ._order import up_to
from ._registry import Context, Params, UnprovedError, rule
from ._windows import cumsum


@rule("cumlogsumexp")
def _cumlogsumexp(ctx: Context, params: Params, shapes: list[tuple], x: Tensor) -> list[Tensor]:
    """log Σ exp(x[j]) over the entries up to each: never the log of an empty sum, as the entry itself is among them."""
    powers = replace(x, body=exp_of(x.body), signs=POS)
    (total,) = cumsum(ctx, params, shapes, powers)
    return [replace(total, body=log_of(total.body), signs=ANY)]


@rule("cumprod")
def _cumprod(ctx: Context, params: Params, shapes: list[tuple], x: Tensor) -> list[Tensor]:
    """out[t] = Π x[j] over j ≤ t, or over j ≥ t in reverse."""
    (shape,) = shapes
    axis = params["axis"]
    if x.kind == "b":
        raise UnprovedError("a product of booleans")
    if x.shape[axis] == ONE:
        return [x]
    index, dummies, where = up_to(shape, axis, params["reverse"])
    moved = x.indexed(index, shape)
    defined, smooth = moved.conditions_for_all(dummies)
    body = product_over(moved.body, dummies, where)
    return [Tensor(shape, body, x.kind, defined, smooth, signs_of_product(x.signs))]
