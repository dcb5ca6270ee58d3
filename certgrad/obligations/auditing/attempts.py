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
"""The largest relative gap between two sides that rounding explains: of literals with 64 bits (True), or fewer."""


VALUE = "rule_runs_forward"
DERIVATIVE = "jvp_is_derivative"
OWN_OPERATIONS = "the value is computed by the function's own operations"


NO_SOLUTION = (
    "at hardly any of the points that were tried do the marked solvers return solutions of their equations, to one "
    "part in a thousand; a hypothesis that may never hold proves nothing: declare the equation that each solver "
    "solves, and a domain in which it does"
)


AT_OTHERS = 2
"""At how many sizes a witness is searched for if the rule is open at other shapes, where a search was made already: a
rule that fails at these shapes alone fails at most of their sizes."""
NO_POINT = "no point was found that satisfies all hypotheses: nothing shows that they can hold together"


class StillOpenError(Exception):
    """Ends an audit under one reading of the literals: an obligation is not proved, so the others do not matter."""

    def __init__(self, plainly_wrong: bool = False) -> None:
        super().__init__()
        self.plainly_wrong = plainly_wrong
        """Whether the rule is wrong however its literals are read."""


def plainly_refuted(witness: Witness | None, exact: bool = True) -> bool:
    """Return whether no rounding explains the gap of a witness; False without a witness.

    The gap must be large relative to the sides, and also by itself, as where terms cancel both sides are small. `exact`
    is False for programs with literals of 32 bits, or with functions that are computed by approximation.
    """
    if witness is None:
        return False
    most = ROUNDING[exact]
    difference = abs(float(witness.lhs.midpoint) - float(witness.rhs.midpoint))
    return not witness.relative_gap or (float(witness.relative_gap) > most and not difference <= ROUNDING[True])


