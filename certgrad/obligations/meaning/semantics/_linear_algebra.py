"""Semantics of what solves matrix equations: triangular and general systems, factorisations.

The value is the solution of its equation; that LAPACK's and XLA's solvers find it is trusted, as exp is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flint import fmpq

from certgrad.jaxpr.lu_solver import LuSolver, lu_solver
from certgrad.obligations.assume.conditions import Clause, Clauses, merge_clauses
from certgrad.obligations.assume.signs import ANY_SIGN, NONNEG
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.laws.matrices import argument_entry, invertible, matrix, positive_definite, triangle
from certgrad.obligations.laws.pivots import FACTORS, GAP, INTERCHANGES, factors, permutation_of, pivot, told_apart
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_equal, index_number
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly
from certgrad.obligations.terms.power import log_of, sign_of
from certgrad.obligations.terms.rewriting import substitute, without_stops
from certgrad.obligations.terms.spectra import of_matrix
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh, template
from certgrad.obligations.tracing.jax_internals import identity, program_of

from ._elementwise import settle
from ._linear_map import along_an_axis, everywhere, resolved_within_shape
from ._registry import Context, Params, UnprovedError, rule
from ._solvers import argument_key, defined_by, not_in_a_loop

Shapes = list[tuple]


def _square(x: Tensor) -> tuple[Poly, Var, Var]:
    """The entry of a (batch of) square matrix over a fresh row and column."""
    row, column = fresh(), fresh()
    last = x.rank - 2
    names = {template(last): of_var(row), template(last + 1): of_var(column)}
    return (
        resolved_within_shape(substitute(x.body, names), x.shape, {row: x.shape[-1], column: x.shape[-1]}),
        row,
        column,
    )


@rule("lu")
def _lu(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """Both factors in one matrix, the interchanges, and the permutation that they make. (See `laws/pivots.py`.)

    Its derivative is written with inverses of the factors, so it is claimed where there are some.
    """
    if x.shape[-1] != x.shape[-2]:
        raise UnprovedError("the LU factors of a matrix that is not square")
    body, row, column = _square(x)
    size, axes = x.shape[-1], [x.rank - 2, x.rank - 1]
    steady = told_apart(body, row, column, size, "lu")
    defined, smooth = everywhere(x.defined, axes), merge_clauses(everywhere(x.smooth, axes), steady)
    entry = factors(body, row, column, size, own_index(shapes[0])[-2:])
    interchange = of_matrix(INTERCHANGES, body, row, column, (size, size), own_index(shapes[1])[-1:])
    place = index_number(pivot(body, row, column, size, own_index(shapes[2])[-1]))
    both = merge_clauses(smooth, invertible(body, row, column, size, "lu"))
    return [
        Tensor(shapes[0], entry, "f", defined, both, ANY_SIGN),
        Tensor(shapes[1], interchange, "i", defined, smooth, ANY_SIGN),
        Tensor(shapes[2], place, "i", defined, smooth, NONNEG),
    ]


@rule("lu_pivots_to_permutation")
def _lu_pivots_to_permutation(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """The permutation that the interchanges of an LU factorisation make, one after the other."""
    (shape,) = shapes
    found = permutation_of(x.body, own_index(x.shape)[-1])
    if found is None or shape[-1] != x.shape[-1]:
        raise UnprovedError("the permutation of interchanges that are not those of an LU factorisation")
    axes = [x.rank - 1]
    body = index_number(pivot(*found, own_index(shape)[-1]))
    return [Tensor(shape, body, "i", everywhere(x.defined, axes), everywhere(x.smooth, axes), NONNEG)]


@rule("custom_linear_solve")
def _custom_linear_solve(ctx: Context, params: Params, shapes: Shapes, *args: Tensor) -> list[Tensor]:
    """x with matvec(x) = b, where JAX's own LU solver finds it; that a user's solver does is a hypothesis."""
    jaxprs, groups, start = params["jaxprs"], [], 0
    for count in params["const_lengths"]:
        groups.append(list(args[start : start + count]))
        start += count
    matvec, _, solver, _ = groups
    if len(args) - start != 1 or len(shapes) != 1:
        raise UnprovedError("a linear solve with several right-hand sides")
    b = args[start]
    own = lu_solver(jaxprs.solve)
    if own is None or len(solver) != 2:
        return [_by_a_users_solver(ctx, jaxprs, matvec, solver, b)]
    row, column = fresh(), fresh()
    body, defined, smooth = _operator(ctx, jaxprs.matvec, matvec, b, (row, column), solver, own)
    size = b.shape[own.axis]
    condition = invertible(body, row, column, size, "linear solve")
    dummy, here = fresh(), own_index(b.shape)[own.axis]
    right = substitute(b.body, {template(own.axis): of_var(dummy)})
    inverse = matrix("inverse", body, row, column, size, (here, of_var(dummy) if size != ONE else here))
    factored = [_of_held(held, own, _pivoted(solver[0], own)) for held in solver]
    return [
        Tensor(
            shapes[0],
            sum_over(inverse * right, [(dummy, size)]),
            "f",
            merge_clauses(defined, everywhere(b.defined, [own.axis]), *(d for d, _ in factored), condition),
            merge_clauses(smooth, everywhere(b.smooth, [own.axis]), *(s for _, s in factored), condition),
            ANY_SIGN,
        )
    ]


def _by_a_users_solver(ctx: Context, jaxprs: Any, matvec: list[Tensor], solver: list[Tensor], b: Tensor) -> Tensor:
    from ._interpreter import interpret  # the interpreter imports the table of rules

    given = [*matvec, *solver, b]
    not_in_a_loop("linear_solve", given)
    key = ("linear_solve", *(identity(program_of(p)) for p in (jaxprs.matvec, jaxprs.solve)), *map(argument_key, given))

    def left(unknown: Tensor) -> Tensor:
        (image,) = interpret(ctx, program_of(jaxprs.matvec), [*matvec, unknown], [True])
        assert image is not None
        return replace(image, body=image.body - b.body)

    return defined_by("linear_solve", key, b.shape, given, left)


UNKNOWN = "unknown of a linear solve"


def _operator(
    ctx: Context,
    jaxpr: Any,
    consts: list[Tensor],
    b: Tensor,
    places: tuple[Var, Var],
    solver: list[Tensor],
    own: LuSolver,
) -> tuple[Poly, Clauses, Clauses]:
    """Return the matrix of a linear map along one axis, and the map's conditions.

    The matrix is read off the map's value at an arbitrary tensor. Where that fails, it is the matrix whose factors the
    solver holds, if the product with it has the same value. Raises UnprovedError where the solver holds other factors.
    """
    from ._interpreter import interpret  # the interpreter imports the table of rules

    axis, size = own.axis, b.shape[own.axis]
    unknown = Tensor(b.shape, access(UNKNOWN, own_index(b.shape)))
    (image,) = interpret(ctx, program_of(jaxpr), [*consts, unknown], [True])
    assert image is not None
    conditions = everywhere(image.defined, [axis]), everywhere(image.smooth, [axis])
    reason = "a linear solve whose solver holds the factors of another matrix"
    try:
        body = along_an_axis(image.body, b.shape, UNKNOWN, axis, *places)
        if _factors_of(body, places, size, solver, own):
            return body, *conditions
    except UnprovedError as error:
        reason = str(error)
    held = _held_matrix(solver[0], places, own)
    if held is None or not _factors_of(held, places, size, solver, own):
        raise UnprovedError(reason)
    v, (row, column) = fresh(), places
    index = list(own_index(b.shape))
    index[axis] = of_var(v)
    entry = substitute(held, {row: own_index(b.shape)[axis], column: of_var(v)})
    product = sum_over(entry * access(UNKNOWN, tuple(index)), [(v, size)])
    if not resolved_within_shape(image.body - product, b.shape, {}).is_zero:
        raise UnprovedError(reason)
    return held, *conditions


def _held_matrix(held: Tensor, places: tuple[Var, Var], own: LuSolver) -> Poly | None:
    """The entry, at the row and column, of the matrix whose equation a solver solves that holds these factors.

    Solvers hold them behind a `stop_gradient`; it is the map whose derivative is that of the solution.
    """
    found = _pivoted(held, own)
    if found is None:
        return None
    row, column = places[::-1] if own.transposed else places
    return without_stops(argument_entry(found, of_var(row), of_var(column)))


def _pivoted(held: Tensor, own: LuSolver) -> Matrix | None:
    """The factors that a tensor holds, at the batch of the right-hand side."""
    axes = {template(k): of_var(template(x)) for k, x in enumerate(own.batch)}
    found = substitute(held.body, axes).atom()
    return found if isinstance(found, Matrix) and found.name == FACTORS else None


def _factors_of(body: Poly, places: tuple[Var, Var], size: Poly, solver: list[Tensor], own: LuSolver) -> bool:
    """Return whether the solver's tensors are the LU factors and the permutation of the operator's matrix, or of its
    transpose.
    """
    row, column = places[::-1] if own.transposed else places
    body, axes = without_stops(body), {template(k): of_var(template(x)) for k, x in enumerate(own.batch)}
    wheres = [own_index(held.shape)[len(own.batch) :] for held in solver]
    wanted = (
        factors(body, row, column, size, wheres[0]),
        index_number(pivot(body, row, column, size, wheres[1][-1])),
    )
    return all(
        held.shape[-1] == size and substitute(without_stops(held.body), axes) == entry
        for held, entry in zip(solver, wanted, strict=True)
    )


def _of_held(held: Tensor, own: LuSolver, factors_of: Matrix | None) -> tuple[Clauses, Clauses]:
    """The conditions of what the solver holds: in `a + 0·log(a)` its matrix may have more than the equal operator.

    But not that no pivot is tied: what solves the equation does not depend on which rows are taken.
    """
    batch = {template(k): of_var(template(x)) for k, x in enumerate(own.batch)}
    defined, smooth = held.conditions_over(range(len(own.batch), held.rank), batch)
    return defined, tuple(c for c in smooth if factors_of is None or not _of_its_pivots(c, factors_of))


def _of_its_pivots(clause: Clause, factors_of: Matrix) -> bool:
    """Return whether the clause says that no pivot of this very matrix is tied."""
    gap = clause.alternatives[0].poly.atom() if len(clause.alternatives) == 1 else None
    return isinstance(gap, Matrix) and (gap.name, gap.body, gap.ranges) == (GAP, factors_of.body, factors_of.ranges)


@rule("triangular_solve")
def _triangular_solve(ctx: Context, params: Params, shapes: Shapes, a: Tensor, b: Tensor) -> list[Tensor]:
    """op(T)·x = b or x·op(T) = b, where T is a triangle of the first argument: the rest of it is not read."""
    body, row, column = _square(a)
    size, unit = a.shape[-1], bool(params["unit_diagonal"])
    here, there = (row, column) if params["lower"] else (column, row)
    body = triangle(body, here, there, unit)
    if unit:
        body = body + index_equal(of_var(row).minus(of_var(column)))
    if params["transpose_a"]:
        row, column = column, row
    condition = () if unit else invertible(body, row, column, size, "triangular solve")
    condition = settle(condition, ctx.facts)
    axis = b.rank - (2 if params["left_side"] else 1)
    dummy, place = fresh(), own_index(b.shape)[axis]
    across = of_var(dummy) if size != ONE else place
    where = (place, across) if params["left_side"] else (across, place)
    right = substitute(b.body, {template(axis): of_var(dummy)})
    inverse = matrix("inverse", body, row, column, size, where)
    defined, smooth = (everywhere(c, [a.rank - 2, a.rank - 1]) for c in (a.defined, a.smooth))
    return [
        Tensor(
            shapes[0],
            sum_over(inverse * right, [(dummy, size)]),
            "f",
            merge_clauses(defined, everywhere(b.defined, [axis]), condition),
            merge_clauses(smooth, everywhere(b.smooth, [axis]), condition),
            ANY_SIGN,
        )
    ]


@rule("cholesky")
def _cholesky(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """L with L·Lᵀ = S and a positive diagonal. Of S only the lower triangle is read."""
    body, row, column = _square(x)
    turned = substitute(body, {row: of_var(column), column: of_var(row)})
    if turned != body:
        body = triangle(body, row, column, False) + triangle(turned, column, row, True)
    size = x.shape[-1]
    condition = positive_definite(body, row, column, size, "cholesky")
    axes = [x.rank - 2, x.rank - 1]
    entry = matrix("cholesky", body, row, column, size, own_index(shapes[0])[-2:])
    defined, smooth = (
        merge_clauses(everywhere(x.defined, axes), condition),
        merge_clauses(everywhere(x.smooth, axes), condition),
    )
    return [Tensor(shapes[0], entry, "f", defined, smooth, ANY_SIGN)]


@rule("jax.numpy.linalg.det")
def _det(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """The determinant. Its derivative is written with the inverse, so it is claimed where there is one."""
    body, row, column = _square(x)
    axes = [x.rank - 2, x.rank - 1]
    smooth = merge_clauses(everywhere(x.smooth, axes), invertible(body, row, column, x.shape[-1], "determinant"))
    value = matrix("determinant", body, row, column, x.shape[-1], ())
    return [Tensor(shapes[0], value, "f", everywhere(x.defined, axes), smooth)]


@rule("jax.numpy.linalg.slogdet")
def _slogdet(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """The sign of the determinant, and the logarithm of its modulus: ½·log(det²)."""
    body, row, column = _square(x)
    value = matrix("determinant", body, row, column, x.shape[-1], ())
    axes = [x.rank - 2, x.rank - 1]
    condition = invertible(body, row, column, x.shape[-1], "slogdet")
    defined, smooth = (
        merge_clauses(everywhere(x.defined, axes), condition),
        merge_clauses(everywhere(x.smooth, axes), condition),
    )
    logarithm = log_of(value * value).scale(fmpq(1, 2)) if not value.is_zero else value
    return [
        Tensor(shape, body, "f", defined, smooth)
        for shape, body in zip(shapes, (sign_of(value), logarithm), strict=True)
    ]


@rule("tridiagonal_solve")
def _tridiagonal_solve(
    ctx: Context, params: Params, shapes: Shapes, low: Tensor, main: Tensor, high: Tensor, b: Tensor
) -> list[Tensor]:
    """T·x = b for the matrix with the three bands. The first entry of `low` and the last of `high` are not read."""
    if params.get("perturb_singular"):
        raise UnprovedError("tridiagonal_solve that perturbs a singular matrix")
    axis, size = b.rank - 2, b.shape[-2]
    row, column = fresh(), fresh()
    below = of_var(row).minus(of_var(column))
    body = ZERO
    for band, offset in ((low, -ONE), (main, ZERO), (high, ONE)):
        entries = substitute(band.body, {template(axis): of_var(row)})
        body = body + entries * index_equal(below.shifted(offset))
    body = resolved_within_shape(body, b.shape, {row: size, column: size})
    condition = invertible(body, row, column, size, "tridiagonal solve")
    dummy, place = fresh(), own_index(b.shape)[axis]
    inverse = matrix("inverse", body, row, column, size, (place, of_var(dummy) if size != ONE else place))
    right = substitute(b.body, {template(axis): of_var(dummy)})
    given = (low, main, high, b)
    defined = merge_clauses(*(everywhere(x.defined, [axis]) for x in given), condition)
    smooth = merge_clauses(*(everywhere(x.smooth, [axis]) for x in given), condition)
    return [Tensor(shapes[0], sum_over(inverse * right, [(dummy, size)]), "f", defined, smooth, ANY_SIGN)]
