"""Why each hypothesis of a certificate's lemmas was discharged at its node, or kept; and what floats can break."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from certgrad.graph.certificate import GraphCertificate, Step
from certgrad.graph.ir import Graph, Literal, Node, Operand, Ref
from certgrad.graph.lemmas.bounds import side
from certgrad.graph.wording.describe import sentence
from certgrad.jaxpr import kinds
from certgrad.language.tree import Statement, arrays


@dataclass(frozen=True)
class Fact:
    """What is known of a value, and why: `exp(x)` > 0, the value of node 3."""

    node: int
    expression: str
    relation: str
    because: str
    in_floats: str = ""
    """How floating point can break the fact; empty where it cannot."""

    def __str__(self) -> str:
        return f"`{self.expression}` {self.relation} (%{self.node}): {self.because}"


@dataclass(frozen=True)
class Explanation:
    """One hypothesis of a lemma at a node: whether it was discharged there, and why."""

    node: int
    place: str
    """The operation and the user's line; for a node inside a loop or branch, also the nodes around it."""
    formula: str
    where: list[str]
    """The value that each argument name of the lemma stands for: ``x = `a @ b` (%4)``."""
    discharged: bool
    reason: str
    facts: list[Fact]
    """The facts that discharged it: about its operands, and about earlier values unless an earlier entry lists them."""


def explanations(certificate: GraphCertificate) -> list[Explanation]:
    """Return one entry for each hypothesis of a lemma at a node, in the order of the nodes."""
    return list(_explained(certificate.graph, certificate.steps, ""))


def broken_in_floats(certificate: GraphCertificate) -> list[str]:
    """Return the facts that discharged a hypothesis and can fail in floating point, each once, as text."""
    used = (f for e in explanations(certificate) for f in e.facts if f.in_floats)
    return list(dict.fromkeys(f"`{f.expression}` {f.relation} (%{f.node}): {f.in_floats}" for f in used))


def _explained(graph: Graph, steps: Sequence[Step], inside: str) -> Iterator[Explanation]:
    """Yield the explanations of a graph's steps; `inside` says where the graph is, "" for the outermost one."""
    facts_of_values = _ValueFacts(graph, steps)
    for node, step in zip(graph.nodes, steps, strict=True):
        place = f"{node.name} at {node.source}" if node.source else node.name
        place = f"{place} (%{node.id}{inside})"
        if step.inside:
            for body, part in zip(node.bodies, step.inside, strict=True):
                yield from _explained(body, part.steps, f" in the {body.name} of %{node.id}{inside}")
            continue
        for hypothesis in step.discharged:
            # The proof may use less than the fact says (> 0 of a value ≥ 1), so look for the value's name alone.
            refs = [
                r
                for r in step.arguments.values()
                if facts_of_values.sign(r) and f"`{facts_of_values.expression(r)}` " in hypothesis.because
            ]
            facts = list(dict.fromkeys(f for r in refs for f in facts_of_values.origins(r.node)))
            where = facts_of_values.names(step, hypothesis.tree)
            yield Explanation(node.id, place, hypothesis.formula, where, True, hypothesis.because, facts)
        for h in step.hypotheses:
            where = facts_of_values.names(step, h.tree)
            measure = "on a set of measure zero" if h.negligible else "on an open set"
            reason = f"{facts_of_values.ignorance(step, h.tree)}. It fails {measure}."
            yield Explanation(node.id, place, h.formula, where, False, reason, [])


