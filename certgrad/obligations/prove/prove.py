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
    """Return the outcome of the proof of an obligation, tried without the declared domain first, and then with it.

    A proof without the domain has its own hypotheses. It stands if they are short and follow from the domain, or if
    there is no proof with the domain. If neither is a proof, the outcome is that with the domain.
    """
    outcome = _attempt(problem, kind, [])
    if not problem.domain or (outcome.proved and _within_domain(outcome.hypotheses, problem)):
        return outcome
    assuming = _attempt(problem, kind, problem.domain)
    if assuming.proved:
        return assuming
    return outcome if outcome.proved else assuming


def _within_domain(hypotheses: Sequence[Clause], problem: Problem) -> bool:
    """Return whether the hypotheses are short to read and follow from the declared domain.

    A claim under them says more than one under the domain.
    """
    signs, clauses = facts_of(problem.domain, problem.array_shapes)
    facts = problem.facts.extended(signs)
    return _are_short_to_read(hypotheses) and all(entailed(c, facts, clauses) for c in hypotheses)


def _are_short_to_read(clauses: Sequence[Clause]) -> bool:
    """Return whether every hypothesis is short to read: no predicate inside, no power of a sum, no loop, no guard."""
    return all(
        not c.guards and not any(isinstance(a, Pred | Base | Rec) for x in c.alternatives for a in deep_atoms(x.poly))
        for c in clauses
    )


def _attempt(problem: Problem, kind: str, domain: list[Clause]) -> Outcome:
    """Return the outcome of one attempt at an obligation in which the clauses of `domain` are assumed.

    The steps: state both sides as pairs of terms, with the forward differentiated where the obligation needs it;
    collect the conditions under which they make sense; drop those that follow from the assumptions; show that each pair
    is equal where the others hold; leave out hypotheses p ≠ 0 across which the proved claim extends by continuity. The
    outcome has the conditions that are left as hypotheses, in a shorter wording. If a step fails, it has a reason, and
    what is left of the difference of a pair that did not close.
    """
    shapes = problem.array_shapes
    signs, assumed_clauses = facts_of([*domain, *_defined_in(domain)], shapes)
    facts = problem.facts.extended(signs)
    if reason := not_followed(problem, kind):
        return Outcome(reason=reason)
    try:
        obligation = _obligation(problem, kind, facts, assumed_clauses)
        if isinstance(obligation, Outcome):
            return obligation
        # The equation of a solver is a hypothesis as it stands: nothing below rewrites it.
        solvers = [c for c in obligation.conditions if of_solver(c)]
        conditions = [c for c in obligation.conditions if not of_solver(c)]
        conditions += problem.also if kind == "jvp_is_derivative" else []
        needed = _undischarged_conditions(conditions, facts, assumed_clauses, shapes, domain, _ranges(problem, kind))
        conditions_left = minimal(needed, facts, shapes)
        if reason := _why_no_hypotheses(problem, conditions_left, solvers):
            return Outcome(reason=reason)
        signs_left, clauses_left = facts_of(conditions_left, shapes)
        region = Region(facts.extended([*signs_left, *of_entries(signs_left)]), (*assumed_clauses, *clauses_left))
        # The proof uses the conditions as they came; the certificate lists a shorter wording that says the same.
        distinct = without_repeated(conditions_left, region, shapes)
        reduced = minimal(_in_company(by_region(distinct, facts, shapes), facts, shapes), facts, shapes)
        hypotheses, index_ranges = _merged_hypotheses([*domain, *solvers, *reduced], needed, facts, problem, kind)
        relations: dict[str, None] = {}
        obligation = replace(obligation, once=(*obligation.once, *_unique_maxima(problem, domain)))
        for pair in obligation.pairs:
            closing = _closing(problem, kind, obligation, pair, region, bool(domain))
            residue = closing.residue()
            relations |= dict.fromkeys(wording.present.show_relation(*r) for r in closing.relations)
            if residue is not None:
                opaque_reason = _opaque_reason(problem, [closing.raw])
                return Outcome(
                    hypotheses, opaque_reason or "the two sides differ, or the normal form did not close", *residue
                )
        if any(c not in domain and _excludes_zeros(c) for c in hypotheses):
            hypotheses = _extended(problem, kind, hypotheses, domain, assumed_clauses, facts)
        return Outcome(hypotheses, relations=list(relations), ranges=index_ranges, tests=problem.tests)
    except UndefinedTermError as error:
        return Outcome(reason=f"a term is undefined at every input: {error}")
    except NoDerivativeError as error:
        return Outcome(reason=f"no derivative of {error}")
    except (UnprovedError, ArithmeticError) as error:
        return Outcome(reason=str(error))


