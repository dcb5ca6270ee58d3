"""The three obligations of a rule, as terms that must vanish, and their proofs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from certgrad._subject import OF_REFERENCE
from certgrad.obligations.assume.by_region import by_region, off_flat_parts
from certgrad.obligations.assume.conditions import (
    EXIT,
    IN_RANGE,
    UNDEFINED,
    Clause,
    Clauses,
    discharged,
    has_one_solution,
    merged,
    of_solver,
    polys,
)
from certgrad.obligations.assume.decided import rounded
from certgrad.obligations.assume.entailment import entailed
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import Indices, resolved
from certgrad.obligations.assume.signs import ZERO as SIGN_ZERO
from certgrad.obligations.assume.simplify import simplified
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.certificate import OF_VALUES
from certgrad.obligations.decide.cases import Region, facts_of, nonzero_part
from certgrad.obligations.decide.correspondence import Relation, summed, unfolded, written_out
from certgrad.obligations.decide.implicit import solution_forms, without_repeated
from certgrad.obligations.decide.induction import by_induction, oriented
from certgrad.obligations.decide.matrix_forms import vanishes_in_another_form
from certgrad.obligations.decide.pairing import paired, paired_by_coordinates
from certgrad.obligations.decide.products import split_products
from certgrad.obligations.differentiate.derivative import Differentiator, depends, without_stops
from certgrad.obligations.differentiate.seams import seam_hypotheses, steady
from certgrad.obligations.laws.order import Unique, attained, attained_once, ordered, sole_maximum, unique
from certgrad.obligations.laws.recurrences import has_loop
from certgrad.obligations.laws.roots_of_unity import carried_out
from certgrad.obligations.laws.scalar_derivatives import NoDerivativeError
from certgrad.obligations.laws.transposition import NoInvariantError
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.terms.atoms import Access, Base, access
from certgrad.obligations.terms.determined import Rec
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, poly_of
from certgrad.obligations.terms.power import UndefinedTermError, pred, side
from certgrad.obligations.terms.predicates import Pred
from certgrad.obligations.terms.rewriting import Rewriter, substitute
from certgrad.obligations.terms.sums import bounded_above, sum_over
from certgrad.obligations.terms.variables import Var, fresh, template
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, mentions, tensors_in
from certgrad.obligations.wording.present import show_relation

from .problem import Problem


@dataclass
class Outcome:
    """What came of one attempt: a reason and a residual if it failed, else the hypotheses it needs."""

    hypotheses: list[Clause] = field(default_factory=list)
    reason: str = ""
    residual: Poly | None = None
    region: tuple[Fact, ...] = ()
    surrogate: bool = False
    relations: list[str] = field(default_factory=list)
    """Relations between the carries of loops that the proof found and proved by induction."""
    ranges: Mapping[Var, Poly] = field(default_factory=dict)
    """Sizes that the free index variables of the hypotheses stay below, where there is one size only."""
    tests: Mapping[Var, Poly] = field(default_factory=dict)
    """The tests of the loops at whose steps hypotheses are asked, with the variables that number these."""
    alike: bool = False
    """It holds where what both programs compute alike is finite (see `_alike`)."""

    @property
    def proved(self) -> bool:
        return not self.reason


@dataclass
class Obligation:
    """Pairs of terms that must be equal for every value of their indices, and what must hold for them to make sense.

    `derivative` says that the second of each pair is a derivative, whose predicates are read from the sides.
    """

    pairs: list[tuple[Poly, Poly, tuple[Poly, ...]]]
    """The two sides, and the shape of the tensor whose entries they are."""
    conditions: Clauses
    derivative: bool = False
    once: tuple[Unique, ...] = ()
    """The maxima that the conditions say are attained once."""


@dataclass
class Differentiated:
    """The forward's derivative at each output, and what must hold for that; `failure` says why there is none."""

    derivatives: list[Poly] = field(default_factory=list)
    conditions: Clauses = ()
    once: tuple[Unique, ...] = ()
    """The maxima that the conditions say are attained once."""
    failure: Outcome | None = None