def prove_all(
    traces: Traces,
    instance: Instance,
    shapes: Any,
    programs: Programs,
    record: Record,
    settled: Collection[str],
    stuck: Collection[str],
) -> tuple[dict[str, CaseClaim], dict[str, Outcome]]:
    """Return the claim and the outcome of each obligation at one family of shapes.

    Obligations in `settled`, which are refuted at other shapes, have an outcome and no claim. For those in `stuck`,
    which are unproved at other shapes, only a witness is searched for. The others are proved from the programs read as
    terms. Reading takes few steps at first. If these do not suffice, evaluation decides what it can (`_without_terms`),
    and the reading is repeated with all steps. If a program cannot be read as terms, an obligation can still be proved
    of values that both of its programs compute alike. `record` notes what the proofs rest on.
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
    # If the value alone is claimed, and the rule runs the function's own operations, no terms are needed.
    if open_kinds == [VALUE] == [*op.kinds] and generality.alike.same_value(programs):
        record.relations.setdefault(OWN_OPERATIONS)
        # `alike` adds the hypothesis that the values are finite: a function that has a value everywhere needs none.
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
        # No terms: what is left is a proof that compares programs operation by operation, or a witness.
        failure = Outcome(reason=str(error))
        for kind in open_kinds:
            outcomes[kind] = _prove_by_shared_values(traces, kind, shapes, programs, record) or failure
            results[kind] = judged(traces, instance, kind, outcomes[kind], record, shapes)
            _give_up(results[kind], record, traces, instance, kind)
        return results, outcomes
    for items, notes in zip((problem.notes, problem.used_facts, problem.primitives), record.all(), strict=True):
        notes.update(dict.fromkeys(items))
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
    """Return the outcome and the claim of each obligation in `asked` that is decided without terms.

    The programs are too long to be read as terms, as `reason` says. An obligation is refuted by a plain difference
    alone: a small one may vanish if an approximation is read as what it approximates. Beside a refutation, the value of
    a rule that runs the function's own operations is proved as well.
    """
    if record.reading.gives_up:
        return {}
    decided: dict[str, tuple[Outcome, CaseClaim]] = {}
    for kind in asked:
        witness = _witness(traces, instance, kind, record, early=True, at_least=Fraction(ROUNDING[False]))
        if witness is not None and plainly_refuted(witness, exact=False):
            decided[kind] = Outcome(reason=reason), _refuted(witness)
    if VALUE in asked and VALUE not in decided and (settled or decided) and generality.alike.same_value(programs):
        alike = _prove_by_shared_values(traces, VALUE, shapes, programs, record)
        if alike is not None:
            decided[VALUE] = alike, judged(traces, instance, VALUE, alike, record, shapes)
    return decided


def _problem_satisfies(op: Subject, shapes: Shapes, programs: Programs, holds: Callable[[Problem], bool]) -> bool:
    """Return whether `holds` is true of the programs, read as terms; False if few steps do not suffice to read them."""
    try:
        with limited(FIRST_STEPS, _limits(op)[1]):
            return holds(build(posed(op, shapes, programs)))
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
        return False


def _defined(op: Subject, shapes: Shapes, programs: Programs) -> bool:
    """Return whether the function is seen to have a value at every input."""
    return _problem_satisfies(op, shapes, programs, lambda p: not p.opaque and not any(t.defined for t in p.forward))


def has_no_value(op: Subject, shapes: Shapes, programs: Programs) -> bool:
    """Return whether an entry of the function is seen to be undefined at every input, as the mean of no entries is."""
    return _problem_satisfies(
        op, shapes, programs, lambda p: any(map(fails_always, (c for t in p.forward for c in t.defined)))
    )


def _give_up(result: CaseClaim, record: Record, traces: Traces, instance: Instance, kind: str) -> None:
    """Raise StillOpenError if a claim is open and the reading of the literals ends with the first open claim.

    Under such a reading all obligations have to be proved, and no witness counts. The error says whether a witness
    against the program as written shows that the rule is wrong in any reading.
    """
    if record.reading.gives_up and result.verdict in OPEN_VERDICTS:
        least = Fraction(ROUNDING[False])
        witness = None if record.reading.moved else _witness(traces, instance, kind, record, early=True, at_least=least)
        raise StillOpenError(plainly_wrong=plainly_refuted(witness, exact=False))


def _limits(op: Subject) -> tuple[int, float]:
    """Return the steps and the seconds that one proof of the op may take."""
    return op.steps or STEPS, op.seconds or SECONDS


def _attempt(
    problem: Problem, traces: Traces, instance: Instance, kind: str, record: Record, programs: Programs
) -> tuple[Outcome, CaseClaim]:
    """Return the outcome of an obligation at one family of shapes, with the claim that the outcome supports.

    A short attempt at a proof comes first, then a search for a witness, then a long attempt. An obligation that is
    still not proved is tried under the hypotheses of the general shapes, and at last with values that both programs
    compute alike as arbitrary numbers, under the hypothesis that these are finite. What was proved so at other shapes
    (`record.alike`) is tried that way first.
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
        # A long attempt at a wrong rule would be in vain. Without a long attempt, the search in `judged` comes next.
        skips_search = record.reading.gives_up or steps <= first_steps
        witness = None if skips_search else _witness(traces, instance, kind, record, early=True)
        if witness is not None:
            return Outcome(reason=str(error)), _refuted(witness)
        # Read as what it approximates, or with infinities in masks, the program may have a short proof.
        if record.reading.trial and (record.reading.approximated or record.reading.masks):
            return Outcome(reason=str(error)), at_shapes("unproved", reason=str(error))
        # Values that the JVP multiplies by 0 may be what makes its terms long.
        idle = _idle(traces, problem.shapes, programs, record) if kind == DERIVATIVE else None
        if idle is not None:
            return idle, judged(traces, instance, kind, idle, record, problem.shapes)
        try:
            if steps <= first_steps:
                raise  # the first attempt had all the steps: its error is the reason
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
    # A proof may have hypotheses that hold at no point: then one with shared values is tried as well.
    direct_claim = judged(traces, instance, kind, outcome, record, shapes) if outcome.proved else None
    if direct_claim is None or (direct_claim.verdict in OPEN_VERDICTS and not any(map(of_solver, outcome.hypotheses))):
        alike = _prove_by_shared_values(traces, kind, shapes, programs, record)
        if alike is not None:
            record.alike.add(kind)
            return alike, judged(traces, instance, kind, alike, record, shapes)
    return outcome, direct_claim or judged(traces, instance, kind, outcome, record, shapes)


