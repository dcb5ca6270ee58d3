"""Sums, products and extrema over axes."""

from __future__ import annotations

from collections.abc import Callable

from certgrad.language.build import argmax_over, for_all, for_some, maximum_over, minimum_over, product_over, sum_over
from certgrad.language.tree import Node

from ..rule import Binder, Call, Entries, Operand, indices, nested_binders, rule


def reduced(x: Operand, axes: tuple[int, ...], names: list[str], i: tuple[Node, ...]) -> list[Node]:
    """Return the index of x: bound variables `names` at the reduced axes, the result's index `i` at the others."""
    bound, rest = dict(zip(axes, indices(names), strict=True)), iter(i)
    return [bound[a] if a in bound else next(rest) for a in range(x.rank)]


def _over_axes(name: str, says: str, binder: Binder) -> None:
    """Register the rule of a reduction by one binder, with `says` as its words."""

    def apply(call: Call, x: Operand) -> Entries:
        axes = tuple(call["axes"])
        names = [call.bound() for _ in axes]
        return lambda *i: nested_binders(binder, names, [x.shape[a] for a in axes], x.at(*reduced(x, axes, names, i)))

    apply.__doc__ = says
    rule(name)(apply)


_over_axes("reduce_sum", "The sum over `axes`", sum_over)
_over_axes("reduce_prod", "The product over `axes`", product_over)
_over_axes("reduce_or", "Some entry holds along `axes`", for_some)
_over_axes("reduce_and", "All entries hold along `axes`", for_all)


def _extremum(name: str, says: str, numbers: Binder, truths: Binder) -> None:
    """Register the rule of a reduction by a binder for numbers and one for booleans, with `says` as its words."""

    def apply(call: Call, x: Operand) -> Entries:
        axes = tuple(call["axes"])
        names = [call.bound() for _ in axes]
        binder = truths if x.sort == "boolean" else numbers
        return lambda *i: nested_binders(binder, names, [x.shape[a] for a in axes], x.at(*reduced(x, axes, names, i)))

    apply.__doc__ = says
    rule(name)(apply)


_extremum("reduce_max", "The greatest entry over `axes`; of booleans, whether some holds", maximum_over, for_some)
_extremum("reduce_min", "The least entry over `axes`; of booleans, whether all hold", minimum_over, for_all)


def _place(name: str, says: str, sign: Callable[[Node], Node]) -> None:
    """Register the rule that returns the first place at which `sign(entry)` is greatest, with `says` as its words."""

    def apply(call: Call, x: Operand) -> Entries:
        from .casts import cast

        (axis,), sort = call["axes"], call.results[0].sort
        k = call.bound()

        def entry(*i: Node) -> Node:
            body = x.at(*reduced(x, (axis,), [k], i))
            number = cast(body, "boolean", "integer") if x.sort == "boolean" else body
            return cast(argmax_over(k, x.shape[axis], sign(number)), "integer", sort)

        return entry

    apply.__doc__ = says
    rule(name)(apply)


_place("argmax", "The first place along the axis at which the entry is greatest", lambda x: x)
_place("argmin", "The first place along the axis at which the entry is least", lambda x: -x)
