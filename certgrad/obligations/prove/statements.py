"""The obligations of a rule, as pairs of terms that must be equal, with the conditions under which these make sense."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from certgrad.obligations.assume.assumptions import facts_of
from certgrad.obligations.assume.by_place import at_all_places
from certgrad.obligations.assume.by_region import off_flat_parts
from certgrad.obligations.assume.conditions import (
    WHILE_EXIT,
    Clause,
    Clauses,
    discharged,
    merge_clauses,
    polys,
)
from certgrad.obligations.assume.entailment import entailed
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import Indices, resolved
from certgrad.obligations.assume.signs import ZERO as SIGN_ZERO
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.decide.cases import Region, nonzero_part
from certgrad.obligations.decide.pairing import paired
from certgrad.obligations.decide.products import split_products
from certgrad.obligations.differentiate.derivative import Differentiator, depends
from certgrad.obligations.differentiate.seams import seam_hypotheses, steady
from certgrad.obligations.laws.order import Unique, attained_once, sole_maximum, unique
from certgrad.obligations.laws.scalar_derivatives import NoDerivativeError
from certgrad.obligations.terms.atoms import Access, Max, access
from certgrad.obligations.terms.determined import Rec
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, poly_of
from certgrad.obligations.terms.power import UndefinedTermError, pred, side
from certgrad.obligations.terms.predicates import Pred, Sign
from certgrad.obligations.terms.rewriting import Rewriter, substitute, without_stops
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh, template
from certgrad.obligations.terms.walk import deep_atoms, mentions

from .problem import Problem


@dataclass
class Outcome:
    """The result of one attempt at an obligation: its hypotheses; if it failed, a reason and what is left to show.

    `residual` is a part of the difference that is not shown to be 0, and `region` the signs where it is left.
    `surrogate`: a stop_gradient in the forward hides a part of its derivative.
    """

    hypotheses: list[Clause] = field(default_factory=list)
    reason: str = ""
    residual: Poly | None = None
    region: tuple[Fact, ...] = ()
    surrogate: bool = False
    relations: list[str] = field(default_factory=list)
    """Relations between the carries of loops that the proof found and proved by induction."""
    ranges: Mapping[Var, Poly] = field(default_factory=dict)
    """The sizes that free index variables of the hypotheses stay below, for those that have one size only."""
    tests: Mapping[Var, Poly] = field(default_factory=dict)
    """For each loop at whose steps hypotheses are required, its test, by the variable that numbers the steps."""
    alike: bool = False
    """Whether the claim is only about points where values are finite that both programs compute alike.

    (See `generality/alike.py`, also for `idle`.)
    """
    idle: bool = False
    """Whether the claim is only about points where values are finite that the programs multiply by 0."""

    @property
    def proved(self) -> bool:
        return not self.reason


@dataclass
class Obligation:
    """Pairs of terms that must be equal for every value of their indices, and what must hold for them to make sense.

    `derivative` says that the second of each pair is a derivative, whose predicates are read from the sides.
    """

    pairs: list[tuple[Poly, Poly, tuple[Poly, ...]]]
    """For each pair the two sides, and the shape of the tensor whose entries they are."""
    conditions: Clauses
    derivative: bool = False
    once: tuple[Unique, ...] = ()
    """The maxima that the conditions say are attained once."""


@dataclass
class Differentiated:
    """The derivative of the forward at each output, with its conditions; `failure` says why there is none."""

    derivatives: list[Poly] = field(default_factory=list)
    conditions: Clauses = ()
    once: tuple[Unique, ...] = ()
    """The maxima that the conditions say are attained once."""
    failure: Outcome | None = None


def differentiated(problem: Problem, facts: Facts, clauses: tuple[Clause, ...]) -> Differentiated:
    """Return the derivative of the forward for each output, with the conditions of differentiability.

    There are three kinds of conditions: that the program's steps are smooth, that the maxima which are differentiated
    are attained once, and that no predicate in an output is on a seam, where branches meet that do not fit. What
    `stop_gradient` or a tied maximum leaves open has an arbitrary tangent; if one of these does not cancel, there is no
    derivative, and `failure` says so.

    `facts` and `clauses` are the assumptions: signs of terms, and other conditions.
    """
    derivatives: list[Poly] = []
    conditions: list[Clauses] = []
    extra: list[Clause] = []
    once: list[Unique] = []
    for out in problem.forward:
        assumptions = Region(facts, clauses).over(dict(out.variables))
        differentiate, derivative = derivative_of(out.body, problem, partial(_coefficient_left, assumptions))
        ranges = {**differentiate.ranges, **dict(out.variables)}
        # The maxima that are differentiated have to be attained once, unless the assumptions say that they are.
        of_maxima = [c for a in differentiate.maxima if not discharged(c := attained_once(a), facts)]
        once += _unique_maxima(differentiate, out, Indices(ranges, facts=facts, clauses=clauses))
        smooth = _smooth(out, problem, facts)
        off_seams = _off_seams(out, problem, smooth, assumptions, ranges)
        once += off_seams.once
        # An arbitrary tangent has to cancel off the seams only: a stopped value may stand on a seam alone.
        arbitrary = {n: why for n, why in differentiate.arbitrary.items() if mentions(derivative, {n})}
        failure = _not_cancelled(derivative, arbitrary, off_seams.region)
        if failure is not None:
            return Differentiated(failure=failure)
        derivatives.append(_without(derivative, set(arbitrary)))  # they cancel, so that 0 may stand for them
        conditions += [at_all_places(out.defined, out.variables), at_all_places(smooth, out.variables)]
        # The conditions of this output get names for its indices of their own, as other outputs have other sizes.
        extra += at_all_places([*of_maxima, *off_seams.conditions], out.variables)
    return Differentiated(derivatives, merge_clauses(*conditions, extra), tuple(once))


def _unique_maxima(differentiate: Differentiator, out: Tensor, indices: Indices) -> list[Unique]:
    """Return the maxima of an output that are attained once, in each form in which later terms may have them.

    The forms: as differentiated, as the program's conditions state them, and with their index conditions decided.
    """
    stated = [a for c in out.smooth if (a := sole_maximum(c)) is not None]
    decided = [b for a in differentiate.maxima if isinstance(b := resolved(poly_of(a), indices).atom(), Max)]
    forms = (*differentiate.maxima, *stated, *decided)
    return [u for a in forms if (u := unique(a, indices.ranges)) is not None]


def _smooth(out: Tensor, problem: Problem, facts: Facts) -> Clauses:
    """Return the conditions that the program's steps to an output are smooth, of those that its derivative needs.

    A kink of a term that does not move, or a jump of a locally constant one, makes no condition.
    """
    moving = (c for c in out.smooth if (c.origin != "kink" or _moves(c, problem)) and not _steady(c, problem))
    smooth = tuple(off_flat_parts([c.rewritten(without_stops) for c in moving], facts, problem.tangents))
    return () if problem.smooth_as_it_is(out) else smooth


@dataclass(frozen=True)
class _OffSeams:
    """What keeps the predicates in an output off the seams, where branches meet that do not fit."""

    conditions: list[Clause]
    """Those that follow neither from the output's other conditions nor from each other."""
    once: list[Unique]
    """The maxima that they say are attained once."""
    region: Region
    """Where all conditions of the output hold, these and the others."""


