"""Lemmas: one operation with its parameters, at one pattern of shapes, proved for all sizes of its dimensions."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from certgrad.errors import CertgradError, DomainError
from certgrad.graph import _jaxpr
from certgrad.graph._cases import contrary_cases, shown
from certgrad.graph._jaxpr import Equation, Numbers
from certgrad.graph._rules import ActiveShapes, node_rules
from certgrad.graph.certificate import Lemma, ObligationResult
from certgrad.obligations import _facts as signs_of
from certgrad.obligations._budget import BudgetError, limited
from certgrad.obligations._conditions import Clause
from certgrad.obligations._domain_points import inside
from certgrad.obligations._facts import ANY, ZERO, Fact, Facts
from certgrad.obligations._jax_internals import (
    is_literal,
    kind_of,
    serialised,
    shape_polys,
    versions,
    wide_floats,
)
from certgrad.obligations._present import show, show_clause
from certgrad.obligations._problem import Problem, Programs, build, trace_rules
from certgrad.obligations._prove import Outcome, _minimal, prove
from certgrad.obligations._semantics_inputs import argument
from certgrad.obligations._terms import clear_caches
from certgrad.obligations._witnesses import _as_data
from certgrad.obligations.balls import BallError, Input, Rule, find_witness
from certgrad.obligations.certificate import CODES, KERNEL, VerdictName, worst
from certgrad.obligations.semantics import Context, UnprovedError, interpret

NAMES = ("x", "y", "z", "w")
DIMS = ("n", "m", "k", "l", "p", "q")
RELATIONS = {
    signs_of.POS: "> 0",
    signs_of.NONNEG: "≥ 0",
    signs_of.NEG: "< 0",
    signs_of.NONPOS: "≤ 0",
    signs_of.NONZERO: "≠ 0",
    signs_of.ZERO: "= 0",
}
_KINDS = {"f": "float", "i": "int", "b": "bool"}
RESIDUAL_LENGTH = 400
CASES = 40
"""Sizes that a rule treats on their own: beyond that many, the others are excluded."""


@dataclass(frozen=True)
class Operation:
    """What a lemma is about: an equation, which of its arguments move, and the signs that may be used of them."""

    equation: Equation
    names: tuple[str, ...]
    active: tuple[int, ...]
    domain: tuple[str, ...] = ()
    title: str = ""
    signs: tuple[int, ...] = ()

    @property
    def avals(self) -> list[Any]:
        return [v.aval for v in self.equation.variables]

    @property
    def dims(self) -> list[str]:
        """The dimension variables, in order of appearance in the arguments, then in the parameters."""
        shapes = [a.shape for a in self.avals] + [v.aval.shape for v in self.equation.eqn.outvars]
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
    clauses: list[Clause] = field(default_factory=list)
    dimensions: list[str] = field(default_factory=list)
    """Hypotheses on dimensions, over the programs' names."""


class Lemmas:
    """All lemmas of one certification, each proved once."""

    def __init__(self) -> None:
        self.proofs: dict[Any, Proof] = {}
        self.known: dict[Any, tuple[int, ...]] = {}

    def of(self, operation: Operation) -> Proof:
        """The lemma for an operation. Operations that differ only in the names of dimensions share it."""
        generic = not _jaxpr.holds_program(operation.equation)
        key = _key(operation) if generic else (id(operation.equation), operation.active, operation.signs)
        found = self.proofs.get(key)
        if found is None:
            with wide_floats():
                found = self.proofs[key] = _proof(operation, generic)
        return found

    def signs(self, operation: Operation, base: Proof) -> tuple[int, ...]:
        """The signs of the operation's outputs, given those of its arguments."""
        if base.programs is None:
            return ()
        key = (id(base.programs), operation.signs)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = output_signs(operation, base.programs)
        return found


def canonical(names: Sequence[str]) -> dict[str, str]:
    """The lemma's name for each dimension."""
    return {n: DIMS[k] if k < len(DIMS) else f"n{k}" for k, n in enumerate(names)}


