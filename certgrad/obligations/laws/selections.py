"""The values that selections choose, and forms that agree on both sides of a selection.

A choice counts only where its condition holds, which simplifies it: in exponentials of scores that a mask sets to −10⁹
the mask is 1 or 0, and 1/(x[i] − x[j]) has a value off the diagonal.

A term with one value on both sides of a seam, ([p > 0] + [−p > 0])·p, is p, also where p is 0. Outside of loops that is
seen by going through the signs of p. In the step of a loop it must be seen by form, as the step is differentiated as it
is written: ([r > 0] + [−r > 0])·r must get the derivative of r, and not one that is 0 where r is 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from functools import reduce
from operator import mul

from flint import fmpq

from certgrad.obligations.terms.atoms import Base, Exp
from certgrad.obligations.terms.index import solved
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Accumulator, Atom, Mono, Poly, monomial, poly_of
from certgrad.obligations.terms.power import exp_of, power, pred
from certgrad.obligations.terms.predicates import PREDICATES, IxEq, Pred
from certgrad.obligations.terms.rational import factored
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.walk import atoms_of, deep_atoms


def simplified_choices(which: Poly, yes: Poly, no: Poly) -> tuple[Poly, Poly]:
    """Return both choices of a selection, each simplified by what the condition `which` is where it is taken.

    A condition that is a predicate, or the negation of one, is 1 or 0 there: it is put into the exponents of
    exponentials that have the predicate as a factor. For conditions on equal indices see `_where_not_equal`.
    """
    yes, no = _where_not_equal(which, yes), _where_not_equal(ONE - which, no)
    condition, holds = which.atom(), True
    if condition is None:
        condition, holds = (ONE - which).atom(), False
    if condition is None or type(condition) not in PREDICATES:
        return yes, no
    return _simplified_exponentials(condition, holds, yes), _simplified_exponentials(condition, not holds, no)


def _simplified_exponentials(condition: Atom, holds: bool, term: Poly) -> Poly:
    chosen = {a for a in deep_atoms(term) if type(a) is Exp and condition in dict(a.mono)}
    if not chosen:
        return term

    def replace(a: Atom) -> Poly | None:
        if not isinstance(a, Exp) or a not in chosen:
            return None
        return exp_of(monomial({b: e for b, e in a.mono if b != condition})) if holds else ONE

    applied(Law.EXP_OF_CHOSEN)
    return Rewriter(replace=replace)(term)


def _where_not_equal(which: Poly, term: Poly) -> Poly:
    """Return a choice that is not taken at i = j, with the bases of its powers that are 0 there made 1 there.

    1/(x[i] − x[j]) has no value at i = j, but needs one where the choice is multiplied by its condition. As that is 0
    at i = j, any value does: the base becomes x[i] − x[j] + [i = j].
    """
    for a in atoms_of(which):
        if type(a) is not IxEq or (at := solved(a.ix)) is None or not (which * poly_of(a)).is_zero:
            continue
        at_equal, equal = Rewriter(dict([at])), poly_of(a)
        bases = {b: b.poly + equal for b in deep_atoms(term) if isinstance(b, Base) and at_equal(b.poly).is_zero}
        if bases:
            applied(Law.BASE_OF_CHOSEN)
            term = _with_zero_factors_as_one(term, bases, at_equal, equal)
            term = Rewriter(replace=lambda b, bases=bases: bases.get(b))(term)  # type: ignore[misc]
    return term


def _with_zero_factors_as_one(term: Poly, bases: Collection[Atom], there: Rewriter, same: Poly) -> Poly:
    """Return the term with factors of `bases`, and of what stands beside them, made 1 at equal indices if 0 there."""
    numerators: dict[Mono, Accumulator] = defaultdict(Accumulator)
    for mono, c in term.items():
        divisors: Mono = tuple((b, e) for b, e in mono if b in bases and isinstance(e, int))
        numerators[divisors].add(tuple(factor for factor in mono if factor not in divisors), c)
    total = Accumulator()
    for divisors, numerator in numerators.items():
        if not divisors:
            total.add_poly(numerator.poly())
            continue
        # Factored together, so that a factor of both the numerator and a divisor cancels before it is replaced.
        scale, powers = fmpq(1), Counter[Poly]()
        for p, e in [(numerator.poly(), 1), *((b.poly, int(e)) for b, e in divisors if isinstance(b, Base))]:
            c, factors = factored(p) or (fmpq(1), [(p, 1)])
            scale *= c**e
            for f, k in factors:
                powers[f] += k * e
        rebuilt = (power(f + same if there(f).is_zero else f, k) for f, k in powers.items())
        total.add_poly(reduce(mul, rebuilt).scale(scale))
    return total.poly()


def on_both_sides(term: Poly) -> Poly:
    """Return the term with q·p for q·p·[p > 0] + q·p·[−p > 0], for each monomial q with which it has both parts."""
    parts = next(_both_sided_parts(term), None) if term.piecewise else None
    if parts is None:
        return term
    applied(Law.BOTH_SIDES)
    with_signs, without = parts
    return on_both_sides(term - with_signs + without)


def _both_sided_parts(term: Poly) -> Iterator[tuple[Poly, Poly]]:
    """Yield the parts q·p·([p > 0] + [−p > 0]) of the term, each with q·p."""
    signs = {a for a in atoms_of(term) if type(a) is Pred}
    for a in sorted(signs, key=lambda a: a.key):
        opposite = pred(-a.poly)
        if opposite.atom() not in signs:
            continue
        for without in _multiples(term, a):
            with_signs = without * poly_of(a) + without * opposite
            if all(term.coefficient(mono) == c for mono, c in with_signs.items()):
                yield with_signs, without


def _multiples(term: Poly, a: Atom) -> Iterator[Poly]:
    """Yield candidates for q·p: from the parts of the term in which one monomial of p stands with [p > 0]."""
    p: Poly = a.poly  # type: ignore[attr-defined]
    lead, leading = p.sorted_items()[0]
    for mono, c in term.sorted_items():
        if any(b == a for b, _ in mono) and (cofactor := _divided(mono, (*lead, (a, 1)))) is not None:
            yield p * Poly({cofactor: c / leading})


def _divided(mono: Mono, by: Mono) -> Mono | None:
    """Return mono / by, if every factor of `by` stands in it at least as often; else None."""
    exponents = dict(mono)
    for b, e in by:
        exponents[b] = exponents.get(b, 0) - e
        if exponents[b] < 0:
            return None
    return tuple((b, exponents[b]) for b, _ in mono if exponents[b] != 0)