def _off_seams(
    out: Tensor, problem: Problem, smooth: Clauses, assumptions: Region, ranges: Mapping[Var, Poly]
) -> _OffSeams:
    """Return the conditions that no predicate in an output is on a seam, and where they hold.

    Seams are looked for where the output is defined and `smooth`: many of them lie outside. `ranges` are those of the
    index variables of the output and its derivative.
    """
    facts, clauses = assumptions.facts, assumptions.clauses
    value = split_products(without_stops(out.body))
    other_conditions = settle(merge_clauses(out.defined, smooth), facts)
    signs, others = facts_of(other_conditions, problem.array_shapes)
    facts_inside = facts.extended(signs)
    seam_clauses = seam_hypotheses(
        value,
        problem.tangents,
        replace(assumptions, facts=facts_inside, clauses=(*clauses, *others)),
        tuple(c.rewritten(split_products) for c in smooth),
    )
    conditions = _weakest(c for c in seam_clauses if not entailed(c, facts_inside, clauses))
    once = [u for c in seam_clauses if (a := sole_maximum(c)) and (u := unique(a, ranges)) is not None]
    all_conditions = settle(merge_clauses(other_conditions, tuple(seam_clauses)), facts)
    signs, others = facts_of(all_conditions, problem.array_shapes)
    return _OffSeams(conditions, once, Region(facts.extended(signs), (*clauses, *others)))


