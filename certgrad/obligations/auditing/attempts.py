"""One obligation at one family of shapes: attempts at its proof and at a witness, and the resulting claim."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

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


Decided = dict[str, tuple[Outcome, CaseClaim]]
"""By obligation, the outcome of the attempts at it and the claim that the outcome supports."""


@dataclass(frozen=True)
class FamilyAudit:
    """The audit of one family of shapes: attempts at a proof and at a witness for each obligation, and the claims."""

    traces: Traces
    instance: Instance
    shapes: Shapes
    """Those at which the claims are stated."""
    programs: Programs
    record: Record
    """What the proofs rest on, and what is known from other shapes: each attempt adds to it."""

    @property
    def op(self) -> Subject:
        return self.traces.op

    def prove_all(
        self, settled: Collection[str], stuck: Collection[str]
    ) -> tuple[dict[str, CaseClaim], dict[str, Outcome]]:
        """Return the claim and the outcome of each obligation.

        Obligations in `settled`, which are refuted at other shapes, have an outcome and no claim. For those in `stuck`,
        which are unproved at other shapes, only a witness is searched for. The others are proved.
        """
        outcomes = {kind: Outcome(reason="refuted at other shapes") for kind in settled}
        decided: Decided = {}
        for kind in self.op.kinds:
            if kind in stuck and kind not in settled:
                unproved = Outcome(reason="unproved at other shapes")
                decided[kind] = unproved, self.claim(kind, unproved, search_at=AT_OTHERS)
        open_kinds = [kind for kind in self.op.kinds if kind not in outcomes and kind not in decided]
        if open_kinds:
            decided |= self._prove_open(open_kinds, settled)
        outcomes |= {kind: outcome for kind, (outcome, _) in decided.items()}
        return {kind: claim for kind, (_, claim) in decided.items()}, outcomes

    def _prove_open(self, open_kinds: list[str], settled: Collection[str]) -> Decided:
        """Return what is decided of obligations that are open, by a proof from the programs read as terms if possible.

        Reading takes few steps at first. If these do not suffice, evaluation decides what it can (`_without_terms`),
        and the reading is repeated with all steps. If a program cannot be read as terms, an obligation can still be
        proved of values that both of its programs compute alike (`_of_unreadable_programs`).
        """
        # If the value alone is claimed, and the rule runs the function's own operations, no terms are needed.
        if open_kinds == [VALUE] == [*self.op.kinds] and generality.alike.same_value(self.programs):
            return {VALUE: self._value_by_own_operations()}
        obligations = posed(self.op, self.shapes, self.programs, self.record.reading)
        steps, seconds = _limits(self.op)
        decided: Decided = {}
        try:
            try:
                with limited(min(FIRST_STEPS, steps), seconds):
                    problem = build(obligations)
            except BudgetError as error:
                decided = self._without_terms(open_kinds, settled, str(error))
                open_kinds = [kind for kind in open_kinds if kind not in decided]
                if not open_kinds:
                    return decided
                with limited(steps, seconds):
                    problem = build(obligations)
        except (UnprovedError, BudgetError, ArithmeticError, RecursionError) as error:
            return decided | self._of_unreadable_programs(open_kinds, str(error))
        return decided | self._in_terms(problem, open_kinds)

    def _value_by_own_operations(self) -> tuple[Outcome, CaseClaim]:
        """Return the proof of the value of a rule that runs the function's own operations, and its claim."""
        self.record.relations.setdefault(OWN_OPERATIONS)
        # `alike` adds the hypothesis that the values are finite: a function that has a value everywhere needs none.
        outcome = Outcome(alike=not _defined(self.op, self.shapes, self.programs))
        return outcome, self.claim(VALUE, outcome)

    def _without_terms(self, open_kinds: Collection[str], settled: Collection[str], reason: str) -> Decided:
        """Return those of the obligations `open_kinds` that are decided without terms.

        The programs are too long to be read as terms, as `reason` says. An obligation is refuted by a plain difference
        alone: a small one may vanish if an approximation is read as what it approximates. Beside a refutation, the
        value of a rule that runs the function's own operations is proved as well.
        """
        if self.record.reading.gives_up:
            return {}
        decided: Decided = {}
        for kind in open_kinds:
            witness = self._witness(kind, early=True, at_least=Fraction(ROUNDING[False]))
            if witness is not None and plainly_refuted(witness, exact=False):
                decided[kind] = Outcome(reason=reason), _refuted(witness)
        is_refuted = bool(settled or decided)
        if (
            VALUE in open_kinds
            and VALUE not in decided
            and is_refuted
            and generality.alike.same_value(self.programs)
            and (alike := self._prove_by_shared_values(VALUE)) is not None
        ):
            decided[VALUE] = alike, self.claim(VALUE, alike)
        return decided

    def _of_unreadable_programs(self, kinds: Sequence[str], reason: str) -> Decided:
        """Return what is decided of obligations whose programs cannot be read as terms, as `reason` says.

        What is left is a proof that compares programs operation by operation, or a witness.
        """
        failure = Outcome(reason=reason)
        decided: Decided = {}
        for kind in kinds:
            outcome = self._prove_by_shared_values(kind) or failure
            decided[kind] = outcome, self.claim(kind, outcome)
            self._give_up_if_open(kind, decided[kind][1])
        return decided

    def _in_terms(self, problem: Problem, kinds: Sequence[str]) -> Decided:
        """Return what is decided of obligations whose programs are read as terms, and note what the proofs rest on."""
        record = self.record
        for items, notes in zip((problem.notes, problem.used_facts, problem.primitives), record.all(), strict=True):
            notes.update(dict.fromkeys(items))
        record.laws.update(applied_laws())
        decided: Decided = {}
        for kind in kinds:
            outcome, claim = decided[kind] = self._attempt(problem, kind)
            record.relations.update(dict.fromkeys(outcome.relations))
            if outcome.proved:
                record.laws.update(applied_laws())
            self._give_up_if_open(kind, claim)
        return decided

    def _give_up_if_open(self, kind: str, claim: CaseClaim) -> None:
        """Raise StillOpenError if the claim is open and the reading of the literals ends with the first open claim.

        Under such a reading all obligations have to be proved, and no witness counts. The error says whether a witness
        against the program as written shows that the rule is wrong in any reading.
        """
        reading = self.record.reading
        if reading.gives_up and claim.verdict in OPEN_VERDICTS:
            least = Fraction(ROUNDING[False])
            witness = None if reading.moved else self._witness(kind, early=True, at_least=least)
            raise StillOpenError(plainly_wrong=plainly_refuted(witness, exact=False))

    # --- one obligation, in terms ----------------------------------------------------------------------------------

    def _attempt(self, problem: Problem, kind: str) -> tuple[Outcome, CaseClaim]:
        """Return the outcome of an obligation, with the claim that the outcome supports.

        The attempts, in their order: a short one at a proof, a search for a witness, a long one, one under the
        hypotheses of the general shapes, and one with values that both programs compute alike as arbitrary numbers,
        under the hypothesis that these are finite. What was proved so at other shapes (`record.alike`) is tried that
        way first.
        """
        if kind in self.record.alike and (alike := self._prove_by_shared_values(kind)) is not None:
            claim = self.claim(kind, alike)
            if claim.verdict not in OPEN_VERDICTS:
                return alike, claim
        steps, seconds = _limits(self.op)
        first_steps = steps if kind in self.record.long else min(FIRST_STEPS, steps)
        try:
            with limited(first_steps, seconds):
                outcome = prove(problem, kind)
        except BudgetError as error:
            decided = self._without_long_attempt(kind, str(error), has_more_steps=steps > first_steps)
            if decided is not None:
                return decided
            outcome = self._long_attempt(problem, kind) if steps > first_steps else Outcome(reason=str(error))
        except RecursionError as error:
            outcome = Outcome(reason=str(error))
        if not outcome.proved:
            listed = self.record.listed[kind].here if kind in self.record.listed else []
            outcome = _prove_under_hypotheses(problem, kind, listed, self.op) or outcome
        return self._claimed_or_by_shared_values(kind, outcome)

    def _without_long_attempt(self, kind: str, reason: str, has_more_steps: bool) -> tuple[Outcome, CaseClaim] | None:
        """Return what is decided after a short attempt that took all its steps; None if a long attempt is due.

        `reason` is the error of the short attempt. Without `has_more_steps` there is no long attempt, so that the
        search for a witness is left to `claim`.
        """
        reading = self.record.reading
        # A long attempt at a wrong rule would be in vain.
        skips_search = reading.gives_up or not has_more_steps
        witness = None if skips_search else self._witness(kind, early=True)
        if witness is not None:
            return Outcome(reason=reason), _refuted(witness)
        # Read as what it approximates, or with infinities in masks, the program may have a short proof.
        if reading.trial and (reading.approximated or reading.masks):
            return Outcome(reason=reason), at_shapes("unproved", reason=reason)
        # Values that the JVP multiplies by 0 may be what makes its terms long.
        idle = self._prove_idle() if kind == DERIVATIVE else None
        return None if idle is None else (idle, self.claim(kind, idle))

    def _long_attempt(self, problem: Problem, kind: str) -> Outcome:
        """Return the outcome of an attempt with all the steps that a proof of the op may take."""
        try:
            with limited(*_limits(self.op)):
                outcome = prove(problem, kind)
        except (BudgetError, RecursionError) as error:
            return Outcome(reason=str(error))
        if outcome.proved:
            self.record.long.add(kind)
        return outcome

    def _claimed_or_by_shared_values(self, kind: str, outcome: Outcome) -> tuple[Outcome, CaseClaim]:
        """Return the outcome with its claim, or those of a proof with shared values if the claim would be open."""
        # A proof may have hypotheses that hold at no point: then one with shared values is tried as well.
        claim = self.claim(kind, outcome) if outcome.proved else None
        if claim is None or (claim.verdict in OPEN_VERDICTS and not any(map(of_solver, outcome.hypotheses))):
            alike = self._prove_by_shared_values(kind)
            if alike is not None:
                self.record.alike.add(kind)
                return alike, self.claim(kind, alike)
        return outcome, claim or self.claim(kind, outcome)

    # --- proofs with arbitrary numbers for values of the programs --------------------------------------------------

    def _prove_idle(self) -> Outcome | None:
        """Return a proof of a JVP with arbitrary numbers for values that it multiplies by 0; None if there is none."""
        if self.programs.jvp is None:
            return None
        try:
            with limited(FIRST_STEPS, _limits(self.op)[1]):
                outcome = generality.alike.prove_idle(posed(self.op, self.shapes, self.programs))
        except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
            return None
        if outcome is None or not outcome.proved:
            return None
        self.record.relations.setdefault("values that are multiplied by 0")
        return outcome

    def _prove_by_shared_values(self, kind: str) -> Outcome | None:
        """Return the outcome of a proof with arbitrary numbers for shared values; None if there is no such proof.

        Shared values are those that both programs of an obligation compute by the same operations. A JVP is compared
        with a derivative, which is no program: for it they are the values that it multiplies by 0 (see
        `generality/alike.py`).
        """
        if kind == DERIVATIVE:
            return self._prove_idle()
        if not generality.alike.compares_programs(kind, self.programs):
            return None
        if kind == VALUE and generality.alike.same_value(self.programs):
            self.record.relations.setdefault(OWN_OPERATIONS)
            return Outcome(alike=True)
        try:
            with limited(FIRST_STEPS, _limits(self.op)[1]):
                outcome = generality.alike.prove_alike(kind, posed(self.op, self.shapes, self.programs))
        except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
            return None
        if not outcome.proved:
            return None
        self.record.relations.setdefault("values that both programs compute alike")
        return outcome

    # --- from an outcome to a claim --------------------------------------------------------------------------------

    def claim(self, kind: str, outcome: Outcome, search_at: int = DRAWN_SIZES) -> CaseClaim:
        """Return the claim that an outcome supports.

        A proof makes the claim proved if its hypotheses hold at some point. If none is found, or if there is no proof,
        a witness is searched for at `search_at` drawn sizes: it refutes the claim, which is unproved otherwise.
        """
        if outcome.proved:
            return self._unsupported(kind, outcome, search_at) or self._proved(outcome)
        residual = wording.present.show_difference(outcome.residual) if outcome.residual is not None else ""
        # A witness is against the program as written: under another reading of its literals it does not count.
        witness = None if self.record.reading.gives_up else self._witness(kind, search_at=search_at)
        return (
            _refuted(witness, residual) if witness is not None else at_shapes("unproved", (), outcome.reason, residual)
        )

    def _unsupported(self, kind: str, outcome: Outcome, search_at: int) -> CaseClaim | None:
        """Return the claim of a proof whose hypotheses are not shown to hold at any point; None if they are.

        Such hypotheses would prove anything. The claim is unproved also if, at the points that were tried, solvers do
        not solve their equations, or values are not finite that a hypothesis says are finite.
        """
        op, instance, wide = self.op, self.instance, self.traces.wide
        integers = [n for n, d in zip(op.arg_names, instance.dtypes, strict=True) if d == "int"]
        setting = integers, outcome.tests, outcome.ranges, dict(zip(op.arg_names, self.shapes.inputs, strict=True))
        try:
            if outcome.hypotheses and not proving.satisfiable.satisfiable(outcome.hypotheses, *setting):
                # If the rule needs hypotheses that hold nowhere and its function does not, it is wrong at every point.
                witness = auditing.witnesses.search(op, instance, kind, wide=wide, sizes=search_at)
                return _refuted(witness) if witness is not None else at_shapes("unproved", reason=NO_POINT)
        except BudgetError as error:
            return at_shapes("unproved", reason=str(error))
        if any(map(of_solver, outcome.hypotheses)) and not auditing.witnesses.solvers_work(op, instance, kind, wide):
            return at_shapes("unproved", reason=NO_SOLUTION)
        # That values are finite shows when the programs run, and not in terms.
        finite = _finite_values(outcome)
        if finite and not auditing.witnesses.finite_somewhere(op, instance, kind, wide):
            return at_shapes("unproved", reason=f"no point was found where {finite[0].text}")
        return None

    def _proved(self, outcome: Outcome) -> CaseClaim:
        """Return the claim that a proof supports, with the hypotheses of the proof."""
        op, instance = self.op, self.instance
        axes = dict(zip(op.arg_names, instance.inputs, strict=True)) | dict.fromkeys(op.params, ())
        floats = (n for n, d in zip(op.arg_names, instance.dtypes, strict=True) if d not in ("int", "bool"))
        reals = dict.fromkeys((*floats, *op.params), True)
        listed: list[Hypothesis] = []
        if outcome.hypotheses:
            listed += each_listed(outcome, axes, op.arg_names, reads_of(op, self.shapes, outcome), reals)
        listed += _finite_values(outcome)
        return at_shapes("proved under hypotheses" if listed else "proved", listed)

    def _witness(
        self, kind: str, early: bool = False, at_least: Fraction | None = None, search_at: int = DRAWN_SIZES
    ) -> Witness | None:
        """Return a point where an obligation fails inside its domain and listed hypotheses, or None (see `search`)."""
        listed, wide = self.record.listed.get(kind), self.traces.wide
        return auditing.witnesses.search(self.op, self.instance, kind, early, wide, at_least, listed, search_at)


def _limits(op: Subject) -> tuple[int, float]:
    """Return the steps and the seconds that one proof of the op may take."""
    return op.steps or STEPS, op.seconds or SECONDS


def _finite_values(outcome: Outcome) -> list[Hypothesis]:
    """Return the hypotheses of a proof with arbitrary numbers: that the values that they stand for are finite."""
    return [
        *([generality.alike.FINITE] if outcome.alike else []),
        *([generality.alike.IDLE] if outcome.idle else []),
    ]


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
