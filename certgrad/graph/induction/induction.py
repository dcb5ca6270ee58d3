"""The induction: one step a node, each the instance of a lemma at the node's sizes and its operands' known signs.

The theorem of a step. Let the graph so far compute values v from its real inputs x, let its tangents be A·dx where A
is the derivative of v, and let its reverse sweep take cotangents s of all values to Aᵀs. Append a node w = f(v) whose
lemma says that, where its hypotheses hold, its JVP is the derivative J of f and its VJP is Jᵀ. Then the new tangents
(A·dx, J·A·dx) are the derivative of (v, w) by the chain rule, and the sweep that first adds Jᵀt to the cotangents of
the operands, for a cotangent t of w, and then goes on as before, gives Aᵀ(s + Jᵀt): the adjoint of the new tangents.
The algebra of this is proved by the kernel (`theorems`). Of each node it is checked that its lemma is about the node's
own operation and sizes (`family`), about the node's own operands (`TracedGraph.check`), and that the lemma holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Self

from msgspec.structs import replace as replaced

from certgrad.graph.certificate import Discharged, Lemma, NodeHypothesis, Step
from certgrad.graph.induction.hypotheses import at_node
from certgrad.graph.induction.inner_graphs import Part, Parts
from certgrad.graph.induction.walk import COMPUTED, Judgement, Value, Walk
from certgrad.graph.induction.zero_tangents import is_still, to_rest
from certgrad.graph.ir import Node, Operand, Ref
from certgrad.graph.lemmas import bounds
from certgrad.graph.lemmas.lemma import Instance, Lemmas
from certgrad.graph.lemmas.operation import Operation, argument_names, domain_of
from certgrad.graph.points.node_statements import NodeStatement
from certgrad.graph.points.run import Place
from certgrad.graph.points.satisfiable import holds_for_constants
from certgrad.graph.tracing.cases import Case
from certgrad.graph.tracing.jaxpr import Equation
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.graph.tracing.values import Values
from certgrad.language.text import text
from certgrad.language.tree import Statement, arrays
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.assume.signs import ANY_SIGN
from certgrad.obligations.certificate import PROVED_AS_WRITTEN, VerdictName, holding
from certgrad.obligations.generality.decisions import UNANSWERABLE
from certgrad.obligations.tracing.jax_internals import at_least, is_literal, kind_of, scan_loop

ROUNDS = 3
"""Rounds in search of the signs of a loop's carries; after them the signs are left open."""


@dataclass
class Shared:
    """The state that the inductions over a graph and over its inner graphs share."""

    lemmas: Lemmas = field(default_factory=Lemmas)
    judgements: dict[Any, Judgement] = field(default_factory=dict)
    described: dict[Any, tuple[tuple[str, ...], tuple[str, ...], str]] = field(default_factory=dict)
    used: dict[str, Lemma] = field(default_factory=dict)
    regions: dict[Any, Any] = field(default_factory=dict)
    """The equation of each region, by its operations and constants."""
    still: dict[Any, Any] = field(default_factory=dict)
    """Which outputs of an operation have a zero tangent where they are 0, by its proof and which operands have one."""


