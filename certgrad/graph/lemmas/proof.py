"""The proof of a lemma: over a family of shapes or at a node's own sizes, and in the cases that tracing decided."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from certgrad._subject import OF_RULES
from certgrad.errors import DomainError
from certgrad.graph.certificate import Lemma, ObligationResult
from certgrad.graph.lemmas import bounds
from certgrad.graph.lemmas.rules import ActiveShapes, Outputs
from certgrad.graph.tracing import jaxpr
from certgrad.graph.tracing.cases import case_text
from certgrad.graph.tracing.family import Family
from certgrad.language.coding import encode
from certgrad.language.text import text
from certgrad.language.tree import Statement
from certgrad.obligations.assume.assumptions import assumed
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.assume.tensor import argument
from certgrad.obligations.auditing.attempts import plainly_refuted
from certgrad.obligations.auditing.readings import as_stored, read_otherwise, rounded_in
from certgrad.obligations.auditing.redundant import not_implied
from certgrad.obligations.certificate import KERNEL, PROOFS, PROVED_AS_WRITTEN, VerdictName, worst
from certgrad.obligations.generality.decisions import UNANSWERABLE, Cases, Fixed, Sample, has_same_programs
from certgrad.obligations.meaning.literals import Reading
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.prove.problem import Posed, Problem, Programs, build
from certgrad.obligations.prove.prove import minimal, prove
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.prove.zero_tangents import may_be_zero, rest_conditions
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.variables import Var, template
from certgrad.obligations.tracing.jax_internals import (
    dim_poly,
    serialised,
    serialised_all,
    shape_polys,
    versions,
    wide_floats,
)
from certgrad.obligations.wording.stated import Reads
from certgrad.signatures.sizes import Size

from .literals import up_to_rounding, with_reason
from .operation import (
    UNTRACEABLE,
    Operation,
    TracedRules,
    active_shapes,
    canonical,
    given_parameters,
    rule_is_reverse,
    shown_name,
    shown_signature,
    traced_programs,
    with_renamed,
)
from .refutation import failure_of, ordinary_runs

CASES = 40
"""Cases of sizes that a rule treats specially, at most; further ones are excluded by hypotheses."""


@dataclass
class Proof:
    """A lemma with what stands behind it: the traced programs, and its hypotheses as terms."""

    lemma: Lemma
    dims: tuple[str, ...]
    """The dimension variables of the programs, in the order of `Lemma.signature`."""
    programs: Programs | None = None
    stated: dict[Statement, Clause] = field(default_factory=dict)
    """The hypotheses: each as a tree, with its clause in the calculus."""
    reads: Reads = field(default_factory=lambda: Reads({}))
    """The `Reads` that turns conditions of this proof into trees: shapes of arguments, ranges of indices."""
    dimensions: list[str] = field(default_factory=list)
    """Hypotheses on dimensions, over the programs' names."""
    cases: list[Fixed] = field(default_factory=list)
    """Sizes of the graph at which the rules may be others; only a new trace of the graph at them shows whether."""
    signs: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)
    """The signs of the outputs for each choice of signs of the arguments."""
    if_still: int | None = None
    """The argument by which hypotheses weaken if it is still at 0: if its tangent is 0 wherever the argument is."""
    left_out: frozenset[Statement] = frozenset()
    """Hypotheses that are dropped because an argument is still at 0. Where they fail, the result has the tangent 0."""

    @property
    def holds(self) -> bool:
        return self.lemma.verdict in PROOFS

    @property
    def clauses(self) -> list[Clause]:
        return list(self.stated.values())


