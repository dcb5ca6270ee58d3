"""Deciding whether a term is zero: clearing denominators, merging sums, and splitting into sign regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations

from flint import fmpq

from certgrad.obligations import decide, laws
from certgrad.obligations.assume.conditions import Atomic, Clause, polys
from certgrad.obligations.assume.decided import decide_predicates, over_one_floor, predicates, rounded
from certgrad.obligations.assume.fact import Fact, Question, places
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import (
    Indices,
    by_those_beside,
    choices,
    in_rows,
    resolved,
    split_by_condition,
)
from certgrad.obligations.assume.signs import NEG, POS, ZERO
from certgrad.obligations.laws.matrices import FEW_SUMMANDS, has_small_inverse, has_small_sum, written_out
from certgrad.obligations.laws.range_products import (
    constant_products_as_powers,
    gathered,
    has_products,
    split_off,
)
from certgrad.obligations.laws.range_products import written_out as products_written_out
from certgrad.obligations.terms.atoms import Base, Sum
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.index import Ix, of_const, of_var, whole_number
from certgrad.obligations.terms.index_terms import index_equal
from certgrad.obligations.terms.integers import by_entries
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Accumulator, Atom, Mono, Poly, monomial, number, poly_of
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import UndefinedTermError, cleared, content
from certgrad.obligations.terms.predicates import IxEq, IxPred, Side
from certgrad.obligations.terms.rewriting import Rewriter, eliminated, replaced, solve
from certgrad.obligations.terms.spectra import SMALL_ROWS
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms

MAX_DEPTH = 14
"""The most cases inside of each other; a term that is not shown to be zero by then counts as not zero."""


@dataclass(frozen=True)
class Region:
    """Assumptions in force: signs of terms, clauses with several alternatives, and the free indices."""

    facts: Facts
    clauses: tuple[Clause, ...] = ()
    indices: Indices = field(default_factory=Indices)

    def where(self, *facts: Fact) -> Region:
        return replace(self, facts=self.facts.extended(facts))

    @property
    def places(self) -> Indices:
        """The free indices with their ranges and conditions, and the region's assumptions on entries."""
        return replace(self.indices, facts=self.facts, clauses=self.clauses)

    def over(self, ranges: Mapping[Var, Poly]) -> Region:
        """Return the region with these free index variables and their ranges."""
        return replace(self, indices=replace(self.indices, ranges={**self.indices.ranges, **ranges}))


def nonzero_part(poly: Poly, region: Region, depth: int = 0) -> tuple[Poly, tuple[Fact, ...]] | None:
    """Return None if the term is zero under the assumptions; else a residue and the facts of its region.

    The residue is the term in one of the cases, where it is not shown to be zero. `depth` is the number of cases
    around this one.
    """
    if not depth and _vanishes_by_counts(poly, region):
        return None
    residue = _nonzero_part(poly, region, depth)
    if residue is None or depth:
        return residue
    # Small inverses, and short sums, are written out only where nothing else closes: the term becomes larger.
    for sums in [False] * has_small_inverse(poly) + [True] * has_small_sum(poly):
        parts = (_nonzero_part(part, sub_region, 1) for part, sub_region in _written_out(poly, region, sums))
        residue = next((r for r in parts if r is not None), None)
        if residue is None:
            return None
    return residue