def _renamed(value: Any, table: Mapping[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda m: table.get(m[0], m[0]), str(value))


def _key(operation: Operation) -> Any:
    table = canonical(operation.dims)
    equation = operation.equation
    slots = {v: k for k, v in enumerate(equation.variables)}
    pattern = tuple(
        (str(v.aval.dtype), np.asarray(v.val).tobytes(), np.shape(v.val))
        if is_literal(v)
        else (slots[v], _renamed(v.aval.shape, table), str(v.aval.dtype))
        for v in equation.eqn.invars
    )
    params = tuple((k, _renamed(v, table)) for k, v in sorted(equation.eqn.params.items()))
    return equation.name, pattern, params, operation.active, operation.names, operation.domain, operation.signs


def _proof(operation: Operation, generic: bool) -> Proof:
    names = operation.dims
    if not generic:
        return _prove_at(operation, operation.equation, {}, tuple(names))
    renamed = canonical(names)
    return _generic(operation, {n: renamed[n] for n in names})


def _generic(operation: Operation, renamed: Mapping[str, str]) -> Proof:
    """The lemma over fresh dimensions; the cases that tracing decided away are traced and proved as well."""
    proof = _fixed(operation, renamed, {})
    if proof.programs is None:
        return proof
    queue, questions = contrary_cases(proof.programs, {}, everything=True)
    proof.dimensions += questions
    seen: set[str] = set()
    while queue:
        case = queue.pop(0)
        key = str(sorted(case.items()))
        if key in seen:
            continue
        seen.add(key)
        other = _fixed(operation, renamed, case) if len(seen) <= CASES else None
        if other is None or other.programs is None or other.lemma.verdict not in ("proved", "proved under hypotheses"):
            proof.dimensions.append(f"not {shown(case)}")
            continue
        known = {show_clause(c) for c in proof.clauses}
        proof.clauses += [c for c in other.clauses if show_clause(c) not in known]
        more, questions = contrary_cases(other.programs, case, everything=True)
        queue += more
        proof.dimensions += questions
    proof.dimensions = list(dict.fromkeys(proof.dimensions))
    proof.lemma = _with_hypotheses(proof.lemma, proof.clauses)
    return proof


def _fixed(operation: Operation, renamed: Mapping[str, str], fixed: Mapping[str, str]) -> Proof:
    """The lemma with dimensions set to numbers, to each other, or to expressions."""
    table = _jaxpr.dimension_table(list(renamed.values()), fixed)
    values = {n: table[d] for n, d in renamed.items()}
    free = tuple(d for d in table if d not in fixed or d in _jaxpr.dims_in(table[d]))
    return _prove_at(operation, operation.equation.at(values), values, free)


def _with_hypotheses(lemma: Lemma, clauses: Sequence[Clause]) -> Lemma:
    texts = sorted({show_clause(c) for c in clauses})
    verdict: VerdictName = "proved under hypotheses" if lemma.verdict == "proved" and texts else lemma.verdict
    return msgspec.structs.replace(lemma, hypotheses=texts, verdict=verdict)


def _prove_at(operation: Operation, equation: Equation, dims: Mapping[str, Any], names: tuple[str, ...]) -> Proof:
    avals = operation.avals
    shapes = ActiveShapes(
        tuple(tuple(_jaxpr.replaced(d, dims) if dims else d for d in a.shape) for a in avals),
        tuple(_KINDS.get(kind_of(a.dtype), str(a.dtype)) for a in avals),
        active=operation.active,
    )
    title = operation.title or equation.name
    try:
        refused = _refused(operation)
        if refused:
            raise UnprovedError(refused)
        programs = trace_rules(node_rules(equation, shapes), shapes, 0, title)
        if any(_jaxpr.captures(p) for p in programs.all().values()):
            raise UnprovedError("a rule closes over a value that is being traced; pass it as an argument")
    except (CertgradError, UnprovedError, KeyError, NotImplementedError, TypeError) as error:
        return Proof(_failed(operation, shapes, names, str(error) or type(error).__name__), names)
    proof = _judged(operation, shapes, programs, names)
    if _jaxpr.holds_program(equation):  # its rule cannot be traced again at other dimensions on its own
        cases, questions = contrary_cases(programs, {}, everything=False)
        proof.dimensions = [*questions, *(f"not {shown(case, canonical(names))}" for case in cases)]
    return proof


def _rule_is_reverse(equation: Equation) -> bool:
    return equation.name.startswith("custom_vjp_call")


def _refused(operation: Operation) -> str:
    params = operation.equation.eqn.params
    if params.get("symbolic_zeros") is True and not operation.title.startswith("op "):
        return "a custom_jvp with symbolic zeros: its rule sees which arguments move"
    return ""


def _judged(operation: Operation, shapes: ActiveShapes, programs: Programs, names: tuple[str, ...]) -> Proof:
    results: list[ObligationResult] = []
    clauses: dict[str, Clause] = {}
    notes: list[str] = []
    kinds = list(CODES) if operation.active else ["rule_runs_forward"]
    try:
        with limited():
            problem = _build(operation, shapes, programs)
            given = [
                Fact(argument(n, t.shape, "float").body, s)
                for n, t, s in zip(operation.names, problem.inputs, operation.signs, strict=False)
                if s != ANY
            ]
            problem.facts = problem.facts.extended(given)
        notes = sorted(problem.notes)
    except (UnprovedError, BudgetError, ArithmeticError) as error:
        results = [ObligationResult(kind=k, verdict="unproved", reason=str(error)) for k in kinds]  # type: ignore[arg-type]
        return Proof(_lemma(operation, shapes, programs, names, results, [], []), names, programs)
    for kind in kinds:
        if kind == "vjp_is_adjoint" and _rule_is_reverse(operation.equation):
            # The jvp is no rule of its own here but stands for the derivative, which it is under its hypotheses.
            problem.domain = [*problem.domain, *clauses.values()]
        outcome = _attempt(problem, kind)
        found = [] if outcome.proved else [_failure(operation, shapes, programs, names, kind, outcome)]
        for clause in outcome.hypotheses if outcome.proved else []:
            clauses.setdefault(show_clause(clause), clause)
        verdict: VerdictName = "proved under hypotheses" if outcome.hypotheses else "proved"
        results += found or [ObligationResult(kind=kind, verdict=verdict)]  # type: ignore[arg-type]
    kept = _minimal([clauses[k] for k in sorted(clauses)], problem.facts)
    return Proof(_lemma(operation, shapes, programs, names, results, kept, notes), names, programs, kept)


def _build(operation: Operation, shapes: ActiveShapes, programs: Programs) -> Problem:
    try:
        return build(operation.names, {}, operation.domain, shapes, programs, operation.title)
    except DomainError:
        return build(operation.names, {}, (), shapes, programs, operation.title)


def _attempt(problem: Problem, kind: str) -> Outcome:
    try:
        with limited():
            return prove(problem, kind)
    except BudgetError as error:
        return Outcome(reason=str(error))


def output_signs(operation: Operation, programs: Programs) -> tuple[int, ...]:
    """The signs that the outputs can have, given those of the arguments; nothing is said where the calculus cannot."""
    clear_caches()
    jaxpr = programs.forward.jaxpr
    known = operation.signs or (ANY,) * len(operation.names)
    inputs = []
    for name, var, signs in zip(operation.names, jaxpr.invars, known, strict=True):
        tensor = argument(name, shape_polys(var.aval), _KINDS.get(kind_of(var.aval.dtype), "float"))
        inputs.append(replace(tensor, signs=tensor.signs & signs))
    facts = Facts([Fact(t.body, s) for t, s in zip(inputs, known, strict=True) if s != ANY])
    try:
        with limited():
            outputs = interpret(Context(facts), programs.forward, inputs, [True] * len(jaxpr.outvars))
            return tuple(t.signs & facts.signs(t.body) for t in outputs if t is not None)
    except (UnprovedError, BudgetError, ArithmeticError):
        return (ANY,) * len(jaxpr.outvars)


def _failure(
    operation: Operation, shapes: ActiveShapes, programs: Programs, names: tuple[str, ...], kind: str, outcome: Outcome
) -> ObligationResult:
    residual = show(outcome.residual)[:RESIDUAL_LENGTH] if outcome.residual is not None else ""
    if outcome.surrogate:
        return ObligationResult(kind=kind, verdict="surrogate", reason=outcome.reason, residual=residual)  # type: ignore[arg-type]
    budget_left = not outcome.reason.startswith("budget")  # what is too large to prove is too large to search
    witness = _witness(operation, shapes, programs, names, kind) if budget_left else None
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

    def domain(values: Mapping[str, Any]) -> bool:
        signed = zip(operation.names, operation.signs, strict=False)
        return inside(operation.domain, values) and all(_within(values[n], s) for n, s in signed)

    try:
        found = find_witness(kind, at, inputs, domain=domain, name=f"{operation.title} {shapes.inputs}", precision=256)
        return _as_data(found, _NoStatics()) if found is not None else None  # type: ignore[arg-type]
    except (BallError, TypeError, ValueError, KeyError):
        return None


class _NoStatics:
    statics: Mapping[str, Any] = {}


def _within(value: Any, signs: int) -> bool:
    if isinstance(value, list | tuple):
        return all(_within(v, signs) for v in value)
    if not isinstance(value, int | Fraction):
        return True
    return bool(signs & (signs_of.POS if value > 0 else signs_of.NEG if value < 0 else ZERO))


def _lemma(
    operation: Operation,
    shapes: ActiveShapes,
    programs: Programs,
    names: tuple[str, ...],
    results: list[ObligationResult],
    clauses: Sequence[Clause],
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
        hypotheses=sorted({show_clause(c) for c in clauses}),
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
    return [f"{n} {RELATIONS[s]}" for n, s in zip(operation.names, operation.signs, strict=False) if s in RELATIONS]


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


def domain_of(op: Any, statics: Mapping[str, Any]) -> tuple[str, ...]:
    """The op's domain with its parameters' values put in."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            value = statics.get(node.id)
            return ast.Constant(value) if node.id in op.params and value is not None else node

    return tuple(ast.unparse(Fill().visit(ast.parse(text.strip(), mode="eval"))) for text in op.domain)
