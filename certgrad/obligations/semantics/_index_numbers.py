"""Integer terms as index expressions: numbers that iota makes, entries of integer tensors, and choices among them."""

from __future__ import annotations

from .._index import Entry, Ix, combine, of_atom, of_const, of_term
from .._sums import Rewriter
from .._terms import ONE, PREDICATES, Access, Atom, Dim, IndexNumber, Poly, atoms_of, poly_of
from .._terms import ZERO as NOTHING
from ._registry import UnprovedError

MAX_CHOICES = 64


def as_index(poly: Poly) -> Ix | None:
    """The term as an index expression, where it is an integer combination of indices, entries and dimensions.

    Only for terms of integer tensors: an entry that occurs in it is one of an integer tensor.
    """
    parts: list[tuple[int, Ix]] = []
    for mono, c in poly.items():
        if c.q != 1:
            return None
        atom = mono[0][0] if len(mono) == 1 and mono[0][1] == 1 else None
        if isinstance(atom, IndexNumber):
            parts.append((int(c.p), of_term(atom.var)))
        elif isinstance(atom, Access):
            parts.append((int(c.p), of_atom(Entry(atom.tensor, atom.index))))
        elif all(isinstance(a, Dim) and isinstance(e, int) and e > 0 for a, e in mono):
            parts.append((1, of_const(Poly({mono: c}))))
        else:
            return None
    return combine(parts)


def index_cases(poly: Poly) -> list[tuple[Poly, Ix]]:
    """The term as index expressions, each under its guard: where(i < 0, i + n, i) is i + n under [i < 0], else i.

    The guards are 0 or 1 and exactly one of them is 1. Raises UnprovedError where a case is no index expression.
    """
    out: list[tuple[Poly, Ix]] = []

    def visit(p: Poly, guard: Poly) -> None:
        if guard.is_zero:
            return
        choice = next((a for a in atoms_of(p) if isinstance(a, PREDICATES)), None)
        if choice is None:
            ix = as_index(p)
            if ix is None:
                raise UnprovedError("an index that is not an integer combination of indices, entries and sizes")
            out.append((guard, ix))
            if len(out) > MAX_CHOICES:
                raise UnprovedError("an index with too many cases")
            return
        for value, condition in ((ONE, poly_of(choice)), (NOTHING, ONE - poly_of(choice))):

            def decide(a: Atom, value: Poly = value, choice: Atom = choice) -> Poly | None:
                return value if a is choice else None

            visit(Rewriter(replace=decide)(p), guard * condition)

    visit(poly, ONE)
    return out
