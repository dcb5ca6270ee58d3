"""One obligation at one family of shapes: attempts at its proof and at a witness, and the resulting claim."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from certgrad._subject import Subject
from certgrad.obligations import auditing, generality, wording
from certgrad.obligations import prove as proving
from certgrad.obligations.assume.assumptions import assumed
from certgrad.obligations.assume.conditions import Clause, fails_always, of_solver, polys
from certgrad.obligations.balls._witness import DRAWN_SIZES
from certgrad.obligations.certificate import CaseClaim, Hypothesis, VerdictName, Witness
from certgrad.obligations.generality.instances import Instance
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.prove.problem import Problem, Programs, Shapes, build, posed
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.budget import FIRST_STEPS, SECONDS, STEPS, BudgetError, limited
from certgrad.obligations.terms.law import applied_laws
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.walk import atoms_of, tensors_in
from certgrad.obligations.tracing.jax_internals import dim_poly

from .claims import Record, at_shapes, each_listed

if TYPE_CHECKING:
    from certgrad.obligations.wording.stated import Reads

OPEN_VERDICTS: tuple[VerdictName, ...] = ("unproved", "refuted")


ROUNDING = {True: 1e-9, False: 1e-3}
"""A larger relative gap between two sides is no matter of rounding: of literals written to 64 bits, or of less."""


VALUE = "rule_runs_forward"
DERIVATIVE = "jvp_is_derivative"
OWN_OPERATIONS = "the value is computed by the function's own operations"


NO_SOLUTION = (
    "at hardly any of the points that were tried do the marked solvers return solutions of their equations, to one "
    "part in a thousand; a hypothesis that may never hold proves nothing: declare the equation that each solver "
    "solves, and a domain in which it does"
)


AT_OTHERS = 2
"""At so many sizes a witness is searched for where it was done at other shapes, and the rule is open there: what fails
at these alone fails at most of their sizes."""
NO_POINT = "no point was found that satisfies all hypotheses: nothing shows that they can hold together"


class StillOpenError(Exception):
    """An obligation is not proved: of this reading of the literals, nothing else matters."""

    def __init__(self, plainly_wrong: bool = False) -> None:
        super().__init__()
        self.plainly_wrong = plainly_wrong
        """It is wrong however they are read."""


def plainly_refuted(witness: Witness | None, exact: bool = True) -> bool:
    """Return whether no rounding explains a witness' gap: it is large beside both sides, not what is left where terms
    cancel.

    `exact` is False for programs with literals of 32 bits, or with functions that are computed by approximation.
    """
    if witness is None:
        return False
    most = ROUNDING[exact]
    apart = abs(float(witness.lhs.midpoint) - float(witness.rhs.midpoint))
    return not witness.relative_gap or (float(witness.relative_gap) > most and not apart <= ROUNDING[True])


def prove_all(
    traces: Traces,
    instance: Instance,
    shapes: Any,
    programs: Programs,
    record: Record,
    settled: Collection[str],
    stuck: Collection[str],
) -> tuple[dict[str, CaseClaim], dict[str, Outcome]]:
    """Return the claim and the outcome of each obligation at one family of shapes, but for those that are `settled`.

    Those in `stuck` are unproved at other shapes: here only a witness is searched for. The programs are interpreted
    with few steps first; where these do not suffice, what can be decided without terms is, and the rest is tried with
    all steps. Where a program cannot be interpreted, only obligations between equal programs hold. `record` notes what
    the proofs rest on.
    """
    op = traces.op
    results: dict[str, CaseClaim] = {}
    outcomes: dict[str, Outcome] = {kind: Outcome(reason="refuted at other shapes") for kind in settled}
    for kind in op.kinds:
        if kind in stuck and kind not in settled:
            outcomes[kind] = Outcome(reason="unproved at other shapes")
            results[kind] = judged(traces, instance, kind, outcomes[kind], record, shapes, search_at=AT_OTHERS)
    open_kinds = [kind for kind in op.kinds if kind not in outcomes]
    if not open_kinds:
        return results, outcomes
    if open_kinds == [VALUE] == [*op.kinds] and generality.alike.same_value(programs):
        record.relations.setdefault(OWN_OPERATIONS)
        outcomes[VALUE] = Outcome(alike=not _defined(op, shapes, programs))
        return {VALUE: judged(traces, instance, VALUE, outcomes[VALUE], record, shapes)}, outcomes
    obligations = posed(op, shapes, programs, record.reading)
    steps, seconds = _limits(op)
    try:
        try:
            with limited(min(FIRST_STEPS, steps), seconds):
                problem = build(obligations)
        except BudgetError as error:
            decided = _without_terms(traces, instance, shapes, programs, record, open_kinds, settled, str(error))
            outcomes |= {kind: outcome for kind, (outcome, _) in decided.items()}
            results |= {kind: result for kind, (_, result) in decided.items()}
            open_kinds = [kind for kind in open_kinds if kind not in decided]
            if not open_kinds:
                return results, outcomes
            with limited(steps, seconds):
                problem = build(obligations)
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError) as error:
        failure = Outcome(reason=str(error))
        for kind in open_kinds:
            outcomes[kind] = _prove_by_shared_values(traces, kind, shapes, programs, record) or failure
            results[kind] = judged(traces, instance, kind, outcomes[kind], record, shapes)
            _give_up(results[kind], record, traces, instance, kind)
        return results, outcomes
    for items, noted in zip((problem.notes, problem.used_facts, problem.primitives), record.all(), strict=True):
        noted.update(dict.fromkeys(items))
    record.laws.update(applied_laws())
    for kind in open_kinds:
        outcome, result = _attempt(problem, traces, instance, kind, record, programs)
        record.relations.update(dict.fromkeys(outcome.relations))
        if outcome.proved:
            record.laws.update(applied_laws())
        outcomes[kind], results[kind] = outcome, result
        _give_up(result, record, traces, instance, kind)
    return results, outcomes


def _without_terms(
    traces: Traces,
    instance: Instance,
    shapes: Shapes,
    programs: Programs,
    record: Record,
    asked: Collection[str],
    settled: Collection[str],
    reason: str,
) -> dict[str, tuple[Outcome, CaseClaim]]:
    """Decide obligations by evaluation where the programs are too long to be read as terms (`reason`).

    Return the outcome and the claim of those of `asked` that are decided. Only a plain difference counts, as an
    approximation may still be read as what it approximates. The value of a rule that runs the function's own operations
    needs no terms either.
    """
    if record.reading.gives_up:
        return {}
    out: dict[str, tuple[Outcome, CaseClaim]] = {}
    for kind in asked:
        witness = _witness(traces, instance, kind, record, early=True, at_least=Fraction(ROUNDING[False]))
        if witness is not None and plainly_refuted(witness, exact=False):
            out[kind] = Outcome(reason=reason), _refuted(witness)
    if VALUE in asked and VALUE not in out and (settled or out) and generality.alike.same_value(programs):
        alike = _prove_by_shared_values(traces, VALUE, shapes, programs, record)
        if alike is not None:
            out[VALUE] = alike, judged(traces, instance, VALUE, alike, record, shapes)
    return out


def _problem_satisfies(op: Subject, shapes: Shapes, programs: Programs, holds: Callable[[Problem], bool]) -> bool:
    """Return whether something is seen to hold of what the programs mean."""
    try:
        with limited(FIRST_STEPS, _limits(op)[1]):
            return holds(build(posed(op, shapes, programs)))
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
        return False


def _defined(op: Subject, shapes: Shapes, programs: Programs) -> bool:
    """The function is seen to have a value at every input."""
    return _problem_satisfies(op, shapes, programs, lambda p: not p.opaque and not any(t.defined for t in p.forward))


def has_no_value(op: Subject, shapes: Shapes, programs: Programs) -> bool:
    """An entry of the function is seen to be undefined at every input, as the mean of no entries is."""
    return _problem_satisfies(
        op, shapes, programs, lambda p: any(map(fails_always, (c for t in p.forward for c in t.defined)))
    )


def _give_up(result: CaseClaim, record: Record, traces: Traces, instance: Instance, kind: str) -> None:
    """Raise to end the attempt where literals are read as closed forms: all is proved so or nothing, and no witness
    counts.
    """
    if record.reading.gives_up and result.verdict in OPEN_VERDICTS:
        least = Fraction(ROUNDING[False])
        found = None if record.reading.moved else _witness(traces, instance, kind, record, early=True, at_least=least)
        raise StillOpenError(plainly_wrong=plainly_refuted(found, exact=False))


def _limits(op: Subject) -> tuple[int, float]:
    """The steps and seconds of one proof of the op."""
    return op.steps or STEPS, op.seconds or SECONDS


def _attempt(
    problem: Problem, traces: Traces, instance: Instance, kind: str, record: Record, programs: Programs
) -> tuple[Outcome, CaseClaim]:
    """Try to prove an obligation, and return its outcome with the claim that this supports.

    A short attempt comes first, then a search for a witness, then a long attempt. What is still not proved is tried
    with shared values in the place of what computes them, under one more hypothesis.
    """
    if (
        kind in record.alike
        and (alike := _prove_by_shared_values(traces, kind, problem.shapes, programs, record)) is not None
    ):
        result = judged(traces, instance, kind, alike, record, problem.shapes)
        if result.verdict not in OPEN_VERDICTS:
            return alike, result
    steps, seconds = _limits(traces.op)
    first_steps = steps if kind in record.long else min(FIRST_STEPS, steps)
    try:
        with limited(first_steps, seconds):
            outcome = prove(problem, kind)
    except BudgetError as error:
        at_once = record.reading.gives_up or steps <= first_steps  # no long attempt comes before the search below
        witness = None if at_once else _witness(traces, instance, kind, record, early=True)
        if witness is not None:
            return Outcome(reason=str(error)), _refuted(witness)
        if record.reading.trial and (record.reading.approximated or record.reading.masks):  # read so it may be short
            return Outcome(reason=str(error)), at_shapes("unproved", reason=str(error))
        idle = _idle(traces, problem.shapes, programs, record) if kind == DERIVATIVE else None
        if idle is not None:
            return idle, judged(traces, instance, kind, idle, record, problem.shapes)
        try:
            if steps <= first_steps:
                raise
            with limited(steps, seconds):
                outcome = prove(problem, kind)
            if outcome.proved:
                record.long.add(kind)
        except (BudgetError, RecursionError) as failure:
            outcome = Outcome(reason=str(failure))
    except RecursionError as error:
        outcome = Outcome(reason=str(error))
    shapes = problem.shapes
    if not outcome.proved:
        hypotheses_here = record.listed[kind].here if kind in record.listed else []
        outcome = _prove_under_hypotheses(problem, kind, hypotheses_here, traces.op) or outcome
    of_direct = judged(traces, instance, kind, outcome, record, shapes) if outcome.proved else None
    if of_direct is None or (of_direct.verdict in OPEN_VERDICTS and not any(map(of_solver, outcome.hypotheses))):
        alike = _prove_by_shared_values(traces, kind, shapes, programs, record)
        if alike is not None:
            record.alike.add(kind)
            return alike, judged(traces, instance, kind, alike, record, shapes)
    return outcome, of_direct or judged(traces, instance, kind, outcome, record, shapes)


def _prove_under_hypotheses(problem: Problem, kind: str, listed: Sequence[Clause], op: Subject) -> Outcome | None:
    """Return a proof under the hypotheses that the obligation has at the general shapes, or with indices in range.

    A slice clamps its indices, as a gather need not.
    """
    whole = {n for n, dtype in zip(problem.names, problem.shapes.dtypes, strict=True) if dtype == "int"}
    asked = (c for c in problem.in_range if {n for p in polys(c) for a in atoms_of(p) for n in tensors_in(a)} <= whole)
    given = [c for c in dict.fromkeys([*listed, *asked]) if assumed(c, problem.array_shapes)]
    declared = problem.domain
    problem.domain = [*declared, *given]
    try:
        with limited(min(FIRST_STEPS, _limits(op)[0]), _limits(op)[1]):
            outcome = prove(problem, kind) if given else None
    except (BudgetError, RecursionError):
        return None
    finally:
        problem.domain = declared
    return outcome if outcome is not None and outcome.proved else None


def _idle(traces: Traces, shapes: Shapes, programs: Programs, record: Record) -> Outcome | None:
    """A proof of a JVP with arbitrary numbers in the place of values that it multiplies by 0; None if there is none."""
    op = traces.op
    if programs.jvp is None:
        return None
    try:
        with limited(FIRST_STEPS, _limits(op)[1]):
            outcome = generality.alike.prove_idle(posed(op, shapes, programs))
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
        return None
    if outcome is None or not outcome.proved:
        return None
    record.relations.setdefault("values that are multiplied by 0")
    return outcome


def _prove_by_shared_values(
    traces: Traces, kind: str, shapes: Shapes, programs: Programs, record: Record
) -> Outcome | None:
    """Return the outcome of a proof with shared values in the place of what computes them; None where there is none."""
    if kind == DERIVATIVE:
        return _idle(traces, shapes, programs, record)
    if not generality.alike.compares_programs(kind, programs):
        return None
    op = traces.op
    if kind == VALUE and generality.alike.same_value(programs):
        record.relations.setdefault(OWN_OPERATIONS)
        return Outcome(alike=True)
    try:
        with limited(FIRST_STEPS, _limits(op)[1]):
            outcome = generality.alike.prove_alike(kind, posed(op, shapes, programs))
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
        return None
    if not outcome.proved:
        return None
    record.relations.setdefault("values that both programs compute alike")
    return outcome


def judged(
    traces: Traces,
    instance: Instance,
    kind: str,
    outcome: Outcome,
    record: Record,
    shapes: Shapes,
    search_at: int = DRAWN_SIZES,
) -> CaseClaim:
    """Return the claim that an outcome supports: proved, if a point satisfies its hypotheses; else refuted by a witness
    at `search_at` sizes, or unproved.
    """
    op = traces.op
    if outcome.proved:
        integers = [n for n, d in zip(op.arg_names, instance.dtypes, strict=True) if d == "int"]
        setting = integers, outcome.tests, outcome.ranges, dict(zip(op.arg_names, shapes.inputs, strict=True))
        try:
            if outcome.hypotheses and not proving.satisfiable.satisfiable(outcome.hypotheses, *setting):
                # A rule may need what holds nowhere, and its function not: then it is wrong at every point.
                witness = auditing.witnesses.search(op, instance, kind, wide=traces.wide, sizes=search_at)
                return _refuted(witness) if witness is not None else at_shapes("unproved", reason=NO_POINT)
        except BudgetError as error:
            return at_shapes("unproved", reason=str(error))
        if any(map(of_solver, outcome.hypotheses)) and not auditing.witnesses.solvers_work(
            op, instance, kind, traces.wide
        ):
            return at_shapes("unproved", reason=NO_SOLUTION)
        finite = [
            *([generality.alike.FINITE] if outcome.alike else []),
            *([generality.alike.IDLE] if outcome.idle else []),
        ]
        if finite and not auditing.witnesses.finite_somewhere(op, instance, kind, traces.wide):
            return at_shapes("unproved", reason=f"no point was found where {finite[0].text}")
        axes = dict(zip(op.arg_names, instance.inputs, strict=True)) | dict.fromkeys(op.params, ())
        floats = (n for n, d in zip(op.arg_names, instance.dtypes, strict=True) if d not in ("int", "bool"))
        reals = dict.fromkeys((*floats, *op.params), True)
        listed: list[Hypothesis] = []
        if outcome.hypotheses:
            listed += each_listed(outcome, axes, op.arg_names, reads_of(op, shapes, outcome), reals)
        listed += finite
        return at_shapes("proved under hypotheses" if listed else "proved", listed)
    residual = wording.present.show_difference(outcome.residual) if outcome.residual is not None else ""
    # Witnesses are of the program as it is written.
    witness = None if record.reading.gives_up else _witness(traces, instance, kind, record, search_at=search_at)
    return _refuted(witness, residual) if witness is not None else at_shapes("unproved", (), outcome.reason, residual)


def _witness(
    traces: Traces,
    instance: Instance,
    kind: str,
    record: Record,
    early: bool = False,
    at_least: Fraction | None = None,
    search_at: int = DRAWN_SIZES,
) -> Witness | None:
    """Return a point where an obligation fails inside its domain and listed hypotheses, or None."""
    listed = record.listed.get(kind)
    return auditing.witnesses.search(traces.op, instance, kind, early, traces.wide, at_least, listed, search_at)


DIFFERS_AT_WITNESS = "the two sides differ at the witness"


def _refuted(witness: Witness, residual: str = "") -> CaseClaim:
    return at_shapes("refuted", (), DIFFERS_AT_WITNESS, residual, witness)


def reads_of(op: Subject, shapes: Shapes, outcome: Outcome) -> Reads:
    """Return how clauses are read as statements at a family of shapes."""
    return wording.stated.Reads(dim_shapes(op, shapes), outcome.ranges, outcome.tests)


def dim_shapes(op: Subject, shapes: Shapes) -> dict[str, list[Poly]]:
    """The arguments' shapes as polynomials."""
    return {name: [dim_poly(d) for d in shape] for name, shape in zip(op.arg_names, shapes.inputs, strict=True)}
