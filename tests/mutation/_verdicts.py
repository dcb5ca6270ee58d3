"""What certgrad says of a mutant, and whether it may say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from flint import arb, fmpq

from certgrad.errors import RuleError, TraceError
from certgrad.language.arithmetic import UnfitError
from certgrad.language.tree import Statement
from certgrad.obligations import audit
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.auditing.witnesses import search
from certgrad.obligations.balls import Dims, Input, MalformedRule, Point, Undecided, Unsupported
from certgrad.obligations.balls.statements import evaluate as holds_at
from certgrad.obligations.certificate import Certificate
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.generality.instances import Instance, family
from certgrad.obligations.prove.problem import build, posed, trace_rules
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.prove.satisfiable import _relation_holds
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.polynomials import Poly
from certgrad.ops import Case, Op
from tests.mutation import _index_changes  # noqa: F401  (registers its changes)
from tests.mutation._changes import Mutation, mutations
from tests.mutation._interpreter import Site, interposed, recording
from tests.mutation._points import Break, Place, broken, gap_at, smooth_at
from tests.mutation._subjects import subject

ATTRIBUTES = {"forward": "forward", "fwd": "fwd_rule", "jvp": "jvp_rule", "vjp": "vjp_rule"}
PROVED = ("proved", "proved under hypotheses")


def alone(op: Op, case: Case) -> Op:
    """The op with this case only."""
    other = op.with_rules()
    other.cases = (case,)
    return other


def mutants_of(op: Op) -> Iterator[tuple[Op, Mutation]]:
    """Every mutation of the op's rules, with the op of one case that it applies to."""
    for case in op.cases:
        one = alone(op, case)
        instance = family(one, case).prove[0]
        for role, attribute in ATTRIBUTES.items():
            rule = getattr(one, attribute)
            if rule is None:
                continue
            sites: list[Site] = []
            probe = one.with_rules(**{role: interposed(rule, recording(sites))})
            shapes = instance.shapes()
            trace_rules(probe.rules(shapes.statics), shapes, len(op.params), op.name)
            yield from ((one, mutation) for mutation in mutations(role, sites))


def mutated(op: Op, mutation: Mutation) -> Op:
    """The op with one rule changed."""
    return op.with_rules(**{mutation.role: interposed(getattr(op, ATTRIBUTES[mutation.role]), mutation.hook)})


@dataclass(frozen=True)
class Judged:
    """One mutant: what it does, and what became of it.

    `outcome` is `same` (no difference found), `harmless` (it differs, and breaks no law), `malformed` (it does not
    run), `refuted`, `unproved`, `narrowed` (proved under hypotheses that exclude every point found where it breaks a
    law), or `WRONG`: proved, and a law fails at a point that satisfies the listed hypotheses; `kink`: proved, and the
    evaluator finds no derivative of the changed forward at such a point; `crash`: certgrad raised an internal error.
    """

    op: str
    mutation: Mutation
    outcome: str
    detail: str = ""

    @property
    def failed(self) -> bool:
        """certgrad is at fault."""
        return self.outcome in ("WRONG", "kink", "crash")

    @property
    def differs(self) -> bool:
        """It breaks a law at a point of the domain."""
        return self.outcome in ("refuted", "unproved", "narrowed", "WRONG")


def judge(op: Op, mutation: Mutation, where: list[Place], public: bool = False, refute: bool = True) -> Judged:
    """Whether a mutant is stopped. `public`: by a whole audit, else by the first family of shapes that stops it.

    Without `refute`, no witness is searched for, and every mutant that is stopped counts as unproved.
    """
    mutant = mutated(op, mutation)
    try:
        found, differs = broken(mutant, mutation.role, where)
        if found is None:
            kink = _unlisted_kink(op, mutant) if mutation.role == "forward" and differs else None
            return Judged(op.name, mutation, "kink" if kink else "harmless" if differs else "same", kink or "")
        if public or mutation.shapewise:
            return _by_audit(mutant, mutation, found)
        return _by_family(mutant, mutation, found, refute)
    except (MalformedRule, RuleError, TraceError, Unsupported) as error:
        return Judged(op.name, mutation, "malformed", str(error))
    except Exception as error:
        return Judged(op.name, mutation, "crash", f"{type(error).__name__}: {error}")


