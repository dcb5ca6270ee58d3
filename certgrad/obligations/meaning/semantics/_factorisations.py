"""Semantics of factorisations by orthogonal matrices: eigh, svd, qr. See `laws/factorisations.py` for their equations.

Their factors are differentiable where eigenvalues or singular values are all different, singular values are not 0, or
the matrix of a QR decomposition has full rank; eigenvalues and singular values alone are claimed under the same.
"""

from __future__ import annotations

from typing import Any

from certgrad.obligations.assume.conditions import Atomic, Clause, Clauses, merge_clauses
from certgrad.obligations.assume.signs import ANY_SIGN
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.laws.factorisations import LEFT, ORTHOGONAL, RIGHT, SINGULAR, UPPER, VALUE, VECTOR, entry_of
from certgrad.obligations.laws.matrices import invertible, triangle
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.spectra import discriminant, gram
from certgrad.obligations.terms.variables import Var, fresh, template

from ._linear_map import everywhere, resolved_within_shape
from ._registry import Context, Params, UnprovedError, rule

Shapes = list[tuple]
SIGNS = (
    "the signs of {}, which its equations leave open, are taken to be one function of the matrix that does not jump; "
    "LAPACK's jump at matrices that are triangular or diagonal already"
)


def _entry(x: Tensor) -> tuple[Poly, Var, Var, tuple[Poly, Poly]]:
    """The entry of a (batch of) matrix over a fresh row and column."""
    row, column = fresh(), fresh()
    last = x.rank - 2
    names = {template(last): of_var(row), template(last + 1): of_var(column)}
    sizes = x.shape[last], x.shape[last + 1]
    return (
        resolved_within_shape(substitute(x.body, names), x.shape, {row: sizes[0], column: sizes[1]}),
        row,
        column,
        sizes,
    )


def _factors(
    x: Tensor, entry: tuple[Poly, Var, Var, tuple[Poly, Poly]], named: list[tuple[str, tuple]], smooth: Clauses
) -> list[Tensor]:
    """The named factors with the shapes, and the matrix's own conditions; a name with ᵀ is a transpose."""
    axes = [x.rank - 2, x.rank - 1]
    defined, smooth = everywhere(x.defined, axes), merge_clauses(everywhere(x.smooth, axes), smooth)
    out = []
    for name, shape in named:
        index: Any = own_index(shape)[x.rank - 2 :]
        index = index[::-1] if name.endswith("ᵀ") else index
        body = entry_of(name.removesuffix("ᵀ"), *entry[:3], entry[3], index)
        out.append(Tensor(shape, body, "f", defined, smooth, ANY_SIGN))
    return out


def _all_different(body: Poly, row: Var, column: Var, size: Poly, origin: str) -> Clauses:
    value = discriminant(body, row, column, size)
    return () if value.constant() else (Clause((Atomic("!= 0", value),), origin=origin),)


def _full_rank(body: Poly, row: Var, column: Var, sizes: tuple[Poly, Poly], origin: str) -> Clauses:
    """Return the condition that the columns of a matrix are independent, or its rows where there are fewer."""
    if sizes[0] == sizes[1]:
        return invertible(body, row, column, sizes[0], origin)
    return invertible(*gram(body, row, column, sizes), origin)


@rule("eigh")
def _eigh(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """A = V·Λ·Vᵀ with the eigenvalues in ascending order. Of A only the lower triangle is read."""
    if not params["lower"] or params.get("subset_by_index") is not None or not params.get("sort_eigenvalues", True):
        raise UnprovedError("eigh of the upper triangle, of some eigenvalues, or without their order")
    body, row, column, sizes = _entry(x)
    turned = substitute(body, {row: of_var(column), column: of_var(row)})
    if turned != body:
        body = triangle(body, row, column, False) + triangle(turned, column, row, True)
    ctx.note(SIGNS.format("eigenvectors"))
    smooth = _all_different(body, row, column, sizes[0], "eigh")
    entry = body, row, column, sizes
    return _factors(x, entry, [(VECTOR, shapes[0]), (VALUE, shapes[1])], smooth)


@rule("svd")
def _svd(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """A = U·Σ·Vᵀ with the singular values in descending order."""
    entry = body, row, column, sizes = _entry(x)
    if params.get("subset_by_index") is not None:
        raise UnprovedError("svd with some singular values")
    if params["compute_uv"] and params["full_matrices"] and sizes[0] != sizes[1]:
        raise UnprovedError("svd of a matrix that is not square, with vectors that its equation does not determine")
    if shapes[0][-1] not in sizes or (sizes[0] != sizes[1] and not (sizes[0] - sizes[1]).positive):
        if not (sizes[1] - sizes[0]).positive:
            raise UnprovedError("svd of a matrix of which it is not known whether it has more rows or more columns")
    smooth = merge_clauses(
        _all_different(*gram(body, row, column, sizes), "svd"), _full_rank(body, row, column, sizes, "svd")
    )
    named = [(SINGULAR, shapes[0])]
    if params["compute_uv"]:
        ctx.note(SIGNS.format("singular vectors"))
        named += [(LEFT, shapes[1]), (f"{RIGHT}ᵀ", shapes[2])]
    return _factors(x, entry, named, smooth)


@rule("qr")
def _qr(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """A = Q·R for a matrix with at least as many rows as columns."""
    entry = body, row, column, sizes = _entry(x)
    if params.get("pivoting"):
        raise UnprovedError("qr with pivots")
    if sizes[0] != sizes[1] and (params["full_matrices"] or not (sizes[0] - sizes[1]).positive):
        raise UnprovedError("qr of a matrix with more columns than rows, or with columns that are not determined")
    ctx.note(SIGNS.format("the rows of the triangular factor"))
    smooth = _full_rank(body, row, column, sizes, "qr")
    return _factors(x, entry, [(ORTHOGONAL, shapes[0]), (UPPER, shapes[1])], smooth)
