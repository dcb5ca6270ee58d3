"""Semantics of sums, maxima and contractions."""

from __future__ import annotations

from dataclasses import replace

from flint import fmpq

from .._conditions import Clauses, merged
from .._facts import ANY, NONNEG, ZERO
from .._index import Ix, Var, of_const, of_var, template
from .._power import fn, pred
from .._sums import fresh, max_over, substitute, sum_over
from .._tensor import Tensor, axis_index
from .._terms import ONE, Poly
from .._terms import ZERO as NOTHING
from ._elementwise import in_range
from ._registry import Context, Params, UnprovedError, rule

Shapes = list[tuple]


def _consumed(x: Tensor, axes: tuple[int, ...], shape: tuple) -> tuple[Poly, list[tuple[Var, Poly]], Clauses, Clauses]:
    """The body with the axes as fresh variables and the rest in place, those variables, and the conditions."""
    kept = [k for k in range(x.rank) if k not in axes]
    mapping: dict[Var, Ix] = {template(k): axis_index(j, shape[j]) for j, k in enumerate(kept)}
    dummies = []
    for k in axes:
        v = fresh()
        mapping[template(k)] = of_const(NOTHING) if x.shape[k] == ONE else of_var(v)
        if x.shape[k] != ONE:
            dummies.append((v, x.shape[k]))
    own = {v: ix for v, ix in mapping.items() if ix.variable() != v}
    defined, smooth = x.conditions_over(axes, {template(k): mapping[template(k)] for k in kept})
    return substitute(x.body, own), dummies, defined, smooth


@rule("reduce_sum")
def _reduce_sum(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    (x,) = args
    body, dummies, defined, smooth = _consumed(x, tuple(params["axes"]), shapes[0])
    nonempty = all(n.positive for _, n in dummies)
    if x.kind == "b":
        raise UnprovedError("a sum of booleans")
    signs = x.signs if x.signs in (ANY, 5) or nonempty else x.signs | ZERO
    signs = ANY if signs == 5 else signs
    return [in_range(ctx, Tensor(shapes[0], sum_over(body, dummies), x.kind, defined, smooth, signs))]


@rule("reduce_max")
def _reduce_max(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    return [_extremum(args[0], tuple(params["axes"]), shapes[0], 1)]


@rule("reduce_min")
def _reduce_min(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    return [_extremum(args[0], tuple(params["axes"]), shapes[0], -1)]


def _extremum(x: Tensor, axes: tuple[int, ...], shape: tuple, sign: int) -> Tensor:
    if x.kind == "b":
        raise UnprovedError("an extremum of booleans")
    body, dummies, defined, smooth = _consumed(x, axes, shape)
    if not all(n.positive for _, n in dummies):
        raise UnprovedError("an extremum over a range that may be empty")
    return Tensor(shape, max_over(body.scale(sign), dummies).scale(sign), x.kind, defined, smooth, x.signs)


@rule("reduce_or")
def _reduce_or(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    """[Σ p > 0] of booleans p."""
    (x,) = _booleans(args)
    body, dummies, defined, smooth = _consumed(x, tuple(params["axes"]), shapes[0])
    return [Tensor(shapes[0], pred(sum_over(body, dummies)), "b", defined, smooth, NONNEG)]


@rule("reduce_and")
def _reduce_and(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    """1 − [Σ (1 − p) > 0] of booleans p."""
    (x,) = _booleans(args)
    (some,) = _reduce_or(ctx, params, [replace(x, body=ONE - x.body)], shapes)
    return [replace(some, body=ONE - some.body)]


@rule("reduce_xor")
def _reduce_xor(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    """Whether Σ p is odd: Σ p − 2·⌊Σ p / 2⌋."""
    (x,) = _booleans(args)
    body, dummies, defined, smooth = _consumed(x, tuple(params["axes"]), shapes[0])
    total = sum_over(body, dummies)
    odd = total - fn("floor", total.scale(fmpq(1, 2))).scale(2)
    return [Tensor(shapes[0], odd, "b", defined, smooth, NONNEG)]


def _booleans(args: list[Tensor]) -> list[Tensor]:
    if any(a.kind != "b" for a in args):
        raise UnprovedError("a bitwise reduction of integers")
    return args


@rule("dot_general")
def _dot_general(ctx: Context, params: Params, args: list[Tensor], shapes: Shapes) -> list[Tensor]:
    x, y = args
    if x.kind == "b" or y.kind == "b":
        raise UnprovedError("a contraction of booleans")
    (shape,) = shapes
    (xc, yc), (xb, yb) = params["dimension_numbers"]
    left: dict[Var, Ix] = {}
    right: dict[Var, Ix] = {}
    place = 0
    for a, b in zip(xb, yb, strict=True):
        left[template(a)] = right[template(b)] = axis_index(place, shape[place])
        place += 1
    for tensor, mapping, used in ((x, left, {*xc, *xb}), (y, right, {*yc, *yb})):
        for k in range(tensor.rank):
            if k not in used:
                mapping[template(k)] = axis_index(place, shape[place])
                place += 1
    dummies = []
    for a, b in zip(xc, yc, strict=True):
        if x.shape[a] != y.shape[b]:
            raise UnprovedError("a contraction of dimensions not shown equal")
        v = fresh()
        left[template(a)] = right[template(b)] = of_const(NOTHING) if x.shape[a] == ONE else of_var(v)
        if x.shape[a] != ONE:
            dummies.append((v, x.shape[a]))
    body = sum_over(_moved(x.body, left) * _moved(y.body, right), dummies)
    conditions = []
    for get in (lambda t: t.defined, lambda t: t.smooth):
        sides = []
        for tensor, mapping, contracted in ((x, left, xc), (y, right, yc)):
            everywhere = {template(k): of_var(fresh("q")) for k in contracted}
            sides.append(tuple(c.substituted({**mapping, **everywhere}) for c in get(tensor)))
        conditions.append(merged(*sides))
    signs = NONNEG if not (x.signs | y.signs) & 1 else ANY
    if params.get("preferred_element_type") is not None and str(params["preferred_element_type"]) != "float64":
        ctx.note(f"accumulation in {params['preferred_element_type']} is read as exact")
    return [in_range(ctx, Tensor(shape, body, x.kind, conditions[0], conditions[1], signs))]


def _moved(body: Poly, mapping: dict[Var, Ix]) -> Poly:
    return substitute(body, {v: ix for v, ix in mapping.items() if ix.variable() != v})
