"""Solutions of linear systems and factors of matrices: by the equations that define them, or by elimination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from certgrad.jaxpr.lu_solver import lu_solver
from certgrad.language.build import argmax_over, for_all, sum_over
from certgrad.language.tree import TRUE, Both, Either, If, Index, Node, SortedEntry

from .._jax import size, sort_of
from ..program import Carry, Determined
from ..rule import (
    ONE,
    ZERO,
    Entries,
    Operand,
    UnreadableError,
    at_most,
    equal,
    indices,
    less_than,
    nested_binders,
    structured,
)
from .elementwise import NOTHING, UNIT
from .opaque import _name

if TYPE_CHECKING:
    from ..reading import Reader


def _batch(reader: Reader, shape: Sequence[Node]) -> tuple[str, ...]:
    """Return the variables that number the times and the batch axes, which have this shape."""
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
        """Return an entry of the matrix that multiplies X: A's triangle, transposed if asked, and 0 elsewhere."""
        if params["transpose_a"]:
            row, column = column, row
        in_triangle = less_than(column, row) if params["lower"] else less_than(row, column)
        diagonal = UNIT if params["unit_diagonal"] else a.at(*batch, row, column)
        return If(equal(row, column), diagonal, If(in_triangle, a.at(*batch, row, column), NOTHING))

    # X is a tensor defined by the equations alone, which read its own entries (`unknown`).
    unknown = reader.operand(x, b.dtype).at
    if params["left_side"]:
        total = sum_over("k2", rows, triangle(i, k) * unknown(*batch, k, j))
    else:
        total = sum_over("k2", columns, unknown(*batch, i, k) * triangle(k, j))
    equations = nested_binders(for_all, ["k0", "k1"], [rows, columns], equal(total, b.at(*batch, i, j)))
    solution = Determined((x,), outer, (equations,), TRUE, "linear", (_name(reader, a), _name(reader, b)))
    return reader.determined(solution, [b.dtype])


@structured("tridiagonal_solve")
def tridiagonal_solve(
    reader: Reader, eqn: Any, low: Operand, main: Operand, high: Operand, b: Operand
) -> list[Operand]:
    """The X with T·X = B for the matrix T of three bands, of which the first entry of the lower and the last one of the
    upper are not read"""
    if eqn.params.get("perturb_singular"):
        raise UnreadableError("tridiagonal_solve that perturbs a singular matrix")
    outer = _batch(reader, b.shape[:-2])
    batch, (rows, columns) = [Index(name) for name in outer[len(reader.times) :]], b.shape[-2:]
    x = reader.tensor(reader.name(), b.shape, "real")
    i, j = Index("k0"), Index("k1")
    unknown = reader.operand(x, b.dtype).at
    below = If(less_than(ZERO, i), low.at(*batch, i) * unknown(*batch, i - ONE, j), NOTHING)
    above = If(less_than(i + ONE, rows), high.at(*batch, i) * unknown(*batch, i + ONE, j), NOTHING)
    total = below + main.at(*batch, i) * unknown(*batch, i, j) + above
    equations = nested_binders(for_all, ["k0", "k1"], [rows, columns], equal(total, b.at(*batch, i, j)))
    names = tuple(_name(reader, operand) for operand in (low, main, high, b))
    return reader.determined(Determined((x,), outer, (equations,), TRUE, "linear", names), [b.dtype])


@structured("certgrad_solution")
def certgrad_solution(reader: Reader, eqn: Any, *operands: Operand) -> list[Operand]:
    """A solution of its equation, near the operands too: that what its solver returns is one is a hypothesis"""
    of_solver, _ = eqn.params["counts"]
    (z,) = (v.aval for v in eqn.outvars)
    shape = tuple(map(size, z.shape))
    tensor = reader.tensor(reader.name(), shape, "real")
    unknown = reader.operand(tensor, z.dtype)
    (left,) = reader.composed(eqn.params["residual"], [unknown, *operands[of_solver:]])
    names = [f"j{axis}" for axis in range(len(shape))]
    equations = nested_binders(for_all, names, shape, equal(left.at(*indices(names)), NOTHING))
    solution = Determined((tensor,), reader.times, (equations,), TRUE, "solution", ())
    return reader.determined(solution, [z.dtype])


