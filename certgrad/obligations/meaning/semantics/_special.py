"""Semantics of special functions of several arguments, and of π."""

from __future__ import annotations

from certgrad.jaxpr.complex_numbers import PI
from certgrad.obligations.assume.conditions import merged
from certgrad.obligations.assume.signs import POS
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.functions import OF_SEVERAL
from certgrad.obligations.terms.atoms import Num
from certgrad.obligations.terms.polynomials import poly_of
from certgrad.obligations.terms.session import intern

from ._elementwise import common, settle
from ._registry import Context, Params, Rule, UnprovedError, rule


def _of_several(name: str) -> Rule:
    row = OF_SEVERAL[name]

    def apply(ctx: Context, params: Params, shapes: list[tuple], *args: Tensor) -> list[Tensor]:
        bodies = [a.body for a in args]
        shape, defined, smooth = common(shapes, *args)
        own_defined = settle(row.defined(*bodies), ctx.facts, cases=True)
        own_smooth = settle(row.smooth(*bodies), ctx.facts)
        signs = row.signs(*(a.signs for a in args))
        return [Tensor(shape, row.value(*bodies), "f", merged(defined, own_defined), merged(smooth, own_smooth), signs)]

    return apply


for _name in OF_SEVERAL:
    if _name != "polygamma":
        rule(_name)(_of_several(_name))


@rule("polygamma")
def _polygamma(ctx: Context, params: Params, shapes: list[tuple], order: Tensor, x: Tensor) -> list[Tensor]:
    m = order.body.constant()
    if m is None or m.q != 1 or m < 0:
        raise UnprovedError("polygamma of an order that is not a fixed whole number")
    return _of_several("polygamma")(ctx, params, shapes, order, x)


@rule(PI)
def _pi(ctx: Context, params: Params, shapes: list[tuple], *args: Tensor) -> list[Tensor]:
    return [Tensor((), poly_of(intern(Num("pi"))), "f", signs=POS)]