def at_all_sizes(prove_at: Callable[[Fixed], Proof]) -> Proof:
    """Return the lemma proved at all sizes: each case that tracing decided is proved as well, or excluded.

    `prove_at` returns the proof with sizes set: with none set it is the general one, which is returned with the further
    hypotheses of the cases. A case that is not proved, or only with a weaker verdict, becomes a hypothesis `not …`.
    """
    proof = prove_at({})
    if proof.programs is None:
        return proof
    general = list(proof.clauses)
    cases = Cases(everything=True)
    proof.dimensions += _left_out(cases.met(proof.programs, {}))
    for case in cases:
        case_proof = prove_at(case) if cases.count <= CASES else None
        no_weaker = case_proof is not None and case_proof.lemma.verdict in (*PROVED_AS_WRITTEN, proof.lemma.verdict)
        if case_proof is None or case_proof.programs is None or not case_proof.holds or not no_weaker:
            proof.dimensions.append(f"not {case_text(case)}")
            continue
        if isinstance(case, Sample) and not has_same_programs(proof.programs, case_proof.programs, case):
            # A sample stands for many sizes. Where it runs another program, the rest of these sizes may run others.
            proof.dimensions.append(f"not {case_text(case)}")
            continue
        further = [c for s, c in case_proof.stated.items() if s not in proof.stated]
        # At the case's sizes the general hypotheses hold, so only what they do not imply there is added.
        further = not_implied(further, general, case, case_proof.reads)
        proof.stated |= {s: c for s, c in case_proof.reads.each_once(further).items() if s not in proof.stated}
        proof.dimensions += _left_out(cases.met(case_proof.programs, case))
    proof.dimensions = list(dict.fromkeys(proof.dimensions))
    proof.lemma = _with_hypotheses(proof.lemma, proof.stated)
    return proof


def in_general(operation: Operation, family: Family) -> Proof:
    """Return the proof of the lemma over the family's symbolic sizes."""
    return _prove_at(operation, *of_family(family))


class Setting(NamedTuple):
    """How an operation's rules are traced: its function, the operands' shapes, the dimension variables."""

    run: Outputs
    shapes: tuple[tuple[Any, ...], ...]
    names: tuple[str, ...]


def of_family(family: Family) -> Setting:
    """Return the setting at the family's symbolic sizes."""
    used = [n for s in family.shapes for d in s for n in jaxpr.dims_in(d)]
    return Setting(family.run, family.shapes, tuple(dict.fromkeys([*used, *family.sizes])))


def of_node(operation: Operation, table: Mapping[str, str], case: Fixed) -> Setting:
    """Return the setting at the node's sizes, its dimension variables renamed and set by the case."""
    equation = operation.equation
    own_shapes = tuple(tuple(v.aval.shape) for v in equation.variables)
    if not table or equation.holds_program:
        return Setting(equation.run, own_shapes, tuple(table.values()))
    sizes = jaxpr.dimension_table(list(table.values()), case)
    values = {n: sizes[lemma_name] for n, lemma_name in table.items()}
    shapes = tuple(tuple(jaxpr.replaced(d, values) for d in s) for s in own_shapes)
    free = tuple(d for d in sizes if d not in case or d in jaxpr.dims_in(sizes[d]))
    return Setting(equation.at(values).run, shapes, free)


def traced_only(operation: Operation, setting: Setting) -> Proof:
    """Return a lemma with its programs and its digest, but without a proof. Raises what tracing raises."""
    programs = traced_programs(operation, setting.run, setting.shapes)
    rules = TracedRules(operation, active_shapes(operation, setting.shapes), programs, setting.names)
    return Proof(_lemma(rules, [], [], []), setting.names, programs)


def runs_as(general: Programs, operation: Operation, setting: Setting, sizes: dict[str, Size]) -> bool:
    """Return whether the operation's rules, traced in the setting, are the general programs at these sizes. False where
    they do not trace.
    """
    try:
        with wide_floats(operation.equation.wide):
            return has_same_programs(general, traced_programs(operation, setting.run, setting.shapes), sizes)
    except UNTRACEABLE:
        return False


def own_sizes(operation: Operation, table: Mapping[str, str], judged: dict[Any, Proof]) -> Proof:
    """Return the proof of the lemma at the node's own sizes, with its dimension variables renamed by `table`.

    `judged` remembers proofs of equal programs. An operation that holds a program is traced at one choice of symbols
    only, so its cases are left to the graph (`Proof.cases`).
    """
    if not table or operation.equation.holds_program:
        proof = _prove_at(operation, *of_node(operation, table, {}), judged)
        if proof.programs is not None and table:
            cases = Cases(everything=False)
            proof.dimensions = _left_out(cases.met(proof.programs, {}))
            proof.cases = cases.asked
        return proof

    return at_all_sizes(lambda case: _prove_at(operation, *of_node(operation, table, case), judged))


def _left_out(questions: Sequence[str]) -> list[str]:
    """Return hypotheses that exclude the sizes of questions for which there was no case to trace."""
    return [question if question == UNANSWERABLE else f"not {question}" for question in questions]


def _with_hypotheses(lemma: Lemma, stated: Iterable[Statement]) -> Lemma:
    """Return the lemma with these hypotheses, under which it is then proved."""
    ordered = in_order(stated)
    verdict: VerdictName = "proved under hypotheses" if lemma.verdict == "proved" and ordered else lemma.verdict
    texts = [text(s) for s in ordered]
    return msgspec.structs.replace(lemma, hypotheses=texts, statements=ordered, verdict=verdict)


