"""The induction walked again without proofs: every step of a certificate is compared with its node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec

from certgrad.accel.verify._digests import Programs
from certgrad.graph.certificate import Cotangent, Lemma, Step
from certgrad.graph.induction import walk
from certgrad.graph.induction.induction import described_as
from certgrad.graph.induction.inner_graphs import Parts
from certgrad.graph.induction.walk import COMPUTED, Judgement
from certgrad.graph.ir import Node, Ref
from certgrad.graph.lemmas import bounds
from certgrad.graph.lemmas.operation import RESULT_IS_STILL, STILL_AT_ZERO, Operation, with_given
from certgrad.graph.points.node_statements import NodeStatement
from certgrad.graph.points.run import Place
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.graph.tracing.wellformed import line_of
from certgrad.language.text import text
from certgrad.language.tree import arrays
from certgrad.obligations.certificate import PROVED_AS_WRITTEN, holding


class StepError(Exception):
    """The error for a step that is not the one the induction takes at its node. The message says how it differs."""


@dataclass(frozen=True)
class Still:
    """A lemma's assumption on an argument: every entry that is 0 has a zero tangent."""

    text: str
    place: Place
    value: Ref


@dataclass
class Shared:
    """The state that the walks of a graph and of the graphs inside its nodes share."""

    lemmas: Mapping[str, Lemma]
    programs: Programs = field(default_factory=Programs)
    used: set[str] = field(default_factory=set)
    hypotheses: list[NodeStatement] = field(default_factory=list)
    signs: list[NodeStatement] = field(default_factory=list)
    """The bounds that lemmas assume of their arguments, as statements."""
    still: list[Still] = field(default_factory=list)


