"""The induction walked again: every step of a certificate beside the node that it speaks of, without a proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from certgrad.accel.verify._digests import Programs
from certgrad.accel.verify._signs import statements
from certgrad.graph._expression import Expressions
from certgrad.graph._induction import Judgement, Value, described_as
from certgrad.graph._inside import moves
from certgrad.graph._operation import RESTS, STILL, Operation, with_given
from certgrad.graph._run import Place
from certgrad.graph._trace import TracedGraph
from certgrad.graph._wellformed import line_of
from certgrad.graph.certificate import Cotangent, Inside, Lemma, NodeHypothesis, Step
from certgrad.graph.ir import Node, Operand, Ref
from certgrad.language.text import text
from certgrad.language.tree import Statement, arrays
from certgrad.obligations.certificate import HOLDS, worst
from certgrad.obligations.tracing.jax_internals import scan_loop, while_loop

COMPUTED = "the values depend on no input, and were computed"
"""Why a hypothesis on constants is discharged."""


class StepError(Exception):
    """A step is not what the induction takes at its node. The message says how."""


@dataclass(frozen=True)
class Asked:
    """A statement over the values of a node's operands: a hypothesis, or a sign that a lemma is given."""

    text: str
    tree: Statement
    place: Place
    arguments: Mapping[str, Ref]
    sizes: Mapping[str, Any]


@dataclass(frozen=True)
class Still:
    """What a lemma is given of an argument: that no entry moves which is 0."""

    text: str
    place: Place
    value: Ref


@dataclass
class Shared:
    """What the walks of a graph and of the graphs inside it have in common."""

    lemmas: Mapping[str, Lemma]
    programs: Programs = field(default_factory=Programs)
    used: set[str] = field(default_factory=set)
    hypotheses: list[Asked] = field(default_factory=list)
    signs: list[Asked] = field(default_factory=list)
    """The signs that lemmas are given of their arguments."""
    still: list[Still] = field(default_factory=list)