def in_order(stated: Iterable[Statement]) -> list[Statement]:
    """Return statements in the order of their texts."""
    return sorted(stated, key=lambda s: (text(s), encode(s)))


def _prove_at(
    operation: Operation,
    run: Outputs,
    sizes: tuple[tuple[Any, ...], ...],
    names: tuple[str, ...],
    judged: dict[Any, Proof] | None = None,
) -> Proof:
    """Return the proof of an operation's lemma at these sizes, for every pattern of symbolic zeros that a rule sees.

    The first pattern that fails ends the proof. `judged` holds proofs by their programs, for operations to share.
    """
    shapes = active_shapes(operation, sizes)
    try:
        programs = traced_programs(operation, run, sizes)
        if any(jaxpr.captures(p) for p in programs.all().values()):
            raise UnprovedError("a rule closes over a value that is being traced; pass it as an argument")
        if operation.equation.name.startswith("custom_"):  # users' code: it may depend on state
            retraced = traced_programs(operation, run, sizes)
            if serialised_all(retraced.all()) != serialised_all(programs.all()):
                raise UnprovedError("a rule traces differently a second time: it is impure")
    except UNTRACEABLE as error:
        return Proof(failed_lemma(operation, shapes, str(error) or type(error).__name__), names)
    proofs = {} if judged is None else judged
    proof = _judged_once(TracedRules(operation, shapes, programs, names), proofs)
    for words, (in_pattern, pattern_programs) in programs.patterns.items():
        if proof.holds:
            part = TracedRules(in_pattern, active_shapes(in_pattern, sizes), pattern_programs, names)
            proof = _with_pattern(proof, words, _judged_once(part, proofs))
    return proof


def _with_pattern(proof: Proof, words: str, part: Proof) -> Proof:
    """Return the proof joined with `part`, that of a pattern of symbolic zeros: with its hypotheses, or its failure."""
    change = msgspec.structs.replace
    if part.holds:
        stated = {**part.stated, **proof.stated}
        lemma = change(proof.lemma, verdict=worst([proof.lemma.verdict, part.lemma.verdict]))
        return replace(proof, stated=stated, lemma=_with_hypotheses(lemma, stated))
    failing = [
        change(o, reason=f"where {words}: {o.reason}") for o in part.lemma.obligations if o.verdict not in PROOFS
    ]
    kept = [o for o in proof.lemma.obligations if o.kind not in [f.kind for f in failing]]
    lemma = change(proof.lemma, verdict=part.lemma.verdict, obligations=[*kept, *failing], hypotheses=[], statements=[])
    return replace(proof, stated={}, lemma=lemma)


def _judged_once(rules: TracedRules, judged: dict[Any, Proof]) -> Proof:
    """Return the proof of the programs; equal programs with equal requests are proved once."""
    operation, programs = rules.operation, rules.programs
    texts = operation.equation.name, shown_name(operation), operation.request, rules.names, rules.shapes.dtypes
    key = (texts, *serialised_all(programs.all()).items())
    proof = judged.get(key)
    if proof is None:
        proof = judged[key] = _judged(rules)
    return replace(proof, programs=programs, stated={**proof.stated}, dimensions=[*proof.dimensions], signs={})


def _judged(rules: TracedRules) -> Proof:
    """Return the proof of the programs as written; where that fails, with long literals read as closed forms.

    The closed form of 0.3989422804014327 is 1/√(2π). A proof does not count if a program decides otherwise, or differs
    by more than rounding, with its constants as the dtype stores them (`as_stored`).
    """
    plain = Reading()
    proof = _judged_as_read(rules, plain)
    if not proof.holds and not any(plainly_refuted(o.witness, plain.exact) for o in proof.lemma.obligations):
        proof = _read_otherwise(rules, plain, proof)
    width = "float64" if rules.operation.equation.wide else "float32"
    looks = proof.holds and any(rounded_in(p, [width]) for p in rules.programs.all().values())
    why = as_stored(ordinary_runs(rules), [width]) if looks else ""
    return Proof(failed_lemma(rules.operation, rules.shapes, why), rules.names) if why else proof


