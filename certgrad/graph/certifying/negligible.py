"""Which hypotheses of a graph exclude a set of measure zero of its inputs.

`x ≠ 0` excludes next to nothing where x is an input, and an open set where x is a relu of one. A hypothesis at a node
counts as negligible only if that is shown. For one operand that the hypothesis reads there has to be an input u such
that no other operand in the hypothesis depends on u; each entry of the operand takes each value only on a set of u of
measure zero, whatever the other inputs are (except on a set of measure zero); and the hypothesis fails only on a set of
values of that operand of measure zero.
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
    """Return the steps, with hypotheses that may fail on an open set no longer marked as negligible."""
    asking = {step.node for step in steps if any(h.negligible for h in step.hypotheses)}
    if not asking:
        return steps
    graph = _Graph(induction, max(asking))
    change = msgspec.structs.replace

    def marked(step: Step) -> Step:
        clauses = induction.clauses.get(step.node, [])
        own_hypotheses = len(clauses) == len(step.hypotheses)  # a loop's are of its body, and stay unmarked
        rarely = (
            [own_hypotheses and graph.rarely(step.node, c) for c in clauses]
            if own_hypotheses
            else [False] * len(step.hypotheses)
        )
        pairs = zip(step.hypotheses, rarely, strict=True)
        return change(step, hypotheses=[change(h, negligible=h.negligible and r) for h, r in pairs])

    return [marked(step) if step.node in asking else step for step in steps]


class _Graph:
    """For each node the inputs that it depends on (`depends`), and for each value the rare inputs (`rare`): those for
    which every entry of the value takes each number only on a set of measure zero of that input.
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
        """Return the operands of a node by the names that its lemma has for them."""
        judgement = self.induction.judged[node]
        slots = self.induction.traced.slots(self.induction.traced.nodes[node])
        return dict(zip(judgement.operation.names, slots, strict=True))

    def rarely(self, node: int, clause: Clause) -> bool:
        """Return whether the hypothesis at the node fails on a set of measure zero of the graph's inputs only."""
        arguments = self.operands(node)
        return negligible(clause, self._private(arguments, _tensors_read(*polys(clause))), arguments)

    def _private(self, arguments: dict[str, Ref], read: set[str]) -> Reals:
        """Return the operands in `read` with an input of their own (`_own`), and whether each is itself an input."""
        nodes = self.induction.traced.nodes
        named = (n for n in sorted(read & arguments.keys()) if self._own(arguments, n, read))
        return {n: nodes[arguments[n].node].kind == "input" for n in named}

    def _look(self, node: int, judgement: Judgement) -> None:
        """Store the rare inputs of a node's outputs, from those of its operands."""
        arguments = self.operands(node)
        for output, (read, spreading_operands) in enumerate(self._spreading(judgement, arguments)):
            inputs = {u for name in spreading_operands for u in self._own(arguments, name, read)}
            if inputs:
                self.rare[node, output] = frozenset(inputs)

    def _own(self, arguments: dict[str, Ref], name: str, read: set[str]) -> frozenset[int]:
        """Return the operand's rare inputs on which no other operand in `read` depends."""
        ref, others = arguments[name], read & arguments.keys() - {name}
        return self.rare.get((ref.node, ref.output), frozenset()).difference(
            *(self.depends[arguments[n].node] for n in others)
        )

    def _spreading(self, judgement: Judgement, arguments: dict[str, Ref]) -> list[tuple[set[str], set[str]]]:
        """Return, for each output, the operands it reads, and those for which it takes each value on a null set."""
        private = self._private(arguments, {*arguments})
        key = id(judgement.instance), tuple(sorted(private.items()))
        if key not in self.known:
            programs = judgement.instance.proof.programs
            terms = None if programs is None or not private else forward_terms(judgement.operation, programs.forward)
            self.known[key] = [(_tensors_read(t), spreading(t, private)) for t in terms or ()]
        return self.known[key]


def _tensors_read(*terms: Poly) -> set[str]:
    return {a.tensor for p in terms for a in deep_atoms(p) if isinstance(a, Access)}
