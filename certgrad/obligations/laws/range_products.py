"""Products over index variables: Π f(k) over those k of a range at which a 0/1-valued term is 1. An empty one is 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod

from flint import fmpq

from certgrad.obligations.assume.decided import decide_predicates
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import Indices, resolved
from certgrad.obligations.assume.signs import ZERO as SIGN_ZERO
from certgrad.obligations.terms.atoms import Access, Base, Dim, Exp, IndexNumber, Product, Sum
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import Ix, of_const, of_var, whole_number
from certgrad.obligations.terms.index_terms import divided, index_condition, index_equal, index_number, index_within
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.naming import canonical_order
from certgrad.obligations.terms.polynomials import (
    ONE,
    ZERO,
    Accumulator,
    Atom,
    Poly,
    mono_positive,
    monomial,
    number,
    poly_of,
)
from certgrad.obligations.terms.power import content, exp_of, fn, is_integer_term, log_atom, power, pred
from certgrad.obligations.terms.predicates import INDEX_PREDICATES, PREDICATES, IxEq, IxPred, Pred, Side
from certgrad.obligations.terms.ranges import divisors_of, in_rows_and_columns
from certgrad.obligations.terms.rewriting import Rewriter, rebuilds, rebuilt_inside, replaced, substitute
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, tensors_in

from .order import opened, place_of, solved_for

Dummies = list[tuple[Var, Poly]]
Place = dict[Var, Ix]
MAX_CONDITIONS = 5
"""The most index conditions in a factor by whose values a product is split; with more, it stays one product."""
MAX_FACTORS = 16
"""The most factors of a product that is written out; a longer one stays a product."""
MAX_POINTS = 6
"""The most places at which factors are split off one product; at others they stay inside."""


def has_products(poly: Poly) -> bool:
    """Return whether a product, or the exponential of a sum over an index set, stands in the term."""
    return any(is_product_or_exponential(a) for a in deep_atoms(poly))


def is_product_or_exponential(a: Atom) -> bool:
    """Return whether the atom is a product, or the exponential of a sum over an index set."""
    if isinstance(a, Exp):
        return a.structured and any(isinstance(b, Sum) for b, _ in a.mono)
    return isinstance(a, Product)


def product_over(poly: Poly, dummies: Dummies, where: Poly = ONE) -> Poly:
    """Return Π of `poly` over the variables, each from 0 to below its range, where the 0/1-valued term `where` is 1.

    With S the set of these indices, and c₁, c₂ … conditions on indices of which exactly one holds at each index,
    Π_S Σ [c_m]·f_m = Π_m Π_{S ∧ c_m} f_m, so that conditions move from the factors into `where`.
    """
    at_zero = {v: of_const(ZERO) for v, n in dummies if n == ONE}
    if at_zero:
        place = Rewriter(at_zero)
        poly, where, dummies = place(poly), place(where), [(v, n) for v, n in dummies if v not in at_zero]
    if where.is_zero or any(n.is_zero for _, n in dummies):
        return ONE
    if poly.structured:
        down = {v: of_var(v).scaled(-1).shifted(n - ONE) for v, n in dummies if _counts_down(poly, v)}
        poly, where = Rewriter(down)(poly), Rewriter(down)(where)
    if poly.structured or where.structured:
        poly, where, dummies = _in_row_major_order(poly, where, dummies)
    if not dummies:
        return ONE - where + where * poly
    applied(Law.PRODUCT_OF_PRODUCTS)
    result = ONE
    for value, region in _by_index_conditions(poly, where):
        result = result * _of_value(value, dummies, region)
    return result


def _counts_down(poly: Poly, v: Var) -> bool:
    """Return whether entries are read in reverse only, so that Π_{v<n} f(n − 1 − v) = Π_{v<n} f(v) reverses them."""
    entries = [a for a in deep_atoms(poly) if isinstance(a, (Access, Matrix))]
    read = [ix for a in entries for ix in a.index]
    read += [inner for ix in read for t in ix.atoms for inner in t.parts()]
    return {c > 0 for ix in read if (c := ix.coefficient(v))} == {False}


def _in_row_major_order(poly: Poly, where: Poly, dummies: Dummies) -> tuple[Poly, Poly, Dummies]:
    """Return factor, condition and variables of a product, with row and column in the place of a row-major index.

    Π_{v<q·m} f(⌊v/m⌋, v mod m) = Π_{i<q} Π_{j<m} f(i, j).
    """
    for v, n in dummies:
        for divisor in [*divisors_of(poly, v), *divisors_of(where, v)]:
            rows = divided(n, divisor)
            if rows is None:
                continue
            (poly, where), i, j = in_rows_and_columns([poly, where], v, divisor, "f")
            other_dummies = [(w, m) for w, m in dummies if w != v]
            return _in_row_major_order(poly, where, [*other_dummies, (i, rows), (j, divisor)])
    return poly, where, dummies


def _by_index_conditions(poly: Poly, where: Poly) -> list[tuple[Poly, Poly]]:
    """Return the values that the term has by its conditions on indices, each with the indicator of where it has it.

    [k > 0]·f + g, for example, is f + g where k > 0, and g where not.
    """
    conditions = sorted((a for a in atoms_of(poly) if type(a) in INDEX_PREDICATES), key=lambda a: a.key)
    if not conditions or len(conditions) > MAX_CONDITIONS:
        return [(poly, where)]
    cases: dict[Poly, Poly] = {}
    for truth in product((True, False), repeat=len(conditions)):
        region = where
        for a, holds in zip(conditions, truth, strict=True):
            region = region * (poly_of(a) if holds else ONE - poly_of(a))
        if region.is_zero:
            continue
        failing = {a for a, holds in zip(conditions, truth, strict=True) if not holds}
        value = Accumulator()
        for mono, c in poly.items():
            if not any(a in failing for a, _ in mono):
                value.add(tuple((a, e) for a, e in mono if type(a) not in INDEX_PREDICATES), c)
        form = value.poly()  # the value of several choices, perhaps: their regions are added
        cases[form] = cases.get(form, ZERO) + region
    return list(cases.items())


def _of_value(poly: Poly, dummies: Dummies, where: Poly) -> Poly:
    """Return Π of a term without conditions on indices, factor by factor: Π f·g = Π f · Π g."""
    c = poly.constant()
    if c is not None:
        return _of_number(c, dummies, where)
    single = poly.single()
    if single is not None:
        return _of_number(single[1], dummies, where) * _of_factors(dict(single[0]), dummies, where)
    if poly.piecewise:
        return _closed(poly, dummies, where)
    c, taken, rest = content(poly)
    return _of_factors(taken, dummies, where) * _closed(rest.scale(c), dummies, where)


def _of_number(c: fmpq, dummies: Dummies, where: Poly) -> Poly:
    """Return Π_S c = c^|S| by products of the primes in c and of −1; 0^|S| is 1 where S is empty, else 0."""
    if c != 1:
        applied(Law.PRODUCT_OF_CONSTANT)
    if c == 0:
        return ONE - pred(sum_over(where, dummies))
    result = _closed(number(-1), dummies, where) if c < 0 else ONE
    for part, sign in ((abs(c.p), 1), (c.q, -1)):
        for prime, k in part.factor() if part != 1 else ():
            result = result * power(_closed(number(int(prime)), dummies, where), sign * int(k))
    return result


def _of_factors(factors: dict[Atom, Exponent], dummies: Dummies, where: Poly) -> Poly:
    """Return Π of a monomial, factor by factor.

    Only a predicate stays together with the factors that read the same tensors: it may be the boundary between their
    branches, and both must then be seen in one product.
    """
    result = ONE
    plain = dict(factors)
    while guards := [a for a in plain if isinstance(a, (Pred, Side))]:
        tensors = tensors_in(guards[0])
        group: dict[Atom, Exponent] = {guards[0]: plain.pop(guards[0])}
        while touching := [a for a in plain if not tensors.isdisjoint(tensors_in(a))]:
            for a in touching:
                group[a] = plain.pop(a)
                tensors = tensors | tensors_in(a)
        result = result * _closed(monomial(group), dummies, where)
    for a, e in plain.items():
        result = result * _of_power(a, e, dummies, where)
    return result


def _of_power(a: Atom, e: Exponent, dummies: Dummies, where: Poly) -> Poly:
    """Return Π aᵉ as (Π a)ᵉ, Π exp as exp Σ, and a product of products as one over both's variables."""
    share = fmpq(e.numerator, e.denominator)
    if isinstance(a, Exp):
        return exp_of(sum_over(where * Poly({a.mono: share}), dummies))
    if where == ONE and a.positive and not a.free & {v for v, _ in dummies}:
        return exp_of((log_atom(a) * sum_over(where, dummies)).scale(share))
    if isinstance(a, Product):
        inner, body, inner_where = opened(a)
        return power(product_over(body, [*dummies, *inner], where * inner_where), e)
    return power(_closed(poly_of(a), dummies, where), e)


