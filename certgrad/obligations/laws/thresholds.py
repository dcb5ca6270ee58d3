"""Conditions on sorted entries that are true from one place of the order on, written as conditions on places.

Let σ be an order of n entries, and p(i) a number that each of them has, so that p(σ(t)) > 0 implies p(σ(t + 1)) > 0. It
is then positive at the last K places and at no other, for the number K of its places:

    [p(i) > 0] = [σ⁻¹(i) ≥ n − K].

Another such number r has the same K if r > 0 at the place n − K and not at the place before: r is compared with p at
these two places, where the sign of p is known. An example is the projection onto the simplex: it counts the sorted
entries above a threshold that they determine, and as many of the unsorted entries are above it. Where p decreases along
the order, it is positive at the first K places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from flint import fmpq

from certgrad.obligations.assume.index_cases import Indices, resolved
from certgrad.obligations.assume.signs import NEG, POS
from certgrad.obligations.terms.atoms import Access
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import IntegerAtom, Ix, of_atom, of_var
from certgrad.obligations.terms.index_terms import index_condition, index_equal, index_number
from certgrad.obligations.terms.integers import ORDER, RANK, Chosen, Comparison, Rounded, chosen
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, monomial, number, poly_of
from certgrad.obligations.terms.power import content, pred, times_power
from certgrad.obligations.terms.predicates import PREDICATES, IxPred, Pred
from certgrad.obligations.terms.rewriting import Rewriter, substitute
from certgrad.obligations.terms.rounded import as_rounded_index, is_number_of_places
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, indices_of

from .range_products import in_closed_form

ENTRY: Var = ("u", -1, 0)
"""The variable that stands for the index of the compared entry, so that equal questions have equal keys."""
MOST_DIVISORS = 4
"""The most levels of divisors inside of divisors that are cleared; with more, the condition stays."""


@dataclass(frozen=True)
class Order:
    """An order of the entries of an axis: its comparison, and the other indices that it depends on."""

    rule: Comparison
    others: tuple[Ix, ...]

    @property
    def size(self) -> Poly:
        return self.rule.ranges[0]

    def at(self, place: Ix) -> Ix:
        """Return the index of the entry that comes to a place."""
        return chosen(self.rule, 0, (place, *self.others))

    def rank(self, index: Ix) -> Ix:
        return chosen(self.rule.inverse(), 0, (index, *self.others))

    def key(self, place: Ix) -> Poly:
        """Return the number by which the entry at a place is sorted."""
        (v,) = self.rule.variables
        names = {("p", k, 0): ix for k, ix in enumerate(self.others)}
        return substitute(self.rule.bodies[0], {**names, v: self.at(place)})


def with_places(poly: Poly, indices: Indices) -> Poly:
    """Return the term with conditions on entries of an axis as conditions on their places in its order."""
    compared = poly.piecewise and any(isinstance(a, Pred) for a in deep_atoms(poly))
    if not compared or not any(_is_in_order(t) for ix in indices_of(poly) for t in ix.atoms):
        return poly
    return in_closed_form(_Placed(indices, {}, {})(poly), indices)


Threshold = tuple[Order, Ix, bool]
"""(order, k, up): that a number is positive at the last k places of an order (`up`), or at the first k."""
Thresholds = dict[tuple[Poly, Poly, tuple[tuple[Var, Poly | None], ...]], Threshold | None]


class _Placed(Rewriter):
    """Rewrites predicates to conditions on places; `known` keeps the thresholds found so far."""

    def __init__(self, context: Indices, names: Mapping[Var, Ix], known: Thresholds) -> None:
        super().__init__(names, replace=self._value)
        self.context, self.known = context, known

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        context = replace(self.context, ranges={**self.context.ranges, **ranges})
        return _Placed(context, {**self.indices, **names}, self.known)

    def _value(self, a: Atom) -> Poly | None:
        if not a.piecewise:
            return poly_of(a)
        if isinstance(a, Pred):
            p = in_closed_form(self(a.poly), self.context)
            conditions, compared = _guards(p)
            if conditions:  # [[φ]·p > 0] = [φ]·[p > 0]
                return _Placed(self.context, {}, self.known)(monomial(dict.fromkeys(conditions, 1)) * pred(compared))
            for v in sorted(p.free & self.context.ranges.keys()):
                if (threshold := self._threshold(p, v, self.context.ranges[v])) is not None:
                    order, k, up = threshold
                    rank = order.rank(of_var(v))
                    applied(Law.THRESHOLD)
                    return index_condition(rank.plus(k).shifted(-order.size) if up else k.minus(rank).shifted(-ONE))
        return None

    def _threshold(self, p: Poly, v: Var, n: Poly) -> Threshold | None:
        """Return the threshold of p along v, which is searched for once for all names of the variable."""
        variable_ranges = tuple((w, self.context.ranges.get(w)) for w in sorted(p.free - {v}))
        key = substitute(p, {v: of_var(ENTRY)}), n, variable_ranges
        if key not in self.known:
            self.known[key] = self._looked_for(key[0], ENTRY, n)
        return self.known[key]

    def _looked_for(self, p: Poly, v: Var, n: Poly) -> Threshold | None:
        """Return an order of the axis, and the number of its last (or first) places at which p(v) is positive.

        None where no order is known along which p(v) changes its sign once, at a known place.
        """
        for order in _orders(p):
            if order.size != n or any(v in ix.free for ix in order.others):
                continue
            for k, q, w in _counts(p, v, n):
                for up in (True, False):
                    along = _Along(order, replace(self.context, ranges={**self.context.ranges, v: n, w: n}), up)
                    if along.sign(index_number(k)) == 1 and along.goes_on(q, w) and along.alike(p, v, q, w, k):
                        return order, k, up
        return None


def _as_index_expression(poly: Poly) -> Ix | None:
    """Return the term as an index expression; None where it is none, or has an entry, which may be no whole number."""
    return None if any(isinstance(a, Access) for a in atoms_of(poly)) else as_rounded_index(poly)


def _divisors(p: Poly) -> dict[Atom, Exponent]:
    """Return the divisors of the term, each with its highest power."""
    out: dict[Atom, Exponent] = {}
    for mono in p:
        for a, e in mono:
            if e < 0:
                out[a] = max(out.get(a, 0), -e)
    return out


def _guards(p: Poly) -> tuple[list[Atom], Poly]:
    """Return the conditions that are factors of the whole term, and the rest of it."""
    common = [a for a, _ in next(iter(p), ()) if type(a) in PREDICATES and all((a, 1) in mono for mono in p)]
    return common, Poly({tuple(f for f in mono if f[0] not in common): c for mono, c in p.items()})


def _is_in_order(t: IntegerAtom) -> TypeGuard[Chosen]:
    return isinstance(t, Chosen) and t.comparison.kind in (ORDER, RANK) and len(t.comparison.bodies) == 1


def _orders(p: Poly) -> Iterator[Order]:
    """Yield the orders whose places stand in the term, and that depend on no variable bound in it."""
    orders: dict[tuple[str, tuple[Ix, ...]], Chosen] = {}
    for t in (t for ix in indices_of(p) for t in ix.atoms if _is_in_order(t)):
        if not any(v[0] == "b" for ix in t.arguments[1:] for v in ix.free):
            orders.setdefault((t.comparison.data, t.arguments[1:]), t)
    for t in orders.values():
        yield Order(t.comparison if t.comparison.kind == ORDER else t.comparison.inverse(), t.arguments[1:])


def _counts(p: Poly, v: Var, n: Poly) -> Iterator[tuple[Ix, Poly, Var]]:
    """Yield (K, q, w) for counts over the axis: K is the number of indices w < n at which q is positive.

    These are the counts that are indices in the term, and that of p itself, where the term has the rank of entry v.
    """
    atoms = {t.key: t for ix in indices_of(p) for t in ix.atoms}
    for t in atoms.values():
        if isinstance(t, Rounded) and not any(w[0] == "b" for w in t.free):
            total = index_number(of_atom(t)).atom()
            if is_number_of_places(total) and total.ranges == (n,) and len(total.body) == 1:
                ((w, _),), body = open_sum(total)
                condition = body.atom()
                if isinstance(condition, Pred):
                    yield of_atom(t), condition.poly, w
    if any(_is_in_order(t) and t.comparison.kind == RANK and t.arguments[0].variable() == v for t in atoms.values()):
        count_of_p = as_rounded_index(sum_over(pred(p), [(v, n)]))
        if count_of_p is not None:
            yield count_of_p, p, v


@dataclass(frozen=True)
class _Along:
    """What is known of numbers along an order, upwards if `up` and else downwards."""

    order: Order
    context: Indices
    up: bool

    def goes_on(self, p: Poly, v: Var) -> bool:
        """Return whether p > 0 at a place implies p > 0 at the next one (or the one before)."""
        t = fresh()
        inner = self.where(t, self.order.size - ONE)
        at_place, at_next = (inner.at(p, v, ix) for ix in (of_var(t), of_var(t).shifted(ONE)))
        if at_place is None or at_next is None:
            return False
        return inner.not_negative(at_next - at_place if self.up else at_place - at_next)

    def alike(self, p: Poly, v: Var, q: Poly, w: Var, k: Ix) -> bool:
        """Return whether p(v) is positive at the k last places (or first ones) and at no other, as q(w) is.

        p need not be q: it is enough that their signs change at the same place.
        """
        if substitute(p, {v: of_var(w)}) == q:
            return True
        if not self.goes_on(p, v):
            return False
        n = self.order.size
        # The first of the k places, and the place before it, as one goes along the order.
        first, before = (k.scaled(-1).shifted(n), k.scaled(-1).shifted(n - ONE)) if self.up else (k.shifted(-ONE), k)
        # There is a place before only if k < n.
        with_place_before = replace(self, context=self.context.where((k.scaled(-1).shifted(n - ONE), ">=")))
        above = self.at(p, v, first), self.at(q, w, first)
        below = with_place_before.at(p, v, before), with_place_before.at(q, w, before)
        if None in above or None in below:
            return False
        return self.not_negative(above[0] - above[1]) and with_place_before.not_negative(below[1] - below[0])  # type: ignore[operator]

    def where(self, t: Var, n: Poly) -> _Along:
        return replace(self, context=replace(self.context, ranges={**self.context.ranges, t: n}))

    def at(self, p: Poly, v: Var, place: Ix) -> Poly | None:
        """Return a term without divisors that has the sign of p at a place; None where that of a divisor is unknown."""
        term, sign = substitute(p, {v: self.order.at(place)}), 1
        for _ in range(MOST_DIVISORS):
            divisors = _divisors(term)
            if not divisors:
                return content(term.scale(sign), only_positive=True)[2]
            term = times_power(term, divisors)
            for a, e in divisors.items():
                of_factor = self.sign(poly_of(a))
                if of_factor is None or not isinstance(e, int):
                    return None
                sign *= of_factor if e % 2 else 1
        return None

    def sign(self, poly: Poly) -> int | None:
        """Return 1 where the term is shown to be positive, −1 where negative, else None.

        For an index expression, also by the values that its indices can have.
        """
        ix = _as_index_expression(poly)
        for sign, wanted in ((1, POS), (-1, NEG)):
            shown = ix is not None and not self.context.feasible((ix.scaled(-sign), ">="))
            if shown or self.context.facts.signs(poly) == wanted:
                return sign
        return None

    def not_negative(self, poly: Poly) -> bool:
        """Return whether the term is shown to be ≥ 0: by its sign, or as c·(x(s) − x(t)) plus a term ≥ 0.

        x are the sorted numbers of the order, s ≥ t two of its places in the term, and c a whole number ≥ 0.
        """
        poly = resolved(with_equal_conditions(poly), self.context)
        if poly.is_zero or not self.context.facts.signs(poly) & NEG:
            return True
        entries = {a for a in atoms_of(poly) if isinstance(a, Access)}
        places = [t.arguments[0] for a in entries for ix in a.index for t in ix.atoms if self._chooses(t)]
        for later in dict.fromkeys(places):
            for earlier in dict.fromkeys(places):
                if later == earlier or self.context.feasible((earlier.minus(later).shifted(-ONE), ">=")):
                    continue
                difference = self.order.key(later) - self.order.key(earlier)
                c = _multiple(poly, self.order.key(later))
                if c is not None and self._whole_not_negative(c) and not c.is_zero:
                    remainder = poly - c * difference
                    if remainder.is_zero or not self.context.facts.signs(remainder) & NEG:
                        return True
        return False

    def _chooses(self, t: IntegerAtom) -> TypeGuard[Chosen]:
        return (
            isinstance(t, Chosen) and t.comparison.key == self.order.rule.key and t.arguments[1:] == self.order.others
        )

    def _whole_not_negative(self, c: Poly) -> bool:
        ix = _as_index_expression(c)
        return ix is not None and not self.context.feasible((ix.scaled(-1).shifted(-ONE), ">="))


def _multiple(poly: Poly, entry: Poly) -> Poly | None:
    """Return the coefficient of the entry in the term; None where `entry` is not a single atom times a number."""
    single = entry.single()
    if single is None or len(single[0]) != 1 or single[0][0][1] != 1:
        return None
    a = single[0][0][0]
    total = Poly({})
    for mono, c in poly.items():
        if dict(mono).get(a) == 1:
            total = total + monomial({b: e for b, e in mono if b is not a}).scale(c / single[1])
    return total


def with_equal_conditions(poly: Poly) -> Poly:
    """Return the term with conditions [e + c ≥ 0] that differ in the number c as the strictest of them and equations.

    [e + 1 ≥ 0] is [e ≥ 0] + [e + 1 = 0]; and [e ≥ 0] is 1 − [−e − 1 ≥ 0]. The strictest has the least c.
    """
    least_constants: dict[str, fmpq] = {}
    for a in deep_atoms(poly):
        if isinstance(a, IxPred):
            _, key, c = _oriented(a.ix)
            least_constants[key] = min(c, least_constants.get(key, c))

    def by_strictest(a: Atom) -> Poly | None:
        if not isinstance(a, IxPred):
            return None
        ix, key, c = _oriented(a.ix)
        gap = int(c - least_constants.get(key, c))
        if ix == a.ix and not 0 < gap <= MOST:
            return None
        gap = gap if 0 <= gap <= MOST else 0
        out = index_condition(ix.shifted(number(-gap)))
        for k in range(gap):
            out = out + index_equal(ix.shifted(number(-k)))
        return out if ix == a.ix else ONE - out

    return Rewriter(replace=by_strictest)(poly)


MOST = 2
"""The most places that two conditions are apart for one to be written by the other; further apart, both stay."""


def _oriented(ix: Ix) -> tuple[Ix, str, fmpq]:
    """Return e or −e − 1 in a standard direction, its text without constant and bound names, and the constant."""
    sides = [(*_key_and_constant(e), e) for e in (ix, ix.scaled(-1).shifted(-ONE))]
    key, c, e = min(sides, key=lambda side: side[0])
    return e, key, c


def _key_and_constant(ix: Ix) -> tuple[str, fmpq]:
    bound = {v: of_var(("b", 0, 0)) for v in ix.free if v[0] in ("b", "f")}
    moved = ix.subst(bound)
    sizes = Poly({m: c for m, c in moved.const.items() if m})
    return Ix(moved.terms, sizes).key, moved.const.coefficient(())
