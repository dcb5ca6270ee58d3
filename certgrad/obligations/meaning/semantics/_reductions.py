"""Semantics of sums, maxima and contractions."""

from __future__ import annotations

from dataclasses import replace

from flint import fmpq

from certgrad.obligations.assume.conditions import Atomic, Clause, Clauses, merged
from certgrad.obligations.assume.isl import inhabited
from certgrad.obligations.assume.signs import ANY, NONNEG, POS, ZERO, signs_of_product
from certgrad.obligations.assume.tensor import Tensor, axis_index
from certgrad.obligations.laws.places import by_places, orders
from certgrad.obligations.laws.range_products import product_over
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.polynomials import ONE, Poly
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import fn, pred
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.sums import max_over, sum_over
from certgrad.obligations.terms.variables import Var, fresh, template

from ._infinite import finite
from ._registry import Context, Params, UnprovedError, rule

Shapes = list[tuple]


Dummies = list[tuple[Var, Poly]]


def _opened(x: Tensor, axes: tuple[int, ...], shape: tuple) -> tuple[dict[Var, Ix], Dummies]:
    """The axes as fresh variables and the rest in place, and those variables."""
    kept = [k for k in range(x.rank) if k not in axes]
    mapping: dict[Var, Ix] = {template(k): axis_index(j, shape[j]) for j, k in enumerate(kept)}
    dummies = []
    for k in axes:
        v = fresh()
        mapping[template(k)] = of_const(NOTHING) if x.shape[k] == ONE else of_var(v)
        if x.shape[k] != ONE:
            dummies.append((v, x.shape[k]))
    return mapping, dummies


def _consumed(x: Tensor, axes: tuple[int, ...], shape: tuple, mapping: dict[Var, Ix]) -> tuple[Poly, Clauses, Clauses]:
    """The body over the variables that stand for the axes, and the conditions."""
    kept = {template(k): mapping[template(k)] for k in range(x.rank) if k not in axes}
    defined, smooth = x.conditions_over(axes, kept)
    return _moved(x.body, mapping), defined, smooth


@rule("reduce_sum")
def _reduce_sum(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    axes = tuple(params["axes"])
    mapping, dummies = _opened(x, axes, shapes[0])
    body, defined, smooth = _consumed(x, axes, shapes[0], mapping)
    nonempty = all(n.positive for _, n in dummies)
    if x.kind == "b":
        raise UnprovedError("a sum of booleans")
    signs = x.signs if x.signs in (ANY, 5) or nonempty else x.signs | ZERO
    signs = ANY if signs == 5 else signs
    if x.support is not None:
        support = _moved(x.support, mapping)
        wanted = _some_kept(support, dummies, shapes[0])
        if wanted is None or any(c.key == wanted.key for c in defined):
            signs = POS
    total = sum_over(body, dummies)
    if x.kind == "i" and total.piecewise:  # a count, along a short axis that is in order
        total = by_places(total, orders(total))
    return [Tensor(shapes[0], total, x.kind, defined, smooth, signs)]


@rule("reduce_prod")
def _reduce_prod(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    if x.kind == "b":
        raise UnprovedError("a product of booleans")
    axes = tuple(params["axes"])
    mapping, dummies = _opened(x, axes, shapes[0])
    body, defined, smooth = _consumed(x, axes, shapes[0], mapping)
    return [Tensor(shapes[0], product_over(body, dummies), x.kind, defined, smooth, signs_of_product(x.signs))]


@rule("reduce_max")
def _reduce_max(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    return [_extremum(x, tuple(params["axes"]), shapes[0], 1)]


@rule("reduce_min")
def _reduce_min(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    return [_extremum(x, tuple(params["axes"]), shapes[0], -1)]


def _extremum(x: Tensor, axes: tuple[int, ...], shape: tuple, sign: int) -> Tensor:
    if x.kind == "b":
        raise UnprovedError("an extremum of booleans")
    x = finite(x) if x.infinite * sign > 0 else x
    mapping, dummies = _opened(x, axes, shape)
    body, defined, smooth = _consumed(x, axes, shape, mapping)
    if not all(n.positive for _, n in dummies):
        raise UnprovedError("an extremum over a range that may be empty")
    where = _moved(x.kept, mapping)
    if where.is_zero:
        raise UnprovedError("an extremum of infinities alone")
    if x.infinite and (wanted := _some_kept(where, dummies, shape)) is not None:
        defined = merged(defined, [wanted])
    return Tensor(shape, max_over(body.scale(sign), dummies, where).scale(sign), x.kind, defined, smooth, x.signs)


def _some_kept(kept: Poly, dummies: Dummies, shape: tuple) -> Clause | None:
    """The condition that an entry is kept at every other index, unless that is shown."""
    ranges = {template(k): n for k, n in enumerate(shape)}
    if kept == ONE or inhabited(kept, dict(dummies), ranges):
        return None
    return Clause((Atomic("> 0", sum_over(kept, dummies)),), origin="an entry that is kept")


@rule("reduce_or")
def _reduce_or(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """[Σ p > 0] of booleans p."""
    _refuse_integers(x)
    axes = tuple(params["axes"])
    mapping, dummies = _opened(x, axes, shapes[0])
    body, defined, smooth = _consumed(x, axes, shapes[0], mapping)
    return [Tensor(shapes[0], pred(sum_over(body, dummies)), "b", defined, smooth, NONNEG)]


@rule("reduce_and")
def _reduce_and(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """1 − [Σ (1 − p) > 0] of booleans p."""
    _refuse_integers(x)
    (some,) = _reduce_or(ctx, params, shapes, replace(x, body=ONE - x.body))
    return [replace(some, body=ONE - some.body)]


@rule("reduce_xor")
def _reduce_xor(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """Whether Σ p is odd: Σ p − 2·⌊Σ p / 2⌋."""
    _refuse_integers(x)
    axes = tuple(params["axes"])
    mapping, dummies = _opened(x, axes, shapes[0])
    body, defined, smooth = _consumed(x, axes, shapes[0], mapping)
    total = sum_over(body, dummies)
    odd = total - fn("floor", total.scale(fmpq(1, 2))).scale(2)
    return [Tensor(shapes[0], odd, "b", defined, smooth, NONNEG)]


def _refuse_integers(x: Tensor) -> None:
    if x.kind != "b":
        raise UnprovedError("a bitwise reduction of integers")


@rule("dot_general")
def _dot_general(ctx: Context, params: Params, shapes: Shapes, x: Tensor, y: Tensor) -> list[Tensor]:
    kinds = {x.kind, y.kind}
    if kinds == {"b"}:
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
    sides = [x.conditions_over(xc, left), y.conditions_over(yc, right)]
    defined, smooth = merged(*(d for d, _ in sides)), merged(*(s for _, s in sides))
    signs = NONNEG if not (x.signs | y.signs) & 1 else ANY
    if str(params.get("preferred_element_type") or "float64") not in ("float64", *map(str, ctx.dtypes)):
        ctx.note(f"accumulation in {params['preferred_element_type']} is read as exact")
    return [Tensor(shape, body, "f" if "f" in kinds else "i", defined, smooth, signs)]


def _moved(body: Poly, mapping: dict[Var, Ix]) -> Poly:
    return substitute(body, {v: ix for v, ix in mapping.items() if ix.variable() != v})