def _prove_under_hypotheses(problem: Problem, kind: str, listed: Sequence[Clause], op: Subject) -> Outcome | None:
    """Return a proof that assumes what is `listed` at the general shapes, and that clamped indices are in range.

    None if there is no such proof, or nothing to assume. A slice clamps its indices and a gather need not: the programs
    of a rule may be equal only where the indices, which must be arguments, are in range.
    """
    integer_arguments = {n for n, dtype in zip(problem.names, problem.shapes.dtypes, strict=True) if dtype == "int"}
    in_range = (
        c
        for c in problem.in_range
        if {n for p in polys(c) for a in atoms_of(p) for n in tensors_in(a)} <= integer_arguments
    )
    assumptions = [c for c in dict.fromkeys([*listed, *in_range]) if assumed(c, problem.array_shapes)]
    declared = problem.domain
    problem.domain = [*declared, *assumptions]  # for this proof alone, as `prove` assumes the domain
    try:
        with limited(min(FIRST_STEPS, _limits(op)[0]), _limits(op)[1]):
            outcome = prove(problem, kind) if assumptions else None
    except (BudgetError, RecursionError):
        return None
    finally:
        problem.domain = declared
    return outcome if outcome is not None and outcome.proved else None


def _idle(traces: Traces, shapes: Shapes, programs: Programs, record: Record) -> Outcome | None:
    """Return a proof of a JVP with arbitrary numbers for values that it multiplies by 0; None if there is none."""
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
    """Return the outcome of a proof with arbitrary numbers for shared values; None if there is no such proof.

    Shared values are those that both programs of an obligation compute by the same operations. A JVP is compared with a
    derivative, which is no program: for it they are the values that it multiplies by 0 (see `generality/alike.py`).
    """
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
    """Return the claim that an outcome supports.

    A proof makes the claim proved if a point is found at which its hypotheses hold. If none is found, or if there is no
    proof, a witness is searched for at `search_at` drawn sizes: it refutes the claim, which is unproved otherwise. The
    claim is also unproved if, at the points that were tried, solvers do not solve their equations, or values are not
    finite that a hypothesis says are finite.
    """
    op = traces.op
    if outcome.proved:
        # Hypotheses that no point satisfies would prove anything.
        integers = [n for n, d in zip(op.arg_names, instance.dtypes, strict=True) if d == "int"]
        setting = integers, outcome.tests, outcome.ranges, dict(zip(op.arg_names, shapes.inputs, strict=True))
        try:
            if outcome.hypotheses and not proving.satisfiable.satisfiable(outcome.hypotheses, *setting):
                # If the rule needs hypotheses that hold nowhere and its function does not, it is wrong at every point.
                witness = auditing.witnesses.search(op, instance, kind, wide=traces.wide, sizes=search_at)
                return _refuted(witness) if witness is not None else at_shapes("unproved", reason=NO_POINT)
        except BudgetError as error:
            return at_shapes("unproved", reason=str(error))
        if any(map(of_solver, outcome.hypotheses)) and not auditing.witnesses.solvers_work(
            op, instance, kind, traces.wide
        ):
            return at_shapes("unproved", reason=NO_SOLUTION)
        # That values are finite shows when the programs run, and not in terms.
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
    # A witness is against the program as written: under another reading of its literals it does not count.
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
    """Return a point where an obligation fails inside its domain and listed hypotheses, or None (see `search`)."""
    listed = record.listed.get(kind)
    return auditing.witnesses.search(traces.op, instance, kind, early, traces.wide, at_least, listed, search_at)


DIFFERS_AT_WITNESS = "the two sides differ at the witness"


def _refuted(witness: Witness, residual: str = "") -> CaseClaim:
    """Return the claim that a witness refutes."""
    return at_shapes("refuted", (), DIFFERS_AT_WITNESS, residual, witness)


def reads_of(op: Subject, shapes: Shapes, outcome: Outcome) -> Reads:
    """Return the function that reads the clauses of an outcome at a family of shapes as statements."""
    return wording.stated.Reads(dim_shapes(op, shapes), outcome.ranges, outcome.tests)


def dim_shapes(op: Subject, shapes: Shapes) -> dict[str, list[Poly]]:
    """Return the arguments' shapes as polynomials in the dimensions, by name."""
    return {name: [dim_poly(d) for d in shape] for name, shape in zip(op.arg_names, shapes.inputs, strict=True)}