def differentiated(problem: Problem, facts: Facts, clauses: tuple[Clause, ...]) -> Differentiated:
    """D(forward) for each output, with the hypotheses of the differentiation."""
    derivatives: list[Poly] = []
    conditions: list[Clauses] = []
    extra: list[Clause] = []
    once: list[Unique] = []
    for out in problem.forward:
        differentiate, derivative = _derivative(out.body, problem, Region(facts, clauses).over(dict(out.variables)))
        ranges = {**differentiate.ranges, **dict(out.variables)}
        extra += [c for a in differentiate.maxima if not discharged(c := attained_once(a), facts)]
        stated = [a for c in out.smooth if (a := sole_maximum(c)) is not None]
        once += [u for a in (*differentiate.maxima, *stated) if (u := unique(a, ranges)) is not None]
        moving = (c for c in out.smooth if (c.origin != "kink" or _moves(c, problem)) and not _steady(c, problem))
        smooth = tuple(off_flat_parts([c.rewritten(without_stops) for c in moving], facts, problem.tangents))
        if problem.smooth_as_it_is(out):
            smooth = ()
        value = split_products(without_stops(out.body))
        known = settle(merged(out.defined, smooth), facts)
        more, others = facts_of(known)
        here = facts.extended(more)
        found = seam_hypotheses(
            value,
            problem.tangents,
            Region(here, (*clauses, *others)),
            tuple(c.rewritten(split_products) for c in smooth),
        )
        extra += _weakest(c for c in found if not entailed(c, here, clauses))
        arbitrary = {n: why for n, why in differentiate.arbitrary.items() if mentions(derivative, {n})}
        for name, why in sorted(arbitrary.items()):
            part = _coefficient_left(derivative, name, Region(here, clauses))
            if part is not None:
                reason = (
                    "the forward's derivative needs that of a maximum"
                    if why == "maximum"
                    else "stop_gradient hides part of the derivative"
                )
                return Differentiated(failure=Outcome([], reason, part, surrogate=why == "stop_gradient"))
        derivatives.append(_without(derivative, set(arbitrary)))
        conditions += [out.defined, smooth]
    return Differentiated(derivatives, merged(*conditions, extra), tuple(once))


def _derivative(body: Poly, problem: Problem, region: Region) -> tuple[Differentiator, Poly]:
    """The derivative, with those maxima differentiated whose arbitrary tangents do not cancel."""
    needed: set[str] = set()
    while True:
        differentiate = Differentiator(problem.tangents, needed)
        derivative = without_stops(differentiate(body))
        maxima = [n for n, why in differentiate.arbitrary.items() if why == "maximum" and mentions(derivative, {n})]
        more = {n for n in maxima if _coefficient_left(derivative, n, region) is not None}
        if more <= needed:  # none, or one that stands in a recurrence
            return differentiate, derivative
        needed |= more


def derivative_obligation(problem: Problem, found: Differentiated) -> Obligation:
    """jvp − D(forward) for each output."""
    assert problem.jvp is not None
    pairs = [
        (tangent.body, derivative, out.shape)
        for out, tangent, derivative in zip(problem.forward, problem.jvp, found.derivatives, strict=True)
    ]
    return Obligation(
        pairs, merged(found.conditions, *(t.defined for t in problem.jvp)), derivative=True, once=found.once
    )


def _weakest(clauses: Iterable[Clause]) -> list[Clause]:
    """Without the clauses whose alternatives include all those of another."""
    kept: list[Clause] = []
    for clause in sorted(clauses, key=lambda c: len(c.alternatives)):
        have = {a.key for a in clause.alternatives}
        if not any(k.guards == clause.guards and {a.key for a in k.alternatives} <= have for k in kept):
            kept.append(clause)
    return kept


def _moves(clause: Clause, problem: Problem) -> bool:
    """The clause is about something that is differentiated: a mask of booleans has no boundary."""
    return any(isinstance(a, Access) and a.tensor in problem.tangents for p in polys(clause) for a in deep_atoms(p))


def _steady(clause: Clause, problem: Problem) -> bool:
    """The clause asks that an integer does not jump which is made of terms that do not move: round(x) < 3 off the jumps
    of round(x), for which there are clauses of their own. A term whose derivative is 0 wherever it has one is locally
    constant there, and so is every function of it.
    """
    if clause.origin != EXIT and not any(a.relation == "not integer" for a in clause.alternatives):
        return False
    d = Differentiator(problem.tangents)
    try:
        return all(d(a.poly).is_zero for a in clause.alternatives)
    except (NoDerivativeError, UndefinedTermError):
        return False


def _without(poly: Poly, tensors: set[str]) -> Poly:
    if not tensors:
        return poly
    return Rewriter(replace=lambda a: ZERO if isinstance(a, Access) and a.tensor in tensors else None)(poly)


def _coefficient_left(poly: Poly, tensor: str, region: Region) -> Poly | None:
    """None where the terms with this tangent cancel."""
    part = poly - _without(poly, {tensor})
    for group, ranges in paired(part, [tensor], []):
        left = nonzero_part(group, region.over(ranges))
        if left is not None:
            return left[0]
    return None