class Walk:
    """One graph's steps. `moving` says which of its inputs depend on the function's real inputs; None: all real ones.

    It holds what `Sweep` needs of an induction.
    """

    def __init__(
        self,
        traced: TracedGraph,
        steps: Sequence[Step],
        shared: Shared,
        moving: Sequence[bool] | None = None,
        names: Sequence[str] = (),
        place: Place = (),
    ) -> None:
        self.traced, self.steps, self.shared, self.place = traced, steps, shared, place
        inputs = traced.ir.inputs
        given_moving = [True] * len(inputs) if moving is None else moving
        self.moving: set[Value] = {
            (n.id, 0) for n, m in zip(inputs, given_moving, strict=True) if m and n.outputs[0].real
        }
        self.judged: dict[int, Judgement] = {}
        self.inside: dict[int, list[Walk]] = {}
        self.consumers: dict[Value, list[str]] = {}
        self.fixed: set[int] = set()
        self.expressions = Expressions(traced.ir, dict(enumerate(names)))

    def is_moving(self, operand: Operand) -> bool:
        """The value depends on the function's real inputs."""
        return isinstance(operand, Ref) and (operand.node, operand.output) in self.moving

    def run(self) -> Walk:
        """Check every step. Raises StepError, naming the node."""
        nodes = self.traced.nodes
        if [s.node for s in self.steps] != [n.id for n in nodes]:
            raise StepError(f"it has {len(self.steps)} steps for {len(nodes)} nodes, or not in their order")
        for node, step in zip(nodes, self.steps, strict=True):
            try:
                self._step(node, step)
            except StepError as error:
                raise StepError(f"the step of node {node.id} ({node.name}): {error}{line_of(node)}") from None
        return self

    def check_cotangents(self) -> None:
        """Each moving value's cotangent is the sum of all that its readers and the seeds give it. Raises StepError."""
        outputs = self.traced.ir.outputs
        seeds: dict[Value, list[str]] = {}
        for i, o in enumerate(outputs):
            if isinstance(o, Ref) and self.is_moving(o):
                seeds.setdefault((o.node, o.output), []).append(f"seed {i}")
        for node, step in zip(self.traced.nodes, self.steps, strict=True):
            values = [(node.id, k) for k in range(len(node.outputs)) if (node.id, k) in self.moving]
            wanted = [
                Cotangent(output=v[1], contributions=seeds.get(v, []) + self.consumers.get(v, [])) for v in values
            ]
            if step.cotangents != wanted:
                raise StepError(
                    f"the step of node {node.id} ({node.name}): the cotangents that it adds up are not those of its "
                    f"readers: {_named(step.cotangents)}, and it has {_named(wanted)}{line_of(node)}"
                )

    # --- one step

    def _step(self, node: Node, step: Step) -> None:
        if self.place and step.cotangents:
            raise StepError("it names cotangents inside a node; those are the node's")
        if step.sign:
            self._where(f"{node.name} {step.sign}", "out", step.sign, {"out": Ref(node=node.id)})
        if node.kind in ("input", "constant"):
            if node.kind == "constant":
                self.fixed.add(node.id)
            self._plain(node, step, node.kind, node.kind)
        elif node.kind == "draw":
            if any(map(self.is_moving, node.operands)):
                raise StepError("it draws between bounds that move")
            self._plain(node, step, "constant", node.name)
        elif node.id in self.traced.bodies:
            self._inside(node, step)
        else:
            self._operation(node, step)

    def _plain(self, node: Node, step: Step, role: str, operation: str, **rest: Any) -> None:
        """A step that needs no lemma of its own."""
        expected = Step(
            node=node.id,
            operation=operation,
            source=node.source,
            role=role,
            expression=self.expressions.of_node(node.id),
            **{"verdict": "proved", "cotangents": step.cotangents, **rest},
        )
        _compare(step, expected)

    def _operation(self, node: Node, step: Step) -> None:
        equation = self.traced.equations[node.id]
        slots = self.traced.slots(node)
        if self.fixed.issuperset([r.node for r in slots]):
            self.fixed.add(node.id)
        real = equation.real
        active = tuple(k for k, r in enumerate(slots) if real[k] and self.is_moving(r))
        if not any(real) and not any(o.real for o in node.outputs):
            self._plain(node, step, "constant", node.name)
            return
        lemma = self.shared.lemmas.get(step.lemma)
        if lemma is None:
            raise StepError(f"no lemma has the digest {step.lemma or '(none)'}")
        names, domain, title = described_as(self.traced, node, equation)
        operation = with_given(Operation(equation, names, active, domain, title), lemma.given)
        if operation is None:
            raise StepError("its lemma is given something else than where its arguments are, and which rest at 0")
        instance = self.shared.programs.of(operation, lemma)
        if instance is None:
            raise StepError(f"the lemma {lemma.name} is about other programs than the node's: no digest fits")
        if (lemma.name, lemma.signature) != (instance.proof.lemma.name, instance.proof.lemma.signature):
            raise StepError(f"the lemma calls itself {lemma.name} on {lemma.signature}, and its programs are another's")
        self.shared.used.add(lemma.digest)
        self.judged[node.id] = Judgement(operation, instance)
        arguments = dict(zip(names, slots, strict=True))
        self._listed(node, step, lemma, arguments, instance.sizes)
        expected = Step(
            node=node.id,
            operation=lemma.name,
            source=node.source,
            expression=self.expressions.of_node(node.id),
            role="moving" if active else "constant",
            verdict=HOLDS[bool(step.hypotheses)],
            lemma=lemma.digest,
            arguments=arguments,
            instantiation={mine: str(size) for mine, size in instance.sizes.items()},
            hypotheses=step.hypotheses,
            discharged=step.discharged,
            cotangents=step.cotangents,
            sign=step.sign,
        )
        _compare(step, expected)
        if active:
            self.moving.update((node.id, k) for k, o in enumerate(node.outputs) if o.real)
            for k in active:
                self.consumers.setdefault((slots[k].node, slots[k].output), []).append(f"%{node.id} ({names[k]})")

    def _listed(
        self, node: Node, step: Step, lemma: Lemma, arguments: Mapping[str, Ref], sizes: Mapping[str, Any]
    ) -> None:
        """Each hypothesis of the lemma is stated at the node, or discharged; what is to be evaluated is kept."""
        computed = {d.tree for d in step.discharged if d.because == COMPUTED}
        for tree in computed:
            read = [r.node for n, r in arguments.items() if n in arrays(tree)]
            if not read or not self.fixed.issuperset(read):
                raise StepError(f"{text(tree)} is discharged as one on constants, and depends on an input")
        stated = {h.tree for h in step.hypotheses}
        shown = [(h.formula, h.tree) for h in step.hypotheses] + [(d.formula, d.tree) for d in step.discharged]
        if any(formula != text(tree) for formula, tree in shown):
            raise StepError("a formula does not say what its tree does")
        if lemma.hypotheses != [text(one) for one in lemma.statements]:
            raise StepError("the formulas of its lemma do not say what their trees do")
        missing = sorted(map(text, {*lemma.statements} - stated - computed))
        if missing:
            raise StepError(f"its lemma holds under {missing[0]}, which is neither stated nor discharged")
        more = sorted(map(text, stated - {*lemma.statements}))
        if more:
            raise StepError(f"{more[0]} is stated, and is no hypothesis of its lemma")
        if (lemma.verdict == "proved") != (not lemma.hypotheses) or lemma.verdict not in HOLDS:
            raise StepError(f"its lemma is {lemma.verdict} with {len(lemma.hypotheses)} hypotheses")
        if any((h.node, h.source) != (node.id, node.source) for h in step.hypotheses):
            raise StepError("it states a hypothesis of another node")
        at = self.place, arguments, sizes
        self.shared.hypotheses += [Asked(h.text, h.tree, *at) for h in step.hypotheses]
        for given in lemma.given:
            name, _, relation = given.partition(" ")
            if given == RESTS:
                self.shared.still.append(Still(f"{node.name}: {given}", self.place, Ref(node=node.id)))
                continue
            if relation == STILL:
                self.shared.still.append(Still(f"{node.name}: {given}", self.place, arguments[name]))
                continue
            self._where(f"{node.name}: {given}", name, relation, arguments)

    def _where(self, said: str, name: str, relation: str, arguments: Mapping[str, Ref]) -> None:
        """Keep what is said of where a value is, to be evaluated."""
        found = statements(name, relation)
        if found is None:
            raise StepError(f"'{relation}' does not say where a value is")
        self.shared.signs += [Asked(said, one, self.place, arguments, {}) for one in found]

    # --- graphs inside

    def _inside(self, node: Node, step: Step) -> None:
        operands = node.operands
        moving = [self.is_moving(o) for o in operands]
        names = [self.expressions.of(o) for o in operands]
        real, read, parts, where = _PARTS[node.kind](self.traced, node, moving, names)
        bodies = self.traced.bodies[node.id]
        if [p.name for p in step.inside] != [b.ir.name for b in bodies]:
            raise StepError("the graphs inside are not those of the node")
        inner = []
        for k, (body, part) in enumerate(zip(bodies, step.inside, strict=True)):
            place = (*self.place, (node.id, k))
            inner.append(Walk(body, part.steps, self.shared, parts[k][0], parts[k][1], place).run())
            expected = [n.name for n in body.ir.inputs if (n.id, 0) in inner[-1].moving]
            if part.moving != expected:
                raise StepError(f"inside {part.name}, {', '.join(expected) or 'nothing'} moves")
        self.inside[node.id] = inner
        self.moving.update((node.id, k) for k, m in enumerate(real) if m)
        for k in read:
            operand = operands[k]
            if isinstance(operand, Ref) and self.is_moving(operand):
                self.consumers.setdefault((operand.node, operand.output), []).append(f"%{node.id} (operand {k})")
        hypotheses = list(_outside(node, step.inside, where))
        if len(hypotheses) == len(step.hypotheses):  # what is read may make a boundary of the graph inside an open set
            pairs = zip(hypotheses, step.hypotheses, strict=True)
            hypotheses = [msgspec.structs.replace(h, negligible=h.negligible and s.negligible) for h, s in pairs]
        self._plain(
            node,
            step,
            "moving" if any(real) else "constant",
            node.name,
            verdict=HOLDS[bool(hypotheses)] if _hold(step.inside) else "unproved",
            hypotheses=hypotheses,
            inside=step.inside,
        )