def _by_audit(mutant: Op, mutation: Mutation, found: Break) -> Judged:
    certificate = audit(mutant)
    claims = {claim.kind: claim for claim in certificate.claims}
    proved = [kind for kind in found.gaps if claims[kind].verdict in PROVED]
    if proved:
        return _proved(mutant, mutation, found, certificate, proved)
    outcome = "refuted" if any(claims[kind].verdict == "refuted" for kind in found.gaps) else "unproved"
    reasons = [case.reason for kind in found.gaps for case in claims[kind].cases if case.reason]
    return Judged(mutant.name, mutation, outcome, reasons[0] if reasons else "")


def _by_family(mutant: Op, mutation: Mutation, found: Break, refute: bool) -> Judged:
    """The verdict is the worst of the families of shapes, so the first where a broken law is not proved decides."""
    left = dict.fromkeys(found.gaps)
    stopped: dict[str, tuple[Instance, str]] = {}
    for instance in family(mutant, mutant.cases[0]).prove:
        for kind, outcome in attempts(mutant, instance, list(left)):
            if not outcome.proved:
                stopped[kind] = instance, outcome.reason
                del left[kind]
        if not left:
            break
    if left:
        return _by_audit(mutant, mutation, found)
    reason = next(reason for _, reason in stopped.values())
    if refute and any(search(mutant, instance, kind) is not None for kind, (instance, _) in stopped.items()):
        return Judged(mutant.name, mutation, "refuted", reason)
    return Judged(mutant.name, mutation, "unproved", reason)


def attempts(op: Op, instance: Instance, kinds: list[str]) -> Iterator[tuple[str, Outcome]]:
    """The kernel's outcome for some obligations at one family of shapes."""
    shapes = instance.shapes()
    programs = trace_rules(op.rules(shapes.statics), shapes, len(op.params), f"'{op.name}'")
    try:
        with limited():
            problem = build(posed(op, shapes, programs))
    except Exception as error:
        yield from ((kind, Outcome(reason=f"{type(error).__name__}: {error}")) for kind in kinds)
        return
    for kind in kinds:
        try:
            with limited():
                yield kind, prove(problem, kind)
        except BudgetError as error:
            yield kind, Outcome(reason=str(error))


def _proved(mutant: Op, mutation: Mutation, found: Break, certificate: Certificate, kinds: list[str]) -> Judged:
    """Whether the certificate's hypotheses exclude every point where a law fails."""
    hypotheses = [h for c in certificate.claims if c.kind in kinds for h in c.hypotheses]
    listed = {h.text for h in hypotheses}
    if listed <= _hypotheses(mutant.name) and not any(_excludes(h.tree, found) for h in hypotheses):
        place = found.place
        shapes = ", ".join(map(str, place.programs.shapes))
        return Judged(mutant.name, mutation, "WRONG", f"{kinds} proved under {sorted(listed)}, fails at {shapes}")
    for instance in family(mutant, mutant.cases[0]).prove:
        for kind, outcome in attempts(mutant, instance, kinds):
            point = counterexample(mutant, instance, kind, outcome.hypotheses)
            if point is not None:
                return Judged(mutant.name, mutation, "WRONG", f"{kind} proved under {sorted(listed)}, fails at {point}")
    return Judged(mutant.name, mutation, "narrowed", "; ".join(sorted(listed - _hypotheses(mutant.name))))


def _excludes(statement: Statement, found: Break) -> bool:
    """Whether a hypothesis is false, or undefined, where the law was found to fail."""
    arrays = {one.name: x for one, x in zip(found.place.inputs, found.point.inputs, strict=True)}
    try:
        return holds_at(statement, arrays, found.place.dims.sizes) is not True
    except (UnfitError, Undecided):
        return False


@cache
def _hypotheses(name: str) -> set[str]:
    """Those of the op as it is."""
    return {h.text for claim in audit(subject(name)).claims for h in claim.hypotheses}


