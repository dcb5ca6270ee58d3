"""Integer parts of reals, and primitives that return an operand or nothing that is defined."""

from __future__ import annotations

from dataclasses import replace

from certgrad.obligations.assume.conditions import UNDEFINED_EVERYWHERE, Clauses, condition, merge_clauses
from certgrad.obligations.assume.signs import ZERO
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.functions import truncated, whole_or_zero
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.polynomials import number
from certgrad.obligations.terms.power import fn
from certgrad.obligations.tracing.jax_internals import kind_of

from ._elementwise import settle
from ._infinite import finite
from ._registry import Context, Params, rule


@rule("stop_gradient")
def _stop_gradient(ctx: Context, params: Params, shapes: list[tuple], x: Tensor) -> list[Tensor]:
    return [replace(x, body=fn("stop", x.body))] if ctx.stop and x.kind == "f" else [x]


@rule("tie")
def _tie(ctx: Context, params: Params, shapes: list[tuple], _: Tensor, x: Tensor) -> list[Tensor]:
    return [x]


@rule("empty2", "empty")
def _empty(ctx: Context, params: Params, shapes: list[tuple]) -> list[Tensor]:
    """An array of arbitrary content: undefined until it is written."""
    return [Tensor(shapes[0], NOTHING, kind_of(params["dtype"]), UNDEFINED_EVERYWHERE, UNDEFINED_EVERYWHERE)]  # type: ignore[arg-type]


def whole_part(ctx: Context, x: Tensor, limits: tuple[int, int] | None) -> Tensor:
    """Reals without their fraction; where a type has narrow limits, those that it then holds."""
    x, origin = finite(x), f"cast to {ctx.equation.outvars[0].aval.dtype}"
    inside: Clauses = ()
    if limits is not None:
        over, under = x.body - number(limits[0] - 1), number(limits[1] + 1) - x.body
        inside = settle(merge_clauses(condition("> 0", over, origin), condition("> 0", under, origin)), ctx.facts)
    whole = settle(whole_or_zero(x.body, origin), ctx.facts)
    defined, smooth = merge_clauses(x.defined, inside), merge_clauses(x.smooth, inside, whole)
    return replace(x, body=truncated(x.body), kind="i", defined=defined, smooth=smooth, signs=x.signs | ZERO)
