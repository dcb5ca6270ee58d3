"""Lemmas: one operation with its parameters, at one pattern of shapes, proved for all sizes of its dimensions."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec
import numpy as np

from certgrad._subject import OF_RULES, Subject
from certgrad._threads import Kept
from certgrad.errors import CertgradError, DomainError
from certgrad.graph import _bounds, _jaxpr
from certgrad.graph._cases import contrary_cases, shown
from certgrad.graph._family import Family, families_of, is_symbolic, structure, symbol
from certgrad.graph._jaxpr import Equation, Numbers
from certgrad.graph._rules import ActiveShapes, Outputs, node_rules
from certgrad.graph.certificate import Lemma, ObligationResult
from certgrad.hypotheses.text import text
from certgrad.hypotheses.tree import Statement, encode
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import ANY
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.auditing.attempts import plainly_refuted
from certgrad.obligations.auditing.redundant import not_implied
from certgrad.obligations.auditing.witnesses import _as_data
from certgrad.obligations.balls import BallError, Input, Rule, find_witness
from certgrad.obligations.balls.statements import inside
from certgrad.obligations.certificate import HOLDS, KERNEL, PROOFS, VerdictName, worst
from certgrad.obligations.generality.decisions import UNANSWERABLE, Fixed, _solution, rendering
from certgrad.obligations.meaning.literals import ClosedForm, Reading, closed_form
from certgrad.obligations.meaning.semantics import Context, UnprovedError, interpret
from certgrad.obligations.meaning.semantics_inputs import argument
from certgrad.obligations.prove.problem import Problem, Programs, build, trace_rules
from certgrad.obligations.prove.prove import Outcome, _minimal, prove
from certgrad.obligations.terms.atoms import Dim
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.variables import template
from certgrad.obligations.tracing.jax_internals import (
    dim_poly,
    is_literal,
    kind_of,
    serialised,
    serialised_all,
    shape_polys,
    versions,
    wide_floats,
)
from certgrad.obligations.wording.present import show
from certgrad.obligations.wording.stated import Reads

_NAMES = ("x", "y", "z", "w")
_KINDS = {"f": "float", "i": "int", "b": "bool"}
RESIDUAL_LENGTH = 400
CASES = 40
"""Sizes that a rule treats on their own: beyond that many, the others are excluded."""


def argument_names(count: int) -> tuple[str, ...]:
    """What a lemma calls so many arguments that have no names of their own."""
    return tuple(_NAMES[k] if k < len(_NAMES) else f"x{k}" for k in range(count))


@dataclass(frozen=True)
class Operation:
    """What a lemma is about: an equation, which of its arguments move, and what may be used of where they are."""

    equation: Equation
    names: tuple[str, ...]
    active: tuple[int, ...]
    domain: tuple[str, ...] = ()
    title: str = ""
    signs: tuple[int, ...] = ()
    """Where the arguments are, as `_bounds` says it."""
    search: bool = True
    """Whether to look for a witness where the proof fails."""

    @property
    def dims(self) -> list[str]:
        """The dimension variables at the node, in order of appearance in the arguments, then in the parameters."""
        shapes = [v.aval.shape for v in (*self.equation.variables, *self.equation.eqn.outvars)]
        return list(
            dict.fromkeys(n for part in (*shapes, *self.equation.eqn.params.values()) for n in _jaxpr.dims_in(part))
        )


@dataclass
class Proof:
    """A lemma with what stands behind it: the traced programs, and its hypotheses as terms."""

    lemma: Lemma
    dims: tuple[str, ...]
    """The dimension variables of the programs, in the order of `Lemma.signature`."""
    programs: Programs | None = None
    stated: dict[Statement, Clause] = field(default_factory=dict)
    """The hypotheses: what each says, with how the calculus holds it."""
    reads: Reads = field(default_factory=lambda: Reads({}))
    """How conditions of this proof are read."""
    dimensions: list[str] = field(default_factory=list)
    """Hypotheses on dimensions, over the programs' names."""
    signs: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)
    """The signs of the outputs, by those of the arguments."""

    @property
    def holds(self) -> bool:
        return self.lemma.verdict in PROOFS

    @property
    def clauses(self) -> list[Clause]:
        return list(self.stated.values())


