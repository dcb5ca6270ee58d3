"""Certifying a graph: induction over its nodes, each step the instance of a lemma."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from certgrad.errors import TraceError
from certgrad.graph._cases import other_programs
from certgrad.graph._conclusions import ASSUMPTIONS, conclusions
from certgrad.graph._expression import Expressions
from certgrad.graph._hypotheses import at_node
from certgrad.graph._lemma import NAMES, RELATIONS, Lemmas, Operation, Proof, canonical, domain_of
from certgrad.graph._satisfiable import Asked, satisfied_somewhere
from certgrad.graph._trace import TracedGraph
from certgrad.graph.certificate import (
    FORMAT,
    Cotangent,
    Discharged,
    GraphCertificate,
    Lemma,
    NodeHypothesis,
    Step,
)
from certgrad.graph.ir import Graph, Node, Ref
from certgrad.obligations._facts import ANY, NEG, POS, ZERO
from certgrad.obligations._jax_internals import kind_of, serialised, versions, wide_floats
from certgrad.obligations._present import show_clause
from certgrad.obligations.certificate import KERNEL, VerdictName, worst

HOLDS: tuple[VerdictName, ...] = ("proved", "proved under hypotheses")


@dataclass
class Certification:
    """A certificate with the proofs behind it: what compiled execution is built from."""

    traced: TracedGraph
    certificate: GraphCertificate
    proofs: dict[int, Proof]
    """By node, for the nodes that have a lemma."""
    moving: set[str]
    """The values (`%3`, `%7.1`) that depend on the graph's real inputs."""
    dims: dict[int, list[str]]
    """By node: the graph's dimensions, in the order of the lemma's."""


def certify(traced: TracedGraph) -> GraphCertificate:
    """The certificate of a graph. A node that is not proved is a finding, and everything else is still reported.

    Raises TraceError where the graph is not well formed.
    """
    return certification(traced).certificate


def certification(traced: TracedGraph) -> Certification:
    """`certify`, with the proofs that stand behind the certificate."""
    if problem := traced.check():
        raise TraceError(f"The graph of {traced.ir.name} is not well formed: {problem}. Trace the function again.")
    induction = _Induction(traced)
    for node in traced.nodes:
        induction.step(node)
    return Certification(traced, _certificate(induction), induction.proofs, induction.moving, induction.dims)


