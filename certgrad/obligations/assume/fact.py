"""A fact: the sign of a term, and what it says at the entries that a question mentions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from certgrad.obligations.terms.atoms import Access
from certgrad.obligations.terms.index import Ix
from certgrad.obligations.terms.polynomials import Atom, Poly
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms


@dataclass(frozen=True)
class Fact:
    """The sign of a term is among `signs`, for every value of the term's index variables if `universal`."""

    poly: Poly
    signs: int
    universal: bool = True


def instances(fact: Fact, accesses: list[Access]) -> Iterable[Fact]:
    if not fact.universal or not fact.poly.free:
        yield fact
        return
    patterns = [a for a in deep_atoms(fact.poly) if isinstance(a, Access) and unbound(a) == fact.poly.free]
    for pattern in patterns:
        for target in accesses:
            mapping = match(pattern, target, fact.poly.level)
            if mapping is not None:
                yield Fact(substitute(fact.poly, mapping), fact.signs, universal=False)


def unbound(a: Atom) -> frozenset[Var]:
    """The variables that no sum around the atom binds."""
    return frozenset(v for v in a.free if v[0] != "b")


def match(pattern: Access, target: Access, level: int) -> dict[Var, Ix] | None:
    """What the variables of a pattern are where it is the target; None where it cannot be.

    The pattern stands in a statement whose binders go up to this level. A target may stand under binders too: variables
    of theirs that binders of the statement could capture are not put into it.
    """
    if pattern.tensor != target.tensor:
        return None
    mapping: dict[Var, Ix] = {}
    made: list[tuple[Ix, Ix]] = []
    for p, t in zip(pattern.index, target.index, strict=True):
        v = p.variable()
        if v is None or v[0] == "b":
            made.append((p, t))
        elif mapping.setdefault(v, t) != t or any(w[0] == "b" and w[1] <= level for w in t.free):
            return None
    return mapping if all(p.subst(mapping) == t for p, t in made) else None