class Induction(Walk):
    """The steps of a graph, each by a lemma that is proved here."""

    def __init__(
        self,
        traced: TracedGraph,
        shared: Shared,
        moving: Sequence[bool] | None = None,
        signs: Sequence[int] = (),
        names: Mapping[int, str] | None = None,
        place: Place = (),
        values: Values | None = None,
        resting: Set[int] = frozenset(),
    ) -> None:
        """Start the induction over a graph, or over the body of a loop at a `place`.

        `moving` and `signs` say of each input whether it is differentiated and what is known of its sign; `names` are
        the inputs' names in the surrounding graph, `values` the digests of this graph's values. `resting` are nodes
        required to have a zero tangent wherever their value is 0.
        """
        super().__init__(traced, moving, names or {}, place)
        self.shared, self.values = shared, values or Values(traced)
        self.given = moving, signs, names, place
        self.used: dict[str, Lemma] = {}
        self.signs: dict[Value, int] = {(k, 0): sign for k, sign in enumerate(signs)}
        self.resting = resting
        self.to_rest: set[int] = set()
        """Nodes that would have to rest (see `resting`) so that other nodes need weaker hypotheses."""
        self.still: dict[Value, bool] = {}
        """Whether a value has a zero tangent wherever it is 0, for the values examined so far."""
        self.asked: list[NodeStatement] = []
        """The hypotheses of all steps so far, as statements that can be evaluated at values of the graph."""
        self.clauses: dict[int, list[Clause]] = {}
        """The hypotheses at each node, as clauses."""
        self.dimensions: list[str] = []
        """The hypotheses on sizes at the steps so far, as texts."""
        self.cases: list[Case] = []
        """Sizes at which a rule may be another one; the graph traced at these sizes shows whether it is."""

    def run(self) -> Self:
        """Take every step, and return the induction.

        If some hypotheses are weaker when certain nodes have a zero tangent wherever they are 0, all steps are taken
        once more with that required of these nodes, and that second induction is returned.
        """
        super().run()
        if not self.to_rest or self.resting:
            self.shared.used.update(self.used)
            return self
        return type(self)(self.traced, self.shared, *self.given, self.values, self.to_rest).run()

    def sign(self, operand: Operand) -> int:
        """Return what is known of the signs and bounds of a value's entries (`lemmas.bounds`)."""
        if isinstance(operand, Ref):
            return self.signs.get((operand.node, operand.output), ANY_SIGN)
        return bounds.of_array(float(operand.text)) if operand.text not in ("True", "False") else ANY_SIGN

    # --- steps

    def step(self, node: Node) -> Step:
        """Return a node's step; before it, note the known signs of a constant or a random draw."""
        if node.kind == "constant":
            self.signs[node.id, 0] = bounds.of_array(self.traced.constants[node.id])
        elif node.kind == "draw" and (bound := at_least(self.traced.equations[node.id].eqn)) is not None:
            self.signs[node.id, 0] = bounds.above(self.sign(node.operands[bound]))
        return super().step(node)

    def within(self, node: Node, parts: Parts) -> list[Self]:
        """Return the inductions over the graphs inside a node, and take over their hypotheses and cases."""
        signs = [self.sign(o) for o in node.operands]
        if node.kind == "scan":
            inner = [self._of_loop(node, parts.inside[0], signs)]
        elif node.kind == "cond":
            inner = [self._of_part(node, k, part, signs[1:]) for k, part in enumerate(parts.inside)]
            for k in range(len(node.outputs)):
                self.signs[node.id, k] = reduce(
                    bounds.joined, (induction.sign(induction.traced.ir.outputs[k]) for induction in inner)
                )
        else:
            inner = [self._of_part(node, k, part, ()) for k, part in enumerate(parts.inside)]
        for induction in inner:
            self.asked += induction.asked
            self.dimensions += induction.dimensions
            self.cases += induction.cases
        return inner

    def _of_part(self, node: Node, k: int, part: Part, signs: Sequence[int]) -> Self:
        """Return the induction over graph `k` of those inside a node, whose inputs have these signs."""
        body, place = self.traced.bodies[node.id][k], (*self.place, (node.id, k))
        given = part.moving, signs, dict(enumerate(part.names)), place
        return type(self)(body, self.shared, *given, self.values.inside(node, k)).run()

    def _of_loop(self, node: Node, part: Part, signs: list[int]) -> Self:
        """Return the induction over the body of a loop, with signs of the carries that each step keeps.

        They are found by iteration: start from the signs of the first carries, join those after one step to them, and
        repeat until nothing changes.
        """
        loop = scan_loop(self.traced.equations[node.id].eqn)
        carry_start, carry_end = loop.consts, loop.consts + loop.carries
        for attempt in range(ROUNDS + 1):
            if attempt == ROUNDS:  # no fixed point was found: any sign is one
                signs[carry_start:carry_end] = [ANY_SIGN] * loop.carries
            inner = self._of_part(node, 0, part, signs)
            signs_after = [inner.sign(o) for o in inner.traced.ir.outputs]
            joined = [bounds.joined(a, b) for a, b in zip(signs[carry_start:carry_end], signs_after, strict=False)]
            if joined == signs[carry_start:carry_end]:
                break
            signs[carry_start:carry_end] = joined
        # The joined signs hold for a loop of no steps, too.
        for k, sign in enumerate([*joined, *signs_after[loop.carries :]]):
            self.signs[node.id, k] = sign
        return inner

    def operation(self, node: Node) -> Step:
        """Return the step by the lemma of the node's operation; note the signs of its outputs, and that they move."""
        equation = self.traced.equations[node.id]
        slots, values, active = self.read(node, equation)
        real = equation.real
        signs = tuple(
            [ANY_SIGN if real[k] is None else self.signs.get(value, ANY_SIGN) for k, value in enumerate(values)]
        )
        key = (equation, active, signs, node.id in self.resting)
        judgement = self.shared.judgements.get(key)
        if judgement is None:
            judgement = self.shared.judgements[key] = self._judge(node, equation, active, signs)
        # The lemma can name one argument whose zero tangent, wherever it is 0, makes the hypotheses weaker.
        argument = judgement.instance.proof.if_still
        if argument is not None and is_still(self, slots[argument]):
            judgement = self._where_zeros_are_still(judgement, key, argument)
        elif argument is not None:
            self.to_rest |= to_rest(self, slots[argument]) or set()
        self.signs.update(zip([(node.id, k) for k in range(len(node.outputs))], judgement.signs, strict=False))
        if equation.without_reals:
            return self.plain(node, "constant", node.name)
        lemma = judgement.instance.proof.lemma
        self.used.setdefault(lemma.digest, lemma)
        self.judge(node, judgement, values)
        return self._judged(node, judgement, dict(zip(judgement.operation.names, slots, strict=True)))

    def _judge(self, node: Node, equation: Any, active: tuple[int, ...], signs: tuple[int, ...]) -> Judgement:
        """Return the lemma of a node's equation with these active operands and signs, and the signs of its outputs."""
        described = self.shared.described.get(equation)
        if described is None:
            described = self.shared.described[equation] = described_as(self.traced, node, equation)
        names, domain, title = described
        operation = Operation(equation, names, active, domain, title, resting=node.id in self.resting)
        lemmas = self.shared.lemmas
        if equation.without_reals:
            has_signs = all(kind_of(v.aval.dtype) in "ib" for v in (*equation.variables, *equation.eqn.outvars))
            outputs = lemmas.signs_alone(_with_signs(operation, signs)) if has_signs else ()
            return Judgement(operation, Instance(lemmas.nothing(operation), {}), signs=outputs)
        instance, informed, gone = self._lemma(operation, signs)
        proof = instance.proof
        outputs = lemmas.signs(_with_signs(operation, signs), proof)
        outputs = tuple(outputs[k] if k < len(outputs) else ANY_SIGN for k in range(len(node.outputs)))
        outputs = (bounds.intersection(outputs[0], _selected(equation, signs)), *outputs[1:])
        return Judgement(operation, instance, informed, gone, outputs)

    def _where_zeros_are_still(self, judgement: Judgement, key: Any, argument: int) -> Judgement:
        """Return the judgement by the lemma that may use that `argument` has a zero tangent wherever it is 0."""
        weaker = self.shared.judgements.get((*key, argument))
        if weaker is None:
            operation = replace(judgement.operation, still=(argument,))
            instance = self.shared.lemmas.of(_with_signs(operation, judgement.informed))
            weaker = replace(judgement, operation=operation, instance=instance)
            self.shared.judgements[*key, argument] = weaker
        return weaker

    def _lemma(self, operation: Operation, signs: tuple[int, ...]) -> tuple[Instance, tuple[int, ...], list[Statement]]:
        """Return the instance of a lemma, the signs that its proof may use, and the hypotheses that these discharge.

        The lemma without signs is taken where it needs no hypotheses, or where the signs discharge none of them.
        """
        lemmas = self.shared.lemmas
        plain = lemmas.of(operation)
        if plain.proof.lemma.verdict == "proved" or all(s == ANY_SIGN for s in signs):
            return plain, (), []
        stated = list(plain.proof.stated)
        mentioned = {n for s in stated for n in arrays(s)}.intersection(operation.names)
        # Use as little as is enough, so that more nodes share the lemma: first the signs without bounds, and only of
        # arguments that a hypothesis mentions; then the bounds of these; then what is known of all arguments.
        fewer = tuple(s if n in mentioned else ANY_SIGN for n, s in zip(operation.names, signs, strict=True))
        for tried_signs in dict.fromkeys([tuple(bounds.sign(s) for s in fewer), fewer] if mentioned else []):
            informed = lemmas.of(_with_signs(operation, tried_signs))
            if informed.proof.lemma.verdict == "proved":
                return informed, tried_signs, stated
        informed = lemmas.of(_with_signs(operation, signs))
        gone = [s for s in stated if s not in informed.proof.stated]
        if not informed.proof.holds or (not gone and plain.proof.holds):
            return plain, (), []
        return informed, signs, gone

    def _judged(self, node: Node, judgement: Judgement, arguments: dict[str, Ref]) -> Step:
        """Return the step of a node by its lemma, with those of the lemma's hypotheses that may fail there."""
        sign = bounds.relation(judgement.signs[0] if judgement.signs else ANY_SIGN)
        if judgement.asks_nothing:
            return self.stepped(node, judgement, arguments, "proved", sign=sign)
        proof = judgement.instance.proof
        lemma = proof.lemma
        hypotheses: list[NodeHypothesis] = []
        reason = ""
        verdict: VerdictName = lemma.verdict
        discharged = self._discharged(judgement, arguments) if judgement.gone else []
        for tree, clause in proof.stated.items():
            if never(clause):
                verdict, reason = "unproved", "it is undefined at every input: NaN, infinity or a division by 0"
            hypothesis = NodeStatement(tree, arguments, judgement.instance.sizes, self.place)
            read = [key[1] for key in hypothesis.keys.values()]  # the nodes whose values the hypothesis is about
            if read and all(k in self.fixed for k in read) and holds_for_constants(self.traced, hypothesis):
                discharged.append(Discharged(formula=text(tree), tree=tree, because=COMPUTED))
                continue
            self.clauses.setdefault(node.id, []).append(clause)
            hypotheses.append(self._at_node(node, (tree, clause), arguments))
            self.asked.append(hypothesis)
        if UNANSWERABLE in proof.dimensions and verdict in PROVED_AS_WRITTEN:
            verdict, reason = "unproved", f"the rule may be another one at some sizes: {UNANSWERABLE}"
        on_sizes = [
            in_names_of_node(condition, judgement.instantiation)
            for condition in proof.dimensions
            if condition != UNANSWERABLE
        ]
        on_sizes += [f"{size} ≥ 1" for size in judgement.instance.nonempty]
        self.dimensions += [f"{condition} {in_rule_of(node)}" for condition in on_sizes if condition]
        self.cases += [Case(fixed, None, asked=True, rules=(in_rule_of(node),)) for fixed in proof.cases]
        if verdict in PROVED_AS_WRITTEN:
            verdict = holding(hypotheses)
        elif not reason:
            failing = next((o for o in lemma.obligations if o.verdict == lemma.verdict), None)
            reason = f"{failing.kind}: {failing.reason}" if failing is not None else ""
            computed = any(self.traced.nodes[r.node].kind != "input" for r in arguments.values())
            if verdict == "refuted" and node.kind == "primitive" and computed:
                # A rule is claimed for every argument; a primitive only for those that the function gives it.
                verdict, reason = "unproved", f"{reason}, which the function need not give it"
        parts = {"hypotheses": hypotheses, "discharged": discharged, "reason": reason, "sign": sign}
        return self.stepped(node, judgement, arguments, verdict, **parts)

    def _at_node(self, node: Node, stated: tuple[Statement, Clause], arguments: dict[str, Ref]) -> NodeHypothesis:
        """Return a hypothesis at a node; if another hypothesis has the same text, the node's number is added to it."""
        hypothesis = at_node(node, stated, arguments, self.expressions, self.values)
        first = self.values.said.setdefault(hypothesis.text, (hypothesis.tree, hypothesis.of))
        return (
            hypothesis
            if first == (hypothesis.tree, hypothesis.of)
            else replaced(hypothesis, text=f"{hypothesis.text} (at %{node.id})")
        )

    def _discharged(self, judgement: Judgement, arguments: dict[str, Ref]) -> list[Discharged]:
        """Return the hypotheses that the operands' signs discharge, each with these signs as the reason."""
        because = ", ".join(
            f"`{self.expressions.of(r)}` {bounds.relation(s)}"
            for r, s in zip(arguments.values(), judgement.informed, strict=True)
            if s != ANY_SIGN
        )
        pairs = zip(judgement.formulas, judgement.gone, strict=True)
        return [Discharged(formula=formula, tree=tree, because=because) for formula, tree in pairs]