def sided(poly: Poly, facts: Facts, tangents: Mapping[str, str]) -> Poly:
    """A derivative with each predicate that can be on its boundary read from the sides.

    Off p = 0 nothing changes. On p = 0, where no hypothesis excludes it, the derivative is what every side gives; the
    formula itself would give that of the value at the point. A predicate on constants has no sides, nor has one on a
    term that is locally constant: floor(x) = 2 holds on an open set, and what the value is there is what moves.
    """

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Rec):
            return poly_of(a)  # inside loops, every boundary is excluded by a hypothesis
        if isinstance(a, Pred) and depends(a, tangents):
            inner = sided(a.poly, facts, tangents)
            if steady(a.poly, tangents):
                return pred(inner)
            return side(inner) if inner.piecewise or facts.signs(a.poly) & SIGN_ZERO else None
        return None

    return Rewriter(replace=value)(poly) if poly.piecewise else poly


def adjoint_obligation(problem: Problem) -> Obligation:
    """⟨jvp(x, dx), seed⟩ − ⟨dx, vjp(x, seed)⟩."""
    assert problem.jvp is not None
    total = ZERO
    for out, seed in zip(problem.jvp, problem.seeds, strict=True):
        total = total + inner_product(out.body, seed.body, out.shape)
    defined = merged(*(t.defined for t in problem.jvp), *(t.defined for t in problem.vjp))
    return Obligation([(total - _pulled_back(problem), ZERO, ())], defined)


def adjoint_of_derivative_obligation(problem: Problem, found: Differentiated) -> Obligation:
    """⟨dx, vjp(x, seed)⟩ − ⟨D forward(x)·dx, seed⟩, for a rule without a JVP of its own.

    Every hypothesis of the differentiation belongs to the claim.
    """
    total = ZERO
    for derivative, out, seed in zip(found.derivatives, problem.forward, problem.seeds, strict=True):
        total = total + inner_product(derivative, seed.body, out.shape)
    conditions = merged(found.conditions, *(t.defined for t in problem.vjp))
    return Obligation([(_pulled_back(problem), total, ())], conditions, derivative=True, once=found.once)


def _pulled_back(problem: Problem) -> Poly:
    """⟨dx, vjp(x, seed)⟩."""
    total = ZERO
    for k, cotangent in zip(problem.differentiable, problem.vjp, strict=True):
        x = problem.inputs[k]
        dx = access(problem.tangents[problem.names[k]], own_index(x.shape))
        total = total + inner_product(cotangent.body, dx, x.shape)
    return total


def inner_product(a: Poly, b: Poly, shape: tuple[Poly, ...]) -> Poly:
    mapping: dict = {}
    dummies = []
    for k, n in enumerate(shape):
        if n != ONE:
            v = fresh()
            mapping[template(k)] = of_var(v)
            dummies.append((v, n))
    return sum_over(substitute(a, mapping) * substitute(b, mapping), dummies)


def forward_obligation(problem: Problem, other: list[Tensor] | None) -> Obligation:
    """What another program computes (the rule's own primal output, the reference) − forward."""
    if other is None:
        return Obligation([], ())
    pairs = list(zip(other, problem.forward, strict=True))
    bodies = [(p.body, without_stops(f.body), f.shape) for p, f in pairs]
    return Obligation(
        bodies,
        merged(
            *(p.defined for p, _ in pairs), *(tuple(c.rewritten(without_stops) for c in f.defined) for _, f in pairs)
        ),
    )


def settle(clauses: Iterable[Clause], facts: Facts) -> Clauses:
    return tuple(c for c in clauses if not discharged(c, facts))


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
    """The hypotheses are short to read, and follow from the declared domain: they are then better than it."""
    assumed, clauses = facts_of(problem.domain)
    facts = problem.facts.extended(assumed)
    return _plain(hypotheses) and all(entailed(c, facts, clauses) for c in hypotheses)


def _plain(clauses: Sequence[Clause]) -> bool:
    """Every hypothesis is short to read: no predicate inside, no power of a sum, no guard."""
    return all(
        not c.guards and not any(isinstance(a, Pred | Base) for x in c.alternatives for a in deep_atoms(x.poly))
        for c in clauses
    )


