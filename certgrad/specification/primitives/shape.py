"""Entries elsewhere: what moves entries and computes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from certgrad.language.tree import Both, If, Integer, Node

from .._jax import size
from ..blocks import blocks
from ..rule import ONE, ZERO, Call, Entries, Operand, clamped, equal, in_bounds, less_than, row_major, rule, unravelled


@rule("broadcast_in_dim")
def broadcast_in_dim(call: Call, x: Operand, *sizes: Operand) -> Entries:
    """out[i] = x[i at `broadcast_dimensions`]; along an axis of size 1, x[0]"""

    def entry(*i: Node) -> Node:
        axes = zip(call["broadcast_dimensions"], x.shape, strict=True)
        return x.at(*(ZERO if n == ONE else i[axis] for axis, n in axes))

    return entry


@rule("reshape")
def reshape(call: Call, x: Operand, *sizes: Operand) -> Entries:
    """The entry at the same position in row-major order, block by block of axes of the same size before and after"""
    if call["dimensions"] is not None:
        order = tuple(call["dimensions"])
        x = Operand(tuple(x.shape[a] for a in order), x.sort, x.dtype, _permuted(x.at, order))
    parts = blocks(x.shape, call.shape)

    def entry(*i: Node) -> Node:
        index: list[Node] = [ZERO] * x.rank
        for before, after in parts:
            place = row_major([i[a] for a in after], [call.shape[a] for a in after])
            in_block = [place] if len(before) == 1 else unravelled(place, [x.shape[a] for a in before])
            for a, j in zip(before, in_block, strict=True):
                index[a] = j
        return x.at(*index)

    return entry


def _permuted(at: Entries, order: Sequence[int]) -> Entries:
    """Return the entries out[i] = x[j] with j[order[k]] = i[k], where `at` are the entries of x."""
    return lambda *i: at(*(i[order.index(axis)] for axis in range(len(order))))


@rule("transpose")
def transpose(call: Call, x: Operand) -> Entries:
    """out[i] = x[j] with j[p[k]] = i[k], where p is `permutation`"""
    return _permuted(x.at, tuple(call["permutation"]))


@rule("squeeze")
def squeeze(call: Call, x: Operand) -> Entries:
    """The axes `dimensions`, of size 1, are left out"""

    def entry(*i: Node) -> Node:
        rest = iter(i)
        return x.at(*(ZERO if axis in call["dimensions"] else next(rest) for axis in range(x.rank)))

    return entry


@rule("rev")
def rev(call: Call, x: Operand) -> Entries:
    """Along the axes `dimensions`, out[i] = x[n − 1 − i]"""

    def entry(*i: Node) -> Node:
        return x.at(*(x.shape[a] - ONE - j if a in call["dimensions"] else j for a, j in enumerate(i)))

    return entry


@rule("slice")
def slice_(call: Call, x: Operand) -> Entries:
    """out[i] = x[start + i·stride]"""
    start = list(map(size, call["start_indices"]))
    strides = list(map(size, call["strides"] or [1] * x.rank))
    return lambda *i: x.at(*(s + j * step for s, j, step in zip(start, i, strides, strict=True)))


def with_index_along(i: Sequence[Node], axis: int, index: Node) -> list[Node]:
    """Return the index `i` with `index` in its place along an axis."""
    return [index if a == axis else j for a, j in enumerate(i)]


@rule("tile")
def tile(call: Call, x: Operand) -> Entries:
    """x again and again along each axis: out[i] = x[i mod n]"""
    return lambda *i: x.at(*(j % n for j, n in zip(i, x.shape, strict=True)))


@rule("concatenate")
def concatenate(call: Call, *parts: Operand) -> Entries:
    """Along the axis `dimension`, the entries of the operands one after another"""
    axis = call["dimension"]

    def entry(*i: Node) -> Node:
        def from_(k: int, start: Node) -> Node:
            """Return the entry at i if it is in one of the parts from k on, the first of which begins at `start`."""
            in_part = parts[k].at(*with_index_along(i, axis, i[axis] - start))
            if k == len(parts) - 1:
                return in_part
            end = start + parts[k].shape[axis]
            return If(less_than(i[axis], end), in_part, from_(k + 1, end))

        return from_(0, ZERO)

    return entry


@rule("split")
def split(call: Call, x: Operand) -> list[Entries]:
    """Along the axis, the parts of `sizes` one after another"""
    axis = call["axis"]

    def part(start: Node) -> Entries:
        return lambda *i: x.at(*with_index_along(i, axis, start + i[axis]))

    out, start = [], ZERO
    for n in call["sizes"]:
        out.append(part(start))
        start = start + size(n)  # type: ignore[assignment]
    return out


@rule("stack")
def stack(call: Call, *parts: Operand) -> Entries:
    """A new axis that numbers the operands"""
    axis = call["axis"]

    def entry(*i: Node) -> Node:
        rest = [*i[:axis], *i[axis + 1 :]]
        out = parts[-1].at(*rest)
        for k in reversed(range(len(parts) - 1)):
            out = If(equal(i[axis], Integer(k)), parts[k].at(*rest), out)
        return out

    return entry


@rule("unstack")
def unstack(call: Call, x: Operand) -> list[Entries]:
    """The axis taken apart: one result for each place along it"""
    axis = call["axis"]

    def part(k: int) -> Entries:
        return lambda *i: x.at(*i[:axis], Integer(k), *i[axis:])

    return [part(k) for k in range(len(call.results))]


@rule("pad")
def pad(call: Call, x: Operand, value: Operand) -> Entries:
    """With (low, high, interior) an axis: out[low + j·(interior + 1)] = x[j], and the value elsewhere.

    A negative low leaves out entries at the beginning, a negative high such at the end.
    """
    config = [(size(low), size(interior) + ONE) for low, _, interior in call["padding_config"]]

    def entry(*i: Node) -> Node:
        moved = [j - low for j, (low, _) in zip(i, config, strict=True)]
        steps = [step for _, step in config]
        source = [j // step for j, step in zip(moved, steps, strict=True)]
        hits = [equal(j % step, ZERO) for j, step in zip(moved, steps, strict=True)]
        within = [in_bounds(j, n) for j, n in zip(source, x.shape, strict=True)]
        return If(Both((*hits, *within)), x.at(*source), value.at())

    return entry


@rule("dynamic_slice")
def dynamic_slice(call: Call, x: Operand, *starts: Operand) -> Entries:
    """out[i] = x[start + i], where each start is first moved so that the slice is within x"""
    begin = _starts(x.shape, call.shape, starts)
    return lambda *i: x.at(*(s + j for s, j in zip(begin, i, strict=True)))


def _starts(shape: Sequence[Node], taken: Sequence[Node], starts: Sequence[Operand]) -> list[Node]:
    """Return the starts of a slice of shape `taken`, moved so that it is within an array of this shape."""
    return [clamped(s.at(), n - m) for s, n, m in zip(starts, shape, taken, strict=False)]


@rule("dynamic_update_slice")
def dynamic_update_slice(call: Call, x: Operand, update: Operand, *starts: Operand) -> Entries:
    """The update at the start, which is first moved so that it is within x; x elsewhere"""
    begin = _starts(x.shape, update.shape, starts)

    def entry(*i: Node) -> Node:
        source = [j - s for s, j in zip(begin, i, strict=True)]
        hit = Both(tuple(in_bounds(j, n) for j, n in zip(source, update.shape, strict=True)))
        return If(hit, update.at(*source), x.at(*i))

    return entry