def _selected(equation: Equation, signs: Sequence[int]) -> int:
    """Return what is known of the signs of a result that is selected among operands; any sign for other equations."""
    signs_of = dict(zip(equation.variables, signs, strict=True))
    operands = [bounds.of_array(v.val) if is_literal(v) else signs_of[v] for v in equation.eqn.invars]
    return bounds.of_selection(equation.name, operands)


def never(clause: Clause) -> bool:
    """Return whether the clause is false whatever the values are."""
    return not clause.guards and all(
        (c := a.poly.constant()) is not None and not _relation_holds(a.relation, float(c)) for a in clause.alternatives
    )


def _relation_holds(relation: str, value: float) -> bool:
    return {"> 0": value > 0, ">= 0": value >= 0, "!= 0": value != 0, "= 0": value == 0}.get(relation, True)


def _with_signs(operation: Operation, signs: tuple[int, ...]) -> Operation:
    return replace(operation, signs=signs)


def described_as(traced: TracedGraph, node: Node, equation: Any) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the names of a lemma's arguments, its domain, and its name."""
    count = len(equation.variables)
    names = argument_names(count)
    domain: tuple[str, ...] = ()
    if op_and_statics := traced.ops.get(node.id):
        op, statics = op_and_statics
        if count == len(op.arg_names) == len(node.operands):
            names, domain = tuple(op.arg_names), domain_of(op, statics)
    return names, domain, _title(node)


def _title(node: Node) -> str:
    title = node.name if node.kind == "primitive" else f"{node.kind} {node.name}"
    shown = {k: v for k, v in node.params.items() if k not in _SIZES}
    if node.kind in ("primitive", "op") and shown:
        return f"{title}[{', '.join(f'{k}={v}' for k, v in shown.items())}]"
    return title


_SIZES = frozenset(
    ("shape", "new_dtype", "dimension_numbers", "sizes", "new_sizes", "slice_sizes", "limit_indices", "dim")
)


def in_rule_of(node: Node) -> str:
    """Return the words that say which node's rule has a hypothesis on dimensions; they follow the hypothesis."""
    return f"(in the rule of %{node.id} {node.name}, {node.source})"


def in_names_of_node(text: str, instantiation: Mapping[str, str]) -> str | None:
    """Return a hypothesis on a lemma's dimensions at the node's sizes; None where they are numbers that satisfy it."""
    with_sizes = re.sub(r"[A-Za-z_]\w*", lambda m: instantiation.get(m[0], m[0]), text)
    compared = re.fullmatch(r"not (\d+) = (\d+)", with_sizes)
    return None if compared and compared[1] != compared[2] else with_sizes