def _obligation(problem: Problem, kind: str, facts: Facts, assumed: tuple[Clause, ...]) -> Obligation | Outcome:
    """Return the pairs of terms that are to be equal, and their conditions.

    If the forward has no derivative, return the outcome that says why.
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
    """Return why the conditions in `asked`, or the solvers' equations, cannot be hypotheses on the inputs; else ""."""
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
    """Return the hypotheses, reworded array by array where arrays were joined or padded, and their index ranges.

    If `x` and `y` are joined, a condition on the entries of the result becomes one on those of `x` and one on those of
    `y`. A variable has no range in the result if it runs farther in a condition of `needed` than in the hypothesis that
    implies this condition.
    """
    shapes = problem.array_shapes
    ranges = _ranges(problem, kind) | _extents([*hypotheses, *needed])
    whole, _, _ = by_place(hypotheses, ranges, shapes)
    if len(whole) < len(hypotheses):
        # A condition that a whole hypothesis implied may be about more places: its parts are listed as well.
        _, parts, part_ranges = by_place([*hypotheses, *needed], ranges, shapes)
        hypotheses = minimal([*whole, *(c for c in parts if not discharged(c, facts))], facts, shapes)
        ranges |= part_ranges
    for clause in whole:
        if any(_farther(other, clause, ranges) for other in needed):
            ranges = {v: n for v, n in ranges.items() if v not in beyond_axes(clause)}
    return hypotheses, ranges


def _closing(
    problem: Problem,
    kind: str,
    obligation: Obligation,
    pair: tuple[Poly, Poly, tuple[Poly, ...]],
    region: Region,
    declared: bool,
) -> Closing:
    """Return the search for a form in which the difference of a pair of terms vanishes in the region.

    Both terms are brought to a common form before: comparisons with maxima are decided, predicates of products are
    split, and a derivative on a boundary is read from its sides. `declared`: the assumptions include a domain.
    """
    left, right, shape = pair
    ranges = {template(k): n for k, n in enumerate(shape)}
    indices = Indices(ranges, facts=region.facts, clauses=region.clauses)
    if declared and obligation.once:  # the domain may decide over which values maxima are taken
        left, right = (by_rules(resolved(side, indices), indices) for side in (left, right))
    left, right = (split_products(decide_max_comparisons(side, indices, obligation.once)) for side in (left, right))
    left, right = (_with_places(side, indices) for side in (left, right))
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
    """Return whether the clause says p ≠ 0 of one term, at all places."""
    return not clause.guards and [a.relation for a in clause.alternatives] == ["!= 0"]


def _extended(
    problem: Problem,
    kind: str,
    hypotheses: list[Clause],
    domain: list[Clause],
    assumed: tuple[Clause, ...],
    facts: Facts,
) -> list[Clause]:
    """Return the hypotheses without those that exclude only points to which the claim extends, all or none of them.

    Where both sides are continuous, a claim that is proved for p ≠ 0 holds at p = 0 as well (see `excluded`).
    """
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
    kept = [c for c in hypotheses if c not in excluding]
    return kept if excluded.extends(kept, regions, sides, problem, facts) else hypotheses


def _with_places(poly: Poly, indices: Indices) -> Poly:
    """Return the term with conditions on the entries of a sorted axis as conditions on their places in the order."""
    return laws.thresholds.with_places(poly, indices) if poly.piecewise else poly


