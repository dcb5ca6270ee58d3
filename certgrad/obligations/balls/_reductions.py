"""Folds along axes: reductions, cumulative operations, argmax, sort, top_k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import _tangents as t
from certgrad.obligations.balls._errors import Undecided, Unsupported
from certgrad.obligations.balls._functions import FUNCTIONS
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import ONE, ZERO, Real
from certgrad.obligations.balls._tangents import KINK, Tangent
from certgrad.obligations.balls._values import Array, Context, Value, boxed, filled, tangent_or_none

Step = tuple[Callable[[Real, Real], Real], Callable[[Real, Real, Real, Tangent, Tangent], Tangent]]
"""One step of a fold: value(a, b) and tangent(out, a, b, da, db)."""


def log_add_exp(a: Real, b: Real) -> Real:
    """Return log(exp a + exp b)."""
    exp, log = FUNCTIONS["exp"], FUNCTIONS["log"]
    return log(s.add(exp(a), exp(b)))


def _log_add_exp_tangent(out: Real, a: Real, b: Real, da: Tangent, db: Tangent) -> Tangent:
    exp = FUNCTIONS["exp"]
    return t.plus(t.scaled(exp(s.sub(a, out)), da), t.scaled(exp(s.sub(b, out)), db))


SUM: Step = (s.add, lambda out, a, b, da, db: t.plus(da, db))
PRODUCT: Step = (s.mul, t.product)
MAX: Step = (s.maximum, t.extremum(1))
MIN: Step = (s.minimum, t.extremum(-1))
LOGSUMEXP: Step = (log_add_exp, _log_add_exp_tangent)


def folded(step: Step, empty: Real, values: Sequence[Real], tangents: Sequence[Tangent]) -> tuple[Real, Tangent]:
    """Return the fold of numbers from the left, with its tangent; `empty` where there are no numbers."""
    if not values:
        return empty, None
    value, tangent = step
    out, dout = values[0], tangents[0]
    for x, dx in zip(values[1:], tangents[1:], strict=True):
        before = out
        out = value(before, x)
        if dout is not None or dx is not None:
            dout = tangent(out, before, x, dout, dx)
    return out, dout


def _rows(array: Array, axes: Sequence[int]) -> tuple[Array, tuple[int, ...]]:
    """Return the array with `axes` last and flattened into one, and the shape of the rest."""
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    shape = tuple(array.shape[axis] for axis in kept)
    size = int(np.prod([array.shape[axis] for axis in axes], dtype=np.int64))
    return array.transpose([*kept, *axes]).reshape((*shape, size)), shape


def _reduction(name: str, step: Step | None, empty: Real, discrete: Callable[..., Any]) -> None:
    """Register a reduction: floats are folded by `step`, integers and booleans reduced by numpy's `discrete`."""

    def rule(ctx: Context, params: Params, x: Value) -> Value:
        axes = tuple(params["axes"])
        if not x.real:
            return _marked(np.asarray(discrete(x.primal, axis=axes)).astype(x.primal.dtype), x, axes)
        if step is None:
            raise Unsupported(f"primitive {name} of floats")
        rows, shape = _rows(x.primal, axes)
        out = np.empty(shape, dtype=object)
        if x.tangent is None:
            constants = (None,) * rows.shape[-1]
            for at in np.ndindex(shape):
                out[at] = folded(step, empty, rows[at].tolist(), constants)[0]
            return Value(out)
        moves, dout = _rows(x.tangent, axes)[0], np.empty(shape, dtype=object)
        for at in np.ndindex(shape):
            out[at], dout[at] = folded(step, empty, rows[at].tolist(), moves[at].tolist())
        return Value(out, tangent_or_none(dout))

    primitive(name)(rule)


def _marked(out: Array, x: Value, axes: Sequence[int]) -> Value:
    """Return the reduced integers `out` with marks: each depends on all entries of x along the axes."""
    if x.tangent is None:
        return Value(out)
    rows, shape = _rows(x.tangent, axes)
    marks = np.empty(shape, dtype=object)
    for at in np.ndindex(shape):
        marks[at] = t.spread(*rows[at])
    return Value(out, tangent_or_none(marks))


_reduction("reduce_sum", SUM, ZERO, np.sum)
_reduction("reduce_prod", PRODUCT, ONE, np.prod)
_reduction("reduce_max", MAX, -s.inf, np.max)
_reduction("reduce_min", MIN, s.inf, np.min)
_reduction("reduce_and", None, None, np.all)
_reduction("reduce_or", None, None, np.any)
_reduction("reduce_xor", None, None, np.bitwise_xor.reduce)