def _nonzero_part(poly: Poly, region: Region, depth: int) -> tuple[Poly, tuple[Fact, ...]] | None:
    """Return None if the term is zero in the region; else a residue and its facts, as `nonzero_part` does.

    What is tried, in this order: the term without denominators and with its roots split; sums that cancel together;
    then, up to `MAX_DEPTH` cases deep, index sets, and both cases of an index condition; products written out;
    comparisons in one form; without predicates, further laws and loops a step earlier; and each sign of the term of the
    first predicate. A step that changes the term starts again with the new one.
    """
    budget.spend(50)
    if not depth:
        poly = over_one_floor(poly)
    if region.facts.facts:
        poly = rounded(poly, region.facts)
    if poly.structured:
        poly, indices = in_rows(poly, region.places)
        poly, region = resolved(poly, indices), replace(region, indices=indices)
    # Clearing denominators mixes the lanes of a selection, so it only ever answers "zero for all lanes"; the regions
    # below start again from the term itself.
    reduced = _without_denominators(poly, region.facts)
    if reduced.is_zero or _summands_vanish(reduced, region, depth):
        return None
    if depth >= MAX_DEPTH:
        return reduced, region.facts.facts
    if poly.structured:
        if decide.index_sets.vanishes(
            reduced, region.indices.ranges, region.indices.conditions, region.indices.known_of
        ):
            applied(Law.INDEX_SETS)
            return None
        conditions = choices(poly)
        if conditions:  # outside of sums: the condition holds, or fails
            return _by_condition(poly, conditions[0], region, depth)
        form = _by_neighbours(poly, region)
        if form != poly:
            return nonzero_part(form, region, depth + 1)
    if has_products(poly):
        from certgrad.obligations.laws.formal_sums import collected  # most rules have no products

        poly, undecided = split_off(poly, region.places)
        if undecided is not None:  # whether a place belongs to a product
            return _by_condition(poly, undecided, region, depth)
        poly = collected(gathered(poly), lambda formal: nonzero_part(formal, region, depth + 1) is None)
        reduced = cleared(poly, fractions=True)[0] if not poly.is_zero else poly
        if reduced.is_zero:
            return None
        form = products_written_out(constant_products_as_powers(poly, region.indices))
        if form != poly:
            return nonzero_part(form, region, depth + 1)
    if poly.piecewise:
        form, region = _compared(poly, region)
        if form != poly:
            return _nonzero_part(form, region, depth + 1)
    seams = predicates(poly)
    if not seams:
        return _in_one_piece(poly, reduced, region, depth)
    return _by_sign(poly, seams[0].poly, region, depth)


def _without_denominators(poly: Poly, facts: Facts) -> Poly:
    """Return a term that is 0 only where `poly` is: `poly` with its denominators cleared and its roots split."""
    if poly.is_zero:
        return poly
    reduced, _ = cleared(poly, fractions=True)
    if reduced.is_zero:
        return reduced
    roots = laws.roots.split_roots(reduced, facts)
    return reduced if roots is None else cleared(roots, fractions=True)[0]


def _in_one_piece(poly: Poly, reduced: Poly, region: Region, depth: int) -> tuple[Poly, tuple[Fact, ...]] | None:
    """Return `nonzero_part` of a term without predicates, which is one formula in the whole region.

    What is left to try are laws and assumed equations, that the region is empty, and loops a step earlier. `reduced` is
    the term without denominators.
    """
    if (
        decide.related.vanishes_by_laws(reduced, region.facts)
        or _assumed_zero(reduced, region.facts)
        or _nowhere(region)
    ):
        return None
    form = over_one_floor(laws.unfolding.unfolded(poly, region.indices.ranges))
    return nonzero_part(form, region, depth + 1) if form != poly else (reduced, region.facts.facts)


def _by_sign(poly: Poly, p: Poly, region: Region, depth: int) -> tuple[Poly, tuple[Fact, ...]] | None:
    """Return `nonzero_part` of the term where p, the term of one of its predicates, is positive, negative or 0."""
    if laws.counts.is_count(p):  # a count has few values, and its comparisons may be products
        form = laws.counts.by_products(poly, region.places)
        if form != poly and nonzero_part(form, region, depth + 1) is None:
            return None
    applied(Law.SIGN_REGIONS)
    for sign in (POS, NEG, ZERO):
        for case in parts_in_sign_region(poly, p, sign, region):
            residue = nonzero_part(*case, depth + 1)
            if residue is not None:
                return residue
    return None


def _by_neighbours(poly: Poly, region: Region) -> Poly:
    """Return the term with Σ_{v<n−1} f for Σ_{v<n} f − f(n − 1), and index conditions decided by those beside them."""
    if not any(isinstance(a, IxPred) for a in deep_atoms(poly)):
        return poly
    try:
        return laws.sum_ends.without_last(by_those_beside(poly, region.places), region.places)
    except UndefinedTermError:
        return poly