Parts = tuple[list[bool], Sequence[int], list[tuple[list[bool], list[str]]], str]
"""Which outputs move, which operands get cotangents, of each graph inside what moves and its names; where it runs."""


def _scan(traced: TracedGraph, node: Node, moving: list[bool], names: list[str]) -> Parts:
    loop = scan_loop(traced.equations[node.id].eqn)
    (body,) = traced.bodies[node.id]
    first, last = loop.consts, loop.consts + loop.carries
    names[first:last] = [f"carry of {name}" for name in names[first:last]]
    names[last:] = [f"row of {name}" for name in names[last:]]
    while True:  # a carry moves as soon as one step makes it move
        found = moves(body, moving)[: loop.carries]
        more = [*moving[:first], *(a or b for a, b in zip(moving[first:last], found, strict=True)), *moving[last:]]
        if more == moving:
            break
        moving = more
    moved = moves(body, moving)
    moved[: loop.carries] = moving[first:last]
    real = [m and o.real for m, o in zip(moved, node.outputs, strict=True)]
    return real, [k for k, m in enumerate(moving) if m], [(moving, names)], "at every step of the scan"


def _cond(traced: TracedGraph, node: Node, moving: list[bool], names: list[str]) -> Parts:
    branches = traced.bodies[node.id]
    moved = [any(found) for found in zip(*(moves(b, moving[1:]) for b in branches), strict=True)]
    real = [m and o.real for m, o in zip(moved, node.outputs, strict=True)]
    read = [k + 1 for k, m in enumerate(moving[1:]) if m]
    return real, read, [(moving[1:], names[1:])] * len(branches), "where branch {k} is taken"