def _not_cancelled(derivative: Poly, arbitrary: Mapping[str, str], region: Region) -> Outcome | None:
    """Return the failure of a derivative in which an arbitrary tangent does not cancel in the region; else None.

    `arbitrary` says by the name of the tangent what left it open: "maximum" or "stop_gradient".
    """
    for name, why in sorted(arbitrary.items()):
        part = _coefficient_left(region, derivative, name)
        if part is not None:
            reason = (
                "the forward's derivative needs that of a maximum"
                if why == "maximum"
                else "stop_gradient hides part of the derivative"
            )
            return Outcome([], reason, part, surrogate=why == "stop_gradient")
    return None


def derivative_of(
    body: Poly, problem: Problem, left: Callable[[Poly, str], Poly | None] = lambda found, name: found
) -> tuple[Differentiator, Poly]:
    """Return the derivative of a term, and the differentiator that made it.

    Each maximum first gets an arbitrary tangent. If that does not cancel (`left` returns a term), the maximum is taken
    to be attained once and differentiated as the entry that attains it.
    """
    needed: set[str] = set()
    while True:
        differentiate = Differentiator(problem.tangents, needed)
        derivative = without_stops(differentiate(body))
        maxima = [n for n, why in differentiate.arbitrary.items() if why == "maximum" and mentions(derivative, {n})]
        not_cancelled = {n for n in maxima if left(derivative, n) is not None}
        if not_cancelled <= needed:  # none, or one that stands in a recurrence
            return differentiate, derivative
        needed |= not_cancelled


def derivative_obligation(problem: Problem, found: Differentiated) -> Obligation:
    """Return the obligation that the JVP of each output is its derivative, with the conditions of both sides."""
    assert problem.jvp is not None
    pairs = [
        (tangent.body, derivative, out.shape)
        for out, tangent, derivative in zip(problem.forward, problem.jvp, found.derivatives, strict=True)
    ]
    return Obligation(
        pairs, merge_clauses(found.conditions, *map(defined_everywhere, problem.jvp)), derivative=True, once=found.once
    )


def _weakest(clauses: Iterable[Clause]) -> list[Clause]:
    """Return the clauses without those that follow from another one because they have all its alternatives."""
    kept: list[Clause] = []
    for clause in sorted(clauses, key=lambda c: len(c.alternatives)):
        have = {a.key for a in clause.alternatives}
        if not any(k.guards == clause.guards and {a.key for a in k.alternatives} <= have for k in kept):
            kept.append(clause)
    return kept


def _moves(clause: Clause, problem: Problem) -> bool:
    """Return whether the clause is about something that is differentiated: a mask of booleans has no boundary."""
    return any(isinstance(a, Access) and a.tensor in problem.tangents for p in polys(clause) for a in deep_atoms(p))


def _steady(clause: Clause, problem: Problem) -> bool:
    """Return whether the clause says that an integer does not jump, and the integer is made of locally constant terms.

    Other clauses say that round(x) is off its jumps; between these, round(x) < 3 needs no clause. A term whose
    derivative is 0 wherever it exists is locally constant there, and so is every function of it.
    """
    if clause.origin != WHILE_EXIT and not any(a.relation == "not integer" for a in clause.alternatives):
        return False
    d = Differentiator(problem.tangents)
    try:
        return all(d(a.poly).is_zero for a in clause.alternatives)
    except (NoDerivativeError, UndefinedTermError):
        return False


def _without(poly: Poly, tensors: set[str]) -> Poly:
    """Return the term with 0 for each entry of these tensors."""
    if not tensors:
        return poly
    return Rewriter(replace=lambda a: ZERO if isinstance(a, Access) and a.tensor in tensors else None)(poly)


def _coefficient_left(region: Region, poly: Poly, tensor: str) -> Poly | None:
    """Return None if the summands with this tangent cancel in the region; else what is left of one coefficient."""
    part = poly - _without(poly, {tensor})
    for group, ranges in paired(part, [tensor], []):
        left = nonzero_part(group, region.over(ranges))
        if left is not None:
            return left[0]
    return None