@dataclass
class _Induction:
    traced: TracedGraph
    lemmas: Lemmas = field(default_factory=Lemmas)
    proofs: dict[int, Proof] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    moving: set[str] = field(default_factory=set)
    signs: dict[str, int] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    dimensions: list[str] = field(default_factory=list)
    consumers: dict[str, list[str]] = field(default_factory=dict)
    used: dict[str, Lemma] = field(default_factory=dict)
    dims: dict[int, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.expressions = Expressions(self.traced.ir)

    def step(self, node: Node) -> None:
        if node.kind == "input":
            if node.outputs[0].real:
                self.moving.add(str(Ref(node=node.id)))
            self.steps.append(self._plain(node, "input", node.kind))
        elif node.kind == "constant":
            self.signs[str(Ref(node=node.id))] = _signs_of(self.traced.constants[node.id])
            self.steps.append(self._plain(node, "constant", node.kind))
        else:
            self.steps.append(self._operation(node))

    def _plain(self, node: Node, role: str, operation: str) -> Step:
        return Step(
            node=node.id,
            operation=operation,
            source=node.source,
            role=role,
            verdict="proved",
            expression=self.expressions.of(Ref(node=node.id)),
        )

    def _operation(self, node: Node) -> Step:
        slots = self.traced.slots(node)
        equation = self.traced.equations[node.id]
        real = [self.traced.ir.type_of(r).real for r in slots]
        active = tuple(k for k, r in enumerate(slots) if real[k] and str(r) in self.moving)
        readable = all(kind_of(v.aval.dtype) in "fib" for v in (*equation.variables, *equation.eqn.outvars))
        if not any(real) and not any(o.real for o in node.outputs):
            return self._discrete(node, slots, readable)
        operation = self._described(node, slots, active)
        arguments = dict(zip(operation.names, slots, strict=True))
        proof, discharged = self._proof(operation, arguments)
        self.proofs[node.id] = proof
        self.dims[node.id] = operation.dims
        signs = self.lemmas.signs(_with_signs(operation, self._signs(slots)), proof)
        for k, output in enumerate(node.outputs):
            ref = Ref(node=node.id, output=k)
            self.signs[str(ref)] = signs[k] if k < len(signs) else ANY
            if active and output.real:
                self.moving.add(str(ref))
        for k in active:
            self.consumers.setdefault(str(slots[k]), []).append(f"%{node.id} ({operation.names[k]})")
        return self._judged(node, operation, proof, discharged, arguments)

    def _discrete(self, node: Node, slots: list[Ref], readable: bool) -> Step:
        """A node of integers and booleans: constant as long as its operands are."""
        if readable:
            operation = _with_signs(self._described(node, slots, ()), self._signs(slots))
            proof = self.lemmas.of(operation)
            for k, sign in enumerate(self.lemmas.signs(operation, proof)):
                self.signs[str(Ref(node=node.id, output=k))] = sign
        return self._plain(node, "constant", node.name)

    def _described(self, node: Node, slots: list[Ref], active: tuple[int, ...]) -> Operation:
        equation = self.traced.equations[node.id]
        names = tuple(NAMES[k] if k < len(NAMES) else f"x{k}" for k in range(len(slots)))
        domain: tuple[str, ...] = ()
        title = node.name if node.kind == "primitive" else f"{node.kind} {node.name}"
        if found := self.traced.ops.get(node.id):
            op, statics = found
            if len(slots) == len(op.arg_names) == len(node.operands):
                names, domain = tuple(op.arg_names), domain_of(op, statics)
        return Operation(equation, names, active, domain, _titled(node, title))

    def _signs(self, slots: list[Ref]) -> tuple[int, ...]:
        real = [self.traced.ir.type_of(r).dtype != "bool" for r in slots]
        return tuple(self.signs.get(str(r), ANY) if ok else ANY for r, ok in zip(slots, real, strict=True))

    def _proof(self, operation: Operation, arguments: Mapping[str, Ref]) -> tuple[Proof, list[Discharged]]:
        """The lemma as it stands, or the one that may use the signs of the arguments, where that says more."""
        plain = self.lemmas.of(operation)
        signs = self._signs(list(arguments.values()))
        if plain.lemma.verdict == "proved" or all(s == ANY for s in signs):
            return plain, []
        asked = {n for n in operation.names for c in plain.clauses if re.search(rf"\b{re.escape(n)}\b", show_clause(c))}
        if asked:  # first with the signs of those arguments alone that a hypothesis mentions
            fewer = tuple(s if n in asked else ANY for n, s in zip(operation.names, signs, strict=True))
            informed = self.lemmas.of(_with_signs(operation, fewer))
            if informed.lemma.verdict == "proved":
                return informed, self._discharged(plain, informed, arguments, fewer)
        informed = self.lemmas.of(_with_signs(operation, signs))
        if informed.lemma.verdict not in HOLDS:
            return plain, []
        gone = self._discharged(plain, informed, arguments, signs)
        if not gone and plain.lemma.verdict in HOLDS:
            return plain, []
        return informed, gone

    def _discharged(
        self, plain: Proof, informed: Proof, arguments: Mapping[str, Ref], signs: tuple[int, ...]
    ) -> list[Discharged]:
        left = {show_clause(c) for c in informed.clauses}
        because = ", ".join(
            f"`{self.expressions.of(r)}` {RELATIONS[s]}"
            for r, s in zip(arguments.values(), signs, strict=True)
            if s in RELATIONS
        )
        gone = [show_clause(c) for c in plain.clauses if show_clause(c) not in left]
        return [Discharged(formula=f, because=because) for f in gone]

    def _judged(
        self, node: Node, operation: Operation, proof: Proof, discharged: list[Discharged], arguments: Mapping[str, Ref]
    ) -> Step:
        lemma = proof.lemma
        self.used.setdefault(lemma.digest, lemma)
        hypotheses: list[NodeHypothesis] = []
        names = operation.dims
        table = dict(zip(proof.dims, names, strict=False))
        for clause in proof.clauses:
            hypotheses.append(at_node(node, clause, arguments, self.expressions))
            self.asked.append(Asked(clause, arguments, {d: _sized(n) for d, n in table.items()}))
        back = {c: n for n, c in canonical(names).items()}
        for text in proof.dimensions:
            self.dimensions.append(f"{_rename(text, back)} (in the rule of %{node.id} {node.name}, {node.source})")
        failing = next((o for o in lemma.obligations if o.verdict == lemma.verdict), None)
        verdict: VerdictName = lemma.verdict if lemma.verdict not in HOLDS else HOLDS[bool(hypotheses)]
        return Step(
            node=node.id,
            operation=lemma.name,
            source=node.source,
            expression=self.expressions.of(Ref(node=node.id)),
            role="moving" if operation.active else "constant",
            verdict=verdict,
            lemma=lemma.digest,
            arguments=dict(arguments),
            instantiation={canonical(names)[n]: n for n in names},
            hypotheses=hypotheses,
            discharged=discharged,
            sign=RELATIONS.get(self.signs.get(str(Ref(node=node.id)), ANY), ""),
            reason="" if verdict in HOLDS or failing is None else f"{failing.kind}: {failing.reason}",
        )


def _with_signs(operation: Operation, signs: tuple[int, ...]) -> Operation:
    return Operation(operation.equation, operation.names, operation.active, operation.domain, operation.title, signs)


def _titled(node: Node, title: str) -> str:
    shown = {k: v for k, v in node.params.items() if k not in ("shape", "new_dtype", "dimension_numbers", "sizes")}
    if node.kind in ("primitive", "op") and shown:
        return f"{title}[{', '.join(f'{k}={v}' for k, v in shown.items())}]"
    return title


def _rename(text: str, table: Mapping[str, str]) -> str:
    return " ".join(table.get(word, word) for word in text.split(" "))


def _sized(name: str) -> Callable[[Mapping[str, int]], int]:
    return lambda sizes: sizes[name]


def _signs_of(value: Any) -> int:
    """The signs that the entries of a constant have."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        return ANY
    return (POS if (array > 0).any() else 0) | (NEG if (array < 0).any() else 0) | (ZERO if (array == 0).any() else 0)


def _certificate(induction: _Induction) -> GraphCertificate:
    traced, graph = induction.traced, induction.traced.ir
    steps = [_with_cotangents(s, graph, induction) for s in induction.steps]
    hypotheses = [h for s in steps for h in s.hypotheses]
    dimensions = sorted(dict.fromkeys([*induction.dimensions, *_elsewhere(traced, hypotheses)]))
    findings = [_finding(graph.nodes[s.node], s, induction.used) for s in steps if s.verdict not in HOLDS]
    verdict = worst([s.verdict for s in steps])
    if verdict in HOLDS and not satisfied_somewhere(traced, induction.asked):
        verdict = "unproved"
        findings.append("vacuous: no point was found that satisfies all hypotheses, so they may contradict each other")
    if verdict in HOLDS:
        verdict = HOLDS[bool(hypotheses or dimensions)]
    lemmas = sorted(induction.used.values(), key=lambda one: (one.name, one.signature, one.digest))
    with wide_floats():
        text = serialised(traced.program)
    return GraphCertificate(
        format=FORMAT,
        graph=graph,
        verdict=verdict,
        conclusions=conclusions(graph, verdict in HOLDS),
        hypotheses=hypotheses,
        dimensions=dimensions,
        lemmas=lemmas,
        steps=steps,
        findings=findings,
        assumptions=[
            *ASSUMPTIONS,
            *sorted({f"In {one.name}, {note}." for one in lemmas for note in one.idealisations}),
        ],
        digest=hashlib.blake2b("\n".join([text, *(s.lemma for s in steps)]).encode(), digest_size=32).hexdigest(),
        versions={**versions(), "kernel": KERNEL},
    )


def _with_cotangents(step: Step, graph: Graph, induction: _Induction) -> Step:
    """The step with where each moving output's cotangent comes from: its consumers, and the seeds."""
    found: list[Cotangent] = []
    for k in range(len(graph.nodes[step.node].outputs)):
        name = str(Ref(node=step.node, output=k))
        if name in induction.moving:
            seeds = [f"seed {i}" for i, o in enumerate(graph.outputs) if str(o) == name]
            found.append(Cotangent(output=k, contributions=seeds + induction.consumers.get(name, [])))
    return msgspec.structs.replace(step, cotangents=found)


def _elsewhere(traced: TracedGraph, hypotheses: list[NodeHypothesis]) -> list[str]:
    """What sizes ask for at which the function traces to another program: that is certified too, or excluded."""
    known = {h.text for h in hypotheses}
    out = []
    for case in other_programs(traced):
        steps = _steps(case.graph) if case.graph is not None else []
        if not steps or any(s.verdict not in HOLDS for s in steps):
            out.append(f"not {case}: there the function traces to another program")
        else:
            out += [f"where {case}: {h.text}" for s in steps for h in s.hypotheses if h.text not in known]
    return out


def _steps(traced: TracedGraph) -> list[Step]:
    induction = _Induction(traced)
    for node in traced.nodes:
        induction.step(node)
    return induction.steps


def _finding(node: Node, step: Step, lemmas: Mapping[str, Lemma]) -> str:
    where = f"%{node.id} {node.name}" + (f" at {node.source}" if node.source else "")
    text = f"{where} is {'a surrogate' if step.verdict == 'surrogate' else step.verdict}: {step.reason}"
    lemma = lemmas.get(step.lemma)
    witness = next((o.witness for o in lemma.obligations if o.witness), None) if lemma else None
    if witness is not None:
        point = ", ".join(f"{k} = {_flat(v)}" for k, v in witness.inputs.items())
        sides = f"{witness.lhs.midpoint} against {witness.rhs.midpoint}"
        text += f" ({point}; the two sides are {sides})"
    return text


def _flat(value: Any) -> str:
    return "[" + ", ".join(map(_flat, value)) + "]" if isinstance(value, list) else str(value)