@structured("custom_linear_solve")
def custom_linear_solve(reader: Reader, eqn: Any, *operands: Operand) -> Sequence[Operand]:
    """What its solver computes. That of JAX, given the LU factors of a matrix A, computes the x with A·x = b"""
    counts, solver = eqn.params["const_lengths"], eqn.params["jaxprs"].solve
    before = counts.matvec + counts.vecmat
    solver_operands, right = operands[before : before + counts.solve], operands[sum(counts) :]
    axes, a = lu_solver(solver), _factored(solver_operands)
    if axes is None or a is None:
        return reader.read(solver, [*solver_operands, *right])
    # JAX's own solver, by the LU factors of A: x is determined by A·x = b, and not by what the solver computes.
    (b,) = right
    x = reader.tensor(reader.name(), b.shape, "real")
    names = [f"j{axis}" for axis in range(b.rank)]
    index, k = indices(names), Index("k0")
    batch = [index[axis] for axis in axes.batch]
    row, column = (k, index[axes.axis]) if axes.transposed else (index[axes.axis], k)
    along = [k if axis == axes.axis else i for axis, i in enumerate(index)]
    total = sum_over("k0", b.shape[axes.axis], a.at(*batch, row, column) * reader.operand(x, b.dtype).at(*along))
    equations = nested_binders(for_all, names, b.shape, equal(total, b.at(*index)))
    operand_names = (_name(reader, a), _name(reader, b))
    solution = Determined((x,), reader.times, (equations,), TRUE, "linear", operand_names)
    return reader.determined(solution, [b.dtype])


def _factored(held: Sequence[Operand]) -> Operand | None:
    """Return the matrix of which a solver holds the LU factors and the permutation, in this order; else None."""
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
        for_all("k0", n, less_than(NOTHING, entry(*batch, i, i))),
    )
    definition = Determined((factor,), outer, equations, TRUE, "cholesky", (_name(reader, a),))
    return reader.determined(definition, [a.dtype])


def _factors(reader: Reader, a: Operand, made: Sequence[tuple[Node, ...]]) -> tuple[Any, ...]:
    """Return what defines factors of a matrix `a`, whose shapes without batch axes are `made`.

    That are the variables of times and batch, the tensors of the factors, the entries of `a` as a function of row and
    column, and such functions for the factors.
    """
    lead = a.shape[:-2]
    outer = _batch(reader, lead)
    batch = [Index(name) for name in outer[len(reader.times) :]]
    tensors = tuple(reader.tensor(reader.name(), (*lead, *shape), "real") for shape in made)
    entries = [partial(reader.operand(t, a.dtype).at, *batch) for t in tensors]
    return outer, tensors, partial(a.at, *batch), entries


def _orthonormal(column: Entries, rows: Node, columns: Node) -> Node:
    """Return that the columns of a matrix, with entries `column(row, column)`, have length 1 and are orthogonal."""
    i, j = Index("k0"), Index("k1")
    total = sum_over("k2", rows, column(Index("k2"), i) * column(Index("k2"), j))
    return nested_binders(for_all, ["k0", "k1"], [columns, columns], equal(total, If(equal(i, j), UNIT, NOTHING)))