def sided(poly: Poly, facts: Facts, tangents: Mapping[str, str]) -> Poly:
    """Return a derivative with each predicate that may be on its boundary replaced by its value on either side.

    Where p ≠ 0, a predicate [p > 0] keeps its value. On p = 0, where no hypothesis excludes it, every side gives the
    same derivative; the predicate itself would choose the branch of the point alone. A predicate on constants has no
    sides, nor one on a locally constant term: floor(x) = 2 holds on an open set.
    """

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Rec):
            return poly_of(a)  # on a boundary inside that no hypothesis excludes, a step is right as it is written
        if isinstance(a, Pred) and depends(a, tangents):
            inner = sided(a.poly, facts, tangents)
            if steady(a.poly, tangents):
                return pred(inner)
            moves = any(isinstance(b, Sign) for b in deep_atoms(inner))  # and not conditions on indices alone
            return side(inner) if moves or facts.signs(a.poly) & SIGN_ZERO else None
        return None

    return Rewriter(replace=value)(poly) if poly.piecewise else poly


def adjoint_obligation(problem: Problem) -> Obligation:
    """Return the obligation ⟨jvp(x, dx), seed⟩ − ⟨dx, vjp(x, seed)⟩ = 0, with the conditions of both rules."""
    assert problem.jvp is not None
    pushed = pushed_forward(problem, [t.body for t in problem.jvp])
    defined = merge_clauses(*map(defined_everywhere, problem.jvp), *map(defined_everywhere, problem.vjp))
    return Obligation([(pushed - pulled_back(problem), ZERO, ())], defined)


def adjoint_of_derivative_obligation(problem: Problem, found: Differentiated) -> Obligation:
    """Return the obligation ⟨dx, vjp(x, seed)⟩ = ⟨D forward(x)·dx, seed⟩, for a rule without a JVP of its own.

    Its conditions include all those of the differentiation.
    """
    pushed = pushed_forward(problem, found.derivatives)
    conditions = merge_clauses(found.conditions, *map(defined_everywhere, problem.vjp))
    return Obligation([(pulled_back(problem), pushed, ())], conditions, derivative=True, once=found.once)


def pushed_forward(problem: Problem, tangents: Sequence[Poly]) -> Poly:
    """Return ⟨dy, seed⟩, the sum over all outputs, where `tangents` are their tangents dy."""
    total = ZERO
    for tangent, seed in zip(tangents, problem.seeds, strict=True):
        total = total + _inner_product(tangent, seed.body, seed.shape)
    return total


def pulled_back(problem: Problem) -> Poly:
    """Return ⟨dx, vjp(x, seed)⟩, the sum over all active arguments x."""
    total = ZERO
    for k, cotangent in zip(problem.differentiable, problem.vjp, strict=True):
        x = problem.inputs[k]
        dx = access(problem.tangents[problem.names[k]], own_index(x.shape))
        total = total + _inner_product(cotangent.body, dx, x.shape)
    return total


def _inner_product(a: Poly, b: Poly, shape: tuple[Poly, ...]) -> Poly:
    """Return the sum of a·b over all entries of two tensors of this shape."""
    mapping: dict = {}
    dummies = []
    for k, n in enumerate(shape):
        if n != ONE:
            v = fresh()
            mapping[template(k)] = of_var(v)
            dummies.append((v, n))
    return sum_over(substitute(a, mapping) * substitute(b, mapping), dummies)


def forward_obligation(problem: Problem, other: list[Tensor] | None) -> Obligation:
    """Return the obligation that another program (the rule's own primal output, the reference) computes the forward.

    It is empty if there is no other program.
    """
    if other is None:
        return Obligation([], ())
    pairs = list(zip(other, problem.forward, strict=True))
    bodies = [(p.body, without_stops(f.body), f.shape) for p, f in pairs]
    return Obligation(
        bodies,
        merge_clauses(
            *(defined_everywhere(p) for p, _ in pairs),
            *(tuple(c.rewritten(without_stops) for c in defined_everywhere(f)) for _, f in pairs),
        ),
    )


def defined_everywhere(out: Tensor) -> Clauses:
    """Return the conditions that all entries of an output are defined."""
    return at_all_places(out.defined, out.variables)


def settle(clauses: Iterable[Clause], facts: Facts) -> Clauses:
    """Return the clauses that the facts do not imply."""
    return tuple(c for c in clauses if not discharged(c, facts))