@dataclass
class Instance:
    """A lemma at a node: what each of its dimensions is there, a number or an expression over the graph's."""

    proof: Proof
    sizes: dict[str, Any]
    nonempty: tuple[str, ...] = ()
    """Sizes of the node that the lemma takes to be at least 1, though they can be 0."""


_proved = Kept()
"""The lemmas about JAX's own primitives, for as long as the thread lives: they depend on no function of the user."""


_same = Kept()
"""Whether JAX's rules are those of the lemma at the sizes of a node."""


class Lemmas:
    """All lemmas of one certification, each proved once."""

    def __init__(self) -> None:
        self.rules = _jaxpr.installed_rules()
        self.instances: dict[Any, Instance] = {}
        self.proofs: dict[Any, Proof] = {}
        self.judged: dict[Any, Proof] = {}
        """What was proved of programs at a node's own sizes: nodes with the same ones share it."""
        self.families: dict[Equation, list[Family]] = {}

    def of(self, operation: Operation) -> Instance:
        """The lemma for an operation. Operations of one family of shapes share it."""
        o = operation
        key = o.equation, o.names, o.active, o.domain, o.title, o.signs, o.search
        found = self.instances.get(key)
        if found is None:
            with wide_floats():
                found = self.instances[key] = self._instance(operation)
        return found

    def _instance(self, operation: Operation) -> Instance:
        if operation.equation not in self.families:
            self.families[operation.equation] = families_of(operation.equation)
        families = self.families[operation.equation]
        for family in families:
            found = None if family.possibly_empty else self._in_family(operation, family)
            if found is not None and (found.proof.holds or (found.proof.programs and not operation.search)):
                return found  # an attempt that fails for all sizes is not repeated at some
        own = self._as_it_stands(operation)
        for family in (f for f in families if f.possibly_empty and not own.proof.holds):
            found = self._in_family(operation, family)
            if found is not None and found.proof.holds:
                return found
        return own

    def _in_family(self, operation: Operation, family: Family) -> Instance | None:
        """The family's lemma where it speaks of the node's sizes; else that of a narrower family that contains them."""
        if any(is_symbolic(size) for size in family.sizes.values()):
            return Instance(self._proved(operation, family, everywhere=True), family.sizes, family.possibly_empty)
        for _ in range(CASES):
            proof = self._proved(operation, family, everywhere=False)
            if proof.programs is None or (proof.holds and self._runs_there(operation, family, proof)):
                return Instance(proof, family.sizes)
            # JAX's caches ask of dimensions too, now and then: what was asked is looked at where programs differ.
            case = broken_decision(proof.programs, family.sizes)
            if not case:
                return None if proof.holds or case is not None else Instance(proof, family.sizes)
            family = family.at(case)
        return None

    def _runs_there(self, operation: Operation, family: Family, proof: Proof) -> bool:
        """JAX's rules, traced at the node's own sizes, are the lemma's programs with its symbols set to these."""
        key = (self.rules, _key(operation), family.key, tuple(family.sizes.items()))
        found = _same.table.get(key)
        if found is None:
            found = _same.table[key] = _same_programs(operation, family, proof)
        return found

    def _proved(self, operation: Operation, family: Family, everywhere: bool) -> Proof:
        key = (self.rules, _key(operation), family.key, everywhere)
        found = _proved.table.get(key)
        if found is None:

            def at(case: Fixed) -> Proof:
                return _in_general(operation, family.at(case) if case else family)

            found = _proved.table[key] = _at_all_sizes(at) if everywhere else at({})
        return found

    def _as_it_stands(self, operation: Operation) -> Instance:
        """The lemma at the node's own sizes: numbers stay numbers."""
        table = own_table(operation)
        if operation.equation.holds_program:
            key: Any = (operation.equation, operation.names, operation.active, operation.domain, operation.signs)
            store = self.proofs
        else:
            params, shapes = (
                structure(x, lambda size: _renamed(size, table))
                for x in (operation.equation.eqn.params, [v.aval.shape for v in operation.equation.variables])
            )
            key, store = (self.rules, _key(operation), params, shapes), _proved.table
        found = store.get(key)
        if found is None:
            found = store[key] = _own_sizes(operation, table, self.judged)
        return Instance(found, {mine: name for name, mine in table.items()})

    def nothing(self, operation: Operation) -> Proof:
        """A proof of nothing, for an operation on values of which nothing is known (random keys)."""
        return Proof(_failed(operation, ActiveShapes((), ()), (), ""), ())

    def signs(self, operation: Operation, base: Proof) -> tuple[int, ...]:
        """The signs of the operation's outputs, given those of its arguments."""
        if base.programs is None:
            return ()
        found = base.signs.get(operation.signs)
        if found is None:
            found = base.signs[operation.signs] = output_signs(operation, base.programs)
        return found