def _while(traced: TracedGraph, node: Node, moving: list[bool], names: list[str]) -> Parts:
    loop = while_loop(traced.equations[node.id].eqn)
    if any(moving):
        raise StepError("what a while loop computes moves, and JAX has no reverse mode for it")
    constants = loop.test_consts + loop.body_consts
    names[constants:] = [f"carry of {name}" for name in names[constants:]]
    test = [*names[: loop.test_consts], *names[constants:]]
    body = names[loop.test_consts :]
    parts = [([False] * len(test), test), ([False] * len(body), body)]
    return [False] * len(node.outputs), [], parts, "at every step of the loop"


_PARTS = {"scan": _scan, "cond": _cond, "while": _while}


def _outside(node: Node, inside: Sequence[Inside], where: str) -> Iterator[NodeHypothesis]:
    """The hypotheses of the graphs inside, as the node states them."""
    for k, part in enumerate(inside):
        for h in (h for s in part.steps for h in s.hypotheses):
            yield msgspec.structs.replace(h, node=node.id, text=f"{h.text}, {where.format(k=k)}")


def _hold(inside: Sequence[Inside]) -> bool:
    return worst([s.verdict for part in inside for s in part.steps] or ["proved"]) in HOLDS


def _compare(step: Step, expected: Step) -> None:
    """Raises StepError for the first field in which they differ."""
    for name in Step.__struct_fields__:
        found, wanted = getattr(step, name), getattr(expected, name)
        if found != wanted:
            shown = [one if len(one) < 200 else f"{one[:200]} …" for one in (str(found), str(wanted))]
            raise StepError(f"its {name} is {shown[0]!r}, and the node's is {shown[1]!r}")


def _named(cotangents: Sequence[Cotangent]) -> str:
    return "; ".join(" + ".join(c.contributions) or "nothing" for c in cotangents) or "none"
