"""Semantics of windows, convolutions, and parts at a position that is a value: index sets of the traced sizes.

A position that a primitive leaves out is a condition on indices that multiplies the entry; strides and dilations are
coefficients of indices. Formulas are those of the XLA operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from certgrad.obligations.assume.conditions import UNDEFINED
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.terms.index import Ix, of_const, whole_number
from certgrad.obligations.terms.index_terms import NO_RANGES, Ranges, index_pred, within
from certgrad.obligations.terms.polynomials import ONE, Poly
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.variables import Var, template
from certgrad.obligations.tracing.jax_internals import dim_poly, kind_of

from ._elementwise import chosen
from ._index_numbers import Case, in_range, index_cases, opposite
from ._registry import Context, Params, UnprovedError, rule

Shapes = list[tuple]
Dummies = list[tuple[Var, Poly]]


def ranges_of(shape: Sequence[Poly]) -> dict[Var, Poly]:
    return {template(k): n for k, n in enumerate(shape)}


def _whole(step: object) -> int:
    number = whole_number(dim_poly(step))
    if number is None:
        raise UnprovedError("a stride that is a symbolic size")
    return number


# --- parts at a position that is a value --------------------------------------------------------------------------


def clamped(case: Case, last: Poly, ranges: Ranges = NO_RANGES) -> list[Case]:
    """The case with its index clamped to [0, last]."""
    if last.is_zero:
        return [Case(case.guard, of_const(NOTHING), case.conditions)]
    above, below = case.ix.shifted(-last - ONE), case.ix.scaled(-1).shifted(-ONE)
    over, under = index_pred(above, ranges), index_pred(below, ranges)
    out = [
        case.where(under, (below, ">="), of_const(NOTHING)),
        case.where(over, (above, ">="), of_const(last)),
        case.where((ONE - over) * (ONE - under), opposite((above, ">="))),
    ]
    return [c for c in out if not c.guard.is_zero]


def _positions(
    ctx: Context, starts: Sequence[Tensor], sizes: Sequence[Poly], rooms: Sequence[Poly]
) -> list[tuple[Poly, list[Ix]]]:
    positions: list[tuple[Poly, list[Ix]]] = [(ONE, [])]
    for start, size, room in zip(starts, sizes, rooms, strict=True):
        found = index_cases(start.body)
        for case in found:
            ctx.in_range |= dict.fromkeys(in_range(case, room - size, ctx.ranges))
        cases = [c for case in found for c in clamped(case, room - size, ctx.ranges)]
        positions = [(g * c.guard, [*ixs, c.ix]) for g, ixs in positions for c in cases]
    return [(g, ixs) for g, ixs in positions if not g.is_zero]


@rule("empty2", "empty")
def _empty(ctx: Context, params: Params, shapes: Shapes, *args: Tensor) -> list[Tensor]:
    """An array of arbitrary content: undefined until it is written."""
    (shape,) = shapes
    return [Tensor(shape, NOTHING, kind_of(params["dtype"]), UNDEFINED, UNDEFINED)]  # type: ignore[arg-type]


@rule("dynamic_slice")
def _dynamic_slice(ctx: Context, params: Params, shapes: Shapes, x: Tensor, *starts: Tensor) -> list[Tensor]:
    (shape,) = shapes
    starts = starts[: x.rank]
    parts = []
    for guard, begin in _positions(ctx, starts, shape, x.shape):
        index = [
            of_const(NOTHING) if n == ONE else ix.plus(b)
            for ix, b, n in zip(own_index(shape), begin, x.shape, strict=True)
        ]
        parts.append((guard, x.indexed(index, shape)))
    return [chosen(shape, parts)]


@rule("dynamic_update_slice")
def _dynamic_update_slice(
    ctx: Context, params: Params, shapes: Shapes, x: Tensor, update: Tensor, *starts: Tensor
) -> list[Tensor]:
    (shape,) = shapes
    ranges = ranges_of(shape)
    parts: list[tuple[Poly, Tensor]] = []
    left = ONE
    for guard, begin in _positions(ctx, starts, update.shape, shape):
        index = [ix.minus(b) for ix, b in zip(own_index(shape), begin, strict=True)]
        here = guard
        for ix, n, room in zip(index, update.shape, shape, strict=True):
            here = here if n == room else here * within(ix, n, ranges)
        moved = [of_const(NOTHING) if n == ONE else ix for ix, n in zip(index, update.shape, strict=True)]
        parts.append((here, update.indexed(moved, shape)))
        left = left - here
    return [chosen(shape, [*parts, (left, x)])]
