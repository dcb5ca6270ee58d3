"""Semantics of special functions of several arguments."""

from __future__ import annotations

from collections.abc import Sequence

from certgrad.obligations.assume.conditions import merge_clauses
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.functions import OF_SEVERAL
from certgrad.obligations.terms.polynomials import Poly

from ._elementwise import common, settle
from ._registry import Context, UnprovedError


def of_several(ctx: Context, name: str, args: Sequence[Tensor], shape: tuple[Poly, ...]) -> Tensor:
    """A function of several real variables."""
    if name == "polygamma" and ((m := args[0].body.constant()) is None or m.q != 1 or m < 0):
        raise UnprovedError("polygamma of an order that is not a fixed whole number")
    row, bodies = OF_SEVERAL[name], [a.body for a in args]
    _, defined, smooth = common([shape], *args)
    own_defined = settle(row.defined(*bodies), ctx.facts, cases=True)
    own_smooth = settle(row.smooth(*bodies), ctx.facts)
    signs = row.signs(*(a.signs for a in args))
    return Tensor(
        shape, row.value(*bodies), "f", merge_clauses(defined, own_defined), merge_clauses(smooth, own_smooth), signs
    )