class _ValueFacts:
    """What the steps of one graph say of the signs of its values."""

    def __init__(self, graph: Graph, steps: Sequence[Step]) -> None:
        self.graph, self.steps = graph, steps
        self.traced: set[int] = set()
        """The nodes whose facts have been followed back."""
        self.firm: list[bool] = []
        """Whether each node's value is strictly on one side of 0 in floating point, too."""
        for node in graph.nodes:
            self.firm.append(self._is_firm(node))

    def sign(self, ref: Ref) -> str:
        return self.steps[ref.node].sign if ref.output == 0 else ""

    def expression(self, ref: Ref) -> str:
        text = self.steps[ref.node].expression
        return text if len(self.graph.nodes[ref.node].outputs) == 1 else f"{text}[{ref.output}]"

    def fact(self, ref: Ref) -> str:
        """Return the fact about a value in the words of a step's reason; "" where nothing is known."""
        return f"`{self.expression(ref)}` {self.sign(ref)}" if self.sign(ref) else ""

    def names(self, step: Step, asked: Statement) -> list[str]:
        """Return, for each argument that a hypothesis of a step mentions, the value that it stands for."""
        return [f"{n} = `{self.expression(r)}` (%{r.node})" for n, r in _mentioned(step, asked)]

    def ignorance(self, step: Step, asked: Statement) -> str:
        """Return why a hypothesis is kept: which facts are known of its values, or that none is."""
        mentioned = [r for _, r in _mentioned(step, asked)]
        facts = [self.fact(r) for r in mentioned if self.sign(r)]
        if facts:
            return f"kept: {', '.join(facts)} is known, which does not decide it"
        unknown = ", ".join(f"`{self.expression(r)}`" for r in mentioned)
        return f"kept: nothing is known of the sign of {unknown}" if unknown else "kept: no fact is about it"

    def origins(self, node: int) -> list[Fact]:
        """Return the fact about a node's value, then those about earlier values from which it follows.

        The facts behind a node that was asked about before are not listed again.
        """
        facts: list[Fact] = []
        todo = [node]
        while todo:
            current = self.graph.nodes[todo.pop(0)]
            step = self.steps[current.id]
            relation = step.sign or "> 0"  # sizes are integers, of which a step says nothing
            because, in_floats, parents = self._origin(current, relation)
            facts.append(Fact(current.id, step.expression, relation, because, in_floats))
            if current.id not in self.traced:
                self.traced.add(current.id)
                todo += [p for p in parents if p not in self.traced and p not in todo]
        return facts

    def _origin(self, node: Node, relation: str) -> tuple[str, str, list[int]]:
        """Return what a fact about a node's value rests on.

        These are: the reason in words; how floats can break it, "" where they cannot; the earlier nodes that it needs.
        """
        if node.kind in ("input", "constant") or node.name in _MADE:
            return _MADE.get(node.name, "an array of the program"), "", []
        strict = bool(side(relation))
        parents = [r.node for r in node.parents if self.sign(r) or self.graph.nodes[r.node].name in _MADE]
        if node.kind != "primitive":
            return sentence(node), _UNDERFLOW if strict else "", parents
        if self._handed_on(node):
            return f"{node.name} of it", "", parents
        if node.name in ("add", "add_any", "max"):
            firm = any(self._holds(r, relation) for r in node.operands)
            if firm:  # one operand is strictly on that side in floats: leave out operands whose sign alone is not
                parents = [p for p in parents if not side(self.steps[p].sign) or self._holds(Ref(node=p), relation)]
            because = f"{node.name} of what is {_SIDE.get(side(relation) or relation, relation)}"
            return because, "" if firm or not strict else _ROUNDED, parents
        return sentence(node), _UNDERFLOW if strict else "", parents

    def _is_firm(self, node: Node) -> bool:
        """Return whether a node's value is strictly on one side of 0 in floats too, judged by its operands."""
        sign = self.steps[node.id].sign
        if node.name in _MADE:
            return True
        if not side(sign) or node.kind == "constant":
            return bool(side(sign))
        if node.name in ("add", "add_any", "max"):
            return any(self._holds(r, sign) for r in node.operands)
        signed = [r for r in node.parents if self.sign(r) or self.graph.nodes[r.node].name in _MADE]
        return self._handed_on(node) and bool(signed) and all(self.firm[r.node] for r in signed)

    def _handed_on(self, node: Node) -> bool:
        """Return whether the node keeps values on their side of 0 in floats, too."""
        subtracts_0 = node.name == "sub" and len(node.operands) == 2 and _number(node.operands[1]) == 0
        return node.kind == "primitive" and (node.name in _HANDED_ON or subtracts_0)

    def _holds(self, operand: Operand, relation: str) -> bool:
        """Return whether the operand is in floats, too, strictly on the side of 0 that `relation` names."""
        if isinstance(operand, Literal):
            return _number(operand) > 0 if side(relation) == "> 0" else _number(operand) < 0
        return self.firm[operand.node] and side(self.sign(operand)) == side(relation)


def _number(operand: Operand) -> float:
    try:
        return float(operand.text) if isinstance(operand, Literal) else math.nan
    except ValueError:
        return math.nan


_SIDE = {"> 0": "not negative", "≥ 0": "not negative", "< 0": "not positive", "≤ 0": "not positive"}
_UNDERFLOW = "in floating point it can underflow to 0"
_ROUNDED = "in floating point each of the terms can be 0"
_MADE = {"dim_as_value": "a size is at least 1", "iota": "the numbers 0, 1, 2 …"}
_HANDED_ON = kinds.REARRANGES | frozenset(
    "abs convert_element_type cumsum gather log1p min neg reduce_max reduce_min reduce_sum sqrt tanh".split()
)
"""Operations that keep a value on its side of 0, in floating point too."""


def _mentioned(step: Step, asked: Statement) -> list[tuple[str, Ref]]:
    named = arrays(asked)
    return [(n, r) for n, r in step.arguments.items() if n in named]


def lines(certificate: GraphCertificate) -> list[str]:
    """Return the explanations as text: each hypothesis, its values, why it holds or is kept. A fact is listed once."""
    out: list[str] = []
    listed: set[Fact] = set()
    for e in explanations(certificate):
        where = f", where {', '.join(e.where)}" if e.where else ""
        if not e.discharged:
            out.append(f"{e.place}: {e.formula}{where}: {e.reason}")
            continue
        out.append(f"{e.place}: {e.formula}{where}: discharged, {e.reason}")
        out += [f"  {f}" + (f"; {f.in_floats}" if f.in_floats else "") for f in e.facts if f not in listed]
        listed.update(e.facts)
    return out or ["no lemma asks for anything"]