def _read_otherwise(rules: TracedRules, plain: Reading, open_: Proof) -> Proof:
    """Return the proof with literals read as closed forms where possible; if it fails, `open_` with the reasons."""
    without_search = replace(rules, operation=replace(rules.operation, search=False))

    def proved(reading: Reading) -> Proof | None:
        proof = _judged_as_read(without_search, reading)
        return proof if proof.lemma.verdict in PROVED_AS_WRITTEN else None

    reading_with_proof = read_otherwise(plain, proved, lambda _: ordinary_runs(rules))
    if reading_with_proof is None:
        return replace(open_, lemma=with_reason(open_.lemma, plain.refused))
    proof, reading = reading_with_proof
    return replace(proof, lemma=up_to_rounding(proof.lemma, reading))


def _judged_as_read(rules: TracedRules, reading: Reading) -> Proof:
    """Return the proof of an operation's obligations under one reading of its literals, with their minimal hypotheses.

    Each obligation is attempted, with the hypotheses of those before it. If all hold, and an operand is known to be
    still at 0 (its tangent is 0 wherever the operand is: `prove/zero_tangents.py`), hypotheses of the derivative that
    only exclude such zeros are replaced by weaker ones. Last, hypotheses that others imply are dropped.
    """
    operation, programs, names = rules.operation, rules.programs, rules.names
    results: list[ObligationResult] = []
    clauses: dict[Statement, Clause] = {}
    notes: list[str] = []
    kinds = list(OF_RULES) if operation.active else ["rule_runs_forward"]
    try:
        with limited():
            problem = built(rules, reading)
        notes = sorted(problem.notes)
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError) as error:
        results = [ObligationResult(kind=k, verdict="unproved", reason=str(error)) for k in kinds]  # type: ignore[arg-type]
        return Proof(_lemma(rules, results, {}, []), names, programs)
    reads, extents = _reads(rules), dict[Var, Poly]()
    hypotheses_of: dict[str, dict[Statement, Clause]] = {}
    for kind in kinds:
        if kind == "vjp_is_adjoint" and rule_is_reverse(operation.equation):
            # A custom_vjp has no jvp: this one is the function's own, which is the derivative under its hypotheses.
            problem.domain = [*problem.domain, *(c for c in clauses.values() if assumed(c, problem.array_shapes))]
        outcome = _attempt(problem, kind)
        failures = [] if outcome.proved else [failure_of(rules, kind, outcome)]
        extents |= outcome.ranges
        hypotheses_of[kind] = hypothesis_clauses(rules, outcome) if outcome.proved else {}
        clauses = {**hypotheses_of[kind], **clauses}
        verdict: VerdictName = "proved under hypotheses" if outcome.hypotheses else "proved"
        results += failures or [ObligationResult(kind=kind, verdict=verdict)]  # type: ignore[arg-type]
    proved = all(o.verdict in PROVED_AS_WRITTEN for o in results)
    if_still = _if_still(problem, hypotheses_of, replace(reads, ranges={**extents, **reads.ranges})) if proved else None
    left_out: frozenset[Statement] = frozenset()
    if if_still is not None and if_still.argument in operation.still:
        left_out = frozenset(if_still.asked)
        clauses = {**{s: c for s, c in clauses.items() if s not in left_out}, **if_still.instead}
        extents |= if_still.ranges
        if not if_still.instead and not hypotheses_of["jvp_is_derivative"].keys() - left_out:
            plain = ObligationResult(kind="jvp_is_derivative", verdict="proved")
            results = [plain if o.kind == plain.kind else o for o in results]
    ordered = in_order(clauses)
    kept = {id(c) for c in minimal([clauses[s] for s in ordered], problem.facts, problem.array_shapes)}
    stated = {s: clauses[s] for s in ordered if id(clauses[s]) in kept}
    reads = replace(reads, ranges={**extents, **reads.ranges})
    lemma = _lemma(rules, results, stated, notes)
    argument = None if if_still is None else if_still.argument
    return Proof(lemma, names, programs, stated, reads, if_still=argument, left_out=left_out)


@dataclass(frozen=True)
class _IfStill:
    """The hypotheses of the derivative that weaken if an argument is still at 0."""

    argument: int
    asked: Mapping[Statement, Clause]
    """The hypotheses that are not needed then."""
    instead: Mapping[Statement, Clause]
    """The hypotheses that are needed in their place."""
    ranges: Mapping[Var, Poly]