def _closed(value: Poly, dummies: Dummies, where: Poly) -> Poly:
    """Return the product as an atom, with canonical bound names."""
    ranges = dict(dummies)
    order = canonical_order([v for v, _ in dummies], ranges, [(Base(value), 1), (Base(where), 1)])
    level = 1 + max(value.level, where.level)
    bound = tuple(("b", level, k) for k in range(len(order)))
    rename = Rewriter({v: of_var(b) for v, b in zip(order, bound, strict=True)})
    return poly_of(intern(Product(bound, tuple(ranges[v] for v in order), rename(value), rename(where))))


def others(a: Product, place: Place) -> Poly:
    """Return Π of all factors but the one at a place."""
    dummies, body, where = opened(a)
    at_place = ONE
    for v, (w, _) in zip(a.vars, dummies, strict=True):
        at_place = at_place * index_equal(of_var(w).minus(place[v]))
    return product_over(body, dummies, where * (ONE - at_place))


# --- products that are compared -------------------------------------------------------------------------------------


def split_off(poly: Poly, indices: Indices) -> tuple[Poly, IxPred | IxEq | None]:
    """Return the term with single factors split off its products: Π_S f = f(j)·Π_{S without j} f for j ∈ S.

    The places j are those that another product of the same f, or a product of conditions, leaves out or is over; those
    for which f(j) is a factor elsewhere, or is known to be 0; and, where f is 0 or 1, those for which f(j) is known.
    Where j ∈ S is not decided, the second value is the condition that has to be decided first; else it is None.
    """
    # Where the factors are all the same, only their number matters (see `constant_products_as_powers`).
    products = [a for a in atoms_of(poly) if isinstance(a, Product) and not a.body.free.isdisjoint(a.vars)]
    singled_out = [(a, place) for a in products for place in _singled_out(a)]
    factors = [poly_of(b) for b in atoms_of(poly) if isinstance(b, (Access, Base))]
    zero_terms = [f.poly for f in indices.facts.facts if f.signs == SIGN_ZERO and not f.universal]
    waiting = sorted(products, key=lambda a: a.key)
    while waiting:
        a = waiting.pop(0)
        at_known = [place for place, _ in decided_places(a, indices)]
        for place in [*_places(a, singled_out, [*zero_terms, *factors]), *at_known][:MAX_POINTS]:
            member = _member(a, place, indices)
            if member.is_zero:
                continue
            if member != ONE:
                return poly, next((b for b in atoms_of(member) if isinstance(b, (IxPred, IxEq))), None)
            factor = Rewriter(place)(a.body)
            if indices.facts.signs(factor) == SIGN_ZERO:
                factor = ZERO
            elif is_condition(a):
                factor = decide_predicates(factor, indices.facts)
            applied(Law.PRODUCT_SPLIT)
            rest = resolved(others(a, place), indices)
            poly = Rewriter(replace=lambda b, a=a, new=factor * rest: new if b is a else poly_of(b))(poly)  # type: ignore[misc]
            waiting += [b for b in atoms_of(rest) if isinstance(b, Product)]
            break
    return poly, None


