"""Integer terms as index expressions: numbers that iota makes, entries of integer tensors, and choices among them."""

from __future__ import annotations

from .._index import Ix
from .._index_terms import as_index
from .._sums import Rewriter
from .._terms import ONE, PREDICATES, Atom, Poly, atoms_of, poly_of
from .._terms import ZERO as NOTHING
from ._registry import UnprovedError

MAX_CHOICES = 64


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
