"""Hypotheses with predicates inside, region by region: what is long as one formula is short where each sign is known.

"[x > 0]·y > 0 or [x > 0] = 0" is "y > 0 wherever [x > 0]". Nothing but the wording changes: the regions of all signs of
a predicate cover every point, in each the predicates are the numbers that they are there, and a region that the other
hypotheses exclude, or in which the clause holds anyway, is left out. So together with the others the new clauses hold
exactly where the clause does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.power import UndefinedTermError, pred
from certgrad.obligations.terms.walk import mentions

from .assumptions import Shapes, facts_of
from .conditions import Atomic, Clause, holds, polys
from .decided import decide_predicates, predicates
from .fact import Fact
from .facts import Facts
from .signs import NEG, NONPOS, POS, ZERO
from .simplify import coprime, simplified

DEPTH = 4
"""Predicates that are decided in turn at most; a clause with more stays as it is."""
MOST = 2
"""Clauses that one clause is split into at most; more are no easier to read."""


def by_region(clauses: Sequence[Clause], facts: Facts, shapes: Shapes) -> list[Clause]:
    """Return the clauses; one with predicates becomes shorter ones, one for each region, where the regions are few."""
    others = [c for c in clauses if not _piecewise(c)]
    known = facts.extended(facts_of(others, shapes)[0])
    return _each_once(one for c in clauses for one in (_shorter(c, known) if _piecewise(c) else (c,)))


def off_flat_parts(clauses: Sequence[Clause], facts: Facts, moving: Collection[str]) -> list[Clause]:
    """Return conditions of differentiability; "a term is no integer" is dropped in regions where the term is constant.

    Rounding jumps where its argument passes an integer. In a region of strict signs, which is open, an argument without
    entries of what is differentiated is constant: its rounding is as well, and has the derivative 0. So `clip(x, 0,
    255).astype(int)` asks nothing of x > 255, although 255 is an integer.
    """

    def flat(one: _Region) -> bool:
        open_ = all(sign != ZERO for _, sign in one.signs)
        return open_ and any(a.relation == "not integer" and not mentions(a.poly, {*moving}) for a in one.alternatives)

    def restricted(clause: Clause) -> Sequence[Clause]:
        if not _piecewise(clause) or all(a.relation != "not integer" for a in clause.alternatives):
            return [clause]
        found = _regions_of(clause, facts)
        left = [one for one in found or () if not flat(one)]
        return [clause] if found is None or len(left) == len(found) else [_guarded(clause, one, facts) for one in left]

    return _each_once(one for c in clauses for one in restricted(c))


def _each_once(clauses: Iterable[Clause]) -> list[Clause]:
    return list({c.key: c for c in clauses}.values())


def _piecewise(clause: Clause) -> bool:
    return any(predicates(p) for p in polys(clause))


def _shorter(clause: Clause, facts: Facts) -> Sequence[Clause]:
    """The clause region by region; itself where that is no shorter, or something may lie on a boundary."""
    for signs in ((POS, ZERO, NEG), (POS, NONPOS)):
        found = _regions_of(clause, facts, signs)
        if found is not None and not any(sign == ZERO for one in found for _, sign in one.signs):
            break
    else:
        return [clause]
    same = {one.alternatives for one in found}
    if len(same) == 1 and len(found) > 1 and _complete(found, facts):
        return simplified([replace(clause, alternatives=found[0].alternatives)], facts)
    guarded = [part for one in found for part in _plainly(_guarded(clause, one, facts), one, facts)]
    return [clause] if len(guarded) > MOST else guarded


def _plainly(clause: Clause, region: _Region, facts: Facts) -> list[Clause]:
    """The clause as it reads in its region: 1/(h − l) > 0 is h > l."""
    here = facts.extended([Fact(p, sign, universal=False) for p, sign in region.signs])
    return [replace(c, guards=clause.guards) for c in simplified([replace(clause, guards=())], here)]


def _guarded(clause: Clause, region: _Region, facts: Facts) -> Clause:
    """The clause in a region."""
    guards: list[tuple[Poly, bool]] = []
    for p, sign in _telling(region.signs, facts):
        p = coprime(p)
        guards += [(pred(p), sign == POS)] if sign != NEG else []
        guards += [(pred(-p), sign == NEG)] if sign in (ZERO, NEG) else []
    return replace(clause, alternatives=region.alternatives, guards=tuple(guards))


def _regions_of(clause: Clause, facts: Facts, signs: Sequence[int] = (POS, ZERO, NEG)) -> list[_Region] | None:
    """The regions in which a clause says something; None where they are too many, or a guard is not decided in one."""
    off = tuple(Atomic("= 0" if value else "!= 0", guard) for guard, value in clause.guards)
    try:
        return list(_regions(clause.alternatives, off, facts, (), DEPTH, signs))
    except (UndefinedTermError, _NotDecidedError):
        return None


class _NotDecidedError(Exception):
    """A clause has too many predicates, or a guard that is not decided."""


@dataclass(frozen=True)
class _Region:
    """The signs of predicates' terms in a region, and the alternatives there."""

    signs: tuple[tuple[Poly, int], ...]
    alternatives: tuple[Atomic, ...]


