"""A long description of each node: what it computes, of what, for whom, and where it was written."""

from __future__ import annotations

import inspect
import re

from certgrad.graph.ir import Graph, Literal, Node, Operand, Ref
from certgrad.graph.wording.expression import Expressions
from certgrad.specification.rule import RULES, STRUCTURED

_KINDS = {
    "input": "an input of the graph",
    "constant": "an array of the program; its values are kept outside the graph",
    "op": "an op of certgrad, with its own rules",
    "custom_jvp": "a function with a jvp rule of its own",
    "custom_vjp": "a function with a vjp rule of its own",
    "call": "a function that is kept whole",
    "draw": "what jax.random draws from a key: some number, the same for the same key",
    "region": "several operations that are certified together",
    "scan": "a loop that carries values from step to step and stacks what each step gives",
    "cond": "one of several branches, chosen by an index",
    "while": "a loop that goes on while its test holds",
}


def describe(graph: Graph, node: int) -> str:
    """Return the description of one node, in several lines. Raises IndexError where there is no such node."""
    return "\n".join(Descriptions(graph).of(graph.nodes[node]))


class Descriptions:
    """The descriptions of a graph's nodes. The readers of each node are collected once."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.expressions = graph, Expressions(graph)
        self.readers: dict[int, list[int]] = {}
        for node in graph.nodes:
            for parent in dict.fromkeys(p.node for p in node.parents):
                self.readers.setdefault(parent, []).append(node.id)

    def of(self, node: Node) -> list[str]:
        """Return the lines about a node: what it computes, source, operands, parameters, bodies, outputs, readers."""
        lines = [f"%{node.id} {node.name}: {sentence(node)}"]
        if node.source:
            lines.append(f"written at {node.source}" + (f", in {node.function}" if node.function else ""))
        lines += [f"operand {k}: {self._operand(o)}" for k, o in enumerate(node.operands)]
        lines += [f"{name}: {value}" for name, value in node.params.items()]
        for body in node.bodies:
            given = ", ".join(n.name for n in body.inputs)
            lines.append(f"inside, {body.name}: {len(body.nodes)} nodes" + (f", given {given}" if given else ""))
        which = [""] if len(node.outputs) == 1 else [f" {k}" for k in range(len(node.outputs))]
        lines += [f"output{k}: {type_}" for k, type_ in zip(which, node.outputs, strict=True)]
        returned = [str(k) for k, o in enumerate(self.graph.outputs) if isinstance(o, Ref) and o.node == node.id]
        readers = [f"%{r}" for r in self.readers.get(node.id, ())]
        readers += [f"the result{' ' + k if len(self.graph.outputs) > 1 else ''}" for k in returned]
        return [*lines, f"read by {', '.join(readers) or 'nobody'}"]

    def _operand(self, operand: Operand) -> str:
        if isinstance(operand, Literal):
            return f"the number {operand}"
        text = self.expressions.of(operand)
        return f"{operand} {self.graph.type_of(operand)}" + (f", `{text}`" if text != str(operand) else "")


def sentence(node: Node) -> str:
    """Return what a node computes, in a few words."""
    if node.kind != "primitive":
        return _KINDS[node.kind]
    rule = RULES.get(node.name) or STRUCTURED.get(node.name)
    if rule is None:
        return "a primitive of JAX"
    words = " ".join(inspect.cleandoc(rule.__doc__ or "").partition("\n\n")[0].split())
    return words[0].lower() + words[1:] if _CAPITAL.match(words) else words


_CAPITAL = re.compile(r"A |[A-Z][a-z]")
"""How a sentence begins, as against a formula."""