def _undischarged_conditions(
    conditions: Iterable[Clause],
    facts: Facts,
    assumed: tuple[Clause, ...],
    shapes: Mapping[str, tuple[Poly, ...]],
    domain: Sequence[Clause],
    ranges: Mapping[Var, Poly],
) -> list[Clause]:
    """Return the conditions that do not follow from the assumptions, simplified.

    The assumptions are `facts`, the signs of terms, and `assumed`, the other clauses; `ranges` are those of indices.
    """
    region = Region(facts, assumed).over(ranges)
    indices = Indices(facts=facts, clauses=assumed, sizes=shapes)
    rewritten = [c.rewritten(lambda p: _with_places(decide_max_comparisons(p, indices), indices)) for c in conditions]
    if domain:  # it may decide conditions on integers inside the terms: t < 2³¹ − 1
        rewritten = [c.rewritten(lambda p: rounded(resolved(p, indices), facts)) for c in rewritten]
    left = (c for c in settle(rewritten, facts) if not attained(c) and not entailed(c, facts, assumed))
    left = (c for c in left if not _counts_a_place(c, region) and not _asked_nowhere(c, region))
    return [c for c in simplified(left, facts) if not _sums_a_place(c, indices)]


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
    """Return whether a guarded clause n > 0 or n ≠ 0 holds because n counts places and the guards name one of them.

    A place is a choice of indices with a property: where x[i] is kept, the number of kept entries is not 0.
    """
    (a, *others), guard_signs = clause.alternatives, guard_facts(clause.guards)
    if others or not clause.guards or a.relation not in ("> 0", "!= 0") or not guard_signs:
        return False
    try:
        count = decide_predicates(a.poly, region.facts.extended(guard_signs))
    except UndefinedTermError:
        return False
    if not laws.counts.is_count(count):
        return False
    fails = ONE - pred(count) - (pred(-count) if a.relation == "!= 0" else ZERO)
    return nonzero_part(fails * _where_asked(clause), region) is None


def _asked_nowhere(clause: Clause, region: Region) -> bool:
    """Return whether a condition has guards on entries of integers, and these cannot hold under the assumptions."""
    conditions = [a for g, _ in clause.guards for a in atoms_of(g) if isinstance(a, (IxPred, IxEq))]
    return any(by_entries(a.ix) for a in conditions) and nonzero_part(_where_asked(clause), region) is None


def _where_asked(clause: Clause) -> Poly:
    """Return the 0/1-valued term that is 1 where all guards have their values."""
    where = ONE
    for guard, value in clause.guards:
        where = where * (guard if value else ONE - guard)
    return where


def _sides(problem: Problem, kind: str) -> list[Tensor]:
    """Return the tensors that a claim is about: the outputs of the two programs of its obligation."""
    if kind == "jvp_is_derivative":
        return [*problem.forward, *(problem.jvp or ())]
    if kind == "vjp_is_adjoint":
        return [*(problem.jvp or problem.forward), *problem.vjp]
    return [*problem.forward, *((problem.reference if kind == OF_REFERENCE else problem.primal) or ())]


def _unique_maxima(problem: Problem, domain: Sequence[Clause]) -> list[Unique]:
    """Return the maxima over entries that the domain says are attained once, at each place of a result."""
    ranges = dict(pair for t in problem.forward for pair in t.variables) if len(problem.forward) == 1 else {}
    ranges |= _extents(domain)
    return [u for c in domain if (a := sole_maximum(c)) is not None and (u := unique(a, ranges)) is not None]


_WHERE = {
    IN_RANGE: "an index that is not shown to lie in its axis",
    UNDEFINED_EVERYWHERE[0].origin: "an entry is undefined whatever the input is",
}


def _of_places(clause: Clause) -> bool:
    """Return whether the clause is about places of arrays alone, whatever their entries are.

    Such a clause is true for all inputs or for none, so that it must be shown and cannot be a hypothesis.
    """
    atoms = [a for p in polys(clause) for a in atoms_of(p)]
    data = any(tensors_in(a) or (isinstance(a, INDEX_PREDICATES) and by_entries(a.ix)) for a in atoms)
    return not data and (bool(clause.free) or _holds_nowhere(clause))


def _holds_nowhere(clause: Clause) -> bool:
    """Return whether the clause says that an entry is undefined whatever the input is."""
    return not clause.guards and clause.alternatives == UNDEFINED_EVERYWHERE[0].alternatives