def _regions(
    alternatives: tuple[Atomic, ...],
    off: tuple[Atomic, ...],
    facts: Facts,
    signs: tuple[tuple[Poly, int], ...],
    depth: int,
    tried: Sequence[int],
) -> Iterator[_Region]:
    """Yield the regions, by the signs of predicates, in which no alternative holds already and all guards hold.

    `off` are conditions of which each must fail. `tried` are signs that together are all; a predicate is decided by
    whether its term is positive. Raises _NotDecidedError where `depth` predicates do not decide it.
    """
    if any(holds(a, facts) or _no_integer(a) for a in (*alternatives, *off)):
        return
    inner_predicates = [p for a in (*alternatives, *off) for p in predicates(a.poly)]
    if not inner_predicates:
        if not all(_fails(a, facts) for a in off):
            raise _NotDecidedError
        possible = tuple(dict.fromkeys(a for a in alternatives if not _fails(a, facts)))
        yield _Region(signs, possible or alternatives[:1])
        return
    if depth == 0:
        raise _NotDecidedError
    p = inner_predicates[0].poly
    for sign in tried:
        facts_here = facts.extended([Fact(p, sign, universal=False)])
        if facts.signs(p) & sign and not facts_here.contradictory:
            there, off_there = (
                tuple(Atomic(a.relation, decide_predicates(a.poly, facts_here)) for a in some)
                for some in (alternatives, off)
            )
            yield from _regions(there, off_there, facts_here, (*signs, (p, sign)), depth - 1, tried)


def _no_integer(a: Atomic) -> bool:
    constant = a.poly.constant()
    return a.relation == "not integer" and constant is not None and constant.q != 1


def _fails(a: Atomic, facts: Facts) -> bool:
    """Return whether the relation holds nowhere in the region."""
    return a.signs is not None and not facts.signs(a.poly) & a.signs


def _complete(found: Sequence[_Region], facts: Facts) -> bool:
    """Return whether the regions are those of every sign that one term can have."""
    terms = {p for one in found for p, _ in one.signs}
    if len(terms) != 1 or any(len(one.signs) != 1 for one in found):
        return False
    (p,) = terms
    return sum(one.signs[0][1] for one in found) == facts.signs(p)


def _telling(signs: tuple[tuple[Poly, int], ...], facts: Facts) -> list[tuple[Poly, int]]:
    """Return the signs of a region without those that follow from the others."""
    kept = list(signs)
    for one in signs:
        rest = facts.extended([Fact(p, sign, universal=False) for p, sign in kept if (p, sign) != one])
        if rest.signs(one[0]) == one[1]:
            kept.remove(one)
    return kept
