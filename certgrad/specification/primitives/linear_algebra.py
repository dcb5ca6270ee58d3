"""Solutions of linear systems and factors of matrices: by the equations that define them, or by elimination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from certgrad.jaxpr.lu_solver import lu_solver
from certgrad.language.build import argmax_over, for_all, sum_over
from certgrad.language.tree import TRUE, Both, Either, If, Index, Node, SortedEntry

from .._jax import size, sort_of
from ..program import Carry, Determined
from ..rule import ONE, ZERO, Operand, at_most, equal, indices, less, over, structured
from .elementwise import NOTHING, UNIT
from .opaque import _name

if TYPE_CHECKING:
    from ..reading import Reader


def _batch(reader: Reader, shape: Sequence[Node]) -> tuple[str, ...]:
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

    def triangle(row: Node, column: Node) -> Node:
        if params["transpose_a"]:
            row, column = column, row
        inside = less(column, row) if params["lower"] else less(row, column)
        diagonal = UNIT if params["unit_diagonal"] else a.at(*batch, row, column)
        return If(equal(row, column), diagonal, If(inside, a.at(*batch, row, column), NOTHING))

    unknown = reader.operand(x, b.dtype).at
    if params["left_side"]:
        total = sum_over("k2", rows, triangle(i, k) * unknown(*batch, k, j))
    else:
        total = sum_over("k2", columns, unknown(*batch, i, k) * triangle(k, j))
    equations = over(for_all, ["k0", "k1"], [rows, columns], equal(total, b.at(*batch, i, j)))
    made = Determined((x,), outer, (equations,), TRUE, "linear", (_name(reader, a), _name(reader, b)))
    return reader.determined(made, [b.dtype])


@structured("custom_linear_solve")
def custom_linear_solve(reader: Reader, eqn: Any, *operands: Operand) -> Sequence[Operand]:
    """What its solver computes. That of JAX, given the LU factors of a matrix A, computes the x with A·x = b"""
    counts, solver = eqn.params["const_lengths"], eqn.params["jaxprs"].solve
    before = counts.matvec + counts.vecmat
    held, right = operands[before : before + counts.solve], operands[sum(counts) :]
    own, a = lu_solver(solver), _factored(held)
    if own is None or a is None:
        return reader.read(solver, [*held, *right])
    (b,) = right
    x = reader.tensor(reader.name(), b.shape, "real")
    names = [f"j{axis}" for axis in range(b.rank)]
    here, k = indices(names), Index("k0")
    batch = [here[axis] for axis in own.batch]
    row, column = (k, here[own.axis]) if own.transposed else (here[own.axis], k)
    along = [k if axis == own.axis else i for axis, i in enumerate(here)]
    total = sum_over("k0", b.shape[own.axis], a.at(*batch, row, column) * reader.operand(x, b.dtype).at(*along))
    equations = over(for_all, names, b.shape, equal(total, b.at(*here)))
    named = (_name(reader, a), _name(reader, b))
    made = Determined((x,), reader.times, (equations,), TRUE, "linear", named)
    return reader.determined(made, [b.dtype])


def _factored(held: Sequence[Operand]) -> Operand | None:
    """The matrix of which a solver holds both factors, and the permutation."""
    if len(held) != 2 or held[0].factored is None or held[1].factored is None:
        return None
    (a, factors), (of, permutation) = held[0].factored, held[1].factored
    return a if a is of and (factors, permutation) == (0, 2) else None


@structured("cholesky")
def cholesky(reader: Reader, eqn: Any, a: Operand) -> list[Operand]:
    """The lower triangular L with positive diagonal and L·Lᵀ = A. Only the lower triangle of A is looked at"""
    lead, n = a.shape[:-2], a.shape[-1]
    outer = _batch(reader, lead)
    batch = [Index(name) for name in outer[len(reader.times) :]]
    factor = reader.tensor(reader.name(), a.shape, "real")
    entry = reader.operand(factor, a.dtype).at
    i, j, k = Index("k0"), Index("k1"), Index("k2")
    total = sum_over("k2", j + ONE, entry(*batch, i, k) * entry(*batch, j, k))
    equations = (
        for_all("k0", n, for_all("k1", i + ONE, equal(total, a.at(*batch, i, j)))),
        for_all("k0", n, for_all("k1", n, Either((at_most(j, i), equal(entry(*batch, i, j), NOTHING))))),
        for_all("k0", n, less(NOTHING, entry(*batch, i, i))),
    )
    made = Determined((factor,), outer, equations, TRUE, "cholesky", (_name(reader, a),))
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
    batch: list[Node] = [Index(f"i{k}") for k in range(len(lead))]
    before = list(map(Index, reader.times))

    def run(time: str) -> tuple[list[Carry], tuple[str, str, str]]:
        t = Index(time)
        matrix, order = (
            reader.tensor(reader.name(), a.shape, "real"),
            reader.tensor(reader.name(), a.shape[:-1], "integer"),
        )
        now, rows = reader.operand(matrix, a.dtype).at, reader.operand(order, None).at

        def size_of(k: Node) -> Node:
            x = now(*batch, t + k, t)
            return If(less(x, NOTHING), -x, x)

        def found(*b: Node) -> Node:
            return t + argmax_over("k0", n - t, size_of(Index("k0")))

        pivot = reader.named("lu", Operand(lead, "integer", None, found))
        chosen = pivot.at(*batch)

        def source(i: Node) -> Node:
            return If(equal(i, t), chosen, If(equal(i, chosen), t, i))

        at = len(lead)
        i, j = Index(f"i{at}"), Index(f"i{at + 1}")
        old = now(*batch, source(i), j)
        head = now(*batch, chosen, t)
        ratio = If(equal(head, NOTHING), NOTHING, now(*batch, source(i), t) / head)
        new = If(equal(j, t), ratio, old - ratio * now(*batch, chosen, j))
        step = If(Both((less(t, i), at_most(t, j))), new, old)
        axes = tuple(f"i{k}" for k in range(at + 2))
        carries = [
            Carry(matrix, (*reader.times[:-1], *axes), a.at(*batch, i, j), step),
            Carry(order, (*reader.times[:-1], *axes[:-1]), i, rows(*batch, source(i))),
        ]
        read = pivot.at(*(ZERO for _ in lead))
        assert isinstance(read, SortedEntry)
        return carries, (matrix.name, read.name, order.name)

    matrix, pivot, order = reader.loop(steps, run)
    found = [
        Operand(a.shape, "real", avals[0].dtype, lambda *i: SortedEntry(matrix, (*before, steps, *i), "real")),
        Operand(
            tuple(map(size, avals[1].shape)),
            sort_of(avals[1].dtype),
            avals[1].dtype,
            lambda *i: SortedEntry(pivot, (*before, i[-1], *i[:-1]), "integer"),
        ),
        Operand(
            a.shape[:-1], "integer", avals[2].dtype, lambda *i: SortedEntry(order, (*before, steps, *i), "integer")
        ),
    ]
    return [replace(x, factored=(a, place)) for place, x in enumerate(found)]