def _places(a: Product, singled: list[tuple[Product, Place]], factors: list[Poly]) -> list[Place]:
    """Return the places at which factors of a product are split off."""
    places: dict[str, Place] = {}
    for b, place in singled:
        if _same_factors(a, b) or (a.ranges == b.ranges and (is_condition(a) or is_condition(b))):
            place_in_a = {v: place[w] for v, w in zip(a.vars, b.vars, strict=True)}
            places.setdefault(_text(place_in_a), place_in_a)
    for factor in factors:
        for f in (factor, -factor, ONE - factor):
            solved_place = place_of(a, f)
            if solved_place is not None:
                places.setdefault(_text(solved_place), solved_place)
    return list(places.values())[:MAX_POINTS]


def is_condition(a: Product) -> bool:
    """Return whether all factors of a product are 0 or 1, so that the product says whether all are 1."""
    return a.body.piecewise and a.body.constant() is None and is_truth(a.body)


def is_truth(poly: Poly) -> bool:
    """Return whether the term is made of conditions, and is 0 or 1."""
    return all(isinstance(b, PREDICATES) for b in atoms_of(poly)) and poly * poly == poly


def decided_places(a: Product, indices: Indices) -> list[tuple[Place, Poly]]:
    """Return places at which assumptions on single entries decide a 0/1-valued factor, and the factor there."""
    if not indices.facts.facts or not is_condition(a):
        return []
    entries = {t for f in indices.facts.facts if not f.universal for t in deep_atoms(f.poly) if isinstance(t, Access)}
    decided: dict[str, tuple[Place, Poly]] = {}
    for pattern in (b for b in deep_atoms(a.body) if isinstance(b, Access)):
        for target in sorted(entries, key=lambda t: t.key):
            if target.tensor != pattern.tensor or len(target.index) != len(pattern.index):
                continue
            place = solved_for(a.vars, pattern.index, target.index)
            if place is None or substitute(poly_of(pattern), place) != poly_of(target):
                continue
            value = decide_predicates(substitute(a.body, place), indices.facts)
            if value.constant() is not None and _member(a, place, indices) == ONE:
                decided.setdefault(_text(place), (place, value))
    return list(decided.values())


