"""Sums, products and extrema of a tensor's entries over variables that stand in them."""

from __future__ import annotations

from dataclasses import replace

from flint import fmpq

from certgrad.obligations.assume.conditions import Atomic, Clause, merge_clauses
from certgrad.obligations.assume.isl import inhabited
from certgrad.obligations.assume.signs import ANY_SIGN, NONNEG, POS, ZERO, signs_of_product
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.laws.places import by_places, orders
from certgrad.obligations.laws.range_products import product_over
from certgrad.obligations.terms.index import of_const, of_var
from certgrad.obligations.terms.polynomials import ONE, Poly
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import fn, pred
from certgrad.obligations.terms.sums import max_over, sum_over
from certgrad.obligations.terms.variables import Var, fresh, template

from ._infinite import finite
from ._registry import Context, Params, UnprovedError, rule

Dummies = list[tuple[Var, Poly]]


def total(x: Tensor, over: Dummies, where: Poly = ONE) -> Tensor:
    """Σ of the entries."""
    if x.kind == "b":
        raise UnprovedError("a sum of booleans")
    defined, smooth = x.conditions_for_all(over)
    signs = x.signs if x.signs in (ANY_SIGN, 5) or nonempty(over, where, x.shape) else x.signs | ZERO
    signs = ANY_SIGN if signs == 5 else signs
    if x.support is not None and where == ONE:
        wanted = _some_kept(x.support, over, x.shape)
        if wanted is None or any(c.key == wanted.key for c in defined):
            signs = POS
    body = sum_over(where * x.body, over)
    if x.kind == "i" and body.piecewise:  # a count, along a short axis that is in order
        body = by_places(body, orders(body))
    return Tensor(x.shape, body, x.kind, defined, smooth, signs)


def product(x: Tensor, over: Dummies, where: Poly = ONE) -> Tensor:
    """Π of the entries."""
    if x.kind == "b":
        raise UnprovedError("a product of booleans")
    body = product_over(x.body, over, where)
    return Tensor(x.shape, body, x.kind, *x.conditions_for_all(over), signs_of_product(x.signs))


def greatest(x: Tensor, over: Dummies, where: Poly = ONE) -> Tensor:
    """The greatest of the entries."""
    return _extremum(x, over, where, 1)


def least(x: Tensor, over: Dummies, where: Poly = ONE) -> Tensor:
    """The least of the entries."""
    return _extremum(x, over, where, -1)


def nonempty(over: Dummies, where: Poly, shape: tuple[Poly, ...]) -> bool:
    """Return whether the variables have values at which it holds, for every entry of the result."""
    if where == ONE:
        return all(n.positive for _, n in over)
    return inhabited(where, dict(over), {template(k): n for k, n in enumerate(shape)})


def _extremum(x: Tensor, over: Dummies, where: Poly, sign: int) -> Tensor:
    if x.kind == "b":
        raise UnprovedError("an extremum of booleans")
    x = finite(x) if x.infinite * sign > 0 or where != ONE else x
    if not nonempty(over, where, x.shape):
        raise UnprovedError("an extremum over a range that may be empty")
    if x.kept.is_zero:
        raise UnprovedError("an extremum of infinities alone")
    defined, smooth = x.conditions_for_all(over)
    if x.infinite and (wanted := _some_kept(x.kept, over, x.shape)) is not None:
        defined = merge_clauses(defined, [wanted])
    body = max_over(x.body.scale(sign), over, where * x.kept).scale(sign)
    return Tensor(x.shape, body, x.kind, defined, smooth, x.signs)


def _some_kept(kept: Poly, over: Dummies, shape: tuple[Poly, ...]) -> Clause | None:
    """The condition that an entry is kept at every other index, unless that is shown."""
    ranges = {template(k): n for k, n in enumerate(shape)}
    if kept == ONE or inhabited(kept, dict(over), ranges):
        return None
    return Clause((Atomic("> 0", sum_over(kept, over)),), origin="an entry that is kept")


def some(x: Tensor, over: Dummies, where: Poly = ONE) -> Tensor:
    """Return whether an entry holds: [Σ p > 0] of booleans p."""
    _refuse_integers(x)
    return Tensor(x.shape, pred(sum_over(where * x.body, over)), "b", *x.conditions_for_all(over), NONNEG)


def every(x: Tensor, over: Dummies, where: Poly = ONE) -> Tensor:
    """Return whether all entries hold: 1 − [Σ (1 − p) > 0] of booleans p."""
    found = some(replace(x, body=ONE - x.body), over, where)
    return replace(found, body=ONE - found.body)


def _refuse_integers(x: Tensor) -> None:
    if x.kind != "b":
        raise UnprovedError("a bitwise reduction of integers")


@rule("reduce_xor")
def _reduce_xor(ctx: Context, params: Params, shapes: list[tuple], x: Tensor) -> list[Tensor]:
    """Return whether Σ p is odd: Σ p − 2·⌊Σ p / 2⌋."""
    _refuse_integers(x)
    over = [(fresh(), n) for axis, n in enumerate(x.shape) if axis in params["axes"]]
    variables, kept = iter(over), iter(own_index(shapes[0]))
    index = [of_var(next(variables)[0]) if axis in params["axes"] else next(kept) for axis in range(x.rank)]
    opened = x.indexed([of_const(NOTHING) if n == ONE else i for i, n in zip(index, x.shape, strict=True)], shapes[0])
    count = sum_over(opened.body, [(v, n) for v, n in over if n != ONE])
    odd = count - fn("floor", count.scale(fmpq(1, 2))).scale(2)
    return [Tensor(shapes[0], odd, "b", *opened.conditions_for_all(over), NONNEG)]