def _attempt(problem: Problem, kind: str, domain: list[Clause]) -> Outcome:
    assumed, assumed_clauses = facts_of(domain)
    facts = problem.facts.extended(assumed)
    if reason := _not_followed(problem, kind):
        return Outcome(reason=reason)
    try:
        if kind == "jvp_is_derivative" or (kind == "vjp_is_adjoint" and problem.jvp is None):
            derivative = differentiated(problem, facts, assumed_clauses)
            if derivative.failure is not None:
                return derivative.failure
            make = derivative_obligation if kind == "jvp_is_derivative" else adjoint_of_derivative_obligation
            obligation = make(problem, derivative)
        elif kind == "vjp_is_adjoint":
            obligation = adjoint_obligation(problem)
        else:
            obligation = forward_obligation(problem, problem.reference if kind == OF_REFERENCE else problem.primal)
        solvers = [c for c in obligation.conditions if of_solver(c)]
        conditions = [c for c in obligation.conditions if not of_solver(c)]
        known = Indices(facts=facts, clauses=assumed_clauses)
        asked = [c.rewritten(lambda p: ordered(p, known)) for c in conditions]
        if domain:  # it may decide conditions on integers that stand in the others: t < 2³¹ − 1
            asked = [c.rewritten(lambda p: rounded(resolved(p, known), facts)) for c in asked]
        left = [c for c in settle(asked, facts) if not attained(c) and not entailed(c, facts, assumed_clauses)]
        found = _minimal(simplified(left, facts), facts)
        for where in filter(_of_places, found):
            return Outcome(reason=_WHERE.get(where.origin, f"a condition on places that is not shown: {where.origin}"))
        tangents, seeds, adjoint = [*problem.tangents.values()], problem.seed_names, kind == "vjp_is_adjoint"
        free = {*tangents, *seeds}
        if any(mentions(p, free) for c in found for p in polys(c)):
            return Outcome(reason="the rule is not defined for every tangent and seed")
        unknown = next((n for n in problem.opaque if any(mentions(p, {n}) for c in found for p in polys(c))), None)
        if unknown is not None:  # whether the condition can hold at all is not known
            return Outcome(reason=problem.opaque[unknown].reason)
        if any(not has_one_solution(c) and mentions(p, free) for c in solvers for p in polys(c)):
            return Outcome(reason="a tangent or seed stands in an equation that is not linear in what solves it")
        more, others = facts_of(found)
        region = Region(facts.extended(more), (*assumed_clauses, *others))
        hypotheses = [
            *domain,
            *solvers,
            *_minimal(by_region(without_repeated(found, region, problem.names), facts), facts),
        ]
        families = ([set(tangents)] if kind not in OF_VALUES else []) + ([set(seeds)] if adjoint else [])
        relations: dict[str, None] = {}
        for left_side, right_side, shape in obligation.pairs:
            ranges = {template(k): n for k, n in enumerate(shape)}
            place = Indices(ranges, facts=region.facts, clauses=region.clauses)
            left_side, right_side = (
                ordered(left_side, place, obligation.once),
                ordered(right_side, place, obligation.once),
            )
            left_side, right_side = split_products(left_side), split_products(right_side)
            if obligation.derivative:
                right_side = sided(right_side, region.facts, problem.tangents)
            here = region.over(ranges)
            difference, found_relations = by_induction(left_side - right_side, here, tangents if adjoint else None)
            relations |= dict.fromkeys(show_relation(*r) for r in found_relations)
            residue = _residue(difference, here, families, problem)
            if residue is not None and has_loop(difference):
                residue = _residue(oriented(unfolded(difference, here.indices.ranges)), here, families, problem)
                for further in (summed(difference, here.indices.ranges), written_out(difference)):
                    if residue is not None and further != difference:
                        residue = _residue(further, here, families, problem)
                other = _after_each_step(left_side - right_side, here, tangents) if residue and adjoint else None
                if other is not None:
                    further, found_relations = other
                    residue = _residue(further, here, families, problem)
                    residue = residue and _residue(
                        oriented(unfolded(further, here.indices.ranges)), here, families, problem
                    )
                    relations |= dict.fromkeys(show_relation(*r) for r in found_relations if residue is None)
            if residue is not None:
                for further in solution_forms(difference, here, problem.names):
                    residue = residue and _residue(further, here, families, problem)
            if residue is not None and (further := bounded_above(difference)) != difference:
                residue = _residue(further, here, families, problem)
            if residue is not None:
                return Outcome(hypotheses, "the two sides differ, or the normal form did not close", *residue)
        return Outcome(hypotheses, relations=list(relations), ranges=_ranges(problem, kind), tests=problem.tests)
    except UndefinedTermError as error:
        return Outcome(reason=f"a term is undefined at every input: {error}")
    except NoDerivativeError as error:
        return Outcome(reason=f"no derivative of {error}")
    except (UnprovedError, ArithmeticError) as error:
        return Outcome(reason=str(error))


