"""The audit of one op: every case, every family of shapes, all three obligations; then its certificate."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

import certgrad
from certgrad._subject import Subject
from certgrad._threads import without_collection
from certgrad.errors import CertgradError
from certgrad.hypotheses.prose import prose
from certgrad.hypotheses.text import text
from certgrad.obligations.assume.conditions import Clause, of_solver
from certgrad.obligations.auditing.redundant import ranges_at
from certgrad.obligations.auditing.untraced import untraced
from certgrad.obligations.cache import Cache
from certgrad.obligations.certificate import (
    CODES,
    FORMAT,
    HOLDS,
    KERNEL,
    PROOFS,
    CaseClaim,
    Certificate,
    Claim,
    Hypothesis,
    LiteralMeaning,
    TracedCase,
    VerdictName,
    Witness,
    each_once,
    sealed,
    statement,
    worst,
)
from certgrad.obligations.conformance import ALL_DTYPES, NOT_COMPARED, WIDTHS
from certgrad.obligations.generality.alike import FINITE, compares_programs, prove_alike
from certgrad.obligations.generality.covered import Covered
from certgrad.obligations.generality.decisions import (
    Fixed,
    asked_by_rule,
    contrary_cases,
    same_with_numbers_in_float32,
    shapes_text,
)
from certgrad.obligations.generality.guards import unlike_its_traces, untraceable
from certgrad.obligations.generality.instances import Family, Instance
from certgrad.obligations.generality.rank_blind import dtype_sensitive, rank_sensitive
from certgrad.obligations.generality.ranks import SplitGroupError
from certgrad.obligations.generality.traces import Trace, Traces
from certgrad.obligations.meaning.literals import ClosedForm, Reading, closed_form
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.prove.negligible import Reals, negligible
from certgrad.obligations.prove.problem import Problem, Programs, Shapes, build
from certgrad.obligations.prove.prove import Outcome, prove
from certgrad.obligations.prove.satisfiable import satisfiable
from certgrad.obligations.terms.budget import FIRST_STEPS, SECONDS, STEPS, BudgetError, limited
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.tracing.jax_internals import dim_poly, serialised_all, versions
from certgrad.obligations.verify.digest import case_digest
from certgrad.obligations.wording.present import show
from certgrad.obligations.wording.stated import Reads
from certgrad.ops._declare import Case

from . import witnesses as _witnesses
from .conventions import conventions
from .look import looked_at
from .measured import compared, with_measured
from .redundant import beyond, specialised

ALL_SHAPES = "all shapes"
OPEN: tuple[VerdictName, ...] = ("unproved", "refuted")
ROUNDING = 1e-9
"""A larger relative gap between two sides is no matter of how literals were rounded."""
NO_SOLUTION = (
    "at hardly any of the points that were tried do the marked solvers return solutions of their equations, to one "
    "part in a thousand; a hypothesis that may never hold proves nothing: declare the equation that each solver "
    "solves, and a domain in which it does"
)


@dataclass
class _Result:
    """What came of one obligation at one family of shapes."""

    verdict: VerdictName
    hypotheses: list[Hypothesis]
    reason: str = ""
    residual: str = ""
    witness: Any = None


@dataclass
class _Record:
    """What the proofs of an op rest on, collected over its cases."""

    notes: dict[str, None]
    facts: dict[str, None]
    primitives: dict[str, None]
    reading: Reading
    relations: dict[str, None] = field(default_factory=dict)

    def all(self) -> tuple[dict[str, None], ...]:
        return self.notes, self.facts, self.primitives


def audit(op: Subject, cache: Cache | None = None) -> Certificate:
    """The certificate of an op. A rule that is wrong is a verdict, not an exception.

    With a cache the op is traced as ever; where all traces are those of an earlier audit, its proofs are not repeated.
    Raises TraceError or RuleError where the op's functions do not trace, or return the wrong number, shape or dtype.
    """
    op.check_complete()
    if why := untraceable(op):
        return untraced(op, why)
    with without_collection():
        try:
            traces = Traces(op)
            known = None if cache is None else cache.find(traces)
            if known is None:
                known = _guarded(traces)
                if cache is not None:
                    cache.keep(traces, known)
            return known
        finally:
            clear_caches()  # the terms go now, by their reference counts, so that collection finds little to scan


def _guarded(traces: Traces) -> Certificate:
    """What is proved of the traces, if what runs is as they are."""
    certificate = _audited(traces)
    if certificate.verdict not in PROOFS:
        return certificate
    if why := unlike_its_traces(traces.op, traces.general()):
        return untraced(traces.op, why)
    return _compared(traces, looked_at(traces, certificate))


def _compared(traces: Traces, certificate: Certificate) -> Certificate:
    """With what comes of comparing the traces with what happens."""
    if traces.op.conformance is None or certificate.verdict not in PROOFS:
        return certificate
    if not traces.op.conformance:
        return with_measured(certificate, [NOT_COMPARED])
    looked = [_dtypes(traces, family.prove[0]) for family in traces.families]
    return compared(traces, certificate, [(one.traces, one.claimed) for one in looked])


def _audited(traces: Traces) -> Certificate:
    """As the program is written; where that is not proved, with long literals read as what they were rounded from."""
    plain = Reading()
    certificate = _audit(traces, plain)
    if certificate.verdict not in OPEN or any(
        plainly_refuted(c.witness) for claim in certificate.claims for c in claim.cases
    ):
        return certificate
    meant = {value: form for value in sorted(plain.long) if (form := closed_form(value)) is not None}
    if not meant:
        return certificate
    try:
        other = _audit(traces, Reading(meant))
    except _StillOpenError:
        return certificate
    return _up_to_rounding(other, meant) if other.verdict in HOLDS else certificate


class _StillOpenError(Exception):
    """An obligation is not proved with the literals read as closed forms either: then nothing else matters."""


def plainly_refuted(witness: Witness | None) -> bool:
    """By a gap that no rounding of literals explains: large beside both sides, not what is left where terms cancel."""
    if witness is None:
        return False
    apart = abs(float(witness.lhs.midpoint) - float(witness.rhs.midpoint))
    return not witness.relative_gap or (float(witness.relative_gap) > ROUNDING and not apart <= ROUNDING)


def _up_to_rounding(certificate: Certificate, meant: Mapping[float, ClosedForm]) -> Certificate:
    """The certificate of a program whose literals were read as the closed forms."""
    change = msgspec.structs.replace
    read = [f"{literal!r} is read as {form.text()}" for literal, form in sorted(meant.items())]
    claims = [
        change(
            claim,
            verdict="proved up to rounding",
            cases=[change(case, verdict="proved up to rounding") for case in claim.cases],
            idealisations=sorted([*claim.idealisations, *read]),
        )
        for claim in certificate.claims
    ]
    literals = [LiteralMeaning(literal=repr(value), **form.data()) for value, form in sorted(meant.items())]
    return sealed(change(certificate, verdict="proved up to rounding", claims=claims, literals=literals))


def _audit(traces: Traces, reading: Reading) -> Certificate:
    op = traces.op
    texts: list[str] = []
    identities: list[TracedCase] = []
    record = _Record({}, {}, {}, reading)
    claims: dict[str, list[CaseClaim]] = {kind: [] for kind in op.kinds}
    for case, instances in zip(op.cases, traces.families, strict=True):
        results, scope, programs, general = _case(traces, instances, record)
        texts += programs
        identities.append(_identity(op, case, general))
        for kind in op.kinds:
            claims[kind].append(_case_claim(case, scope, results[kind]))
    finished = [_claim(op, kind, claims[kind], record) for kind in op.kinds]
    unsealed = Certificate(
        format=FORMAT,
        op=op.name,
        signature=[str(case) for case in op.cases],
        params={name: constraint or "" for name, constraint in op.params.items()},
        domain=list(op.domain),
        verdict=worst([c.verdict for c in finished]),
        claims=finished,
        conventions=conventions(traces),
        source=op.source or "",
        digest=hashlib.blake2b("\n".join(texts).encode(), digest_size=32).hexdigest(),
        versions={**versions(), "certgrad": certgrad.__version__, "kernel": KERNEL},
        rules_used=[*(f"semantics of {name}" for name in sorted(record.primitives)), *sorted(record.relations)],
        traced=identities,
    )
    return sealed(unsealed)


def _identity(op: Subject, case: Case, programs: Programs) -> TracedCase:
    return TracedCase(
        signature=str(case.signature),
        statics={k: str(v) for k, v in case.statics.items()},
        digest=case_digest(op, case, {k: (p.jaxpr, p.consts) for k, p in programs.all().items()}),
    )


def _case(
    traces: Traces, instances: Family, record: _Record
) -> tuple[dict[str, list[_Result]], str, list[str], Programs]:
    """What came of each obligation at all families of shapes, in each dtype that needs a proof of its own."""
    general = instances.prove[0]
    dtypes = _dtypes(traces, general)
    results: dict[str, list[_Result]] = {kind: [] for kind in traces.op.kinds}
    texts: list[str] = []
    traced: list[Programs] = []
    split = ""
    for one in dtypes.traces:
        found, parted, programs, of_general = _in_one_dtype(one, instances, record, dtypes.numbers)
        texts += programs
        traced.append(of_general)
        split = split or parted
        for kind, more in found.items():
            results[kind] += more
    if dtypes.unproved:
        for kind in results:
            results[kind].insert(0, _Result("unproved", [], dtypes.unproved))
    scope = _scope(traces.op, instances, split)
    return results, f"{scope}, {dtypes.only}" if dtypes.only else scope, texts, traced[0]


@dataclass(frozen=True)
class _Dtypes:
    """The dtypes of floats that a case is proved in."""

    traces: Sequence[Traces]
    only: str = ""
    """The dtypes that the claim is about and why, where it is not about all."""
    unproved: str = ""
    """Why it cannot be proved whatever the proofs say."""
    numbers: bool = True
    """Whether concrete sizes are still to be looked at."""
    claimed: tuple[str, ...] = ALL_DTYPES
    """The dtypes that are called, to see whether the code does there what was proved."""


def _dtypes(traces: Traces, instance: Instance) -> _Dtypes:
    """One trace stands for all dtypes where float32 gives the same program and the code cannot tell further ones apart.

    Else float64 and float32 are each proved on their own, and the claim is about those two only. That will do for a
    user's rule; an op of the library has to be one program in every dtype.
    """
    narrow = traces.narrow()
    try:
        programs = traces.at(instance).programs
    except CertgradError as error:
        if traces.op.is_op:
            raise
        try:
            narrow.at(instance)
        except CertgradError:
            raise error from None
        return _Dtypes([narrow], f"float32 only ({error})", _impure(narrow, instance), claimed=("float32",))
    stable = same_with_numbers_in_float32(traces, instance, programs)
    try:
        in_float32 = programs if stable else narrow.at(instance).programs
    except CertgradError as error:
        if traces.op.is_op:
            raise
        return _Dtypes([traces], f"float64 only ({error})", _impure(traces, instance), claimed=("float64",))
    name = None if stable else _different(programs, in_float32)
    reason = dtype_sensitive(traces.op) if name is None else f"the {name} is another program in float32"
    if traces.op.is_op:
        return _Dtypes([traces], unproved=reason, numbers=not stable)
    only = f"float32 and float64 ({reason})" if reason else ""
    claimed = WIDTHS if only else ALL_DTYPES
    if name is None:
        return _Dtypes([traces], only, numbers=not stable, claimed=claimed)
    return _Dtypes([traces, narrow], only, _impure(traces, instance) or _impure(narrow, instance), claimed=claimed)


def _different(programs: Programs, others: Programs) -> str | None:
    """The name of a program that is not the same but for dtypes."""
    first, second = (serialised_all(p.all(), erase_dtypes=True) for p in (programs, others))
    return next((name for name, text in first.items() if text != second[name]), None)


def _impure(traces: Traces, instance: Instance) -> str:
    same = traces.again(instance) == traces.at(instance).text
    return "" if same else "it traces differently a second time: it is impure"


def _in_one_dtype(
    traces: Traces, instances: Family, record: _Record, numbers: bool
) -> tuple[dict[str, list[_Result]], str, list[str], Programs]:
    """The results, why a group of axes was taken apart (if it was), the traces as texts, the general programs."""
    op = traces.op
    results: dict[str, list[_Result]] = {kind: [] for kind in op.kinds}
    texts: list[str] = []
    covered = Covered(op.arg_names)
    visited = {shapes_text(instance, {}) for instance in instances.prove}
    proved: set[str] = set()
    general: dict[str, Sequence[Clause]] = {}
    ranges: dict[str, Mapping[Var, Poly]] = {}
    split = ""

    def settled() -> set[str]:
        """The obligations that are refuted at one family of shapes, and so whatever comes of them at others."""
        return {kind for kind, so_far in results.items() if any(plainly_refuted(r.witness) for r in so_far)}

    def decided() -> bool:
        """Nothing is left to find out."""
        return len(settled()) == len(op.kinds)

    def examine(trace: Trace, fixed: Fixed) -> Programs:
        instance, shapes, programs = trace.instance, trace.shapes, trace.programs
        texts.append(f"{instance.label} {fixed}\n{trace.text}")
        if trace.text in proved:  # another family of shapes came to the same programs
            return programs
        proved.add(trace.text)
        known = covered.hypotheses(instance, shapes, programs)
        if known is not None:
            hypotheses, shapes, primitives = known
            record.primitives.update(dict.fromkeys(primitives))
            outcomes = {
                kind: Outcome(list(clauses), ranges=ranges.get(kind, {})) for kind, clauses in hypotheses.items()
            }
            found = {
                kind: _judged(traces, instance, kind, outcome, record, shapes) for kind, outcome in outcomes.items()
            }
        else:
            stuck = {kind for kind, so_far in results.items() if any(r.verdict in OPEN for r in so_far)}
            found, outcomes = _prove_all(traces, instance, shapes, programs, record, settled(), stuck)
            covered.add(instance, shapes, programs, outcomes)
        for kind, result in found.items():
            if not fixed and instance is instances.prove[0]:
                general[kind] = outcomes[kind].hypotheses
                ranges[kind] = outcomes[kind].ranges
            else:
                own = outcomes[kind].hypotheses if instance is instances.prove[0] else ()
                here = specialised(general.get(kind, ()), instances.prove[0], instance, fixed, op.arg_names)
                reading = _reading(op, shapes, outcomes[kind])
                there = replace(reading, ranges=ranges_at(ranges.get(kind, {}), fixed))
                result.hypotheses = beyond(result.hypotheses, {*map(there, here)}, own, here, reading)
            results[kind].append(result)
        return programs

    def examine_contrary(instance: Instance, programs: Programs, general: bool, numbers: bool = True) -> None:
        for fixed, other in contrary_cases(traces, instance, programs, general, visited, numbers):
            if decided():
                return
            if isinstance(other, Trace):
                examine(other, fixed)
                continue
            where = ", ".join(f"{n} = {v}" for n, v in sorted(fixed.items()))
            for kind in op.kinds:
                results[kind].append(_Result("unproved", [], f"at {where}: {other}" if where else str(other)))

    first, *others = instances.prove
    programs = examine(traces.at(first), {})
    if not decided():
        examine_contrary(first, programs, general=True, numbers=numbers)
    for instance in others:
        if not decided():
            examine_contrary(instance, examine(traces.at(instance), {}), general=False)
    for instance in _left_to_compare(traces, instances, covered):
        if decided():
            break
        trace = traces.at(instance)
        try:
            same = covered.same_as_general(instance, trace.shapes, trace.programs)
        except SplitGroupError as error:
            same, split = False, str(error)
        if not same:
            examine(trace, {})
        if asked_by_rule(trace.programs):
            examine_contrary(instance, trace.programs, general=False)
    return results, split, texts, programs


def _left_to_compare(traces: Traces, instances: Family, covered: Covered) -> list[Instance]:
    """The ranks at which the programs are to be compared with the general one.

    None, where the program of the highest rank is the general one entry by entry, and code that is blind to ranks made
    both: that code calls the same functions at the ranks between, and what acts on each entry does so at any rank. The
    claim about ranks above the highest rests on the same search of the code.
    """
    if not instances.compare or rank_sensitive(traces.op, instances.located):
        return instances.compare
    try:
        trace = traces.at(instances.compare[-1])
    except CertgradError:
        return instances.compare
    alike = covered.acts_alike_on_each_entry(trace.shapes, trace.programs) and not asked_by_rule(trace.programs)
    return [] if alike else instances.compare


def _scope(op: Subject, instances: Family, split: str) -> str:
    """For which ranks the claim stands: any, where the traces and the code are blind to rank; else those shown."""
    if not instances.ranked:
        return ALL_SHAPES
    reason = split or rank_sensitive(op, instances.located)
    return f"{ALL_SHAPES}, any rank" if not reason else f"{ALL_SHAPES}, {instances.ranked} ({reason})"


def _prove_all(
    traces: Traces,
    instance: Instance,
    shapes: Any,
    programs: Programs,
    record: _Record,
    settled: Collection[str],
    stuck: Collection[str],
) -> tuple[dict[str, _Result], dict[str, Outcome]]:
    """What came of each obligation, and of the attempt to prove it; of the `settled` ones nothing more is asked.

    Those that are `stuck` are not proved at other shapes: here they could only be refuted, and are worth no long proof.
    """
    op = traces.op
    results: dict[str, _Result] = {}
    outcomes: dict[str, Outcome] = {kind: Outcome(reason="refuted at other shapes") for kind in settled}
    asked = [kind for kind in op.kinds if kind not in settled]
    try:
        with limited(*_limits(op)):
            problem = build(op.arg_names, op.params, op.domain, shapes, programs, f"'{op.name}'", record.reading)
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError) as error:
        failed = Outcome(reason=str(error))
        for kind in asked:
            outcomes[kind] = _alike(traces, kind, shapes, programs, record) or failed
            results[kind] = _judged(traces, instance, kind, outcomes[kind], record, shapes)
            _give_up(results[kind], record)
        return results, outcomes
    for found, kept in zip((problem.notes, problem.used_facts, problem.primitives), record.all(), strict=True):
        kept.update(dict.fromkeys(found))
    for kind in asked:
        outcome, result = _attempt(problem, traces, instance, kind, record, programs, kind in stuck)
        record.relations.update(dict.fromkeys(outcome.relations))
        outcomes[kind], results[kind] = outcome, result
        _give_up(result, record)
    return results, outcomes


def _give_up(result: _Result, record: _Record) -> None:
    """With literals read as closed forms, all is to be proved or nothing is claimed."""
    if record.reading.meant and result.verdict in OPEN:
        raise _StillOpenError


def _limits(op: Subject) -> tuple[int, float]:
    """The steps and seconds of one proof of the op."""
    return op.steps or STEPS, op.seconds or SECONDS


def _attempt(
    problem: Problem, traces: Traces, instance: Instance, kind: str, record: _Record, programs: Programs, short: bool
) -> tuple[Outcome, _Result]:
    """A `short` attempt at a proof; where that is not enough a search for a witness, and only then the long attempt.

    What is not proved then is tried with shared values as numbers, which takes a hypothesis more.
    """
    steps, seconds = _limits(traces.op)
    try:
        with limited(min(FIRST_STEPS, steps), seconds):
            outcome = prove(problem, kind)
    except BudgetError as error:
        witness = None if record.reading.meant else _witness(traces, instance, kind, early=True)
        if witness is not None:
            return Outcome(reason=str(error)), _refuted(witness)
        if short:
            return Outcome(reason=str(error)), _Result("unproved", [], str(error))
        try:
            with limited(steps, seconds):
                outcome = prove(problem, kind)
        except (BudgetError, RecursionError) as failure:
            outcome = Outcome(reason=str(failure))
    except RecursionError as error:
        outcome = Outcome(reason=str(error))
    shapes = problem.shapes
    result = _judged(traces, instance, kind, outcome, record, shapes) if outcome.proved else None
    if not short and (result is None or (result.verdict in OPEN and not any(map(of_solver, outcome.hypotheses)))):
        alike = _alike(traces, kind, shapes, programs, record)
        if alike is not None:
            return alike, _judged(traces, instance, kind, alike, record, shapes)
    return outcome, result or _judged(traces, instance, kind, outcome, record, shapes)


def _alike(traces: Traces, kind: str, shapes: Shapes, programs: Programs, record: _Record) -> Outcome | None:
    """A proof with shared values as numbers, if there is one."""
    if not compares_programs(kind, programs):
        return None
    op = traces.op
    try:
        with limited(FIRST_STEPS, _limits(op)[1]):
            outcome = prove_alike(kind, op.arg_names, op.params, op.domain, shapes, programs, f"'{op.name}'")
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
        return None
    if not outcome.proved:
        return None
    record.relations.setdefault("values that both programs compute alike")
    return replace(outcome, alike=True)


def _judged(
    traces: Traces, instance: Instance, kind: str, outcome: Outcome, record: _Record, shapes: Shapes
) -> _Result:
    op = traces.op
    if outcome.proved:
        integers = [n for n, d in zip(op.arg_names, instance.dtypes, strict=True) if d == "int"]
        if not satisfiable(outcome.hypotheses, integers, outcome.tests):
            return _Result("unproved", [], "vacuous: no point was found that satisfies all hypotheses")
        if any(map(of_solver, outcome.hypotheses)) and not _witnesses.solvers_work(op, instance, kind, traces.wide):
            return _Result("unproved", [], NO_SOLUTION)
        if outcome.alike and not _witnesses.finite_somewhere(op, instance, kind, traces.wide):
            return _Result("unproved", [], f"vacuous: no point was found where {FINITE.text}")
        axes = dict(zip(op.arg_names, instance.inputs, strict=True)) | dict.fromkeys(op.params, ())
        floats = (n for n, d in zip(op.arg_names, instance.dtypes, strict=True) if d not in ("int", "bool"))
        reals = dict.fromkeys((*floats, *op.params), True)
        listed = _listed(outcome, axes, op.arg_names, _reading(op, shapes, outcome), reals)
        if outcome.alike:
            listed.append(FINITE)
        return _Result("proved under hypotheses" if listed else "proved", listed)
    residual = show(outcome.residual) if outcome.residual is not None else ""
    residual = residual if len(residual) < 600 else f"{residual[:600]} …"
    # Witnesses are of the program as it is written.
    witness = None if record.reading.meant else _witness(traces, instance, kind)
    return _refuted(witness, residual) if witness is not None else _Result("unproved", [], outcome.reason, residual)


def _witness(traces: Traces, instance: Instance, kind: str, early: bool = False) -> Witness | None:
    return _witnesses.search(traces.op, instance, kind, early=early, wide=traces.wide)


def _refuted(witness: Witness, residual: str = "") -> _Result:
    return _Result("refuted", [], "the two sides differ at the witness", residual, witness)


def _reading(op: Subject, shapes: Shapes, outcome: Outcome) -> Reads:
    """How clauses are read as statements at a family of shapes."""
    sizes = {name: [dim_poly(d) for d in shape] for name, shape in zip(op.arg_names, shapes.inputs, strict=True)}
    return Reads(sizes, outcome.ranges, outcome.tests)


def _listed(
    outcome: Outcome, axes: Mapping[str, Sequence[str]], inputs: Sequence[str], read: Reads, reals: Reals
) -> list[Hypothesis]:
    """Each condition once, whatever its index variables are called."""
    listed = []
    for clause in outcome.hypotheses:
        tree = read(clause)
        listed.append(
            Hypothesis(
                text=text(tree, inputs=inputs),
                latex=text(tree, "latex", inputs, axes),
                prose=prose(tree, inputs),
                source=clause.origin,
                negligible=negligible(clause, reals, inputs),
                tree=tree,
            )
        )
    return each_once(listed)


def _case_claim(case: Case, scope: str, results: Sequence[_Result]) -> CaseClaim:
    """The worst of the families of shapes; hypotheses are those of all of them."""
    verdict = worst([r.verdict for r in results])
    decisive = next(r for r in results if r.verdict == verdict)
    return CaseClaim(
        signature=str(case.signature),
        statics={k: str(v) for k, v in case.statics.items()},
        scope=scope,
        verdict=verdict,
        hypotheses=each_once(h for r in results for h in r.hypotheses),
        reason=decisive.reason,
        residual=decisive.residual,
        witness=decisive.witness,
    )


def _claim(op: Subject, kind: str, cases: list[CaseClaim], record: _Record) -> Claim:
    merged = each_once(h for c in cases for h in c.hypotheses)
    return Claim(
        id=f"{op.name}.{kind}",
        code=CODES[kind],
        kind=kind,  # type: ignore[arg-type]
        statement=statement(op, kind, bool(merged)),
        verdict=worst([c.verdict for c in cases]),
        hypotheses=merged,
        cases=cases,
        facts=sorted(record.facts),
        idealisations=sorted(record.notes),
    )