def _if_still(problem: Problem, asked: Mapping[str, Mapping[Statement, Clause]], reads: Reads) -> _IfStill | None:
    """Return the hypotheses of the derivative that weaken if an argument has a zero tangent wherever it is 0.

    `asked` has the hypotheses of each obligation. None where none weakens, or where another obligation needs one of
    those that would be dropped.
    """
    derivative = asked.get("jvp_is_derivative", {})
    weaker = may_be_zero(problem) if derivative else None
    if weaker is None:
        return None
    reads = replace(reads, ranges={**weaker.ranges, **reads.ranges})
    dropped, instead = reads.each_once(weaker.asked), reads.each_once(weaker.instead)
    others = {s for kind, statements in asked.items() if kind != "jvp_is_derivative" for s in statements}
    if not dropped.keys() <= derivative.keys() or not others <= derivative.keys() - dropped.keys():
        return None
    return _IfStill(weaker.argument, dropped, instead, weaker.ranges)


def hypothesis_clauses(rules: TracedRules, outcome: Outcome) -> dict[Statement, Clause]:
    """Return the hypotheses of a proof, each with its clause."""
    reads = _reads(rules)
    with_ranges = replace(reads, ranges={**outcome.ranges, **reads.ranges}, tests=outcome.tests)
    return with_ranges.each_once(outcome.hypotheses)


def _reads(rules: TracedRules) -> Reads:
    """Return the `Reads` that turns conditions into trees, with the arguments' shapes and the first output's sizes."""
    variables = zip(rules.operation.names, rules.programs.forward.jaxpr.invars, strict=False)
    result = [dim_poly(d) for d in rules.programs.out_shapes[0]] if rules.programs.out_shapes else []
    ranges = {template(k): size for k, size in enumerate(result)}
    return Reads({name: shape_polys(v.aval) for name, v in variables}, ranges)


def built(rules: TracedRules, reading: Reading) -> Problem:
    """Return the programs as terms, with the known signs of the arguments as facts.

    The op's domain is left out where it cannot be read.
    """
    operation = rules.operation
    posed = Posed(operation.names, {}, operation.domain, rules.shapes, rules.programs, operation.title, reading)
    try:
        problem = build(posed)
    except DomainError:
        problem = build(replace(posed, domain=()))
    sign_facts = [
        fact
        for n, t, s in zip(operation.names, problem.inputs, operation.signs, strict=False)
        for fact in bounds.facts(argument(n, t.shape, "float").body, s)
    ]
    problem.facts = problem.facts.extended(sign_facts)
    problem.also = rest_conditions(problem) if operation.resting else []
    return problem


def _attempt(problem: Problem, kind: str) -> Outcome:
    """Return the outcome of proving one obligation; a budget that is used up is an outcome too."""
    try:
        with limited():
            return prove(problem, kind)
    except (BudgetError, RecursionError) as error:
        return Outcome(reason=str(error))


def _lemma(rules: TracedRules, results: list[ObligationResult], stated: Iterable[Statement], notes: list[str]) -> Lemma:
    """Return the lemma as data. Its digest is over the programs, with dimensions renamed, so that equal ones match."""
    operation, programs = rules.operation, rules.programs
    given = given_parameters(operation)
    canon = canonical(rules.names)
    signature = shown_signature(operation, rules.shapes, programs, canon)  # x + c and c + x have the same programs
    parts = [operation.title, signature, *given, *operation.domain, repr(sorted(versions().items())), KERNEL]
    parts += [
        f"{name}\n{serialised(p, dims=lambda d: with_renamed(d, canon))}" for name, p in sorted(programs.all().items())
    ]
    return Lemma(
        digest=hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest(),
        name=shown_name(operation),
        signature=signature,
        given=given,
        verdict=worst([r.verdict for r in results]),
        obligations=results,
        hypotheses=[text(s) for s in in_order(stated)],
        statements=in_order(stated),
        idealisations=notes,
    )


def failed_lemma(operation: Operation, shapes: ActiveShapes, reason: str) -> Lemma:
    """Return the unproved lemma of an operation whose rules do not trace, or whose proof was not begun."""
    result = ObligationResult(kind="jvp_is_derivative", verdict="unproved", reason=" ".join(reason.split()))
    text = (
        f"{shown_name(operation)} {[(str(s), d) for s, d in zip(shapes.inputs, shapes.dtypes, strict=True)]} {reason}"
    )
    return Lemma(
        digest=hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
        name=shown_name(operation),
        signature="",
        given=given_parameters(operation),
        verdict="unproved",
        obligations=[result],
        hypotheses=[],
    )
