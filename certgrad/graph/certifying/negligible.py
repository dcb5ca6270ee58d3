"""Which hypotheses of a graph exclude a set of measure zero of its inputs.

`x ≠ 0` excludes next to nothing where x is an input, and an open set where x is a relu of one. A hypothesis at a node
counts as negligible only if that is shown: for one operand that the hypothesis reads there is an input u that nothing
else in it depends on, each entry of the operand takes each value on a set of measure zero of u only (what the other
inputs are fixed at is arbitrary, but for a set of measure zero), and so does the hypothesis of the operand.
"""

from __future__ import annotations

import msgspec

from certgrad.graph.certificate import Step
from certgrad.graph.induction.induction import Induction
from certgrad.graph.induction.walk import Judgement
from certgrad.graph.ir import Ref
from certgrad.graph.lemmas.interpreted import forward_terms
from certgrad.obligations.assume.conditions import Clause, polys
from certgrad.obligations.prove.negligible import Reals, negligible, spreading
from certgrad.obligations.terms.atoms import Access
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.walk import deep_atoms

Value = tuple[int, int]


def with_open_sets(induction: Induction, steps: list[Step]) -> list[Step]:
    """The steps; hypotheses that may fail on an open set are not marked as negligible."""
    asking = {step.node for step in steps if any(h.negligible for h in step.hypotheses)}
    if not asking:
        return steps
    graph = _Graph(induction, max(asking))
    change = msgspec.structs.replace

    def marked(step: Step) -> Step:
        clauses = induction.clauses.get(step.node, [])
        known = len(clauses) == len(step.hypotheses)  # else they are those of graphs inside, of which nothing is shown
        rarely = [known and graph.rarely(step.node, c) for c in clauses] if known else [False] * len(step.hypotheses)
        pairs = zip(step.hypotheses, rarely, strict=True)
        return change(step, hypotheses=[change(h, negligible=h.negligible and r) for h, r in pairs])

    return [marked(step) if step.node in asking else step for step in steps]


class _Graph:
    """For each value, the inputs that it depends on, and those inputs of which its entries take each value on a null
    set.
    """

    def __init__(self, induction: Induction, last: int) -> None:
        self.induction = induction
        self.depends: dict[int, frozenset[int]] = {}
        self.rare: dict[Value, frozenset[int]] = {}
        self.known: dict[object, list[tuple[set[str], set[str]]]] = {}
        for node in induction.traced.nodes[: last + 1]:
            parents = {o.node for o in node.operands if isinstance(o, Ref)}
            below = frozenset[int]().union(*(self.depends[p] for p in parents))
            self.depends[node.id] = below | {node.id} if node.kind == "input" else below
            if node.kind == "input" and node.outputs[0].real:
                self.rare[node.id, 0] = frozenset({node.id})
            elif (judgement := induction.judged.get(node.id)) is not None and node.id not in induction.inside:
                self._look(node.id, judgement)

    def operands(self, node: int) -> dict[str, Ref]:
        """Return the operands by the names that the node's lemma has for them."""
        judgement = self.induction.judged[node]
        slots = self.induction.traced.slots(self.induction.traced.nodes[node])
        return dict(zip(judgement.operation.names, slots, strict=True))

    def rarely(self, node: int, clause: Clause) -> bool:
        """Return whether the hypothesis at the node fails on a set of measure zero of the graph's inputs only."""
        arguments = self.operands(node)
        return negligible(clause, self._private(arguments, _tensors_read(*polys(clause))), arguments)

    def _private(self, arguments: dict[str, Ref], read: set[str]) -> Reals:
        """The operands with an input of their own, and whether they are inputs themselves."""
        nodes = self.induction.traced.nodes
        named = (n for n in sorted(read & arguments.keys()) if self._own(arguments, n, read))
        return {n: nodes[arguments[n].node].kind == "input" for n in named}

    def _look(self, node: int, judgement: Judgement) -> None:
        arguments = self.operands(node)
        for output, (read, found) in enumerate(self._spreading(judgement, arguments)):
            inputs = {u for name in found for u in self._own(arguments, name, read)}
            if inputs:
                self.rare[node, output] = frozenset(inputs)

    def _own(self, arguments: dict[str, Ref], name: str, read: set[str]) -> frozenset[int]:
        """The inputs of which the operand takes each value on a null set, and that no other operand read depends on."""
        ref, others = arguments[name], read & arguments.keys() - {name}
        return self.rare.get((ref.node, ref.output), frozenset()).difference(
            *(self.depends[arguments[n].node] for n in others)
        )

    def _spreading(self, judgement: Judgement, arguments: dict[str, Ref]) -> list[tuple[set[str], set[str]]]:
        """Return, for each output, the operands that it reads, and those of which it takes each value on a null set."""
        private = self._private(arguments, {*arguments})
        key = id(judgement.instance), tuple(sorted(private.items()))
        if key not in self.known:
            programs = judgement.instance.proof.programs
            terms = None if programs is None or not private else forward_terms(judgement.operation, programs.forward)
            self.known[key] = [(_tensors_read(t), spreading(t, private)) for t in terms or ()]
        return self.known[key]


def _tensors_read(*terms: Poly) -> set[str]:
    return {a.tensor for p in terms for a in deep_atoms(p) if isinstance(a, Access)}
