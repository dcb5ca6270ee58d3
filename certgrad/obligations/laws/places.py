"""Entries of a short axis by their places in an order: Σ_i f(i) = Σ_t f(σ(t)), as σ is a permutation of the axis.

The entry at place t has the rank t, and an entry is at most the entry at the next place. With these facts, linear
arithmetic decides comparisons of entries with sums of the greatest entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.signs import NONNEG
from certgrad.obligations.terms.atoms import Sum
from certgrad.obligations.terms.index import Ix, of_const, whole_number
from certgrad.obligations.terms.integers import ORDER, RANK, Chosen, Comparison, chosen
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ZERO, Atom, Poly, number
from certgrad.obligations.terms.rewriting import replaced, substitute
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import indices_of

FEW_PLACES = 6
"""The most places of an axis, or values of a count used as an index, that are written out; more stay as they are."""


def orders(poly: Poly) -> list[Comparison]:
    """Return the orders of short axes in the term that do not depend on other indices."""
    rules: dict[str, Comparison] = {}
    for a in (t for ix in indices_of(poly) for t in ix.atoms if isinstance(t, Chosen)):
        count = whole_number(a.room)
        if a.comparison.kind in (ORDER, RANK) and len(a.arguments) == 1 and count is not None and count <= FEW_PLACES:
            rule = a.comparison if a.comparison.kind == ORDER else a.comparison.inverse()
            rules.setdefault(rule.key, rule)
    return [rules[k] for k in sorted(rules)]


def places(rule: Comparison) -> list[Ix]:
    """Return the indices of the entries of the ordered axis, from the least entry to the greatest."""
    count = whole_number(rule.ranges[0]) or 0
    return [chosen(rule, 0, (of_const(number(t)),)) for t in range(count)]


def in_order(rule: Comparison) -> list[Fact]:
    """Return the facts that no entry is more than the one at the next place."""
    (v,) = rule.variables
    entries = [substitute(rule.bodies[0], {v: ix}) for ix in places(rule)]
    return [Fact(b - a, NONNEG, universal=False) for a, b in pairwise(entries)]


def by_places(poly: Poly, rules: Sequence[Comparison]) -> Poly:
    """Return the term with its sums over the ordered axes written out, one summand for each place."""

    def replace(a: Atom) -> Poly | None:
        return _written_out(a, rules) if isinstance(a, Sum) else None

    return replaced(poly, replace) if rules else poly


def _written_out(a: Sum, rules: Sequence[Comparison]) -> Poly | None:
    dummies, body = open_sum(a)
    for v, n in dummies:
        values = _values(v, n, body, rules)
        if values:
            applied(Law.BY_PLACES)
            rest = [(w, m) for w, m in dummies if w != v]
            total = ZERO
            for ix in values:
                total = total + sum_over(substitute(body, {v: ix}), rest)
            return by_places(total, rules)
    return None


def _values(v: Var, n: Poly, body: Poly, rules: Sequence[Comparison]) -> list[Ix]:
    """Return all values of a variable over a short axis; none where the axis has no order, or is long.

    Where v is used as a place, they are 0, 1, …; where it numbers entries, the indices σ(0), σ(1), … of its order.
    """
    count = whole_number(n)
    if count is None or count > FEW_PLACES:
        return []
    kinds: dict[str, set[str]] = {ORDER: set(), RANK: set()}
    for a in (t for ix in indices_of(body) for t in ix.atoms if isinstance(t, Chosen)):
        if a.comparison.kind in kinds and v in a.arguments[0].free:
            kinds[a.comparison.kind].add(a.comparison.data)
    if any(rule.data in kinds[ORDER] for rule in rules):
        return [of_const(number(t)) for t in range(count)]
    orders_of_axis = sorted(
        (rule for rule in rules if rule.ranges[0] == n), key=lambda rule: rule.data not in kinds[RANK]
    )
    return places(orders_of_axis[0]) if orders_of_axis else []


def at_places(poly: Poly, ranges: Mapping[Var, Poly]) -> Iterator[tuple[Poly, list[Fact]]]:
    """Yield the term at each choice of places for its free indices, with the facts that entries are in order.

    Sums over ordered axes are written out. Nothing is yielded where the term has no order of a short axis. A term that
    vanishes at all places vanishes everywhere.
    """
    rules = orders(poly)
    if rules:
        facts = [f for rule in rules for f in in_order(rule)]
        yield from ((form, facts) for form in _at_places(poly, ranges, rules))


def _at_places(poly: Poly, ranges: Mapping[Var, Poly], rules: Sequence[Comparison]) -> Iterator[Poly]:
    for v in sorted(poly.free & ranges.keys()):
        if values := _values(v, ranges[v], poly, rules):
            for ix in values:
                yield from _at_places(substitute(poly, {v: ix}), ranges, rules)
            return
    yield by_places(poly, rules)