def _vanishes_by_counts(poly: Poly, region: Region) -> bool:
    """Return whether the term is 0 at each value 0, 1, … of a count that it compares with small numbers."""
    compared = next((a.poly for a in predicates(poly) if laws.counts.is_count(a.poly)), None)
    parts = [] if compared is None else laws.counts.by_value(poly, compared)
    return bool(parts) and all(nonzero_part(part, region) is None for part in parts)


def _assumed_zero(poly: Poly, facts: Facts) -> bool:
    """Return whether the term is 0 by an assumed equation that determines no entry, such as one of degree 2 in each."""
    return any(f.signs == ZERO for f in facts.facts) and facts.signs(poly) == ZERO


def _nowhere(region: Region) -> bool:
    """Return whether the conditions on integers by which cases were split contradict the signs assumed since then."""
    if not region.facts.facts or not any(by_entries(ix) for ix, _ in region.indices.conditions):
        return False
    return not region.places.feasible()


def _compared(poly: Poly, region: Region) -> tuple[Poly, Region]:
    """Return the term and the region with their comparisons in one form, by monotone functions (`laws.monotone`)."""
    region = region.where(*laws.monotone.compared_facts(region.facts))
    clauses = laws.monotone.compared_clauses(region.clauses, region.facts)
    return laws.monotone.with_comparisons(poly, region.facts), replace(region, clauses=clauses)


def _by_condition(poly: Poly, a: IxPred | IxEq, region: Region, depth: int) -> tuple[Poly, tuple[Fact, ...]] | None:
    """Return `nonzero_part` of the term where a condition on indices holds, else where it fails."""
    for part, indices, mapping in split_by_condition(poly, a, region.indices):
        residue = nonzero_part(part, _substituted_region(region, indices, mapping), depth + 1)
        if residue is not None:
            return residue
    return None


def _written_out(poly: Poly, region: Region, sums: bool) -> Iterator[tuple[Poly, Region]]:
    """Yield the term, and the region, at each choice of values for its free indices over short ranges.

    Inverses of small matrices are written out, and with `sums`, sums over few values too.
    """
    limit = FEW_SUMMANDS if sums else SMALL_ROWS
    short_indices = [
        (v, c) for v, n in region.indices.ranges.items() if v in poly.free and (c := whole_number(n)) and c <= limit
    ]
    if not short_indices:
        yield written_out(poly, sums), region
        return
    v, count = short_indices[0]
    for k in range(count):
        place = {v: of_const(number(k))}
        region_there = _substituted_region(region, region.indices.substituted(place, {}), place)
        yield from _written_out(Rewriter(place)(poly), region_there, sums)


def _substituted_region(region: Region, indices: Indices, mapping: Mapping[Var, Ix]) -> Region:
    """Return the region with variables substituted, also in assumptions on single entries."""
    if not mapping:
        return replace(region, indices=indices)
    change = Rewriter(mapping)
    moved = (f if f.universal else replace(f, poly=change(f.poly)) for f in region.facts.facts)
    facts = Facts(moved, region.facts.integers)
    return replace(region, facts=facts, indices=indices)


def parts_in_sign_region(poly: Poly, p: Poly, sign: int, region: Region) -> list[tuple[Poly, Region]]:
    """Return (term, region) for the part of the region where p has the sign, with the term's predicates decided there.

    The list is empty where that part is. On p = 0 the predicates of a derivative are open: the statement must hold with
    the value that each side gives them, so that there are several terms. There are several parts where p is a product:
    one for each factor that may be 0.
    """
    if not region.facts.signs(p) & sign:
        return []
    sub_region = region.where(Fact(p, sign, universal=False))
    if sub_region.facts.contradictory or _fails_there(sub_region.facts):
        return []
    roots = _roots(p, sub_region.facts) if sign == ZERO else [p]
    if roots != [p]:
        applied(Law.ZERO_OF_PRODUCT)
        return [part for q in roots for part in parts_in_sign_region(poly, q, ZERO, sub_region)]
    try:
        # On p = 0, what the clauses leave possible are further equations, by which entries are eliminated; elsewhere it
        # is a further fact.
        equations = [p]
        for clause in (
            instance for given in region.clauses for instance in _at_entries_of(p, given) if not instance.guards
        ):
            candidates = [a for a in clause.alternatives if _possible(a, sub_region.facts)]
            if not candidates:
                return []
            if len(candidates) == 1 and candidates[0].relation == "= 0":
                equations.append(candidates[0].poly)
            elif len(candidates) == 1 and (signs := candidates[0].signs) is not None and sign != ZERO:
                sub_region = sub_region.where(Fact(candidates[0].poly, signs, universal=False))
        around = all(f.signs != ZERO for f in sub_region.facts.facts)  # no equation has been put in
        decided = decide_predicates(poly, sub_region.facts, around)
        if sign != ZERO:
            return [(decided, sub_region)]
        parts = []
        for part in _from_each_side(decided, sub_region.facts):
            for equation in equations:
                part = eliminated(part, equation)
            parts.append((part, sub_region))
        return parts
    except UndefinedTermError:
        return [(ONE, sub_region)]  # undefined throughout the region: nothing can be shown there


