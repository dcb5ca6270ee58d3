"""The inverse of a real matrix that represents a complex one on real and imaginary parts.

M = [[A, −B], [B, A]] is the matrix of z ↦ (A + iB)·z, and the matrices of this form are those that commute with
J = [[0, −I], [I, 0]], which is that of z ↦ i·z. If M has an inverse, that commutes with J as well:

    M⁻¹[i + n, j + n] = M⁻¹[i, j],  M⁻¹[i, j + n] = −M⁻¹[i + n, j]   for i, j < n.

So every entry is one of the first n columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from flint import fmpq

from certgrad.obligations.laws.matrices import argument_entry, matrix
from certgrad.obligations.terms.atoms import Sum
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.index import Ix, of_const, of_var, whole_number
from certgrad.obligations.terms.polynomials import Atom, Poly, number, poly_of
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import deep_atoms

from .cases import Region, nonzero_part


def by_first_columns(poly: Poly, region: Region) -> Poly:
    """Return the term with entries in the last n columns of such inverses by entries in the first n columns."""
    halves: dict[tuple[Poly, tuple[Var, ...]], Poly | None] = {}
    ranges = dict(region.indices.ranges)

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Sum) and any(isinstance(b, Matrix) and b.name == "inverse" for b in deep_atoms(poly_of(a))):
            dummies, body = open_sum(a)
            ranges.update(dummies)
            rewritten = Rewriter(replace=value)(body)
            return sum_over(rewritten, dummies) if rewritten != body else None
        if not isinstance(a, Matrix) or a.name != "inverse":
            return None
        key = a.body, a.vars
        if key not in halves:
            halves[key] = _half(a, region)
        half = halves[key]
        return _turned(a, half, ranges) if half is not None else None

    return Rewriter(replace=value)(poly)


def _turned(a: Matrix, half: Poly, ranges: Mapping[Var, Poly]) -> Poly | None:
    """Return the entry by one of the first n columns, n = `half`; None where it is not seen to be in a later one."""
    row, column = (_place(ix, half, ranges) for ix in a.index)
    if row is None or column is None or not column[1]:
        return None
    (i, later), (j, _) = row, column
    entry = matrix("inverse", a.body, *a.vars, a.ranges[0], (i if later else i.shifted(half), j))
    return entry if later else -entry


def _place(ix: Ix, half: Poly, ranges: Mapping[Var, Poly]) -> tuple[Ix, bool] | None:
    """Return an index as (place, later): it is place, or place + n if `later`, with place < n; None if not seen."""
    for place, later in ((ix, False), (ix.shifted(-half), True)):
        v = place.variable()
        if v is not None and ranges.get(v) == half:
            return place, later
    k, n = whole_number(ix.const), whole_number(half)
    if ix.terms or k is None or n is None or not 0 <= k < 2 * n:
        return None
    return of_const(number(k % n)), k >= n


def _half(a: Matrix, region: Region) -> Poly | None:
    """Return n where the matrix inside has 2n rows and commutes with J; else None."""
    half = a.ranges[0].scale(fmpq(1, 2))
    if any(c.denominator != 1 for _, c in half.items()) or a.ranges[0] != a.ranges[1]:
        return None
    row, column = fresh(), fresh()
    i, j = of_var(row), of_var(column)
    below, right = i.shifted(half), j.shifted(half)
    entry_region = region.over({row: half, column: half})
    commutes = (
        argument_entry(a, below, right) - argument_entry(a, i, j),
        argument_entry(a, below, j) + argument_entry(a, i, right),
    )
    return half if all(nonzero_part(p, entry_region) is None for p in commutes) else None
