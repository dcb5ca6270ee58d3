"""The page on composed ops, `reports/blocks.md`: each with its theorem and its graph, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from certgrad.graph.certificate import GraphCertificate
from certgrad.graph.wording.report import conclusions, discharged, grouped, lemma_line, operation, theorem_line
from certgrad.report.markdown import code, tabulated

GRAPHS = "graphs"
_INTRODUCTION = """\
# Blocks

`certgrad report` writes this page. Do not edit it by hand.

An op that is composed of others has no rule of its own: JAX runs those of its parts, and the op is certified by
induction over the nodes of its graph, at symbolic dimensions, so for all shapes that fit its signature and any length
of its loops. Each node has a lemma, proved of the rules that run there. The induction step is proved once, for all
matrices:

{theorems}

What follows of each block stands with its nodes. A hypothesis is asked at its node. The name of a block links to its
certificate, the number of nodes (those of loops counted once) to the certified graph: steps, lemmas, what each stands
for, hypotheses, and the contributions to every cotangent.

{table}"""
_HEADER = ("block", "signature", "verdict", "nodes", "lemmas", "discharged", "left")


@dataclass(frozen=True)
class Block:
    """A composed op: its declaration, and the certified graph of each case."""

    doc: str
    cases: Sequence[tuple[str, GraphCertificate]]


def graph_files(blocks: Mapping[str, Block]) -> dict[str, GraphCertificate]:
    """Return each certified graph by its path inside the report."""
    return {
        f"{GRAPHS}/{_file(name, k, block)}": graph
        for name, block in blocks.items()
        for k, (_, graph) in enumerate(block.cases)
    }


def render(blocks: Mapping[str, Block]) -> str:
    """Return the page on the composed ops, which are given by name."""
    graphs = [graph for block in blocks.values() for _, graph in block.cases]
    theorems = dict.fromkeys(theorem_line(t) for graph in graphs for t in graph.theorems)
    rows = [_cells(name, k, block) for name, block in blocks.items() for k in range(len(block.cases))]
    introduction = _INTRODUCTION.format(theorems=_listed(theorems), table=tabulated(_HEADER, rows))
    return "\n\n".join([introduction, *(_section(name, block) for name, block in blocks.items())]) + "\n"


def _file(name: str, k: int, block: Block) -> str:
    return f"{name}.json" if len(block.cases) == 1 else f"{name}-{k + 1}.json"


def _cells(name: str, k: int, block: Block) -> list[str]:
    case, graph = block.cases[k]
    return [
        f"[`{name}`](certificates/{name}.json)",
        code(case),
        graph.verdict,
        f"[{nodes(graph)}]({GRAPHS}/{_file(name, k, block)})",
        str(len(graph.lemmas)),
        str(len(discharged(graph))),
        str(len(graph.hypotheses) + len(graph.dimensions)),
    ]


def nodes(graph: GraphCertificate) -> int:
    """Return the number of nodes of a graph, with those of inner graphs (bodies of loops) counted once."""

    def count(steps: Sequence) -> int:
        return sum(1 + sum(count(part.steps) for part in step.inside) for step in steps)

    return count(graph.steps)


def _section(name: str, block: Block) -> str:
    parts = [f"## `{name}`", block.doc]
    for case, graph in block.cases:
        parts += [code(case), _nodes(graph)]
        for title, entries in (
            ("Theorem", conclusions(graph)),
            ("Under", [*grouped(graph), *graph.dimensions]),
            ("Discharged", discharged(graph)),
            ("Findings", graph.findings),
        ):
            if entries:
                parts += [f"{title}:", _listed(entries)]
        parts += ["Lemmas:", "\n".join(["```text", *map(lemma_line, graph.lemmas), "```"])]
    return "\n\n".join(parts)


def _nodes(graph: GraphCertificate) -> str:
    rows = []
    for node, step in zip(graph.graph.nodes, graph.steps, strict=True):
        cells = (", ".join(map(str, node.outputs)), operation(node), step.lemma[:8])
        rows.append([f"%{node.id}", *(code(cell) if cell else "" for cell in cells)])
    return tabulated(("node", "type", "operation", "lemma"), rows)


def _listed(entries: Sequence[str] | Mapping[str, None]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)