@primitive("reduce")
def _reduce(ctx: Context, params: Params, *xs: Value) -> list[Value]:
    """Return the folds by a program of the user's: `xs` are the operands, then as many initial values.

    The program takes the values so far and one entry of each operand, and returns the next values.
    """
    count = len(xs) // 2
    operands, starts = xs[:count], xs[count:]
    axes = tuple(params["dimensions"])
    rows = [(_rows(x.primal, axes)[0], _rows(filled(x), axes)[0]) for x in operands]
    shape = rows[0][0].shape[:-1]
    outs = [(np.empty(shape, dtype=x.primal.dtype), np.empty(shape, dtype=object)) for x in operands]
    for at in np.ndindex(shape):
        values = list(starts)
        for k in range(rows[0][0].shape[-1]):
            entries = [scalar(row[at][k], move[at][k]) for row, move in rows]
            values = ctx.run(params["jaxpr"], [*values, *entries])
        for (out, dout), value in zip(outs, values, strict=True):
            out[at] = value.primal[()]
            dout[at] = None if value.tangent is None else value.tangent[()]
    return [Value(out, tangent_or_none(dout)) for out, dout in outs]


def scalar(x: Any, dx: Tangent) -> Value:
    """Return one entry with its tangent as a value of rank 0."""
    primal = boxed(x) if not isinstance(x, np.generic) else np.asarray(x)
    return Value(primal, None if dx is None else boxed(dx))


# cumulative operations


def _cumulative(name: str, step: Step, discrete: Any) -> None:
    """Register a cumulative operation: floats are combined by `step`, integers by numpy's ufunc `discrete`.

    With the parameter `reverse`, the array is flipped before and after.
    """
    value, tangent = step

    def rule(ctx: Context, params: Params, x: Value) -> Value:
        axis, reverse = params["axis"], params["reverse"]
        source = np.flip(x.primal, axis) if reverse else x.primal
        if not x.real:
            if discrete is None:
                raise Unsupported(f"primitive {name} of integers")
            out = discrete.accumulate(source, axis=axis).astype(x.primal.dtype)
            out = np.flip(out, axis) if reverse else out
            # integers have no tangent; in its place stands a mark: KINK where the number jumps at this point, UNKNOWN
            # where that is open, None where it is constant
            return Value(out, None if x.tangent is None else _marks_so_far(x.tangent, axis, reverse))
        rows = np.moveaxis(source, axis, -1).copy()
        moves = np.moveaxis(np.flip(filled(x), axis) if reverse else filled(x), axis, -1).copy()
        for at in np.ndindex(rows.shape[:-1]):
            row, drow = rows[at], moves[at]
            for k in range(1, row.shape[0]):
                before, x_k = row[k - 1], row[k]
                row[k] = value(before, x_k)
                if drow[k - 1] is not None or drow[k] is not None:
                    drow[k] = tangent(row[k], before, x_k, drow[k - 1], drow[k])
        out, dout = np.moveaxis(rows, -1, axis), np.moveaxis(moves, -1, axis)
        if reverse:
            out, dout = np.flip(out, axis), np.flip(dout, axis)
        return Value(out, None if x.tangent is None else tangent_or_none(dout))

    primitive(name)(rule)


def _marks_so_far(marks: Array, axis: int, reverse: bool) -> Array | None:
    """Return the mark of each cumulative result, an integer that is computed from the entries up to its place.

    With `reverse` it is computed from the entries at its place and after it.
    """
    rows = np.moveaxis(np.flip(marks, axis) if reverse else marks, axis, -1).copy()
    for at in np.ndindex(rows.shape[:-1]):
        for k in range(1, rows.shape[-1]):
            rows[at][k] = t.spread(rows[at][k - 1], rows[at][k])
    out = np.moveaxis(rows, -1, axis)
    return tangent_or_none(np.flip(out, axis) if reverse else out)


_cumulative("cumsum", SUM, np.add)
_cumulative("cumprod", PRODUCT, np.multiply)
_cumulative("cummax", MAX, np.maximum)
_cumulative("cummin", MIN, np.minimum)
_cumulative("cumlogsumexp", LOGSUMEXP, None)


# order: argmax, sort, top_k


def _order(a: Any, b: Any) -> int:
    """Return −1, 0 or 1 as a is below, equal to or above b. Raises Undecided where one is NaN."""
    order = s.compare(a, b) if not isinstance(a, np.generic | int | bool) else int(a > b) - int(a < b)
    if order is None:
        raise Undecided("nan in an order")
    return order