def _roots(p: Poly, facts: Facts) -> list[Poly]:
    """Return terms of which one is 0 where p is 0: p's factors, without those that are known not to be 0.

    An equation that determines an entry is left as it is.
    """
    if solve(p) is not None:
        return [p]
    _, taken, rest = content(p)
    factors = [a.poly if isinstance(a, Base) else poly_of(a) for a, e in taken.items() if e > 0]
    factors += [] if rest.constant() is not None else [rest]
    return [q for q in factors if facts.signs(q) & ZERO] if len(factors) > 1 else [p]


def _fails_there(facts: Facts) -> bool:
    """Return whether an assumption about a piecewise term fails for the piece that the assumptions select."""
    for fact in facts.facts:
        if fact.poly.piecewise and not fact.local:
            try:
                piece = decide_predicates(fact.poly, facts)
            except UndefinedTermError:
                continue  # it may be what a selection does not take
            if piece != fact.poly and not facts.signs(piece) & fact.signs:
                return True
    return False


def _at_entries_of(p: Poly, clause: Clause) -> list[Clause]:
    """Return the clause, and the clause at the entries that p mentions: it holds for all values of its indices.

    For every index i: A(i) or B(i). Hence A(e) or B(e) for every index expression e in range, such as the index of an
    entry of p.
    """
    instances = {clause.key: clause}
    question = Question.on([p])
    if clause.free:
        for mapping in places(polys(clause), clause.free, question.targets):
            instance = clause.substituted(mapping)
            instances.setdefault(instance.key, instance)
    return [
        entry_clause for entry_clause in instances.values() if not clause.local or question.has(polys(entry_clause))
    ]


def _from_each_side(poly: Poly, facts: Facts) -> list[Poly]:
    """Return the forms that the term has on the sides of the boundaries that the facts put the point on.

    With several such boundaries, all combinations of their sides are returned.
    """
    for a in predicates(poly):
        if isinstance(a, Side) and facts.signs(a.poly) == ZERO:
            forms = [decide_predicates(_on_side(poly, a.poly, positive), facts) for positive in (True, False)]
            return [f for form in dict.fromkeys(forms) for f in _from_each_side(form, facts)]
    return [poly]


def _possible(a: Atomic, facts: Facts) -> bool:
    wanted = a.signs
    return wanted is None or bool(facts.signs(a.poly) & wanted)


def _on_side(poly: Poly, p: Poly, positive: bool) -> Poly:
    """Return the term as seen from one side of p = 0."""

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Side) and a.poly in (p, -p):
            return ONE if positive == (a.poly == p) else NOTHING
        return None

    return replaced(poly, value)


def by_summand(poly: Poly) -> tuple[Poly, list[tuple[Poly, list[tuple]]]]:
    """Return (plain, groups), the groups being (summand, variables) with poly = plain + Σ over the variables of each.

    Sums over equal ranges are merged into one group.
    """
    plain = Accumulator()
    groups: dict[tuple[str, ...], tuple[list, Accumulator]] = {}
    for mono, c in poly.sorted_items():
        sums = [a for a, e in mono if isinstance(a, Sum) and e == 1]
        if not sums:
            plain.add(mono, c)
            continue
        chosen = max(sums, key=lambda a: (len(a.vars), a.key))
        key = tuple(r.key for r in chosen.ranges)
        if key not in groups:
            groups[key] = ([(fresh(), r) for r in chosen.ranges], Accumulator())
        variables, summand = groups[key]
        names = {v: of_var(w) for v, (w, _) in zip(chosen.vars, variables, strict=True)}
        rest = monomial({a: e for a, e in mono if a is not chosen})
        summand.add_poly(rest * Rewriter(names).mono(chosen.body), c)
    return plain.poly(), [(summand.poly(), variables) for variables, summand in groups.values()]