def _why_nothing_claimed(clause: Clause) -> str:
    """Return the reason that an outcome gives if a condition on places is not shown."""
    general = clause.origin if _holds_nowhere(clause) else f"a condition on places that is not shown: {clause.origin}"
    return _WHERE.get(clause.origin, general)


def _ranges(problem: Problem, kind: str) -> dict[Var, Poly]:
    """Return the range of each template variable t0, t1, …: the size of the axis that it numbers.

    A variable has no range if the programs of the claim have axes of several sizes at its position.
    """
    pulled_back = [problem.inputs[k] for k in problem.differentiable] if kind == "vjp_is_adjoint" else []
    sizes: dict[Var, set[Poly]] = {}
    for v, n in (pair for t in (*problem.forward, *pulled_back) for pair in t.variables):
        sizes.setdefault(v, set()).add(n)
    return {v: several.pop() for v, several in sizes.items() if len(several) == 1}


def _extents(clauses: Iterable[Clause]) -> dict[Var, Poly]:
    """Return the ranges of the indices on which the clauses have conditions, where these ranges are known."""
    return {v: n for c in clauses for v in beyond_axes(c) if (n := EXTENTS.table.get(v)) is not None}


def _farther(other: Clause, clause: Clause, reach: Mapping[Var, Poly]) -> bool:
    """Return whether an index of `other` runs over a range that no index of the listed `clause` has.

    False if the two clauses read no tensor in common, so that the one does not imply the other.
    """
    tensors, other_tensors = (
        {t for p in polys(c) for a in atoms_of(p) for t in tensors_in(a)} for c in (clause, other)
    )
    listed_ranges, other_ranges = ({reach[v].key for v in beyond_axes(c) if v in reach} for c in (clause, other))
    return bool(tensors & other_tensors) and bool(beyond_axes(clause)) and not other_ranges <= listed_ranges


def not_followed(problem: Problem, kind: str) -> str:
    """Return why an obligation cannot be stated; "" if it can.

    It cannot if a value that the calculus does not look into depends on a tangent or a seed.
    """
    rules = [*(problem.jvp or ()), *problem.vjp] if kind not in OF_VALUES else []
    free = {*problem.tangents.values(), *problem.seed_names}
    names = (n for n in sorted(_opaque_in(problem, rules)) if problem.opaque[n].tensors & free)
    return next((problem.opaque[n].reason for n in names), "")


def _opaque_in(problem: Problem, tensors: Iterable[Tensor]) -> set[str]:
    """Return the names of the opaque values in the terms and conditions of the tensors."""
    if not problem.opaque:
        return set()
    terms = [p for t in tensors for p in (t.body, t.kept, *(q for c in (*t.defined, *t.smooth) for q in polys(c)))]
    return {n for p in terms for a in atoms_of(p) for n in tensors_in(a) if n in problem.opaque}


def _in_company(clauses: Sequence[Clause], facts: Facts, shapes: Shapes) -> list[Clause]:
    """Return the clauses, each simplified under the others if that is shorter: beside x > 0, x² > 1 is x > 1."""
    kept = list(clauses)
    for clause in clauses:
        if clause.guards or len(clause.alternatives) > 1:  # a region, which is worded as it is
            continue
        others = [c for c in kept if c is not clause]
        shorter = simplified([clause], facts.extended(facts_of(others, shapes)[0]))
        if sum(len(c.key) for c in shorter) < len(clause.key):
            kept = [d for c in kept for d in (shorter if c is clause else (c,))]
    return kept


def minimal(clauses: Sequence[Clause], facts: Facts, shapes: Shapes) -> list[Clause]:
    """Return the clauses that do not follow from the others."""
    kept = list(dict.fromkeys(clauses))
    for clause in sorted(kept, key=lambda c: -len(c.key)):
        others = [c for c in kept if c is not clause]
        signs, other_clauses = facts_of(others, shapes)
        extended = facts.extended(signs)
        if discharged(clause, extended) or entailed(clause, extended, other_clauses):
            kept = others
    return kept
