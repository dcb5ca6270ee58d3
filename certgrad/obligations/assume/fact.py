"""Facts (assumed signs of terms), and their instances at the array entries that a question mentions.

A question is a term, or the terms of a clause, whose sign or truth is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from certgrad.obligations.terms.atoms import Access
from certgrad.obligations.terms.index import Ix
from certgrad.obligations.terms.index_terms import not_negative
from certgrad.obligations.terms.polynomials import Atom, Poly
from certgrad.obligations.terms.predicates import INDEX_PREDICATES
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms

MAX_TOGETHER = 64
"""Most instances of a statement whose index variables several entries determine together; with more, none is used."""


@dataclass(frozen=True)
class Fact:
    """An assumption that the sign of a term is among `signs`.

    If `universal`, it holds for every value of the term's index variables; if also `local`, only for those values at
    which every entry in the term exists.
    """

    poly: Poly
    signs: int
    universal: bool = True
    local: bool = False


@dataclass(frozen=True)
class Question:
    """What tells which facts apply to a question: the array entries in it, its free variables, and `conditional`.

    If `conditional`, it has conditions on indices, so that some of the entries need not exist.
    """

    entries: frozenset[Access]
    conditional: bool
    free: frozenset[Var]

    @staticmethod
    def on(polys: Iterable[Poly]) -> Question:
        """Return the question about these terms."""
        polys = tuple(polys)
        atoms = [a for p in polys for a in deep_atoms(p)]
        conditional = any(isinstance(a, INDEX_PREDICATES) for a in atoms)
        free = frozenset[Var]().union(*(p.free for p in polys))
        return Question(frozenset(a for a in atoms if isinstance(a, Access)), conditional, free)

    @cached_property
    def targets(self) -> list[Access]:
        """The entries, sorted by key."""
        return sorted(self.entries, key=lambda a: a.key)

    def has(self, polys: Iterable[Poly]) -> bool:
        """Return whether all entries of the terms are sure to exist, as the question mentions them without a condition.

        The terms may have no variable that is not free in the question: a sum in the question may be empty, so that no
        entry at its bound variable need exist.
        """
        polys = tuple(polys)
        unconditional = not self.conditional and all(p.free <= self.free for p in polys)
        return unconditional and self.entries.issuperset(
            a for p in polys for a in deep_atoms(p) if isinstance(a, Access)
        )


def instances(fact: Fact, question: Question) -> Iterable[Fact]:
    """Yield the instances of a fact at the entries that a question mentions; a fact without free variables as it is.

    An instance of a local fact is left out where an entry of it may not exist.
    """
    if not fact.universal or not fact.poly.free:
        yield fact
        return
    for mapping in places([fact.poly], fact.poly.free, question.targets):
        poly = substitute(fact.poly, mapping)
        if not fact.local or question.has([poly]):
            yield Fact(poly, fact.signs, universal=False)


def places(terms: Iterable[Poly], free: frozenset[Var], targets: Sequence[Access]) -> Iterator[dict[Var, Ix]]:
    """Yield values of the free index variables at which an entry in the terms is one of the targets.

    An entry whose index mentions all of the variables determines them alone. Where there is no such entry, several
    determine them together: in Σ_k x[i, k]·w[k, j], an entry of x gives the row i and one of w the column j.
    """
    terms = tuple(terms)
    level = max(p.level for p in terms)
    patterns = dict.fromkeys(a for p in terms for a in deep_atoms(p) if isinstance(a, Access) and unbound(a))
    with_all_variables = [a for a in patterns if unbound(a) == free]
    if with_all_variables:
        yield from (m for a in with_all_variables for t in targets if (m := match(a, t, level)) is not None)
        return
    # Matches of several entries are combined where they agree on the variables that they share.
    joint_values: list[dict[Var, Ix]] = [{}]
    covered: frozenset[Var] = frozenset()
    for pattern in patterns:
        if not unbound(pattern) <= covered:
            matches = [m for t in targets if (m := match(pattern, t, level)) is not None]
            joint_values = [
                m | n for m in joint_values for n in matches if all(m.get(v, ix) == ix for v, ix in n.items())
            ]
            covered |= unbound(pattern)
        if len(joint_values) > MAX_TOGETHER:
            return
    if covered == free:
        yield from joint_values


def unbound(a: Atom) -> frozenset[Var]:
    """Return the variables of the atom that no sum around it binds."""
    return frozenset(v for v in a.free if v[0] != "b")


def match(pattern: Access, target: Access, level: int) -> dict[Var, Ix] | None:
    """Return the values of the pattern's variables at which the entry is the target; None where there are none.

    x[i, 2·j + 1] is x[k, 2·l + 3] at i = k, j = l + 1. The pattern stands in a statement whose binders have levels up
    to `level`. The target may stand under binders too: its bound variables of these levels are not used as values, as
    a binder of the statement could capture them.
    """
    if pattern.tensor != target.tensor:
        return None
    mapping: dict[Var, Ix] = {}
    other_axes: list[tuple[Ix, Ix]] = []
    for p, t in zip(pattern.index, target.index, strict=True):
        v = p.variable()
        if v is None or v[0] == "b":
            other_axes.append((p, t))
        elif mapping.setdefault(v, t) != t or any(w[0] == "b" and w[1] <= level for w in t.free):
            return None
    for p, t in other_axes:
        ((term, c),) = p.terms if len(p.terms) == 1 else ((None, 0),)
        if isinstance(term, tuple) and term[0] != "b" and term not in mapping:
            solution = _solution(t.shifted(-p.const), c)
            if solution is None or any(w[0] == "b" and w[1] <= level for w in solution.free):
                return None
            mapping[term] = solution
    return mapping if all(p.subst(mapping) == t for p, t in other_axes) else None


def _solution(ix: Ix, divisor: int) -> Ix | None:
    """Return ix / divisor, if that is an integer ≥ 0 for all values of its variables; else None.

    An expression with integer atoms is refused: entries of integer arrays may be negative, index variables never are.
    """
    if divisor < 1 or ix.atoms or any(c < 0 or c % divisor for _, c in ix.terms):
        return None
    const = ix.const.scale(fmpq(1, divisor))
    if not not_negative(const) or any(c.q != 1 for _, c in const.items()):
        return None
    return Ix(tuple((t, c // divisor) for t, c in ix.terms), const)
