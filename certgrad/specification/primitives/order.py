"""Sorted entries: the entry that comes to a place is the one that so many others are before."""

from __future__ import annotations

from collections.abc import Sequence

from certgrad.language.build import least_over, sum_over
from certgrad.language.tree import FALSE, TRUE, Both, Either, If, Index, Node

from ..rule import ONE, ZERO, Call, Entries, Operand, UnreadableError, at_most, equal, less_than, rule
from .casts import cast
from .shape import with_index_along


def number(x: Operand, *i: Node) -> Node:
    """Return an entry as a number: true is 1."""
    return cast(x.at(*i), "boolean", "integer") if x.sort == "boolean" else x.at(*i)


def before(a: Sequence[Node], b: Sequence[Node], earlier: Node) -> Node:
    """Return that keys a are less than keys b in lexicographic order; where they are equal, `earlier` decides."""
    out = earlier
    for x, y in zip(reversed(a), reversed(b), strict=True):
        if out in (TRUE, FALSE):
            out = at_most(x, y) if out == TRUE else less_than(x, y)
        else:
            out = Either((less_than(x, y), Both((equal(x, y), out))))
    return out


def coming_to(place: Node, names: tuple[str, str], n: Node, keys: Entries) -> Node:
    """Return the place, before sorting, of the entry that comes to `place`: as many others are before it.

    An entry q is before p if its keys are less, or if they are equal and q < p. `names` are two bound variables, and n
    is the number of entries.
    """
    p, q = names
    first = before(keys(Index(q)), keys(Index(p)), less_than(Index(q), Index(p)))  # type: ignore[arg-type]
    return least_over(p, n, equal(sum_over(q, n, If(first, ONE, ZERO)), place))


@rule("sort")
def sort(call: Call, *operands: Operand) -> list[Entries]:
    """All operands along `dimension`, in the order of the first `num_keys` of them; equal ones stay in order"""
    if not call["is_stable"] and len(operands) > 1:
        raise UnreadableError("an unstable sort of several operands: the order of equal keys is not defined")
    axis, keys = call["dimension"], operands[: call["num_keys"]]
    names = call.bound(), call.bound()
    n = operands[0].shape[axis]

    def sorted_(x: Operand) -> Entries:
        def entry(*i: Node) -> Node:
            place = coming_to(i[axis], names, n, lambda k: [number(y, *with_index_along(i, axis, k)) for y in keys])  # type: ignore
            return x.at(*with_index_along(i, axis, place))

        return entry

    return [sorted_(x) for x in operands]


@rule("top_k")
def top_k(call: Call, x: Operand) -> list[Entries]:
    """The greatest entries along the axis and where they stand, in falling order; equal ones in the order they stand"""
    axis = call.parameters.get("axis", call.parameters.get("operand_axis", -1)) % x.rank
    return _in_order(call, x, axis, greatest=True)


@rule("approx_top_k")
def approx_top_k(call: Call, x: Operand) -> list[Entries]:
    """As top_k, or the least entries, which is what it approximates"""
    if not call["aggregate_to_topk"]:
        raise UnreadableError("approx_top_k that returns more entries than are asked for")
    call.note("approx_top_k is read as exact")
    return _in_order(call, x, call["reduction_dimension"] % x.rank, call["is_max_k"])


def _in_order(call: Call, x: Operand, axis: int, greatest: bool) -> list[Entries]:
    """Return the entries of x along an axis in rising order, falling if `greatest`, and their places in x."""
    names = call.bound(), call.bound()

    def keys(*i: Node) -> list[Node]:
        return [-number(x, *i) if greatest else number(x, *i)]

    def place(*i: Node) -> Node:
        return coming_to(i[axis], names, x.shape[axis], lambda k: keys(*with_index_along(i, axis, k)))  # type: ignore[arg-type, return-value]

    return [lambda *i: x.at(*with_index_along(i, axis, place(*i))), place]