@structured("eigh")
def eigh(reader: Reader, eqn: Any, a: Operand) -> list[Operand]:
    """V and λ with A·V = V·diag(λ), Vᵀ·V = 1 and λ in ascending order. Only the lower triangle of A is looked at.

    The signs of the columns of V are left open, and are the same close by.
    """
    params, n = eqn.params, a.shape[-1]
    if not params["lower"] or params.get("subset_by_index") is not None or not params.get("sort_eigenvalues", True):
        raise UnreadableError("eigh of the upper triangle, of some eigenvalues, or without their order")
    outer, tensors, of, (v, value) = _factors(reader, a, [(n, n), (n,)])
    i, j, k = Index("k0"), Index("k1"), Index("k2")
    total = sum_over("k2", n, If(at_most(k, i), of(i, k), of(k, i)) * v(k, j))
    equations = (
        nested_binders(for_all, ["k0", "k1"], [n, n], equal(total, v(i, j) * value(j))),
        _orthonormal(v, n, n),
        for_all("k0", n - ONE, at_most(value(i), value(i + ONE))),
    )
    definition = Determined(tensors, outer, equations, TRUE, "eigh", (_name(reader, a),))
    return reader.determined(definition, [a.dtype] * 2)


@structured("svd")
def svd(reader: Reader, eqn: Any, a: Operand) -> list[Operand]:
    """σ, U and Vᵀ with A = U·diag(σ)·Vᵀ, Uᵀ·U = Vᵀ·V = 1, and σ in descending order, none below 0.

    There are as many of them as rows or columns, whichever are fewer. The signs of the columns of U and V are left
    open, and are the same close by.
    """
    params, (m, n) = eqn.params, a.shape[-2:]
    if params.get("subset_by_index") is not None or (params["compute_uv"] and params["full_matrices"] and m != n):
        raise UnreadableError("svd of some singular values, or with vectors that its equation does not determine")
    count = size(eqn.outvars[0].aval.shape[-1])
    outer, tensors, of, (value, u, vt) = _factors(reader, a, [(count,), (m, count), (count, n)])
    i, j, k = Index("k0"), Index("k1"), Index("k2")
    equations = (
        nested_binders(
            for_all, ["k0", "k1"], [m, n], equal(sum_over("k2", count, u(i, k) * value(k) * vt(k, j)), of(i, j))
        ),
        _orthonormal(u, m, count),
        _orthonormal(lambda row, column: vt(column, row), n, count),
        for_all("k0", count - ONE, at_most(value(i + ONE), value(i))),
        for_all("k0", count, at_most(NOTHING, value(i))),
    )
    definition = Determined(tensors, outer, equations, TRUE, "svd", (_name(reader, a),))
    return reader.determined(definition, [a.dtype] * 3)[: len(eqn.outvars)]


@structured("qr")
def qr(reader: Reader, eqn: Any, a: Operand) -> list[Operand]:
    """Q and R with A = Q·R, Qᵀ·Q = 1 and R upper triangular, of a matrix with at least as many rows as columns.

    The signs of the rows of R are left open, and are the same close by.
    """
    (m, n) = a.shape[-2:]
    shapes = [tuple(map(size, v.aval.shape[-2:])) for v in eqn.outvars]
    if eqn.params.get("pivoting") or shapes != [(m, n), (n, n)]:
        raise UnreadableError("qr with pivots, or with columns that its equation does not determine")
    outer, tensors, of, (q, r) = _factors(reader, a, shapes)
    i, j, k = Index("k0"), Index("k1"), Index("k2")
    equations = (
        nested_binders(for_all, ["k0", "k1"], [m, n], equal(sum_over("k2", n, q(i, k) * r(k, j)), of(i, j))),
        _orthonormal(q, m, n),
        nested_binders(for_all, ["k0", "k1"], [n, n], Either((at_most(i, j), equal(r(i, j), NOTHING)))),
    )
    definition = Determined(tensors, outer, equations, TRUE, "qr", (_name(reader, a),))
    return reader.determined(definition, [a.dtype] * 2)


