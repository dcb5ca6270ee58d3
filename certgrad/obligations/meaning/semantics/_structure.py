"""Semantics of the primitives that rearrange axes: broadcasting, transposition, reshapes; and of iota."""

from __future__ import annotations

from certgrad.obligations.assume.conditions import UNDEFINED
from certgrad.obligations.assume.signs import NONNEG
from certgrad.obligations.assume.tensor import Tensor, axis_index
from certgrad.obligations.terms.index import of_const
from certgrad.obligations.terms.index_terms import index_number
from certgrad.obligations.terms.integers import quotient, remainder, row_major
from certgrad.obligations.terms.platform import is_platform
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, number
from certgrad.obligations.tracing.jax_internals import kind_of

from ._registry import Context, Params, UnprovedError, rule

Shapes = list[tuple]


@rule("broadcast_in_dim")
def _broadcast(ctx: Context, params: Params, shapes: Shapes, x: Tensor, *sizes: Tensor) -> list[Tensor]:
    (shape,) = shapes
    index = []
    for k, axis in enumerate(params["broadcast_dimensions"]):
        if x.shape[k] != ONE and x.shape[k] != shape[axis]:
            raise UnprovedError("a broadcast between dimensions not shown equal")
        index.append(of_const(ZERO) if x.shape[k] == ONE else axis_index(axis, shape[axis]))
    return [x.indexed(index, shape)]


@rule("transpose")
def _transpose(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    (shape,) = shapes
    index = [of_const(ZERO)] * x.rank
    for new, old in enumerate(params["permutation"]):
        index[old] = axis_index(new, shape[new])
    return [x.indexed(index, shape)]


@rule("squeeze")
def _squeeze(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    (shape,) = shapes
    kept = iter(range(len(shape)))
    gone = set(params["dimensions"])
    index = [of_const(ZERO) if k in gone else axis_index(n := next(kept), shape[n]) for k in range(x.rank)]
    return [x.indexed(index, shape)]


@rule("expand_dims")
def _expand_dims(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    (shape,) = shapes
    new = set(params["dimensions"])
    index = [axis_index(k, n) for k, n in enumerate(shape) if k not in new]
    return [x.indexed(index, shape)]


@rule("reshape")
def _reshape(ctx: Context, params: Params, shapes: Shapes, x: Tensor, *sizes: Tensor) -> list[Tensor]:
    """The same entries in row-major order: axes merge and split in blocks of equal size."""
    (shape,) = shapes
    order = params.get("dimensions")
    if order is not None:  # the operand's axes are permuted first
        (x,) = _transpose(ctx, {"permutation": order}, [tuple(x.shape[k] for k in order)], x)
    old = [(k, n) for k, n in enumerate(x.shape) if n != ONE]
    new = [(k, n) for k, n in enumerate(shape) if n != ONE]
    index = [of_const(ZERO)] * x.rank
    for before, after in _blocks(old, new):
        place = of_const(ZERO)
        for j, n in after:
            place = row_major(place, axis_index(j, n), n)
        for k, n in reversed(before[1:]):
            index[k] = remainder(place, n)
            place = quotient(place, n)
        index[before[0][0]] = place
    return [x.indexed(index, shape)]


Axes = list[tuple[int, Poly]]


def _blocks(old: Axes, new: Axes) -> list[tuple[Axes, Axes]]:
    """The shortest runs of axes whose sizes have equal products."""
    out: list[tuple[Axes, Axes]] = []
    while old and new:
        sizes = [(p, q) for p in range(1, len(old) + 1) for q in range(1, len(new) + 1)]
        for p, q in sorted(sizes, key=lambda s: (s[0] + s[1], s)):
            if _product(old[:p]) == _product(new[:q]):
                out.append((old[:p], new[:q]))
                old, new = old[p:], new[q:]
                break
        else:
            raise UnprovedError("a reshape between sizes not shown equal")
    if old or new:
        raise UnprovedError("a reshape between sizes not shown equal")
    return out


def _product(axes: Axes) -> Poly:
    total = ONE
    for _, n in axes:
        total = total * n
    return total


@rule("tile")
def _tile(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    (shape,) = shapes
    index = [
        of_const(ZERO) if n == ONE else axis_index(k, m) if m == n else remainder(axis_index(k, m), n)
        for k, (n, m) in enumerate(zip(x.shape, shape, strict=True))
    ]
    return [x.indexed(index, shape)]


@rule("iota")
def _iota(ctx: Context, params: Params, shapes: Shapes, *args: Tensor) -> list[Tensor]:
    (shape,) = shapes
    axis = params["dimension"]
    kind = kind_of(params["dtype"])
    if kind not in "fi":
        raise UnprovedError(f"iota of dtype {params['dtype']}")
    if kind == "f" and str(params["dtype"]) != "float64":
        ctx.note(f"iota in {params['dtype']} is read as exact")
    return [Tensor(shape, index_number(axis_index(axis, shape[axis])), kind, signs=NONNEG)]  # type: ignore[arg-type]


@rule("dim_as_value")
def _dim_as_value(ctx: Context, params: Params, shapes: Shapes, *args: Tensor) -> list[Tensor]:
    dim = params["dim"]
    return [Tensor((), dim, "i", signs=4 if dim.positive else 6)]


@rule("platform_index")
def _platform_index(ctx: Context, params: Params, shapes: Shapes, *args: Tensor) -> list[Tensor]:
    """Which of several programs runs: that of the list that names the machine's platform, else the default's.

    The platform is one arbitrary integer, each name another number, so that two lists agree where the names say so.
    """
    platforms = list(params["platforms"])
    chosen = {name: k for k, names in enumerate(platforms) if names is not None for name in names}
    if None not in platforms:
        ctx.note(f"the platform is one of {', '.join(sorted(chosen))}, for which alone a program stands")
    other = platforms.index(None) if None in platforms else chosen[min(chosen)]
    body = number(other)
    for name, k in chosen.items():
        body = body + is_platform(name).scale(k - other)
    return [Tensor((), body, "i", signs=NONNEG)]


@rule("empty2", "empty")
def _empty(ctx: Context, params: Params, shapes: Shapes, *args: Tensor) -> list[Tensor]:
    """An array of arbitrary content: undefined until it is written."""
    (shape,) = shapes
    return [Tensor(shape, ZERO, kind_of(params["dtype"]), UNDEFINED, UNDEFINED)]  # type: ignore[arg-type]
