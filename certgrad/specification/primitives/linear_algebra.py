"""Solutions of linear systems and factors of matrices: by the equations that define them, or by elimination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._jax import size, sort_of
from ..expression import And, ArgMax, Carry, Determined, Entry, Expression, ForAll, If, Index, Or, Sum, Truth
from ..rule import ONE, ZERO, Operand, at_most, equal, indices, less, over, structured
from .elementwise import NOTHING, UNIT
from .opaque import _name

if TYPE_CHECKING:
    from ..reading import Reader


def _batch(reader: Reader, shape: Sequence[Expression]) -> tuple[str, ...]:
    """The variables that number the times and the batch axes."""
    return (*reader.times, *(f"i{k}" for k in range(len(shape))))


@structured("triangular_solve")
def triangular_solve(reader: Reader, eqn: Any, a: Operand, b: Operand) -> list[Operand]:
    """The X with A·X = B, or X·A = B without `left_side`, of a triangular A, transposed with `transpose_a`.

    Of A only the triangle is looked at, and with `unit_diagonal` its diagonal is taken to be 1.
    """
    params = eqn.params
    lead, (rows, columns) = b.shape[:-2], b.shape[-2:]
    outer = _batch(reader, lead)
    batch = [Index(name) for name in outer[len(reader.times) :]]
    x = reader.tensor(reader.name(), b.shape, "real")
    i, j, k = Index("k0"), Index("k1"), Index("k2")

    def triangle(row: Expression, column: Expression) -> Expression:
        if params["transpose_a"]:
            row, column = column, row
        inside = less(column, row) if params["lower"] else less(row, column)
        diagonal = UNIT if params["unit_diagonal"] else a.at(*batch, row, column)
        return If(equal(row, column), diagonal, If(inside, a.at(*batch, row, column), NOTHING))

    unknown = reader.operand(x, b.dtype).at
    if params["left_side"]:
        total = Sum("k2", rows, triangle(i, k) * unknown(*batch, k, j))
    else:
        total = Sum("k2", columns, unknown(*batch, i, k) * triangle(k, j))
    equations = over(ForAll, ["k0", "k1"], [rows, columns], equal(total, b.at(*batch, i, j)))
    made = Determined((x,), outer, (equations,), Truth(True), "linear", (_name(reader, a), _name(reader, b)))
    return reader.determined(made, [b.dtype])


@structured("custom_linear_solve")
def custom_linear_solve(reader: Reader, eqn: Any, *operands: Operand) -> list[Operand]:
    """The x with matvec(x) = b: what JAX's solver computes where there is exactly one"""
    params = eqn.params
    counts, programs = params["const_lengths"], params["jaxprs"]
    consts = operands[: counts.matvec]
    right = operands[sum(counts) :]
    tensors = [reader.tensor(reader.name(), b.shape, "real") for b in right]
    unknown = [reader.operand(t, b.dtype) for t, b in zip(tensors, right, strict=True)]
    found = reader.composed(programs.matvec, [*consts, *unknown])
    equations = []
    for value, b in zip(found, right, strict=True):
        names = [f"j{axis}" for axis in range(b.rank)]
        here = indices(names)
        equations.append(over(ForAll, names, b.shape, equal(value.at(*here), b.at(*here))))
    named = tuple(_name(reader, x) for x in (*consts, *right))
    made = Determined(tuple(tensors), reader.times, tuple(equations), Truth(True), "linear", named)
    return reader.determined(made, [b.dtype for b in right])


@structured("cholesky")
def cholesky(reader: Reader, eqn: Any, a: Operand) -> list[Operand]:
    """The lower triangular L with positive diagonal and L·Lᵀ = A. Only the lower triangle of A is looked at"""
    lead, n = a.shape[:-2], a.shape[-1]
    outer = _batch(reader, lead)
    batch = [Index(name) for name in outer[len(reader.times) :]]
    factor = reader.tensor(reader.name(), a.shape, "real")
    entry = reader.operand(factor, a.dtype).at
    i, j, k = Index("k0"), Index("k1"), Index("k2")
    total = Sum("k2", j + ONE, entry(*batch, i, k) * entry(*batch, j, k))
    equations = (
        ForAll("k0", n, ForAll("k1", i + ONE, equal(total, a.at(*batch, i, j)))),
        ForAll("k0", n, ForAll("k1", n, Or((at_most(j, i), equal(entry(*batch, i, j), NOTHING))))),
        ForAll("k0", n, less(NOTHING, entry(*batch, i, i))),
    )
    made = Determined((factor,), outer, equations, Truth(True), "cholesky", (_name(reader, a),))
    return reader.determined(made, [a.dtype])


@structured("lu")
def lu(reader: Reader, eqn: Any, a: Operand) -> list[Operand]:
    """Gaussian elimination: at step t the row below t with the greatest |entry| in column t is swapped with row t.

    The factors stand in one matrix, U on and above the diagonal. The pivots are the rows that were swapped, the
    permutation says which row of A came to each place.
    """
    (n, m), lead = a.shape[-2:], a.shape[:-2]
    avals = [v.aval for v in eqn.outvars]
    steps = If(less(m, n), m, n)
    batch: list[Expression] = [Index(f"i{k}") for k in range(len(lead))]
    before = list(map(Index, reader.times))

    def run(time: str) -> tuple[list[Carry], tuple[str, str, str]]:
        t = Index(time)
        matrix, order = (
            reader.tensor(reader.name(), a.shape, "real"),
            reader.tensor(reader.name(), a.shape[:-1], "integer"),
        )
        now, rows = reader.operand(matrix, a.dtype).at, reader.operand(order, None).at

        def size_of(k: Expression) -> Expression:
            x = now(*batch, t + k, t)
            return If(less(x, NOTHING), -x, x)

        def found(*b: Expression) -> Expression:
            return t + ArgMax("k0", n - t, size_of(Index("k0")))

        pivot = reader.named("lu", Operand(lead, "integer", None, found))
        chosen = pivot.at(*batch)

        def source(i: Expression) -> Expression:
            return If(equal(i, t), chosen, If(equal(i, chosen), t, i))

        at = len(lead)
        i, j = Index(f"i{at}"), Index(f"i{at + 1}")
        old = now(*batch, source(i), j)
        head = now(*batch, chosen, t)
        ratio = If(equal(head, NOTHING), NOTHING, now(*batch, source(i), t) / head)
        new = If(equal(j, t), ratio, old - ratio * now(*batch, chosen, j))
        step = If(And((less(t, i), at_most(t, j))), new, old)
        axes = tuple(f"i{k}" for k in range(at + 2))
        carries = [
            Carry(matrix, (*reader.times[:-1], *axes), a.at(*batch, i, j), step),
            Carry(order, (*reader.times[:-1], *axes[:-1]), i, rows(*batch, source(i))),
        ]
        read = pivot.at(*(ZERO for _ in lead))
        assert isinstance(read, Entry)
        return carries, (matrix.name, read.tensor, order.name)

    matrix, pivot, order = reader.loop(steps, run)
    return [
        Operand(a.shape, "real", avals[0].dtype, lambda *i: Entry(matrix, (*before, steps, *i), "real")),
        Operand(
            tuple(map(size, avals[1].shape)),
            sort_of(avals[1].dtype),
            avals[1].dtype,
            lambda *i: Entry(pivot, (*before, i[-1], *i[:-1]), "integer"),
        ),
        Operand(a.shape[:-1], "integer", avals[2].dtype, lambda *i: Entry(order, (*before, steps, *i), "integer")),
    ]
