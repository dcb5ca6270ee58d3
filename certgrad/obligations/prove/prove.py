"""The proof of an obligation: its hypotheses on the inputs, and the equality of its two sides there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from certgrad._subject import OF_REFERENCE
from certgrad.obligations import laws, wording
from certgrad.obligations import prove as package
from certgrad.obligations.assume.assumptions import Shapes, facts_of
from certgrad.obligations.assume.by_place import beyond_axes, by_place
from certgrad.obligations.assume.by_region import by_region
from certgrad.obligations.assume.conditions import (
    IN_RANGE,
    UNDEFINED_EVERYWHERE,
    Clause,
    discharged,
    guard_facts,
    has_one_solution,
    merge_clauses,
    of_solver,
    polys,
)
from certgrad.obligations.assume.decided import decide_predicates, rounded
from certgrad.obligations.assume.entailment import entailed
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import Indices, resolved, some_place
from certgrad.obligations.assume.signs import POS
from certgrad.obligations.assume.simplify import simplified
from certgrad.obligations.assume.tensor import EXTENTS, Tensor
from certgrad.obligations.certificate import OF_VALUES
from certgrad.obligations.decide.cases import Region, nonzero_part
from certgrad.obligations.decide.implicit import without_repeated
from certgrad.obligations.decide.products import split_products
from certgrad.obligations.laws.functions import defined_in
from certgrad.obligations.laws.order import (
    Unique,
    attained,
    by_rules,
    decide_max_comparisons,
    of_entries,
    sole_maximum,
    unique,
)
from certgrad.obligations.laws.scalar_derivatives import NoDerivativeError
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.terms.atoms import Base, Sum
from certgrad.obligations.terms.determined import Rec
from certgrad.obligations.terms.integers import by_entries
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, monomial, poly_of
from certgrad.obligations.terms.power import UndefinedTermError, pred
from certgrad.obligations.terms.predicates import INDEX_PREDICATES, IxEq, IxPred, Pred
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.variables import Var, template
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, mentions, tensors_in

from .closers import Closing
from .problem import Problem
from .statements import (
    Obligation,
    Outcome,
    adjoint_obligation,
    adjoint_of_derivative_obligation,
    defined_everywhere,
    derivative_obligation,
    differentiated,
    forward_obligation,
    settle,
    sided,
)


def prove(problem: Problem, kind: str) -> Outcome:
    """Attempt the proof with nothing assumed of the inputs, then with the declared domain."""
    outcome = _attempt(problem, kind, [])
    if not problem.domain or (outcome.proved and _within_domain(outcome.hypotheses, problem)):
        return outcome
    assuming = _attempt(problem, kind, problem.domain)
    if assuming.proved:
        return assuming
    return outcome if outcome.proved else assuming


def _within_domain(hypotheses: Sequence[Clause], problem: Problem) -> bool:
    """Return whether the hypotheses are short to read, and follow from the declared domain: they are then better than
    it.
    """
    assumed, clauses = facts_of(problem.domain, problem.array_shapes)
    facts = problem.facts.extended(assumed)
    return _are_short_to_read(hypotheses) and all(entailed(c, facts, clauses) for c in hypotheses)


def _are_short_to_read(clauses: Sequence[Clause]) -> bool:
    """Return whether every hypothesis is short to read: no predicate inside, no power of a sum, no loop, no guard."""
    return all(
        not c.guards and not any(isinstance(a, Pred | Base | Rec) for x in c.alternatives for a in deep_atoms(x.poly))
        for c in clauses
    )


def _attempt(problem: Problem, kind: str, domain: list[Clause]) -> Outcome:
    """Return what one attempt at an obligation gives under these assumptions: its hypotheses, or the reason and the
    residue.

    The steps: differentiate, collect the conditions of both sides, reduce them to hypotheses, and close each pair.
    """
    shapes = problem.array_shapes
    assumed, assumed_clauses = facts_of([*domain, *_defined_in(domain)], shapes)
    facts = problem.facts.extended(assumed)
    if reason := not_followed(problem, kind):
        return Outcome(reason=reason)
    try:
        obligation = _obligation(problem, kind, facts, assumed_clauses)
        if isinstance(obligation, Outcome):
            return obligation
        solvers = [c for c in obligation.conditions if of_solver(c)]
        conditions = [c for c in obligation.conditions if not of_solver(c)]
        conditions += problem.also if kind == "jvp_is_derivative" else []
        needed = _undischarged_conditions(conditions, facts, assumed_clauses, shapes, domain, _ranges(problem, kind))
        asked = minimal(needed, facts, shapes)
        if reason := _why_no_hypotheses(problem, asked, solvers):
            return Outcome(reason=reason)
        more, others = facts_of(asked, shapes)
        region = Region(facts.extended([*more, *of_entries(more)]), (*assumed_clauses, *others))
        one_each = without_repeated(asked, region, shapes)
        reduced = minimal(_in_company(by_region(one_each, facts, shapes), facts, shapes), facts, shapes)
        hypotheses, reach = _merged_hypotheses([*domain, *solvers, *reduced], needed, facts, problem, kind)
        relations: dict[str, None] = {}
        obligation = replace(obligation, once=(*obligation.once, *_unique_maxima(problem, domain)))
        for pair in obligation.pairs:
            closing = _closing(problem, kind, obligation, pair, region, bool(domain))
            residue = closing.residue()
            relations |= dict.fromkeys(wording.present.show_relation(*r) for r in closing.relations)
            if residue is not None:
                why = _opaque_reason(problem, [closing.raw])
                return Outcome(hypotheses, why or "the two sides differ, or the normal form did not close", *residue)
        if any(c not in domain and _excludes_zeros(c) for c in hypotheses):
            hypotheses = _extended(problem, kind, hypotheses, domain, assumed_clauses, facts)
        return Outcome(hypotheses, relations=list(relations), ranges=reach, tests=problem.tests)
    except UndefinedTermError as error:
        return Outcome(reason=f"a term is undefined at every input: {error}")
    except NoDerivativeError as error:
        return Outcome(reason=f"no derivative of {error}")
    except (UnprovedError, ArithmeticError) as error:
        return Outcome(reason=str(error))


def _obligation(problem: Problem, kind: str, facts: Facts, assumed: tuple[Clause, ...]) -> Obligation | Outcome:
    """Return the pairs of terms that are to be equal, and their conditions; the outcome where the forward has no
    derivative.
    """
    if kind == "jvp_is_derivative" or (kind == "vjp_is_adjoint" and problem.jvp is None):
        derivative = differentiated(problem, facts, assumed)
        if derivative.failure is not None:
            return derivative.failure
        make = derivative_obligation if kind == "jvp_is_derivative" else adjoint_of_derivative_obligation
        return make(problem, derivative)
    if kind == "vjp_is_adjoint":
        return adjoint_obligation(problem)
    return forward_obligation(problem, problem.reference if kind == OF_REFERENCE else problem.primal)


def _why_no_hypotheses(problem: Problem, asked: Sequence[Clause], solvers: Sequence[Clause]) -> str:
    """Return why the conditions that are asked, or those of solvers, cannot be hypotheses on the inputs; else ""."""
    for where in filter(_of_places, asked):
        return _why_nothing_claimed(where)
    free = {*problem.tangents.values(), *problem.seed_names}
    terms = [p for c in asked for p in polys(c)]
    if any(mentions(p, free) for p in terms):
        return "the rule is not defined for every tangent and seed"
    if why := _opaque_reason(problem, terms):  # whether the condition can hold at all is not known
        return why
    if any(not has_one_solution(c) and mentions(p, free) for c in solvers for p in polys(c)):
        return "a tangent or seed stands in an equation that is not linear in what solves it"
    return ""


def _opaque_reason(problem: Problem, terms: Sequence[Poly]) -> str:
    """Return why the first value in the terms that the calculus does not look into is opaque; "" if there is none."""
    return next((problem.opaque[n].reason for n in problem.opaque if any(mentions(p, {n}) for p in terms)), "")


def _merged_hypotheses(
    hypotheses: list[Clause], needed: Sequence[Clause], facts: Facts, problem: Problem, kind: str
) -> tuple[list[Clause], dict[Var, Poly]]:
    """Return the hypotheses, those of all places of an axis as one, and how far their index variables run.

    A variable that runs farther in a condition of `needed` than in the hypothesis that implies it has no range.
    """
    shapes = problem.array_shapes
    reach = _ranges(problem, kind) | _extents([*hypotheses, *needed])
    whole, _, _ = by_place(hypotheses, reach, shapes)
    if len(whole) < len(hypotheses):
        # In those that others imply an index may run farther: their parts are asked for as well.
        _, parts, further = by_place([*hypotheses, *needed], reach, shapes)
        hypotheses = minimal([*whole, *(c for c in parts if not discharged(c, facts))], facts, shapes)
        reach |= further
    for clause in whole:
        if any(_farther(other, clause, reach) for other in needed):
            reach = {v: n for v, n in reach.items() if v not in beyond_axes(clause)}
    return hypotheses, reach


def _closing(
    problem: Problem,
    kind: str,
    obligation: Obligation,
    pair: tuple[Poly, Poly, tuple[Poly, ...]],
    region: Region,
    declared: bool,
) -> Closing:
    """Return the search that closes a pair of terms in the region; `declared`: a domain is among what is assumed."""
    left, right, shape = pair
    ranges = {template(k): n for k, n in enumerate(shape)}
    place = Indices(ranges, facts=region.facts, clauses=region.clauses)
    if declared and obligation.once:  # the domain may decide over which values maxima are taken
        left, right = (by_rules(resolved(side, place), place) for side in (left, right))
    left, right = (split_products(decide_max_comparisons(side, place, obligation.once)) for side in (left, right))
    left, right = (_with_places(side, place) for side in (left, right))
    if obligation.derivative:
        right = sided(right, region.facts, problem.tangents)
    tangents, seeds, adjoint = [*problem.tangents.values()], problem.seed_names, kind == "vjp_is_adjoint"
    families = ([set(tangents)] if kind not in OF_VALUES else []) + ([set(seeds)] if adjoint else [])
    return Closing(left - right, region.over(ranges), problem, families, tangents if adjoint else None)


def _defined_in(domain: Iterable[Clause]) -> Iterator[Clause]:
    """Yield the conditions under which terms of the domain are defined, as its conditions imply: √x ≥ 0 implies
    x ≥ 0.
    """
    for clause in domain:
        if len(clause.alternatives) == 1 and not clause.guards:
            yield from defined_in(clause.alternatives[0].poly)


def _excludes_zeros(clause: Clause) -> bool:
    return not clause.guards and [a.relation for a in clause.alternatives] == ["!= 0"]


def _extended(
    problem: Problem,
    kind: str,
    hypotheses: list[Clause],
    domain: list[Clause],
    assumed: tuple[Clause, ...],
    facts: Facts,
) -> list[Clause]:
    """Return the hypotheses without those that exclude only points to which the claim extends."""
    excluded = package.excluded
    excluding = [c for c in hypotheses if c not in domain and _excludes_zeros(c) and excluded.thin(c, problem)]
    if not excluding:
        return hypotheses
    shapes, sides = problem.array_shapes, _sides(problem, kind)
    ranges = _ranges(problem, kind)
    defined = _undischarged_conditions(
        merge_clauses(*map(defined_everywhere, sides)), facts, assumed, shapes, domain, ranges
    )
    regions = by_region(minimal(simplified(defined, facts), facts, shapes), facts, shapes)
    inside = [c for c in hypotheses if c not in excluding]
    return inside if excluded.extends(inside, regions, sides, problem, facts) else hypotheses


def _with_places(poly: Poly, indices: Indices) -> Poly:
    """Return the term rewritten by `laws.thresholds`, if it has conditions."""
    return laws.thresholds.with_places(poly, indices) if poly.piecewise else poly


def _undischarged_conditions(
    conditions: Iterable[Clause],
    facts: Facts,
    assumed: tuple[Clause, ...],
    shapes: Mapping[str, tuple[Poly, ...]],
    domain: Sequence[Clause],
    ranges: Mapping[Var, Poly],
) -> list[Clause]:
    """Return the conditions that do not follow from the assumptions."""
    region = Region(facts, assumed).over(ranges)
    known = Indices(facts=facts, clauses=assumed, sizes=shapes)
    asked = [c.rewritten(lambda p: _with_places(decide_max_comparisons(p, known), known)) for c in conditions]
    if domain:  # it may decide conditions on integers that stand in the others: t < 2³¹ − 1
        asked = [c.rewritten(lambda p: rounded(resolved(p, known), facts)) for c in asked]
    left = (c for c in settle(asked, facts) if not attained(c) and not entailed(c, facts, assumed))
    left = (c for c in left if not _counts_a_place(c, region) and not _asked_nowhere(c, region))
    return [c for c in simplified(left, facts) if not _sums_a_place(c, known)]


def _sums_a_place(clause: Clause, known: Indices) -> bool:
    """Return whether a clause says that a sum of positive numbers over some places is not 0, and one such place
    exists.
    """
    (a, *others) = clause.alternatives
    total = a.poly.atom()
    if others or a.relation not in ("> 0", "!= 0") or not isinstance(total, Sum):
        return False
    conditions = tuple(factor for factor in total.body if type(factor[0]) in INDEX_PREDICATES)
    summed = monomial({b: e for b, e in total.body if type(b) not in INDEX_PREDICATES})
    places = intern(Sum(total.vars, total.ranges, conditions)) if conditions else None
    return places is not None and known.facts.signs(summed) == POS and some_place(poly_of(places), known)


def _counts_a_place(clause: Clause, region: Region) -> bool:
    """Return whether a clause says that a count of places is not 0, and one such place exists."""
    (a, *others), known = clause.alternatives, guard_facts(clause.guards)
    if others or not clause.guards or a.relation not in ("> 0", "!= 0") or not known:
        return False
    try:
        count = decide_predicates(a.poly, region.facts.extended(known))
    except UndefinedTermError:
        return False
    if not laws.counts.is_count(count):
        return False
    fails = ONE - pred(count) - (pred(-count) if a.relation == "!= 0" else ZERO)
    return nonzero_part(fails * _where_asked(clause), region) is None


def _asked_nowhere(clause: Clause, region: Region) -> bool:
    """Return whether the integers at which a condition applies are impossible under the assumptions."""
    conditions = [a for g, _ in clause.guards for a in atoms_of(g) if isinstance(a, (IxPred, IxEq))]
    return any(by_entries(a.ix) for a in conditions) and nonzero_part(_where_asked(clause), region) is None


def _where_asked(clause: Clause) -> Poly:
    """Return the 0/1-valued term that is 1 where all guards have their values."""
    where = ONE
    for guard, value in clause.guards:
        where = where * (guard if value else ONE - guard)
    return where


def _sides(problem: Problem, kind: str) -> list[Tensor]:
    """The tensors that a claim is about."""
    if kind == "jvp_is_derivative":
        return [*problem.forward, *(problem.jvp or ())]
    if kind == "vjp_is_adjoint":
        return [*(problem.jvp or problem.forward), *problem.vjp]
    return [*problem.forward, *((problem.reference if kind == OF_REFERENCE else problem.primal) or ())]


def _unique_maxima(problem: Problem, domain: Sequence[Clause]) -> list[Unique]:
    """The maxima over entries that the domain says are attained once, at each place of a result."""
    ranges = dict(pair for t in problem.forward for pair in t.variables) if len(problem.forward) == 1 else {}
    ranges |= _extents(domain)
    return [u for c in domain if (a := sole_maximum(c)) is not None and (u := unique(a, ranges)) is not None]


_WHERE = {
    IN_RANGE: "an index that is not shown to lie in its axis",
    UNDEFINED_EVERYWHERE[0].origin: "an entry is undefined whatever the input is",
}


def _of_places(clause: Clause) -> bool:
    """Return whether the clause is about places alone: true for all inputs or for none, it must be shown and is no
    hypothesis.
    """
    atoms = [a for p in polys(clause) for a in atoms_of(p)]
    data = any(tensors_in(a) or (isinstance(a, INDEX_PREDICATES) and by_entries(a.ix)) for a in atoms)
    return not data and (bool(clause.free) or _holds_nowhere(clause))


def _holds_nowhere(clause: Clause) -> bool:
    return not clause.guards and clause.alternatives == UNDEFINED_EVERYWHERE[0].alternatives


def _why_nothing_claimed(clause: Clause) -> str:
    """Return why nothing is claimed where a condition on places is not shown."""
    other = clause.origin if _holds_nowhere(clause) else f"a condition on places that is not shown: {clause.origin}"
    return _WHERE.get(clause.origin, other)


def _ranges(problem: Problem, kind: str) -> dict[Var, Poly]:
    """The sizes of the axes that template variables number in the programs of a claim, where they agree."""
    pulled_back = [problem.inputs[k] for k in problem.differentiable] if kind == "vjp_is_adjoint" else []
    sizes: dict[Var, set[Poly]] = {}
    for v, n in (pair for t in (*problem.forward, *pulled_back) for pair in t.variables):
        sizes.setdefault(v, set()).add(n)
    return {v: found.pop() for v, found in sizes.items() if len(found) == 1}


def _extents(clauses: Iterable[Clause]) -> dict[Var, Poly]:
    """The ranges of indices in conditions, where a clause is required at all their values."""
    return {v: n for c in clauses for v in beyond_axes(c) if (n := EXTENTS.table.get(v)) is not None}


def _farther(other: Clause, clause: Clause, reach: Mapping[Var, Poly]) -> bool:
    """Return whether an index of a clause that may be implied runs over another range than those of the clause that is
    listed.
    """
    tensors, others = ({t for p in polys(c) for a in atoms_of(p) for t in tensors_in(a)} for c in (clause, other))
    here, there = ({reach[v].key for v in beyond_axes(c) if v in reach} for c in (clause, other))
    return bool(tensors & others) and bool(beyond_axes(clause)) and not there <= here


def not_followed(problem: Problem, kind: str) -> str:
    """Return why an obligation cannot be stated: an opaque value depends on a tangent or a seed; "" if none does."""
    rules = [*(problem.jvp or ()), *problem.vjp] if kind not in OF_VALUES else []
    free = {*problem.tangents.values(), *problem.seed_names}
    names = (n for n in sorted(_opaque_in(problem, rules)) if problem.opaque[n].tensors & free)
    return next((problem.opaque[n].reason for n in names), "")


def _opaque_in(problem: Problem, tensors: Iterable[Tensor]) -> set[str]:
    if not problem.opaque:
        return set()
    found = [p for t in tensors for p in (t.body, t.kept, *(q for c in (*t.defined, *t.smooth) for q in polys(c)))]
    return {n for p in found for a in atoms_of(p) for n in tensors_in(a) if n in problem.opaque}


def _in_company(clauses: Sequence[Clause], facts: Facts, shapes: Shapes) -> list[Clause]:
    """Return each clause simplified under the others: beside x > 0, x² > 1 is x > 1. Together they say the same."""
    kept = list(clauses)
    for clause in clauses:
        if clause.guards or len(clause.alternatives) > 1:  # a region, which is worded as it is
            continue
        others = [c for c in kept if c is not clause]
        found = simplified([clause], facts.extended(facts_of(others, shapes)[0]))
        if sum(len(c.key) for c in found) < len(clause.key):
            kept = [d for c in kept for d in (found if c is clause else (c,))]
    return kept


def minimal(clauses: Sequence[Clause], facts: Facts, shapes: Shapes) -> list[Clause]:
    """Return the clauses that do not follow from the others."""
    kept = list(dict.fromkeys(clauses))
    for clause in sorted(kept, key=lambda c: -len(c.key)):
        others = [c for c in kept if c is not clause]
        more, rest = facts_of(others, shapes)
        context = facts.extended(more)
        if discharged(clause, context) or entailed(clause, context, rest):
            kept = others
    return kept