def canonical(names: Sequence[str]) -> dict[str, str]:
    """The lemma's name for each dimension."""
    return {n: symbol(k) for k, n in enumerate(names)}


def _renamed(value: Any, table: Mapping[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda m: table.get(m[0], m[0]), str(value))


def _key(operation: Operation) -> Any:
    """The operation, its shapes aside."""
    equation = operation.equation
    slots = {v: k for k, v in enumerate(equation.variables)}
    pattern = tuple(
        (_jaxpr.dtype_name(v.aval.dtype), np.asarray(v.val).tobytes(), np.shape(v.val))
        if is_literal(v)
        else (slots[v], _jaxpr.dtype_name(v.aval.dtype))
        for v in equation.eqn.invars
    )
    return (
        equation.primitives,
        pattern,
        operation.active,
        operation.names,
        operation.domain,
        operation.signs,
        operation.title,
        operation.search,
    )


def broken_decision(programs: Programs, sizes: Mapping[str, Any]) -> Fixed | None:
    """Sizes that a rule treats on their own, where the node has them: the case, empty where it cannot be written.

    None where each question about dimensions that tracing answered has the same answer at these sizes.
    """
    for program in programs.all().values():
        for decision in program.decisions:
            if decision.difference is None:
                if decision.by_library:
                    continue
                return {}
            value = _at(decision.difference, sizes)
            if value is None or value == 0:
                return _solution(decision.difference) or {}
    return None


def _at(poly: Poly, sizes: Mapping[str, Any]) -> Fraction | None:
    """A polynomial over dimensions at these sizes; None where it holds something else."""
    total = Fraction(0)
    for mono, c in poly.items():
        value = Fraction(int(c.p), int(c.q))
        for atom, power in mono:
            if not isinstance(atom, Dim) or atom.name not in sizes or Fraction(str(power)).denominator != 1:
                return None
            value *= Fraction(sizes[atom.name]) ** int(str(power))
        total += value
    return total


def _at_all_sizes(prove_at: Callable[[Fixed], Proof]) -> Proof:
    """The lemma, with the cases that tracing decided away traced and proved as well, or else excluded."""
    proof = prove_at({})
    if proof.programs is None:
        return proof
    general = list(proof.clauses)
    queue, questions = contrary_cases(proof.programs, {}, everything=True)
    proof.dimensions += _left_out(questions)
    seen: set[str] = set()
    while queue:
        case = queue.pop(0)
        key = str(sorted(case.items()))
        if key in seen:
            continue
        seen.add(key)
        other = prove_at(case) if len(seen) <= CASES else None
        alike = other is not None and other.lemma.verdict in (*HOLDS, proof.lemma.verdict)
        if other is None or other.programs is None or not other.holds or not alike:
            proof.dimensions.append(f"not {shown(case)}")
            continue
        more_there = [c for s, c in other.stated.items() if s not in proof.stated]
        more_there = not_implied(more_there, general, case, other.reads)
        proof.stated |= {s: c for s, c in other.reads.each_once(more_there).items() if s not in proof.stated}
        more, questions = contrary_cases(other.programs, case, everything=True)
        queue += more
        proof.dimensions += _left_out(questions)
    proof.dimensions = list(dict.fromkeys(proof.dimensions))
    proof.lemma = _with_hypotheses(proof.lemma, proof.stated)
    return proof


def _in_general(operation: Operation, family: Family) -> Proof:
    """The lemma over the family's symbols."""
    return _prove_at(operation, *of_family(family))


class Setting(NamedTuple):
    """Where an operation's rules are traced: how it runs, its operands' shapes, and the dimension variables."""

    run: Outputs
    shapes: tuple[tuple[Any, ...], ...]
    names: tuple[str, ...]


def of_family(family: Family) -> Setting:
    """Over the family's symbols."""
    used = [n for s in family.shapes for d in s for n in _jaxpr.dims_in(d)]
    return Setting(family.run, family.shapes, tuple(dict.fromkeys([*used, *family.sizes])))


def of_node(operation: Operation, table: Mapping[str, str], case: Fixed) -> Setting:
    """At the node's sizes, its dimension variables renamed, and set to what the case says."""
    equation = operation.equation
    own = tuple(tuple(v.aval.shape) for v in equation.variables)
    if not table or equation.holds_program:
        return Setting(equation.run, own, tuple(table.values()))
    sizes = _jaxpr.dimension_table(list(table.values()), case)
    values = {n: sizes[mine] for n, mine in table.items()}
    shapes = tuple(tuple(_jaxpr.replaced(d, values) for d in s) for s in own)
    free = tuple(d for d in sizes if d not in case or d in _jaxpr.dims_in(sizes[d]))
    return Setting(equation.at(values).run, shapes, free)


def own_table(operation: Operation) -> dict[str, str]:
    """What the lemma at a node's own sizes calls its dimensions."""
    names = operation.dims
    # The rule of an equation that holds a program belongs to the symbols that it was traced at.
    return {n: n for n in names} if operation.equation.holds_program else canonical(names)


def traced_only(operation: Operation, setting: Setting) -> Proof:
    """The programs of a lemma with its digest, and no proof of it. Raises what tracing raises."""
    programs = traced_programs(operation, setting.run, setting.shapes)
    lemma = _lemma(operation, _shapes(operation, setting.shapes), programs, setting.names, [], [], [])
    return Proof(lemma, setting.names, programs)


def _same_programs(operation: Operation, family: Family, proof: Proof) -> bool:
    assert proof.programs is not None
    sizes = {n: str(size) for n, size in family.sizes.items()}
    here = family.at(sizes)
    try:
        own = traced_programs(operation, here.run, here.shapes)
    except (CertgradError, UnprovedError, KeyError, NotImplementedError, TypeError):
        return False
    expected, found = (
        serialised_all(programs.all(), rendering(fixed), fold_sizes=True)
        for programs, fixed in ((proof.programs, sizes), (own, {}))
    )
    return expected == found


def _own_sizes(operation: Operation, table: Mapping[str, str], judged: dict[Any, Proof]) -> Proof:
    """The lemma at the node's sizes, its dimension variables renamed."""
    if not table or operation.equation.holds_program:
        proof = _prove_at(operation, *of_node(operation, table, {}), judged)
        if proof.programs is not None and table:
            cases, questions = contrary_cases(proof.programs, {}, everything=False)
            proof.dimensions = [*_left_out(questions), *(f"not {shown(case)}" for case in cases)]
        return proof

    return _at_all_sizes(lambda case: _prove_at(operation, *of_node(operation, table, case), judged))


def _left_out(questions: Sequence[str]) -> list[str]:
    """Hypotheses that leave out the sizes which questions without a case to trace are about."""
    return [question if question == UNANSWERABLE else f"not {question}" for question in questions]


def _with_hypotheses(lemma: Lemma, stated: Iterable[Statement]) -> Lemma:
    ordered = in_order(stated)
    verdict: VerdictName = "proved under hypotheses" if lemma.verdict == "proved" and ordered else lemma.verdict
    texts = [text(s) for s in ordered]
    return msgspec.structs.replace(lemma, hypotheses=texts, statements=ordered, verdict=verdict)


def in_order(stated: Iterable[Statement]) -> list[Statement]:
    """Statements in the order of their texts."""
    return sorted(stated, key=lambda s: (text(s), encode(s)))


def _prove_at(
    operation: Operation,
    run: Outputs,
    sizes: tuple[tuple[Any, ...], ...],
    names: tuple[str, ...],
    judged: dict[Any, Proof] | None = None,
) -> Proof:
    shapes = _shapes(operation, sizes)
    try:
        refused = _refused(operation)
        if refused:
            raise UnprovedError(refused)
        programs = traced_programs(operation, run, sizes)
        if any(_jaxpr.captures(p) for p in programs.all().values()):
            raise UnprovedError("a rule closes over a value that is being traced; pass it as an argument")
        if operation.equation.name.startswith("custom_"):
            again = traced_programs(operation, run, sizes)
            if serialised_all(again.all()) != serialised_all(programs.all()):
                raise UnprovedError("a rule traces differently a second time: it is impure")
    except (CertgradError, UnprovedError, KeyError, NotImplementedError, TypeError) as error:
        return Proof(_failed(operation, shapes, names, str(error) or type(error).__name__), names)
    return _judged_once(operation, shapes, programs, names, {} if judged is None else judged)


def _judged_once(
    operation: Operation, shapes: ActiveShapes, programs: Programs, names: tuple[str, ...], judged: dict[Any, Proof]
) -> Proof:
    """What is proved of the programs: once of the same programs, asked in the same words, with these put in."""
    o = operation
    words = (o.equation.name, _name(o), o.names, o.active, o.domain, o.title, o.signs, o.search, names, shapes.dtypes)
    key = (words, *serialised_all(programs.all()).items())
    found = judged.get(key)
    if found is None:
        found = judged[key] = _judged(operation, shapes, programs, names)
    return replace(found, programs=programs, stated={**found.stated}, dimensions=[*found.dimensions], signs={})


def _shapes(operation: Operation, sizes: tuple[tuple[Any, ...], ...]) -> ActiveShapes:
    dtypes = (_KINDS.get(kind_of(v.aval.dtype), str(v.aval.dtype)) for v in operation.equation.variables)
    return ActiveShapes(sizes, tuple(dtypes), active=operation.active)


def traced_programs(operation: Operation, run: Outputs, sizes: tuple[tuple[Any, ...], ...]) -> Programs:
    """The operation's rules, traced at these shapes."""
    shapes = _shapes(operation, sizes)
    return trace_rules(
        node_rules(operation.equation, shapes, run), shapes, 0, operation.title or operation.equation.name
    )


def _rule_is_reverse(equation: Equation) -> bool:
    return equation.name.startswith("custom_vjp_call")


def _refused(operation: Operation) -> str:
    params = operation.equation.eqn.params
    if params.get("symbolic_zeros") is True and not operation.title.startswith("op "):
        return "a custom_jvp with symbolic zeros: its rule sees which arguments move"
    return ""


def _judged(operation: Operation, shapes: ActiveShapes, programs: Programs, names: tuple[str, ...]) -> Proof:
    """As the operation is written; where that is not proved, with long literals read as what they were rounded from."""
    plain = Reading()
    proof = _judged_as_read(operation, shapes, programs, names, plain)
    meant = {value: form for value in sorted(plain.long) if (form := closed_form(value)) is not None}
    if proof.holds or not meant or any(plainly_refuted(o.witness) for o in proof.lemma.obligations):
        return proof
    other = _judged_as_read(replace(operation, search=False), shapes, programs, names, Reading(meant))
    return _up_to_rounding(other, meant) if other.lemma.verdict in HOLDS else proof


def _up_to_rounding(proof: Proof, meant: Mapping[float, ClosedForm]) -> Proof:
    """The proof of an operation whose literals were read as the closed forms, which its lemma says."""
    read = [f"{literal!r} is read as {form.text()}" for literal, form in sorted(meant.items())]
    rounded: VerdictName = "proved up to rounding"
    change = msgspec.structs.replace
    results = [change(o, verdict=rounded, reason="; ".join(read)) for o in proof.lemma.obligations]
    notes = sorted([*proof.lemma.idealisations, *read])
    return replace(proof, lemma=change(proof.lemma, verdict=rounded, obligations=results, idealisations=notes))


def _judged_as_read(
    operation: Operation, shapes: ActiveShapes, programs: Programs, names: tuple[str, ...], reading: Reading
) -> Proof:
    results: list[ObligationResult] = []
    clauses: dict[Statement, Clause] = {}
    notes: list[str] = []
    kinds = list(OF_RULES) if operation.active else ["rule_runs_forward"]
    try:
        with limited():
            problem = _build(operation, shapes, programs, reading)
            given = [
                fact
                for n, t, s in zip(operation.names, problem.inputs, operation.signs, strict=False)
                for fact in _bounds.facts(argument(n, t.shape, "float").body, s)
            ]
            problem.facts = problem.facts.extended(given)
        notes = sorted(problem.notes)
    except (UnprovedError, BudgetError, ArithmeticError) as error:
        results = [ObligationResult(kind=k, verdict="unproved", reason=str(error)) for k in kinds]  # type: ignore[arg-type]
        return Proof(_lemma(operation, shapes, programs, names, results, {}, []), names, programs)
    reads = _reads(operation, programs)
    for kind in kinds:
        if kind == "vjp_is_adjoint" and _rule_is_reverse(operation.equation):
            # The jvp is no rule of its own here but stands for the derivative, which it is under its hypotheses.
            problem.domain = [*problem.domain, *clauses.values()]
        outcome = _attempt(problem, kind)
        found = [] if outcome.proved else [_failure(operation, shapes, programs, names, kind, outcome)]
        here = replace(reads, ranges={**outcome.ranges, **reads.ranges}, tests=outcome.tests)
        for clause in outcome.hypotheses if outcome.proved else []:
            clauses.setdefault(here(clause), clause)
        verdict: VerdictName = "proved under hypotheses" if outcome.hypotheses else "proved"
        results += found or [ObligationResult(kind=kind, verdict=verdict)]  # type: ignore[arg-type]
    ordered = in_order(clauses)
    kept = {id(c) for c in _minimal([clauses[s] for s in ordered], problem.facts)}
    stated = {s: clauses[s] for s in ordered if id(clauses[s]) in kept}
    return Proof(_lemma(operation, shapes, programs, names, results, stated, notes), names, programs, stated, reads)


def _reads(operation: Operation, programs: Programs) -> Reads:
    """Arguments at the shapes of the programs; other indices number the first output."""
    variables = zip(operation.names, programs.forward.jaxpr.invars, strict=False)
    result = [dim_poly(d) for d in programs.out_shapes[0]] if programs.out_shapes else []
    ranges = {template(k): size for k, size in enumerate(result)}
    return Reads({name: shape_polys(v.aval) for name, v in variables}, ranges)


def _build(operation: Operation, shapes: ActiveShapes, programs: Programs, reading: Reading) -> Problem:
    try:
        return build(operation.names, {}, operation.domain, shapes, programs, operation.title, reading)
    except DomainError:
        return build(operation.names, {}, (), shapes, programs, operation.title, reading)


def _attempt(problem: Problem, kind: str) -> Outcome:
    try:
        with limited():
            return prove(problem, kind)
    except BudgetError as error:
        return Outcome(reason=str(error))


def output_signs(operation: Operation, programs: Programs) -> tuple[int, ...]:
    """Where the outputs can be, given where the arguments are; nothing is said where the calculus cannot."""
    try:
        with limited():
            outputs, facts = _interpreted(operation, programs)
            return tuple(_bounds.of_term(t.body, facts, t.signs) for t in outputs)
    except (UnprovedError, BudgetError, ArithmeticError):
        return (ANY,) * len(programs.forward.jaxpr.outvars)


def forward_terms(operation: Operation, programs: Programs) -> list[Poly] | None:
    """The entries of the operation's outputs as terms; None where the calculus cannot follow it."""
    try:
        with limited():
            return [t.body for t in _interpreted(operation, programs)[0]]
    except (UnprovedError, BudgetError, ArithmeticError):
        return None


def _interpreted(operation: Operation, programs: Programs) -> tuple[list[Tensor], Facts]:
    """The outputs of the forward, given where the arguments are, and what that says."""
    clear_caches()
    jaxpr = programs.forward.jaxpr
    known = operation.signs or (ANY,) * len(operation.names)
    inputs = []
    for name, var, signs in zip(operation.names, jaxpr.invars, known, strict=True):
        tensor = argument(name, shape_polys(var.aval), _KINDS.get(kind_of(var.aval.dtype), "float"))
        inputs.append(replace(tensor, signs=tensor.signs & _bounds.sign(signs)))
    facts = Facts([fact for t, s in zip(inputs, known, strict=True) for fact in _bounds.facts(t.body, s)])
    outputs = interpret(Context(facts), programs.forward, inputs, [True] * len(jaxpr.outvars))
    return [t for t in outputs if t is not None], facts


def _failure(
    operation: Operation, shapes: ActiveShapes, programs: Programs, names: tuple[str, ...], kind: str, outcome: Outcome
) -> ObligationResult:
    residual = show(outcome.residual)[:RESIDUAL_LENGTH] if outcome.residual is not None else ""
    if outcome.surrogate:
        return ObligationResult(kind=kind, verdict="surrogate", reason=outcome.reason, residual=residual)  # type: ignore[arg-type]
    # What is too large to prove is too large to search.
    search = operation.search and not outcome.reason.startswith("budget")
    if kind == "jvp_is_derivative" and _rule_is_reverse(operation.equation):
        search = False  # the jvp is no rule that runs: nothing of it could be refuted
    witness = _witness(operation, shapes, programs, names, kind) if search else None
    reason = "the two sides differ at the witness" if witness else outcome.reason
    verdict: VerdictName = "refuted" if witness else "unproved"
    return ObligationResult(kind=kind, verdict=verdict, reason=reason, residual=residual, witness=witness)  # type: ignore[arg-type]


def _witness(operation: Operation, shapes: ActiveShapes, programs: Programs, names: tuple[str, ...], kind: str) -> Any:
    """A point where the traced programs provably break the obligation, or None."""
    inputs = [
        Input(n, tuple(str(d) for d in s), k, differentiable=i in shapes.active)  # type: ignore[arg-type]
        for i, (n, s, k) in enumerate(zip(operation.names, shapes.inputs, shapes.dtypes, strict=True))
    ]
    numbers = Numbers(np.float64, np.int64)

    def at(dims: Any) -> Rule:
        def run(program: Any, *groups: Sequence[Any]) -> list[Any]:
            return _jaxpr.evaluate(program, [x for g in groups for x in g], dims.sizes, numbers)

        return Rule(
            forward=lambda xs: run(programs.forward, xs),
            jvp=None if _rule_is_reverse(operation.equation) else lambda xs, dxs: run(programs.jvp, xs, dxs),
            vjp=lambda xs, seeds: run(programs.vjp, xs, seeds),
            primal=(lambda xs: run(programs.primal, xs)) if programs.primal else None,
        )

    def as_traced(dims: Any) -> bool:
        return broken_decision(programs, dims.sizes) is None  # else another program runs at these sizes

    def domain(values: Mapping[str, Any]) -> bool:
        signed = zip(operation.names, operation.signs, strict=False)
        return inside(operation.domain, values) and all(_within(values[n], s) for n, s in signed)

    try:
        name = f"{operation.title} {shapes.inputs}"
        found = find_witness(kind, at, inputs, domain=domain, fits=as_traced, name=name, precision=256)
        return _as_data(found, _NoStatics()) if found is not None else None  # type: ignore[arg-type]
    except (BallError, TypeError, ValueError, KeyError):
        return None


class _NoStatics:
    """A node's parameters are part of its equation: it has no structural arguments to show."""

    def keywords(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        return {}


def _within(value: Any, signs: int) -> bool:
    if isinstance(value, list | tuple):
        return all(_within(v, signs) for v in value)
    if not isinstance(value, int | Fraction):
        return True
    return _bounds.holds(value, signs)


def _lemma(
    operation: Operation,
    shapes: ActiveShapes,
    programs: Programs,
    names: tuple[str, ...],
    results: list[ObligationResult],
    stated: Iterable[Statement],
    notes: list[str],
) -> Lemma:
    given = _given(operation)
    canon = canonical(names)
    parts = [operation.title, *given, *operation.domain, repr(sorted(versions().items())), KERNEL]
    parts += [
        f"{name}\n{serialised(p, dims=lambda d: _renamed(d, canon))}" for name, p in sorted(programs.all().items())
    ]
    return Lemma(
        digest=hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest(),
        name=_name(operation),
        signature=_signature(operation, shapes, programs, canon),
        given=given,
        verdict=worst([r.verdict for r in results]),
        obligations=results,
        hypotheses=[text(s) for s in in_order(stated)],
        statements=in_order(stated),
        idealisations=notes,
    )


def _failed(operation: Operation, shapes: ActiveShapes, names: tuple[str, ...], reason: str) -> Lemma:
    """The lemma of an operation whose rules do not trace."""
    result = ObligationResult(kind="jvp_is_derivative", verdict="unproved", reason=" ".join(reason.split()))
    text = f"{_name(operation)} {[(str(s), d) for s, d in zip(shapes.inputs, shapes.dtypes, strict=True)]} {reason}"
    return Lemma(
        digest=hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
        name=_name(operation),
        signature="",
        given=_given(operation),
        verdict="unproved",
        obligations=[result],
        hypotheses=[],
    )


def _given(operation: Operation) -> list[str]:
    return [text for n, s in zip(operation.names, operation.signs, strict=False) for text in _bounds.conditions(n, s)]


def _name(operation: Operation) -> str:
    names = iter(operation.names)
    by_variable = {v: next(names) for v in operation.equation.variables}
    args = [_literal(v.val) if is_literal(v) else by_variable[v] for v in operation.equation.eqn.invars]
    return f"{operation.title or operation.equation.name}({', '.join(args)})"


def _literal(value: Any) -> str:
    return f"{np.asarray(value).item()!r}" if np.ndim(value) == 0 else "array"


def _signature(operation: Operation, shapes: ActiveShapes, programs: Programs, canon: Mapping[str, str]) -> str:
    def shape(dims: Sequence[Any]) -> str:
        return "[" + ", ".join(_renamed(d, canon) for d in dims) + "]"

    held = [k for k in range(len(shapes.inputs)) if k not in shapes.active]
    args = ", ".join(
        f"{n} {shape(s)}" + (" constant" if k in held else "")
        for k, (n, s) in enumerate(zip(operation.names, shapes.inputs, strict=True))
    )
    return f"{args} -> {', '.join(shape(s) for s in programs.out_shapes)}"


def domain_of(op: Subject, statics: Mapping[str, Any]) -> tuple[str, ...]:
    """The op's domain with its parameters' values put in."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            value = statics.get(node.id)
            return ast.Constant(value) if node.id in op.params and value is not None else node

    return tuple(ast.unparse(Fill().visit(ast.parse(text.strip(), mode="eval"))) for text in op.domain)
