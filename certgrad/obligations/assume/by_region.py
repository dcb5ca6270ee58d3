"""Hypotheses with predicates inside, rewritten region by region, as a formula is short where each sign is known.

"[x > 0]·y > 0 or [x > 0] = 0" becomes "y > 0 wherever [x > 0]". A region is where the terms of some predicates have
given signs, so that these predicates are numbers there. Only the wording changes: the regions of all signs of a term
cover every point, and a region is left out only if the other hypotheses exclude it, or the clause holds all over it. So
together with the other hypotheses the new clauses hold exactly where the clause does.
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
"""Most predicates that are decided one after the other; a clause with more stays as it is."""
MOST = 2
"""Most clauses that one clause is split into; more are no easier to read."""


def by_region(clauses: Sequence[Clause], facts: Facts, shapes: Shapes) -> list[Clause]:
    """Return the clauses, with each that has predicates replaced by one for each region, where the regions are few.

    The clauses without predicates are assumed while the others are rewritten.
    """
    plain = [c for c in clauses if not _piecewise(c)]
    assumed = facts.extended(facts_of(plain, shapes)[0])
    return _each_once(part for c in clauses for part in (_shorter(c, assumed) if _piecewise(c) else (c,)))


def off_flat_parts(clauses: Sequence[Clause], facts: Facts, moving: Collection[str]) -> list[Clause]:
    """Return conditions of differentiability, without "the term is no integer" in regions where the term is constant.

    Rounding jumps where its argument passes an integer. In a region of strict signs, which is open, an argument that
    reads none of the arrays that are differentiated (`moving`) is constant: its rounding is as well, and has the
    derivative 0. So `clip(x, 0, 255).astype(int)` has no condition at x > 255, although 255 is an integer.
    """

    def flat(region: _Region) -> bool:
        strict = all(sign != ZERO for _, sign in region.signs)
        return strict and any(
            a.relation == "not integer" and not mentions(a.poly, {*moving}) for a in region.alternatives
        )

    def restricted(clause: Clause) -> Sequence[Clause]:
        if not _piecewise(clause) or all(a.relation != "not integer" for a in clause.alternatives):
            return [clause]
        regions = _regions_of(clause, facts)
        left = [r for r in regions or () if not flat(r)]
        return [clause] if regions is None or len(left) == len(regions) else [_guarded(clause, r, facts) for r in left]

    return _each_once(part for c in clauses for part in restricted(c))


def _each_once(clauses: Iterable[Clause]) -> list[Clause]:
    return list({c.key: c for c in clauses}.values())


def _piecewise(clause: Clause) -> bool:
    return any(predicates(p) for p in polys(clause))


def _shorter(clause: Clause, facts: Facts) -> Sequence[Clause]:
    """Return the clause region by region; the clause alone where that gives more than `MOST` clauses.

    First regions by the signs +, 0 and − of each predicate's term are tried, then by + and "not +". Neither is used
    where a region of sign 0 is left, that is a boundary on which the clause says something. If the clause says the same
    in every region, it is one clause without guards.
    """
    for signs in ((POS, ZERO, NEG), (POS, NONPOS)):
        regions = _regions_of(clause, facts, signs)
        if regions is not None and not any(sign == ZERO for region in regions for _, sign in region.signs):
            break
    else:
        return [clause]
    same = {region.alternatives for region in regions}
    if len(same) == 1 and len(regions) > 1 and _complete(regions, facts):
        return simplified([replace(clause, alternatives=regions[0].alternatives)], facts)
    guarded = [part for region in regions for part in _plainly(_guarded(clause, region, facts), region, facts)]
    return [clause] if len(guarded) > MOST else guarded


def _plainly(clause: Clause, region: _Region, facts: Facts) -> list[Clause]:
    """Return a guarded clause simplified by the signs of its region: 1/(h − l) > 0 is h > l."""
    region_facts = facts.extended([Fact(p, sign, universal=False) for p, sign in region.signs])
    return [replace(c, guards=clause.guards) for c in simplified([replace(clause, guards=())], region_facts)]


def _guarded(clause: Clause, region: _Region, facts: Facts) -> Clause:
    """Return the clause of a region: its alternatives, guarded by the region's signs."""
    guards: list[tuple[Poly, bool]] = []
    for p, sign in _telling(region.signs, facts):
        p = coprime(p)
        guards += [(pred(p), sign == POS)] if sign != NEG else []
        guards += [(pred(-p), sign == NEG)] if sign in (ZERO, NEG) else []
    return replace(clause, alternatives=region.alternatives, guards=tuple(guards))


def _regions_of(clause: Clause, facts: Facts, signs: Sequence[int] = (POS, ZERO, NEG)) -> list[_Region] | None:
    """Return the regions in which a clause says something; None where a guard is not decided in one of them.

    None also where a clause has more than `DEPTH` predicates, or has no value in a region. `signs` are the signs that a
    predicate's term is given in turn.
    """
    off = tuple(Atomic("= 0" if value else "!= 0", guard) for guard, value in clause.guards)
    try:
        return list(_regions(clause.alternatives, off, facts, (), DEPTH, signs))
    except (UndefinedTermError, _NotDecidedError):
        return None


class _NotDecidedError(Exception):
    """A clause has too many predicates, or a guard that is not decided."""


@dataclass(frozen=True)
class _Region:
    """A region: the signs of the terms of predicates, and the alternatives of a clause as they read in it."""

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

    `off` are the negated guards: each must fail. `signs` are those of the region so far, `tried` those that a term is
    given in turn, which together cover all signs. Each level of the recursion decides one predicate, by the sign of its
    term. Raises _NotDecidedError if predicates are left after `depth` levels, or a guard is not decided.
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
            decided, off_decided = (
                tuple(Atomic(a.relation, decide_predicates(a.poly, facts_here)) for a in group)
                for group in (alternatives, off)
            )
            yield from _regions(decided, off_decided, facts_here, (*signs, (p, sign)), depth - 1, tried)


def _no_integer(a: Atomic) -> bool:
    """Return whether the relation says "no integer" of a number that is none."""
    constant = a.poly.constant()
    return a.relation == "not integer" and constant is not None and constant.q != 1


def _fails(a: Atomic, facts: Facts) -> bool:
    """Return whether the relation holds nowhere in the region."""
    return a.signs is not None and not facts.signs(a.poly) & a.signs


def _complete(found: Sequence[_Region], facts: Facts) -> bool:
    """Return whether the regions are by the sign of one term alone, and cover every sign that it can have."""
    terms = {p for region in found for p, _ in region.signs}
    if len(terms) != 1 or any(len(region.signs) != 1 for region in found):
        return False
    (p,) = terms
    return sum(region.signs[0][1] for region in found) == facts.signs(p)


def _telling(signs: tuple[tuple[Poly, int], ...], facts: Facts) -> list[tuple[Poly, int]]:
    """Return the signs of a region, as pairs (term, sign), without those that follow from the others."""
    independent = list(signs)
    for condition in signs:
        rest = facts.extended([Fact(p, sign, universal=False) for p, sign in independent if (p, sign) != condition])
        if rest.signs(condition[0]) == condition[1]:
            independent.remove(condition)
    return independent
