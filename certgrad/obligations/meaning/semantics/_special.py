"""Semantics of special functions of several arguments."""

from __future__ import annotations

from certgrad.obligations.assume.conditions import merged
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.functions import OF_SEVERAL

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