def _after_each_step(poly: Poly, region: Region, tangents: Sequence[str]) -> tuple[Poly, list[Relation]] | None:
    """The difference with its loops transposed in the second form (see `transposition`), where that serves."""
    try:
        return by_induction(poly, region, tangents, after=True)
    except NoInvariantError:
        return None


_WHERE = {
    IN_RANGE: "an index that is not shown to lie in its axis",
    UNDEFINED[0].origin: "an entry is undefined whatever the input is",
}


def _of_places(clause: Clause) -> bool:
    """It is about places alone, so that it holds of all inputs or of none: no hypothesis, but something to be shown."""
    data = any(tensors_in(a) for p in polys(clause) for a in atoms_of(p))
    return not data and (bool(clause.free) or clause in UNDEFINED)


def _ranges(problem: Problem, kind: str) -> dict[Var, Poly]:
    """The sizes of the axes that template variables number in the programs of a claim, where they agree."""
    pulled_back = [problem.inputs[k] for k in problem.differentiable] if kind == "vjp_is_adjoint" else []
    sizes: dict[Var, set[Poly]] = {}
    for v, n in (pair for t in (*problem.forward, *pulled_back) for pair in t.variables):
        sizes.setdefault(v, set()).add(n)
    return {v: found.pop() for v, found in sizes.items() if len(found) == 1}


def _not_followed(problem: Problem, kind: str) -> str:
    """Why an obligation cannot be stated: a value of which nothing is known would have to be differentiated."""
    rules = [*(problem.jvp or ()), *problem.vjp] if kind not in OF_VALUES else []
    free = {*problem.tangents.values(), *problem.seed_names}
    moving = {problem.names[k] for k in problem.differentiable}
    differentiates = kind == "jvp_is_derivative" or (kind == "vjp_is_adjoint" and problem.jvp is None)
    for tensors, inputs in ((rules, free), (problem.forward if differentiates else [], moving)):
        for name in sorted(_opaque_in(problem, tensors)):
            if problem.opaque[name].tensors & inputs:
                return problem.opaque[name].reason
    return ""


def _opaque_in(problem: Problem, tensors: Iterable[Tensor]) -> set[str]:
    if not problem.opaque:
        return set()
    found = [p for t in tensors for p in (t.body, t.kept, *(q for c in (*t.defined, *t.smooth) for q in polys(c)))]
    return {n for p in found for a in atoms_of(p) for n in tensors_in(a) if n in problem.opaque}


def _residue(
    difference: Poly, region: Region, families: Sequence[set[str]], problem: Problem
) -> tuple[Poly, tuple[Fact, ...]] | None:
    """None where every coefficient of the tangents' and seeds' entries vanishes; else one that is left."""
    if has_loop(difference):
        families = families[:1]  # seeds inside a loop do not show: then only the tangents are read off
    tangents, seeds = [*families, set(), set()][:2]
    groups = paired(difference, sorted(tangents), sorted(seeds))
    left = next((r for g, ranges in groups if (r := _left(g, region.over(ranges))) is not None), None)
    if left is None or not difference.structured:
        return left
    shapes = {problem.tangents[problem.names[k]]: problem.inputs[k].shape for k in problem.differentiable}
    shapes |= {n: t.shape for n, t in zip(problem.seed_names, problem.seeds, strict=True)}
    by_coordinates = paired_by_coordinates(difference, shapes, families)
    return next((r for g, ranges in by_coordinates if (r := _left(g, region.over(ranges))) is not None), None)


def _left(poly: Poly, region: Region) -> tuple[Poly, tuple[Fact, ...]] | None:
    """What does not vanish of a term, its sums and its matrices in other forms where that is needed."""
    left = nonzero_part(poly, region)
    for further in (carried_out(poly, region.indices.ranges), bounded_above(poly)):
        if left is not None and further != poly:
            left = nonzero_part(further, region)
    return None if left is not None and vanishes_in_another_form(poly, region) else left


def _minimal(clauses: Sequence[Clause], facts: Facts) -> list[Clause]:
    """Without the clauses that follow from the others."""
    kept = list(dict.fromkeys(clauses))
    for clause in sorted(kept, key=lambda c: -len(c.key)):
        others = [c for c in kept if c is not clause]
        more, rest = facts_of(others)
        context = facts.extended(more)
        if discharged(clause, context) or entailed(clause, context, rest):
            kept = others
    return kept
