"""Terms as text for people, and how much a condition excludes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from certgrad.language.canonical import LETTERS
from certgrad.language.text import Style, equal_by_induction, term_text
from certgrad.language.tree import Carry
from certgrad.obligations.assume.conditions import Atomic, Clause
from certgrad.obligations.laws.order import different_entries, maximum_once
from certgrad.obligations.terms.atoms import Access, Fn, IndexNumber, Max, Product, Sum
from certgrad.obligations.terms.determined import Matrix, Rec
from certgrad.obligations.terms.polynomials import Poly, poly_of
from certgrad.obligations.terms.predicates import PREDICATES, Pred
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms, extent, is_determined

from .stated import Writer, term

LONG = 600
"""The number of characters after which a long text is cut."""
PAGES = 3000
"""The most parts of a term that is written out."""
_COUNT = re.compile(r"steps [0-9a-f]{16}")
"""The name of the number of steps of a loop that ends by its values; a reader has no use for the digest in it."""


def show(poly: Poly, style: Style = "text", names: Mapping[Var, str] | None = None) -> str:
    """Return a term as text; free index variables are named i, j, k … in order, unless `names` gives their names."""
    return term_text(term(poly, names), style)


def show_difference(poly: Poly) -> str:
    """Return the difference of two sides as text, cut where it is long; only its size where it would fill pages."""
    parts = extent(poly)
    if parts > PAGES:
        return f"a term of {parts:,} parts"
    text = show(poly)
    return _shortened_text(text)


def show_relation(left: Rec, right: Rec, sign: int) -> str:
    """Return an equation between two carries, up to a sign, at every time t and index, as an induction has shown it.

    Carries that would fill pages are not written out: the text says only that they are equal, and of how many parts.
    """
    parts = extent(poly_of(left)) + extent(poly_of(right))
    if parts > PAGES:
        return f"two carries, of {parts:,} parts, are equal{' up to the sign' if sign < 0 else ''} by induction on t"
    letters = dict(zip([("t", 1 + k, 0) for k in range(len(left.index))], LETTERS, strict=False))
    writer = Writer({("t", 0, 0): "t", **letters}, {})
    first, second = (cast(Carry, writer.atom(carry)) for carry in (left, right))
    text = equal_by_induction(first, second, sign)
    return _shortened_text(text)


def _shortened_text(text: str) -> str:
    counts = {digest: f"steps{k + 1 if k else ''}" for k, digest in enumerate(dict.fromkeys(_COUNT.findall(text)))}
    text = _COUNT.sub(lambda found: counts[found[0]], text)
    return text if len(text) < LONG else f"{text[:LONG]} …"


def on_boundaries(clause: Clause) -> bool:
    """Return whether the clause only excludes boundaries: `≠` or `not an integer` of a term that is not piecewise.

    It may also say that values are all different, or that a maximum of values is attained once, where each value is an
    analytic function of an entry of its own.
    """
    different = different_entries(clause)
    if different is not None:
        return not clause.guards and _of_separate_entries(different[0], {different[1]})
    return any(_on_boundary(a, clause) for a in clause.alternatives)


def _on_boundary(a: Atomic, clause: Clause) -> bool:
    once = maximum_once(a)
    if once is not None:
        some = not any(isinstance(b, Pred) for b in deep_atoms(once.where))  # a mask may leave nothing
        return some and not clause.guards and _of_separate_entries(once.body, {*once.vars})
    return a.relation in ("!= 0", "not integer", "not pole") and not any(
        isinstance(b, (Pred, Max)) or (isinstance(b, Access) and is_determined(b.tensor)) for b in deep_atoms(a.poly)
    )


def _of_separate_entries(body: Poly, bound: set[Var]) -> bool:
    deep = deep_atoms(body)
    entries = [b for b in deep if b.free & bound and isinstance(b, Access)]
    analytic = not any(isinstance(b, (Max, Sum, Product, Matrix, IndexNumber, *PREDICATES)) for b in deep) and not any(
        isinstance(b, Fn) and b.name in ("floor", "ceil", "round_even", "round_away", "stop") for b in deep
    )
    return analytic and len(entries) == 1 and bound <= {ix.moved_by(bound) for ix in entries[0].index}
