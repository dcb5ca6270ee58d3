"""A fact: the sign of a term, and its instances at the entries that a question mentions."""

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
"""Places, at most, at which a statement applies where no single entry determines them; beyond, it is not used."""


@dataclass(frozen=True)
class Fact:
    """The sign of a term is among `signs`, for every value of the term's index variables if `universal`.

    If it is `local`, then only where every entry of the term is there.
    """

    poly: Poly
    signs: int
    universal: bool = True
    local: bool = False


@dataclass(frozen=True)
class Question:
    """A question: the entries that it mentions, and whether conditions on places say that some of these do not
    exist.
    """

    entries: frozenset[Access]
    conditional: bool
    free: frozenset[Var]

    @staticmethod
    def on(polys: Iterable[Poly]) -> Question:
        polys = tuple(polys)
        atoms = [a for p in polys for a in deep_atoms(p)]
        conditional = any(isinstance(a, INDEX_PREDICATES) for a in atoms)
        free = frozenset[Var]().union(*(p.free for p in polys))
        return Question(frozenset(a for a in atoms if isinstance(a, Access)), conditional, free)

    @cached_property
    def targets(self) -> list[Access]:
        """The entries, in an order."""
        return sorted(self.entries, key=lambda a: a.key)

    def has(self, polys: Iterable[Poly]) -> bool:
        """Return whether all entries of the terms exist wherever the question makes sense.

        A sum of the question may be empty, so that no entry need exist at its variable.
        """
        polys = tuple(polys)
        asked = not self.conditional and all(p.free <= self.free for p in polys)
        return asked and self.entries.issuperset(a for p in polys for a in deep_atoms(p) if isinstance(a, Access))


def instances(fact: Fact, question: Question) -> Iterable[Fact]:
    """Yield a fact at the entries that a question mentions."""
    if not fact.universal or not fact.poly.free:
        yield fact
        return
    for mapping in places([fact.poly], fact.poly.free, question.targets):
        poly = substitute(fact.poly, mapping)
        if not fact.local or question.has([poly]):
            yield Fact(poly, fact.signs, universal=False)


def places(terms: Iterable[Poly], free: frozenset[Var], targets: Sequence[Access]) -> Iterator[dict[Var, Ix]]:
    """Yield values of the free index variables at which entries among the terms are among the targets.

    An entry that has all of the variables determines them. Where none has, several determine them together: a matrix
    product's Σ_k x[i, k]·w[k, j] is that of the row i of one entry and the column j of another.
    """
    terms = tuple(terms)
    level = max(p.level for p in terms)
    patterns = dict.fromkeys(a for p in terms for a in deep_atoms(p) if isinstance(a, Access) and unbound(a))
    with_all_variables = [a for a in patterns if unbound(a) == free]
    if with_all_variables:
        yield from (m for a in with_all_variables for t in targets if (m := match(a, t, level)) is not None)
        return
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
    """The variables that no sum around the atom binds."""
    return frozenset(v for v in a.free if v[0] != "b")


def match(pattern: Access, target: Access, level: int) -> dict[Var, Ix] | None:
    """Return the values of a pattern's variables at which it is the target; None where it cannot be.

    The pattern stands in a statement whose binders go up to `level`. A target may stand under binders too: variables of
    theirs that binders of the statement could capture are not put into it.
    """
    if pattern.tensor != target.tensor:
        return None
    mapping: dict[Var, Ix] = {}
    computed: list[tuple[Ix, Ix]] = []
    for p, t in zip(pattern.index, target.index, strict=True):
        v = p.variable()
        if v is None or v[0] == "b":
            computed.append((p, t))
        elif mapping.setdefault(v, t) != t or any(w[0] == "b" and w[1] <= level for w in t.free):
            return None
    for p, t in computed:
        ((term, c),) = p.terms if len(p.terms) == 1 else ((None, 0),)
        if isinstance(term, tuple) and term[0] != "b" and term not in mapping:
            solution = _solution(t.shifted(-p.const), c)
            if solution is None or any(w[0] == "b" and w[1] <= level for w in solution.free):
                return None
            mapping[term] = solution
    return mapping if all(p.subst(mapping) == t for p, t in computed) else None


def _solution(ix: Ix, divisor: int) -> Ix | None:
    """Return ix / divisor, if that is an integer ≥ 0 for all values of its parts; else None.

    Index variables are never below 0; entries of arrays of integers may be.
    """
    if divisor < 1 or ix.atoms or any(c < 0 or c % divisor for _, c in ix.terms):
        return None
    const = ix.const.scale(fmpq(1, divisor))
    if not not_negative(const) or any(c.q != 1 for _, c in const.items()):
        return None
    return Ix(tuple((t, c // divisor) for t, c in ix.terms), const)