def _summands_vanish(poly: Poly, region: Region, depth: int) -> bool:
    """Return whether the term is zero summand by summand: the summand of each group of sums, and the rest, is zero.

    Where that fails, the groups are tried as one sum.
    """
    if not any(isinstance(a, Sum) for a in atoms_of(poly)) or depth >= MAX_DEPTH:
        return False
    plain, groups = by_summand(poly)
    if not groups:  # sums as powers alone: the rest is the term itself
        return False
    if not plain.is_zero and nonzero_part(plain, region, depth + 1) is not None:
        return False
    if all(nonzero_part(summand, region.over(dict(variables)), depth + 1) is None for summand, variables in groups):
        applied(Law.SUMMANDS)
        return True
    for law, merge in ((Law.SUMS_OVER_PAIRS, _over_pairs), (Law.SUM_OF_PRODUCT, _under_one_sum)):
        merged = merge(groups)
        if merged is not None and nonzero_part(merged[0], region.over(dict(merged[1])), depth + 1) is None:
            applied(law)
            return True
    return False


def _over_pairs(groups: list[tuple[Poly, list[tuple]]]) -> tuple[Poly, list[tuple]] | None:
    """Return sums over k < n and over pairs k, l < n as one sum over pairs (its summand and variables); else None.

    Σ_k f(k) = Σ_kl [k = l]·f(k), and Σ_kl f(k, l) = Σ_kl ½(f(k, l) + f(l, k)): if this summand is 0, the sums cancel.
    """
    pairs = next((v for _, v in groups if len(v) == 2), None)
    if pairs is None or any(len(v) > 2 or n != pairs[0][1] for _, v in groups for _, n in v):
        return None
    (k, _), (l, _) = pairs
    total = NOTHING
    for summand, variables in groups:
        if len(variables) == 1:
            equality = index_equal(of_var(k).minus(of_var(l)))
            total = total + equality * Rewriter({variables[0][0]: of_var(k)})(summand)
            continue
        (v, _), (w, _) = variables
        for names in ({v: of_var(k), w: of_var(l)}, {v: of_var(l), w: of_var(k)}):
            total = total + Rewriter(names)(summand).scale(fmpq(1, 2))
    return total, pairs


def _under_one_sum(groups: list[tuple[Poly, list[tuple]]]) -> tuple[Poly, list[tuple]] | None:
    """Return sums over few variables and over more as one sum over the few (its summand and variables); else None.

    Σ_jk f(j)·h(j, k) = Σ_j f(j)·Σ_k h(j, k), where the inner sum occurs in the group of the fewest variables: in a
    function of Σ_k h(j, k), say, whose derivative has it as a factor.
    """
    total, variables = min(groups, key=lambda group: len(group[1]))
    inner_sums = {a for a in deep_atoms(total) if isinstance(a, Sum)}
    if not inner_sums:
        return None
    for summand, group_variables in groups:
        if group_variables is variables:
            continue
        for mono, c in summand.items():
            forms = (sum_over(inner, rest) for inner, rest in _renamed_summands(mono, group_variables, variables))
            form = next((f for f in forms if not inner_sums.isdisjoint(atoms_of(f))), None)
            if form is None:
                return None
            total = total + form.scale(c)
    return total, variables


def _renamed_summands(mono: Mono, more: list[tuple], variables: list[tuple]) -> Iterator[tuple[Poly, list[tuple]]]:
    """Yield the summand `mono` with some of its variables renamed to `variables`, of the same ranges, and the rest of
    its variables.
    """
    for chosen in permutations(more, len(variables)):
        if all(n == m for (_, n), (_, m) in zip(chosen, variables, strict=True)):
            names = {v: of_var(w) for (v, _), (w, _) in zip(chosen, variables, strict=True)}
            yield Rewriter(names).mono(mono), [pair for pair in more if pair not in chosen]