class Walk(walk.Walk):
    """The walk over a graph beside the steps of a certificate, each compared with the one that the induction takes.

    It has all that `Sweep` needs of an induction.
    """

    def __init__(
        self,
        traced: TracedGraph,
        claimed: Sequence[Step],
        shared: Shared,
        moving: Sequence[bool] | None = None,
        names: Sequence[str] = (),
        place: Place = (),
    ) -> None:
        super().__init__(traced, moving, dict(enumerate(names)), place)
        self.claimed, self.shared = claimed, shared

    def run(self) -> Self:
        """Check every step, and return the walk. Raises StepError, naming the node."""
        nodes = self.traced.nodes
        if [s.node for s in self.claimed] != [n.id for n in nodes]:
            raise StepError(f"it has {len(self.claimed)} steps for {len(nodes)} nodes, or not in their order")
        return super().run()

    def check_cotangents(self) -> None:
        """Raise StepError unless each moving value's cotangent is the sum of its readers' and seeds' contributions."""
        for node, step, wanted in zip(self.traced.nodes, self.steps, self.cotangents(), strict=True):
            if step.cotangents != wanted:
                raise StepError(
                    f"the step of node {node.id} ({node.name}): the cotangents that it adds up are not those of its "
                    f"readers: {_contributions_text(step.cotangents)}, and it has {_contributions_text(wanted)}"
                    f"{line_of(node)}"
                )

    # --- one step

    def step(self, node: Node) -> Step:
        """Return the certificate's step, if it is the one the induction takes. Raises StepError, naming the node."""
        step = self.claimed[node.id]
        try:
            if self.place and step.cotangents:
                raise StepError("it names cotangents inside a node; those are the node's")
            if step.sign:
                self._where(f"{node.name} {step.sign}", "out", step.sign, {"out": Ref(node=node.id)})
            taken = super().step(node)
            if taken.verdict not in PROVED_AS_WRITTEN:
                raise StepError(taken.reason)
            _compare(step, msgspec.structs.replace(taken, cotangents=step.cotangents))
        except StepError as error:
            raise StepError(f"the step of node {node.id} ({node.name}): {error}{line_of(node)}") from None
        return step

    def operation(self, node: Node) -> Step:
        """Return the step by the lemma that the certificate names. Raises StepError if that is about other programs."""
        step, equation = self.claimed[node.id], self.traced.equations[node.id]
        slots, values, active = self.read(node, equation)
        if equation.without_reals:
            return self.plain(node, "constant", node.name)
        lemma = self.shared.lemmas.get(step.lemma)
        if lemma is None:
            raise StepError(f"no lemma has the digest {step.lemma or '(none)'}")
        names, domain, title = described_as(self.traced, node, equation)
        # The lemma's own assumptions are put into the operation, as they are a part of the digest.
        operation = with_given(Operation(equation, names, active, domain, title), lemma.given)
        if operation is None:
            raise StepError("its lemma is given something else than where its arguments are, and which rest at 0")
        instance = self.shared.programs.of(operation, lemma)
        if instance is None:
            raise StepError(f"the lemma {lemma.name} is about other programs than the node's: no digest fits")
        if (lemma.name, lemma.signature) != (instance.proof.lemma.name, instance.proof.lemma.signature):
            raise StepError(f"the lemma calls itself {lemma.name} on {lemma.signature}, and its programs are another's")
        self.shared.used.add(lemma.digest)
        judgement = Judgement(operation, instance)
        arguments = dict(zip(names, slots, strict=True))
        self._check_hypotheses(node, step, lemma, arguments, instance.sizes)
        self.judge(node, judgement, values)
        parts = {"hypotheses": step.hypotheses, "discharged": step.discharged, "sign": step.sign}
        return self.stepped(node, judgement, arguments, holding(step.hypotheses), **parts)

    def within(self, node: Node, parts: Parts) -> list[Self]:
        """Return the walks of the graphs inside a node, one for each."""
        bodies, claimed_parts = self.traced.bodies[node.id], self.claimed[node.id].inside
        if [part_claimed.name for part_claimed in claimed_parts] != [b.ir.name for b in bodies]:
            raise StepError("the graphs inside are not those of the node")
        inner = []
        for k, (body, part, claimed) in enumerate(zip(bodies, parts.inside, claimed_parts, strict=True)):
            place = (*self.place, (node.id, k))
            inner.append(type(self)(body, claimed.steps, self.shared, part.moving, part.names, place).run())
        return inner

    def _check_hypotheses(
        self, node: Node, step: Step, lemma: Lemma, arguments: Mapping[str, Ref], sizes: Mapping[str, Any]
    ) -> None:
        """Check that each hypothesis of the lemma is stated at the node or discharged, and that nothing else is.

        Hypotheses and the lemma's assumptions go into `shared`: points have to satisfy them. Raises StepError.
        """
        # A lemma with signs lacks the hypotheses that these discharge, but has those that hold of constants.
        computed = {d.tree for d in step.discharged if d.because == COMPUTED}
        for tree in computed:
            nodes = [r.node for n, r in arguments.items() if n in arrays(tree)]
            if not nodes or not self.fixed.issuperset(nodes):
                raise StepError(f"{text(tree)} is discharged as one on constants, and depends on an input")
        stated = {h.tree for h in step.hypotheses}
        formulas = [(h.formula, h.tree) for h in step.hypotheses] + [(d.formula, d.tree) for d in step.discharged]
        if any(formula != text(tree) for formula, tree in formulas):
            raise StepError("a formula does not say what its tree does")
        if lemma.hypotheses != [text(statement) for statement in lemma.statements]:
            raise StepError("the formulas of its lemma do not say what their trees do")
        missing = sorted(map(text, {*lemma.statements} - stated - computed))
        if missing:
            raise StepError(f"its lemma holds under {missing[0]}, which is neither stated nor discharged")
        unfounded = sorted(map(text, stated - {*lemma.statements}))
        if unfounded:
            raise StepError(f"{unfounded[0]} is stated, and is no hypothesis of its lemma")
        if (lemma.verdict == "proved") != (not lemma.hypotheses) or lemma.verdict not in PROVED_AS_WRITTEN:
            raise StepError(f"its lemma is {lemma.verdict} with {len(lemma.hypotheses)} hypotheses")
        if any((h.node, h.source) != (node.id, node.source) for h in step.hypotheses):
            raise StepError("it states a hypothesis of another node")
        location = arguments, sizes, self.place
        self.shared.hypotheses += [NodeStatement(h.tree, *location, text=h.text) for h in step.hypotheses]
        for assumption in lemma.given:
            name, _, relation = assumption.partition(" ")
            if assumption == RESULT_IS_STILL:
                self.shared.still.append(Still(f"{node.name}: {assumption}", self.place, Ref(node=node.id)))
                continue
            if relation == STILL_AT_ZERO:
                self.shared.still.append(Still(f"{node.name}: {assumption}", self.place, arguments[name]))
                continue
            self._where(f"{node.name}: {assumption}", name, relation, arguments)

    def _where(self, said: str, name: str, relation: str, arguments: Mapping[str, Ref]) -> None:
        """Store a lemma's assumption on the sign of a value, to evaluate it later. Raises StepError for other texts."""
        where = bounds.parse_relation(relation)
        if where is None:
            raise StepError(f"'{relation}' does not say where a value is")
        self.shared.signs += [NodeStatement(s, arguments, {}, self.place, said) for s in bounds.statements(name, where)]


def _compare(step: Step, taken: Step) -> None:
    """Compare a step of the certificate with the walked one. Raises StepError for the first field that differs."""
    if step.inside and len(taken.hypotheses) == len(step.hypotheses):
        # A boundary inside the body may be an open set of the graph's inputs, so the certificate may claim less.
        pairs = zip(taken.hypotheses, step.hypotheses, strict=True)
        hypotheses = [msgspec.structs.replace(h, negligible=h.negligible and s.negligible) for h, s in pairs]
        taken = msgspec.structs.replace(taken, hypotheses=hypotheses)
    for name in Step.__struct_fields__:
        claimed, walked = getattr(step, name), getattr(taken, name)
        if claimed != walked:
            texts = [
                shown_text if len(shown_text) < 200 else f"{shown_text[:200]} …"
                for shown_text in (str(claimed), str(walked))
            ]
            raise StepError(f"its {name} is {texts[0]!r}, and the node's is {texts[1]!r}")


def _contributions_text(cotangents: Sequence[Cotangent]) -> str:
    return "; ".join(" + ".join(c.contributions) or "nothing" for c in cotangents) or "none"
