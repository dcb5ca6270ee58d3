"""Forms of an obligation about solutions of equations: by the equations, and with equal inverses written alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from flint import fmpq

from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.laws.matrices import argument_entry, matrix, opened
from certgrad.obligations.laws.solutions import Shapes, implicit, modulo
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import Atom, Poly, poly_of
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.variables import fresh
from certgrad.obligations.terms.walk import deep_atoms

from .cases import Region, nonzero_part


def solution_forms(difference: Poly, region: Region, inputs: Shapes) -> Iterator[Poly]:
    """Yield terms that are equal to the difference wherever solvers return solutions of their equations."""
    if any(isinstance(a, Matrix) and a.name == "inverse" for a in deep_atoms(difference)):
        yield unified(difference, region)
    if implicit():
        rewritten = modulo(difference, region.facts, inputs)
        yield rewritten
        yield unified(rewritten, region)


def unified(poly: Poly, region: Region) -> Poly:
    """Return the term with A⁻¹ written by B⁻¹ where A = c·B or A = c·Bᵀ is proved in the region, entry by entry."""
    written = _matrix_representatives("inverse", [poly], region)
    if all(b is a for a, (b, _, _) in written.items()):
        return poly
    applied(Law.EQUAL_INVERSES)

    def representative(a: Atom) -> Poly | None:
        if not isinstance(a, Matrix) or a.name != "inverse":
            return None
        b, turned, factor = written[_matrix_atom(a)]
        index = a.index[::-1] if turned else a.index
        return matrix("inverse", b.body, *b.vars, b.ranges[0], index).scale(1 / factor)

    return Rewriter(replace=representative)(poly)


def without_repeated(clauses: Sequence[Clause], region: Region, inputs: Shapes) -> list[Clause]:
    """Return the clauses without repetitions: of several that say that equal determinants are not 0, the shortest."""
    determinants = {c: a for c in clauses if (a := _determinant(c)) is not None}
    if len(determinants) < 2:
        return list(clauses)
    rewritten = [_rewritten(a, region, inputs) for a in determinants.values()]
    written = _matrix_representatives("determinant", [*rewritten, *map(poly_of, determinants.values())], region)
    kept: dict[Matrix, Clause] = {}
    for clause, form in zip(determinants, rewritten, strict=True):
        atom = form.atom()
        group = written[_matrix_atom(atom)][0] if isinstance(atom, Matrix) else determinants[clause]
        kept[group] = min(kept.get(group, clause), clause, key=lambda c: len(determinants[c].body))
    return [c for c in clauses if c not in determinants or c in kept.values()]


def _rewritten(a: Matrix, region: Region, inputs: Shapes) -> Poly:
    row, column, body = opened(a)
    return matrix(a.name, modulo(body, region.facts, inputs), row, column, a.ranges[0], ())


def _determinant(clause: Clause) -> Matrix | None:
    if len(clause.alternatives) != 1 or clause.guards or clause.alternatives[0].relation != "!= 0":
        return None
    atom = clause.alternatives[0].poly.atom()
    return atom if isinstance(atom, Matrix) and atom.name == "determinant" else None


RATIOS = 4
"""The most ratios c of two matrices A = c·B that are tried, the most frequent first; then they count as not equal."""
Written = dict[Matrix, tuple[Matrix, bool, fmpq]]


def _matrix_atom(a: Matrix) -> Matrix:
    """Return one atom that stands for all entries of a matrix."""
    return intern(Matrix("whole", a.vars, a.ranges, a.body, ()))


def _matrix_representatives(name: str, polys: Sequence[Poly], region: Region) -> Written:
    """Return (B, turned, c) for each matrix A that the named function is taken of: A = c·B, or c·Bᵀ if `turned`.

    B is the first of the matrices for which that is proved; it may be A itself.
    """
    matrices = {_matrix_atom(a) for p in polys for a in deep_atoms(p) if isinstance(a, Matrix) and a.name == name}
    representatives: list[Matrix] = []
    written: Written = {}
    for a in sorted(matrices, key=lambda a: (a.level, len(a.body.key), a.key)):
        equal = next((w for b in representatives for t in (False, True) if (w := _equal(a, b, t, region))), None)
        if equal is None:
            representatives.append(a)
        written[a] = equal or (a, False, fmpq(1))
    return written


def _equal(a: Matrix, b: Matrix, turned: bool, region: Region) -> tuple[Matrix, bool, fmpq] | None:
    """Return (B, turned, c) where A = c·B, or A = c·Bᵀ if `turned`, is proved; else None.

    The candidates for c are ratios of the coefficients in the entries of A and B.
    """
    if a.ranges != b.ranges or a.body.free - set(a.vars) != b.body.free - set(b.vars):
        return None
    row, column = fresh(), fresh()
    places = [of_var(row), of_var(column)]
    first, second = argument_entry(a, *places), argument_entry(b, *(places[::-1] if turned else places))
    entry_region = region.over({row: a.ranges[0], column: a.ranges[0]})
    ratios = Counter(x / y for _, x in first.sorted_items() for _, y in second.sorted_items())
    for factor, _ in ratios.most_common(RATIOS):
        if nonzero_part(first - second.scale(factor), entry_region) is None:
            return b, turned, factor
    return None