@structured("lu_pivots_to_permutation")
def lu_pivots_to_permutation(reader: Reader, eqn: Any, pivots: Operand) -> list[Operand]:
    """The rows in the order to which interchanges bring them: at step t row t is swapped with the one that the pivot
    says"""
    (aval,) = (v.aval for v in eqn.outvars)
    shape, lead = tuple(map(size, aval.shape)), len(aval.shape) - 1
    batch: list[Node] = [Index(f"i{k}") for k in range(lead)]

    def run(time: str) -> tuple[list[Carry], str]:
        t, i = Index(time), Index(f"i{lead}")
        order = reader.tensor(reader.name(), shape, "integer")
        rows, pivot = reader.operand(order, None).at, pivots.at(*batch, t)
        step = rows(*batch, If(equal(i, t), pivot, If(equal(i, pivot), t, i)))
        axes = tuple(f"i{k}" for k in range(lead + 1))
        return [Carry(order, (*reader.times[:-1], *axes), i, step)], order.name

    before, steps = list(map(Index, reader.times)), pivots.shape[-1]
    order = reader.loop(steps, run)
    return [Operand(shape, "integer", aval.dtype, lambda *i: SortedEntry(order, (*before, steps, *i), "integer"))]


@structured("lu")
def lu(reader: Reader, eqn: Any, a: Operand) -> list[Operand]:
    """Gaussian elimination: at step t the row below t with the greatest |entry| in column t is swapped with row t.

    The factors stand in one matrix, U on and above the diagonal. The pivots are the rows that were swapped, the
    permutation says which row of A came to each place.
    """
    (n, m), lead = a.shape[-2:], a.shape[:-2]
    avals = [v.aval for v in eqn.outvars]
    steps = If(less_than(m, n), m, n)
    batch: list[Node] = [Index(f"i{k}") for k in range(len(lead))]
    before = list(map(Index, reader.times))

    def run(time: str) -> tuple[list[Carry], tuple[str, str, str]]:
        """Return one step of elimination: its carries, and the names of three tensors.

        The carries are the matrix and the order of the rows; the names are of the matrix, the pivot row and the order.
        """
        t = Index(time)
        matrix, order = (
            reader.tensor(reader.name(), a.shape, "real"),
            reader.tensor(reader.name(), a.shape[:-1], "integer"),
        )
        entry_before, rows = reader.operand(matrix, a.dtype).at, reader.operand(order, None).at

        def size_of(k: Node) -> Node:
            x = entry_before(*batch, t + k, t)
            return If(less_than(x, NOTHING), -x, x)

        def pivot_position(*b: Node) -> Node:  # it is only read at i0, i1, …, the indices in `batch`
            return t + argmax_over("k0", n - t, size_of(Index("k0")))

        pivot = reader.named("lu", Operand(lead, "integer", None, pivot_position))
        chosen = pivot.at(*batch)

        def source(i: Node) -> Node:
            """Return the row, before the step, that the step moves to row i."""
            return If(equal(i, t), chosen, If(equal(i, chosen), t, i))

        at = len(lead)
        i, j = Index(f"i{at}"), Index(f"i{at + 1}")
        # Below row t, column t gets the ratios, which are L's entries; the rest of a row loses ratio · pivot row.
        old = entry_before(*batch, source(i), j)
        head = entry_before(*batch, chosen, t)
        ratio = If(equal(head, NOTHING), NOTHING, entry_before(*batch, source(i), t) / head)
        new = If(equal(j, t), ratio, old - ratio * entry_before(*batch, chosen, j))
        step = If(Both((less_than(t, i), at_most(t, j))), new, old)
        axes = tuple(f"i{k}" for k in range(at + 2))
        carries = [
            Carry(matrix, (*reader.times[:-1], *axes), a.at(*batch, i, j), step),
            Carry(order, (*reader.times[:-1], *axes[:-1]), i, rows(*batch, source(i))),
        ]
        read = pivot.at(*(ZERO for _ in lead))
        assert isinstance(read, SortedEntry)
        return carries, (matrix.name, read.name, order.name)

    matrix, pivot, order = reader.loop(steps, run)
    results = [
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
    return [replace(x, factored=(a, place)) for place, x in enumerate(results)]