def _extreme_index(side: int, row: list[Any], drow: list[Tangent]) -> tuple[int, Tangent]:
    """Return the first index of the largest entry (`side` 1) or of the smallest (−1), and its mark.

    The index jumps where the extreme entry is tied with another one and either depends on the inputs.
    """
    best = 0
    for k in range(1, len(row)):
        if _order(row[k], row[best]) * side > 0:
            best = k
    ties = [k for k in range(len(row)) if k != best and _order(row[k], row[best]) == 0]
    crossing = [drow[k] for k in (best, *ties)] if ties else []
    moved = any(d is not None for d in crossing) or any(d is KINK for d in drow)
    return best, KINK if moved else None


def _arg(name: str, side: int) -> None:
    """Register the index of the largest entry (`side` 1) or of the smallest (−1)."""

    def rule(ctx: Context, params: Params, x: Value) -> Value:
        axes = tuple(params["axes"])
        rows, shape = _rows(x.primal, axes)
        moves = _rows(filled(x), axes)[0]
        out, marks = np.empty(shape, dtype=params["index_dtype"]), np.empty(shape, dtype=object)
        for at in np.ndindex(shape):
            out[at], marks[at] = _extreme_index(side, rows[at].tolist(), moves[at].tolist())
        return Value(out, tangent_or_none(marks))

    primitive(name)(rule)


_arg("argmax", 1)
_arg("argmin", -1)


def _sorted_row(keys: list[list[Any]], dkeys: list[list[Tangent]], side: int) -> tuple[list[int], list[bool]]:
    """Return a stable order of the positions, and for each place in it whether a tie there may be broken by the inputs.

    Position i has the entry `key[i]` of each key; earlier keys count before later ones. The order ascends with `side`
    1, and descends with −1. `dkeys` are the tangents: a tie of constants stays, and any kink ties all places.
    """

    def compared(i: int, j: int) -> int:
        return next((side * o for o in (_order(key[i], key[j]) for key in keys) if o), 0)

    def tie(i: int, j: int) -> bool:
        """Return whether a key that depends on the inputs ties i and j, and no key before it tells them apart."""
        for key, dkey in zip(keys, dkeys, strict=True):
            if _order(key[i], key[j]):
                return False
            if dkey[i] is not None or dkey[j] is not None:
                return True
        return False

    order = sorted(range(len(keys[0])), key=cmp_to_key(compared))
    tied = [any(d is KINK for dkey in dkeys for d in dkey)] * len(order)
    for k in range(len(order) - 1):
        if tie(order[k], order[k + 1]):
            tied[k] = tied[k + 1] = True
    return order, tied


@primitive("sort")
def _sort(ctx: Context, params: Params, *xs: Value) -> list[Value]:
    """Return all operands in the order of the first ones, the keys; an entry at a tie that may be broken is a kink."""
    axis, count = params["dimension"], params["num_keys"]
    rows = [np.moveaxis(x.primal, axis, -1) for x in xs]
    moves = [np.moveaxis(filled(x), axis, -1) for x in xs]
    outs, douts = [r.copy() for r in rows], [m.copy() for m in moves]
    for at in np.ndindex(rows[0].shape[:-1]):
        keys, dkeys = [r[at].tolist() for r in rows[:count]], [m[at].tolist() for m in moves[:count]]
        if not keys[0]:
            continue
        order, tied = _sorted_row(keys, dkeys, 1)
        for k, (source, tie) in enumerate(zip(order, tied, strict=True)):
            for out, dout, row, move in zip(outs, douts, rows, moves, strict=True):
                out[at][k] = row[at][source]
                dout[at][k] = KINK if tie else move[at][source]
    return [
        Value(np.moveaxis(out, -1, axis), tangent_or_none(np.moveaxis(dout, -1, axis)))
        for out, dout in zip(outs, douts, strict=True)
    ]


@primitive("top_k")
def _top_k(ctx: Context, params: Params, x: Value) -> list[Value]:
    """Return the k largest entries along an axis, in descending order, and their indices."""
    k, axis = params["k"], params.get("axis", x.primal.ndim - 1)
    rows, moves = np.moveaxis(x.primal, axis, -1), np.moveaxis(filled(x), axis, -1)
    shape = (*rows.shape[:-1], k)
    out, dout = np.empty(shape, dtype=rows.dtype), np.empty(shape, dtype=object)
    which, marks = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=object)
    for at in np.ndindex(rows.shape[:-1]):
        order, tied = _sorted_row([rows[at].tolist()], [moves[at].tolist()], -1)
        for place in range(k):
            source = order[place]
            out[at][place], which[at][place] = rows[at][source], source
            dout[at][place] = KINK if tied[place] else moves[at][source]
            marks[at][place] = KINK if tied[place] else None
    return [
        Value(np.moveaxis(out, -1, axis), tangent_or_none(np.moveaxis(dout, -1, axis))),
        Value(np.moveaxis(which, -1, axis), tangent_or_none(np.moveaxis(marks, -1, axis))),
    ]
