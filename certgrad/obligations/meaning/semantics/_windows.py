"""Semantics of windows, convolutions, and parts at a position that is a value: index sets of the traced sizes.

A position that a primitive leaves out is a condition on indices that multiplies the entry; strides and dilations are
coefficients of indices. Formulas are those of the XLA operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from certgrad.obligations.assume.conditions import UNDEFINED, merged
from certgrad.obligations.assume.signs import ANY, NONNEG, ZERO, times
from certgrad.obligations.assume.tensor import Tensor, axis_index, own_index
from certgrad.obligations.terms.index import Ix, of_const, of_var, whole_number
from certgrad.obligations.terms.index_terms import NO_RANGES, Ranges, divided, index_equal, index_pred, within
from certgrad.obligations.terms.integers import quotient, row_major
from certgrad.obligations.terms.polynomials import ONE, Poly
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh, template
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


# --- windows -------------------------------------------------------------------------------------------------------


def _window_axes(
    rank: int, shape: Sequence[Poly], sizes: Sequence[object], params: Params
) -> list[tuple[Ix, Poly, int, int, Poly]]:
    """For each axis: stride · t − low, the window's size, its dilation, the operand's dilation, its low padding."""
    steps = params["window_strides"]
    padding = params["padding"]
    base = params.get("base_dilation") or [1] * rank
    dilation = params.get("window_dilation") or [1] * rank
    out = []
    for k, ix in enumerate(own_index(shape)):
        low = dim_poly(padding[k][0])
        out.append(
            (ix.scaled(_whole(steps[k])).shifted(-low), dim_poly(sizes[k]), _whole(dilation[k]), _whole(base[k]), low)
        )
    return out


@rule("reduce_window_sum")
def _reduce_window_sum(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """out[t] = Σ_k Σ_j [stride·t − low + dilation·k = base·j]·x[j], over the window's k and the operand's j."""
    (shape,) = shapes
    if x.kind == "b":
        raise UnprovedError("a sum of booleans")
    index: list[Ix] = []
    dummies: Dummies = []
    guard = ONE
    for k, (start, size, dilation, base, low) in enumerate(
        _window_axes(x.rank, shape, params["window_dimensions"], params)
    ):
        if size == ONE and start.variable() is not None and base == 1 and low.is_zero and shape[k] == x.shape[k]:
            index.append(axis_index(k, x.shape[k]))
            continue
        v, w = fresh(), fresh()
        dummies += [(v, x.shape[k]), (w, size)]
        index.append(of_var(v))
        guard = guard * index_equal(start.plus(of_var(w).scaled(dilation)).minus(of_var(v).scaled(base)))
    moved = x.indexed(index, shape)
    body = sum_over(guard * moved.body, dummies)
    defined, smooth = moved.conditions_for_all(dummies)
    signs = ANY if x.signs & 5 == 5 else x.signs | ZERO
    return [Tensor(shape, body, x.kind, defined, smooth, signs)]


@rule("conv_general_dilated")
def _convolution(ctx: Context, params: Params, shapes: Shapes, x: Tensor, y: Tensor) -> list[Tensor]:
    """out[b, o, t] = Σ_{c, k, j} [stride·t − low + dilation·k = base·j]·lhs[b, c, j]·rhs[o, c, k], group by group."""
    (shape,) = shapes
    spec = params["dimension_numbers"]
    groups, batches = params["feature_group_count"], params["batch_group_count"]
    dummies: Dummies = []
    left: list[Ix] = [of_const(NOTHING)] * x.rank
    right: list[Ix] = [of_const(NOTHING)] * y.rank
    own = own_index(shape)
    batch, out_feature = own[spec.out_spec[0]], own[spec.out_spec[1]]
    features, outputs = y.shape[spec.rhs_spec[1]], shape[spec.out_spec[1]]
    channel = fresh()
    dummies.append((channel, features))
    in_feature = of_var(channel)
    count = groups if groups != 1 else batches
    if count != 1:
        per_group = divided(outputs, dim_poly(count))
        if per_group is None:
            raise UnprovedError("output features not shown to be a multiple of the groups")
        group = quotient(out_feature, per_group)
        if groups != 1:
            in_feature = row_major(group, in_feature, features)
        else:
            batch = row_major(group, batch, shape[spec.out_spec[0]])
    left[spec.lhs_spec[0]], left[spec.lhs_spec[1]] = batch, in_feature
    right[spec.rhs_spec[0]], right[spec.rhs_spec[1]] = out_feature, of_var(channel)
    guard = ONE
    base = params["lhs_dilation"] or [1] * (x.rank - 2)
    dilation = params["rhs_dilation"] or [1] * (x.rank - 2)
    for k, axis in enumerate(spec.out_spec[2:]):
        a, b = spec.lhs_spec[2 + k], spec.rhs_spec[2 + k]
        v, w = fresh(), fresh()
        dummies += [(v, x.shape[a]), (w, y.shape[b])]
        left[a], right[b] = of_var(v), of_var(w)
        start = own[axis].scaled(_whole(params["window_strides"][k])).shifted(-dim_poly(params["padding"][k][0]))
        place = start.plus(of_var(w).scaled(_whole(dilation[k]))).minus(of_var(v).scaled(_whole(base[k])))
        guard = guard * index_equal(place)
    left = [of_const(NOTHING) if n == ONE else ix for ix, n in zip(left, x.shape, strict=True)]
    right = [of_const(NOTHING) if n == ONE else ix for ix, n in zip(right, y.shape, strict=True)]
    lhs, rhs = x.indexed(left, shape), y.indexed(right, shape)
    # The equations come first: each leaves one variable of a spatial axis, and the entries then depend on it alone.
    body = sum_over(guard * (lhs.body * rhs.body), dummies)
    conditions = [t.conditions_for_all(dummies) for t in (lhs, rhs)]
    defined, smooth = [d for d, _ in conditions], [s for _, s in conditions]
    signs = ANY if times(x.signs, y.signs) & 5 == 5 or (x.signs | y.signs) & 1 else NONNEG
    if str(params.get("preferred_element_type") or "float64") not in ("float64", *map(str, ctx.dtypes)):
        ctx.note(f"accumulation in {params['preferred_element_type']} is read as exact")
    return [Tensor(shape, body, x.kind, merged(*defined), merged(*smooth), signs)]
