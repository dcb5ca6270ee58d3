"""Semantics of cumulative reductions that are sums underneath."""

from __future__ import annotations

from dataclasses import replace

from .._facts import ANY, POS
from .._power import exp_of, log_of
from .._tensor import Tensor
from ._registry import Context, Params, rule
from ._windows import cumsum


@rule("cumlogsumexp")
def _cumlogsumexp(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    """log Σ exp(x[j]) over the entries up to each: never the log of an empty sum, as the entry itself is among them."""
    (x,) = args
    powers = replace(x, body=exp_of(x.body), signs=POS)
    (total,) = cumsum(ctx, params, [powers], shapes)
    return [replace(total, body=log_of(total.body), signs=ANY)]