def _text(place: Place) -> str:
    return ";".join(ix.key for ix in place.values())


def _same_factors(a: Product, b: Product) -> bool:
    if len(a.vars) != len(b.vars) or a.ranges != b.ranges:
        return False
    return a.body == Rewriter({w: of_var(v) for v, w in zip(a.vars, b.vars, strict=True)})(b.body)


def _singled_out(a: Product) -> list[Place]:
    """Return the places that equations [e = 0] in the product's condition determine."""
    out = []
    for mono in a.where:
        place: Place = {}
        for condition, _ in mono:
            if not isinstance(condition, IxEq):
                continue
            for v in a.vars:
                c = condition.ix.coefficient(v)
                rest = condition.ix.plus(of_var(v).scaled(-c))
                if abs(c) == 1 and v not in place and not set(a.vars) & set(rest.free):
                    place[v] = rest.scaled(-c)
        if len(place) == len(a.vars):
            out.append({v: place[v] for v in a.vars})
    return out


def _member(a: Product, place: Place, indices: Indices) -> Poly:
    """Return [the place is one of those that the product is over]: 1, 0, or a term where that is open."""
    condition = Rewriter(place)(a.where)
    for v, n in zip(a.vars, a.ranges, strict=True):
        condition = condition * index_within(place[v], n)
    return resolved(condition, indices)


def gathered(poly: Poly) -> Poly:
    """Return the term with Π_S [φ]·Π_S f written as Π_S [φ]·f."""
    if not any(isinstance(a, Product) and is_condition(a) for a in atoms_of(poly)):
        return poly
    total = ZERO
    for mono, c in poly.sorted_items():
        exponents, products = dict(mono), ONE
        for a in [a for a in exponents if isinstance(a, Product) and is_condition(a)]:
            same_places = [b for b, e in exponents.items() if b is not a and e >= 1 and _over_the_same(a, b)]
            if not same_places:
                continue
            applied(Law.PRODUCT_OF_PRODUCTS)
            del exponents[a]
            for b in same_places:
                dummies, body, where = opened(b)  # type: ignore[arg-type]
                condition = Rewriter({v: of_var(w) for v, (w, _) in zip(a.vars, dummies, strict=True)})(a.body)
                products = products * power(product_over(condition * body, dummies, where), exponents.pop(b))
        total = total + (products * monomial(exponents)).scale(c)
    return total


def _over_the_same(a: Product, b: Atom) -> bool:
    """Return whether both products are over the same places."""
    if not isinstance(b, Product) or a.ranges != b.ranges:
        return False
    return a.where == Rewriter({w: of_var(v) for v, w in zip(a.vars, b.vars, strict=True)})(b.where)


