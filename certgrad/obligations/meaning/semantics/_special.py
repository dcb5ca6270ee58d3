"""Semantics of special functions of several arguments, and of π."""

from __future__ import annotations

from collections.abc import Sequence

from certgrad.jaxpr.complex_numbers import PI
from certgrad.obligations.assume.conditions import merged
from certgrad.obligations.assume.signs import POS
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.functions import OF_SEVERAL
from certgrad.obligations.terms.atoms import Num
from certgrad.obligations.terms.polynomials import Poly, poly_of
from certgrad.obligations.terms.session import intern

from ._elementwise import common, settle
from ._registry import Context, Params, Rule, UnprovedError, rule


def of_several(ctx: Context, name: str, args: Sequence[Tensor], shape: tuple[Poly, ...]) -> Tensor:
    """A function of several real variables."""
    if name == "polygamma" and ((m := args[0].body.constant()) is None or m.q != 1 or m < 0):
        raise UnprovedError("polygamma of an order that is not a fixed whole number")
    row, bodies = OF_SEVERAL[name], [a.body for a in args]
    _, defined, smooth = common([shape], *args)
    own_defined = settle(row.defined(*bodies), ctx.facts, cases=True)
    own_smooth = settle(row.smooth(*bodies), ctx.facts)
    signs = row.signs(*(a.signs for a in args))
    return Tensor(shape, row.value(*bodies), "f", merged(defined, own_defined), merged(smooth, own_smooth), signs)


def _rule(name: str) -> Rule:
    return lambda ctx, params, shapes, *args: [of_several(ctx, name, args, shapes[0])]


for _name in OF_SEVERAL:
    if _name.startswith("certgrad_"):
        rule(_name)(_rule(_name))


@rule(PI)
def _pi(ctx: Context, params: Params, shapes: list[tuple], *args: Tensor) -> list[Tensor]:
    return [Tensor((), poly_of(intern(Num("pi"))), "f", signs=POS)]
