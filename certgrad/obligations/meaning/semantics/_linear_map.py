"""The matrix of a linear map, read off its value at an arbitrary tensor."""

from __future__ import annotations

from certgrad.obligations.assume.conditions import Clauses
from certgrad.obligations.assume.index_cases import Indices, resolved
from certgrad.obligations.assume.tensor import for_all, own_index
from certgrad.obligations.terms.atoms import Access, Sum
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_equal
from certgrad.obligations.terms.polynomials import ONE, ZERO, Mono, Poly, monomial
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var, template

from ._registry import UnprovedError

Shape = tuple[Poly, ...]


def resolved_within_shape(body: Poly, shape: Shape, ranges: dict[Var, Poly]) -> Poly:
    """The term with the conditions on indices decided that hold in the whole of a tensor."""
    return resolved(body, Indices({**{template(k): n for k, n in enumerate(shape)}, **ranges}))


def everywhere(clauses: Clauses, axes: list[int]) -> Clauses:
    """The conditions at every index along the axes."""
    return for_all(clauses, [(template(k), None) for k in axes])


def diagonal(image: Poly, shape: Shape, unknown: str) -> Poly | None:
    """d where the image of the tensor `unknown` is d times it, entry by entry; None where it is not of this form."""
    total, own = ZERO, own_index(shape)
    for mono, c in image.items():
        entries = [(a, e) for a, e in mono if isinstance(a, Access) and a.tensor == unknown]
        if len(entries) != 1 or entries[0][1] != 1 or entries[0][0].index != own or _hosts(mono, unknown):
            return None
        total = total + monomial({a: e for a, e in mono if a is not entries[0][0]}).scale(c)
    return total


def along_an_axis(image: Poly, shape: Shape, unknown: str, axis: int, row: Var, column: Var) -> Poly:
    """The entry at (row, column) of the matrix by which the map multiplies along the axis, other axes being a batch.

    Raises UnprovedError where the image, a term over the template variables, is not of this form.
    """
    total = ZERO
    for mono, c in image.items():
        total = total + _coefficient(mono, shape, unknown, axis, row, column).scale(c)
    return resolved_within_shape(total, shape, {row: shape[axis], column: shape[axis]})


def _coefficient(mono: Mono, shape: Shape, unknown: str, axis: int, row: Var, column: Var) -> Poly:
    """Return the coefficient of the unknown in one term, at a row and column."""
    hosts = _hosts(mono, unknown)
    dummies, flat = open_sum(hosts[0]) if len(hosts) == 1 else ([], ONE)
    flat = flat * monomial({a: e for a, e in mono if a not in hosts})
    single = flat.single()
    assert single is not None
    entries = [(a, e) for a, e in single[0] if isinstance(a, Access) and a.tensor == unknown]
    if len(entries) != 1 or entries[0][1] != 1:
        raise UnprovedError("a linear solve whose operator is not linear")
    entry = entries[0][0]
    assert isinstance(entry, Access)
    own = own_index(shape)
    if any(ix != own[k] for k, ix in enumerate(entry.index) if k != axis):
        raise UnprovedError("a linear solve whose operator is not a product with a matrix")
    here = {template(axis): of_var(row)}
    rest = substitute(monomial({a: e for a, e in single[0] if a is not entry}).scale(single[1]), here)
    place, bound = entry.index[axis].subst(here), dict(dummies)
    v = place.variable()
    if shape[axis] == ONE or (v is not None and v in bound and bound[v] == shape[axis]):
        names = {v: of_var(column)} if v is not None else {}
        return sum_over(substitute(rest, names), [(w, n) for w, n in dummies if w != v])
    # Σ_w c(w)·z[place(w)] = Σ_column z[column]·Σ_w c(w)·[column = place(w)], as every place is within z.
    return sum_over(rest * index_equal(place.minus(of_var(column))), dummies)


def _hosts(mono: Mono, unknown: str) -> list[Sum]:
    """The sums in a term over an entry of the unknown."""
    return [a for a, e in mono if e == 1 and isinstance(a, Sum) and _holds(a.body, unknown)]


def _holds(mono: Mono, unknown: str) -> bool:
    return any(isinstance(a, Access) and a.tensor == unknown for a, _ in mono)
