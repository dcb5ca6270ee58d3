"""Tensors of terms: the values of a program as it is interpreted, with the conditions under which they are defined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly
from certgrad.obligations.terms.power import pred
from certgrad.obligations.terms.predicates import INDEX_PREDICATES, Pred
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.session import Memo
from certgrad.obligations.terms.variables import Var, fresh, template
from certgrad.obligations.terms.walk import atoms_of

from .conditions import Clause, Clauses
from .index_cases import Indices, counts, resolved
from .signs import ANY_SIGN, NONNEG

Kind = Literal["f", "i", "b"]


@dataclass(frozen=True)
class Tensor:
    """A tensor whose entry at `[t0, t1, …]` is `body`, a term over the template variables t0, t1, …

    `defined` says where an entry is defined, and `smooth` where it is differentiable; both may mention the template
    variables, and others, which are universally quantified. `signs` are the signs that an entry can have, as they are
    derived operation by operation, before normalisation can hide them. `kind` is "f" for floats, "i" for integers or
    "b" for booleans (0 or 1).
    """

    shape: tuple[Poly, ...]
    body: Poly
    kind: Kind = "f"
    defined: Clauses = ()
    smooth: Clauses = ()
    signs: int = ANY_SIGN
    infinite: int = 0
    """1 or −1 if entries can be ∞ or −∞; 2 or −2 if the entries at which `kept` is 0 are read as ∞ or −∞.

    `kept` is a 0/1-valued term. (See `_infinite`.)"""
    kept: Poly = ONE
    support: Poly | None = None
    """A 0/1-valued term, or None: the entry is positive where this term is 1, and 0 elsewhere."""

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def variables(self) -> list[tuple[Var, Poly]]:
        return [(template(k), n) for k, n in enumerate(self.shape)]

    def indexed(self, index: Sequence[Ix], shape: tuple[Poly, ...]) -> Tensor:
        """Return the tensor of the given shape whose entry at the template variables is this tensor's at `index`.

        With the index (t1, t0) it is the transpose. Conditions whose guards hold at no entry are left out.
        """
        mapping = {template(k): ix for k, ix in enumerate(index) if ix.variable() != template(k)}
        rewrite = Rewriter(mapping) if mapping else _as_it_is
        return replace(
            self,
            shape=shape,
            body=rewrite(self.body),
            kept=rewrite(self.kept),
            support=None if self.support is None else rewrite(self.support),
            defined=_of_entries(shape, (c.substituted(mapping) for c in self.defined)),
            smooth=_of_entries(shape, (c.substituted(mapping) for c in self.smooth)),
        )

    def conditions_over(self, axes: Sequence[int], kept: dict[Var, Ix]) -> tuple[Clauses, Clauses]:
        """Return `defined` and `smooth` for a result in which these axes are reduced: at every index along them.

        `kept` maps the template variables of the other axes to their indices in the result.
        """
        mapping = kept | _arbitrary((template(k), self.shape[k]) for k in axes)
        return tuple(c.substituted(mapping) for c in self.defined), tuple(c.substituted(mapping) for c in self.smooth)

    def conditions_for_all(self, variables: Iterable[tuple[Var, Poly | None]]) -> tuple[Clauses, Clauses]:
        """Return `defined` and `smooth` at every value of the variables, each given with its range if that is known."""
        variables = tuple(variables)
        return for_all(self.defined, variables), for_all(self.smooth, variables)


def _as_it_is(poly: Poly) -> Poly:
    return poly


def _of_entries(shape: Sequence[Poly], clauses: Iterable[Clause]) -> Clauses:
    """Return the clauses without those whose guards hold at no entry of an array of this shape."""
    entries = Indices({template(k): n for k, n in enumerate(shape) if n != ONE})
    out: list[Clause] = []
    for clause in clauses:
        guards = [(resolved(g, entries) if _on_places(g) else g, v) for g, v in clause.guards]
        if not any((c := g.constant()) is not None and (c != 0) != v for g, v in guards):
            out.append(clause)
    return tuple(out)


def _on_places(guard: Poly) -> bool:
    """Return whether a guard consists of conditions on indices and counts alone, and mentions an index of the entry."""
    return any(v[0] == "t" for v in guard.free) and all(
        type(a) in INDEX_PREDICATES or (isinstance(a, Pred) and counts(a)) for a in atoms_of(guard)
    )


EXTENTS: Memo[Var, Poly] = Memo()
"""The ranges of universally quantified variables of conditions, where they are known."""


def for_all(clauses: Clauses, variables: Iterable[tuple[Var, Poly | None]]) -> Clauses:
    """Return the clauses at every value of the variables: these are replaced by fresh quantified ones."""
    names = _arbitrary(variables)
    return tuple(c.substituted(names) for c in clauses)


def _arbitrary(variables: Iterable[tuple[Var, Poly | None]]) -> dict[Var, Ix]:
    """Return a fresh quantified variable for each variable, and record its range where that is known."""
    names: dict[Var, Ix] = {}
    for v, n in variables:
        w = fresh("q")
        names[v] = of_var(w)
        extent = EXTENTS.table.get(v) if n is None else n
        if extent is not None:
            EXTENTS.table[w] = extent
    return names


def axis_index(position: int, dim: Poly) -> Ix:
    """Return the template variable of an axis as an index; the constant 0 where the axis has size 1."""
    return of_const(ZERO) if dim == ONE else of_var(template(position))


def own_index(shape: Sequence[Poly]) -> tuple[Ix, ...]:
    """Return the index of a tensor's entry at its template variables."""
    return tuple(axis_index(k, n) for k, n in enumerate(shape))


def argument(name: str, shape: tuple[Poly, ...], dtype: str) -> Tensor:
    """Return the tensor of an argument: arbitrary real or integer entries, or booleans, which are read as [name > 0].

    A random key is read as a number that only opaque functions take.
    """
    entry = access(name, own_index(shape))
    if dtype == "bool":
        return Tensor(shape, pred(entry), "b", signs=NONNEG)
    return Tensor(shape, entry, "i" if dtype in ("int", "key") else "f", signs=ANY_SIGN)