def constant_products_as_powers(poly: Poly, indices: Indices) -> Poly:
    """Return the term with c^|S| for Π_S c, where c is the same throughout and not 0, and |S| is made of sizes."""
    return _Counting(indices, {})(poly) if any(_of_one_number(a, indices.facts) for a in deep_atoms(poly)) else poly


def _of_one_number(a: Atom, facts: Facts) -> bool:
    """Return whether the atom is a product of factors that are all the same, and not 0."""
    if not isinstance(a, Product) or not a.body.free.isdisjoint(a.vars):
        return False
    return a.positive or a.is_sign or not facts.signs(a.body) & SIGN_ZERO


class _Counting(Rewriter):
    """Rewrites products of factors that are all the same as powers, by `context` at the place of each."""

    def __init__(self, context: Indices, names: Mapping[Var, Ix]) -> None:
        super().__init__(names, replace=self._value)
        self.context = context

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        return _Counting(replace(self.context, ranges={**self.context.ranges, **ranges}), {**self.indices, **names})

    def _value(self, a: Atom) -> Poly | None:
        if not isinstance(a, Product) or not _of_one_number(a, self.context.facts):
            return None
        dummies, body, where = opened(a)
        count = in_closed_form(resolved(sum_over(Rewriter(self.indices)(where), dummies), self.context), self.context)
        if not all(isinstance(b, (Dim, IndexNumber)) for b in atoms_of(count)):
            return None
        if not a.is_sign:
            return fn("whole_power", body, count) if a.positive or is_integer_term(count) else None
        if any(isinstance(b, IndexNumber) for b in atoms_of(count)):
            return None
        return _sign(count) if all(c.q == 1 and mono_positive(m) for m, c in count.items()) else None


def in_closed_form(count: Poly, context: Indices) -> Poly:
    """Return the term with sums of one condition as numbers of places.

    Σ_{v<n} [e − v ≥ 0] is e + 1, and Σ_{v<n} [e + v ≥ 0] is n + e, where these are shown to be from 0 to n.
    """

    def count_of_places(a: Atom) -> Poly | None:
        if not isinstance(a, Sum):
            return None if isinstance(a, Base) else poly_of(a)
        dummies, body = open_sum(a)
        condition = body.atom()
        if len(dummies) != 1 or not isinstance(condition, IxPred):
            return None
        ((v, n),) = dummies
        slope = condition.ix.coefficient(v)
        rest = condition.ix.plus(of_var(v).scaled(-slope))
        if abs(slope) != 1 or v in rest.free:
            return None
        places = rest.shifted(ONE if slope < 0 else n)
        if any(resolved(index_condition(ix), context) != ONE for ix in (places, places.scaled(-1).shifted(n))):
            return None
        applied(Law.SUM_OF_CONDITION)
        return index_number(places)

    return replaced(count, count_of_places)


def _sign(count: Poly) -> Poly:
    """Return (−1)^count, for a count with whole coefficients, of which only the odd ones matter."""
    result = ONE
    for mono, c in count.sorted_items():
        if c.p % 2:
            result = result * (_closed(number(-1), [(fresh(), Poly({mono: fmpq(1)}))], ONE) if mono else -ONE)
    return result


def written_out(poly: Poly) -> Poly:
    """Return the term with products written out that have few factors, the same number at every size."""
    return replaced(poly, _factors)


def _factors(a: Atom) -> Poly | None:
    places = substitutions_at_places(a, MAX_FACTORS) if isinstance(a, Product) else None
    if not isinstance(a, Product) or places is None:
        return None
    result = ONE
    for at_place in places:
        condition = at_place(a.where)
        if not condition.is_zero:
            result = result * (ONE - condition + condition * at_place(a.body))
    return result


def substitutions_at_places(a: Product, most: int) -> Iterator[Rewriter] | None:
    """Return the substitutions of places for the product's variables; None where there are, or may be, over `most`."""
    counts = [whole_number(n) for n in a.ranges]
    if any(n is None for n in counts) or prod(n or 0 for n in counts) > most:
        return None
    places = product(*(range(n or 0) for n in counts))
    return (Rewriter({v: of_const(number(k)) for v, k in zip(a.vars, place, strict=True)}) for place in places)


@rebuilds(Product)
def _rebuilt(a: Product, rewriter: Rewriter) -> Poly:
    return product_over(*rebuilt_inside(a, rewriter))