def _unlisted_kink(op: Op, mutant: Op) -> str | None:
    """A point that satisfies the hypotheses of the derivative law, where the forward has lost its derivative."""
    for instance in family(mutant, mutant.cases[0]).prove:
        for _, outcome in attempts(mutant, instance, ["jvp_is_derivative"]):
            if not outcome.proved:
                return None
            place, original = _at(mutant, instance), _at(op, instance)
            for point in place.points:
                if _ties(point) or not all(satisfied(c, place, point) for c in outcome.hypotheses):
                    continue
                if smooth_at(original.programs, point) and not smooth_at(place.programs, point):
                    return _text(place, point)
    return None


def _ties(point: Point) -> bool:
    """Equal entries in one array: there the evaluator finds no derivative of a maximum, whatever becomes of it."""
    return any(len(set(x.flat)) < x.size for x in point.inputs if x.dtype == object)


def counterexample(mutant: Op, instance: Instance, kind: str, hypotheses: list[Clause]) -> str | None:
    """A point that satisfies the hypotheses, at which the law fails, in words."""
    place = _at(mutant, instance)
    for point in place.points:
        if all(satisfied(c, place, point) for c in hypotheses):
            gap = gap_at(kind, place.programs, point)
            if gap is not None:
                return f"{_text(place, point)}: {gap.where}"
    return None


def _at(op: Op, instance: Instance) -> Place:
    """The instance at sizes that are distinct and not 1: at others, hypotheses of other instances hold as well."""
    inputs = [
        Input(name, dims, dtype)  # type: ignore[arg-type]
        for name, dims, dtype in zip(op.arg_names, instance.inputs, instance.dtypes, strict=True)
    ] + [Input(p, (), "float", differentiable=False) for p in op.params]
    sizes = dict(zip(instance.names, count(2)))
    return Place(op, inputs, Dims(sizes), instance.keywords(sizes))


def _text(place: Place, point: Point) -> str:
    return str({n.name: x.tolist() for n, x in zip(place.inputs, point.inputs, strict=True)})


def satisfied(clause: Clause, place: Place, point: Point) -> bool:
    """The clause holds at the point, at every index where it is about entries of the arrays.

    A term may read an entry that is not there and cancel it: [i < 2]·x[i] − [i < 2]·x[i] says nothing of x. So what is
    not there gets one value, then another; where the clause changes with it, the index is none of the clause's.
    """
    names = [one.name for one in place.inputs]
    arrays = dict(zip(names, point.inputs, strict=True))
    arrays |= {f"d{names[i]}": dx for i, dx in zip(place.programs.moving, point.tangents, strict=True)}
    arrays |= {f"seed{k}" if len(point.seeds) > 1 else "seed": x for k, x in enumerate(point.seeds)}

    def evaluated(poly: Poly, env: dict[Any, int], missing: fmpq) -> arb:
        def value(tensor: str, index: tuple[int, ...]) -> fmpq:
            array = arrays[tensor]
            if not all(0 <= k < n for k, n in zip(index, array.shape, strict=True)):
                return missing
            entry = array[index]
            if isinstance(entry, (bool, int, np.integer, np.bool_)):
                return fmpq(int(entry))
            return fmpq(*entry.as_integer_ratio())

        return evaluate(poly, place.dims.sizes, value, env)

    def about_entries(env: dict[Any, int]) -> bool:
        polys = [a.poly for a in clause.alternatives] + [g for g, _ in clause.guards]
        return all(evaluated(p, env, fmpq(5, 3)).overlaps(evaluated(p, env, fmpq(19, 7))) for p in polys)

    largest = max((n for x in arrays.values() for n in x.shape), default=1)
    variables = sorted(clause.free)
    for index in np.ndindex((largest,) * len(variables)):
        env: dict[Any, int] = dict(zip(variables, index, strict=True))
        try:
            if not about_entries(env):
                continue
            if any((evaluated(g, env, fmpq(5, 3)) == 1) != want for g, want in clause.guards):
                continue
            if not any(_relation_holds(a, evaluated(a.poly, env, fmpq(5, 3))) for a in clause.alternatives):
                return False
        except (UndecidedError, ZeroDivisionError):
            return False
    return True
