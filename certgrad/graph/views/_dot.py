"""A certified graph as GraphViz text."""

from __future__ import annotations

from collections.abc import Sequence

from certgrad.graph.certificate import GraphCertificate, Step
from certgrad.graph.ir import Graph, Node, Ref
from certgrad.graph.wording.describe import Descriptions

COLOURS = {
    "proved": "#d7f0dc",
    "proved under hypotheses": "#fdf0c4",
    "proved up to rounding": "#e3f0c8",
    "refuted": "#f7c8c8",
    "unproved": "#dcdcdc",
    "surrogate": "#d5dffa",
}
"""The fill of a node, by its verdict; a verdict that is not `proved` also stands in the node."""


def render_dot(certificate: GraphCertificate) -> str:
    """Return the graph as GraphViz text, with each node's verdict and open hypotheses; inner graphs are clusters."""
    graph = certificate.graph
    lines = [
        f"digraph {_quoted(graph.name)} {{",
        f"  label={_quoted(f'{graph.name}: {certificate.verdict}')}; labelloc=t; fontname=Helvetica;",
        '  node [shape=box style="filled,rounded" fontname=Helvetica fontsize=10]; edge [arrowsize=0.6];',
        *_graph(graph, certificate.steps, "n", "  "),
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _graph(graph: Graph, steps: Sequence[Step], prefix: str, indent: str) -> list[str]:
    """Return the lines of DOT that draw a graph, with the bodies of its loops as clusters."""
    described = Descriptions(graph)
    lines = []
    for node, step in zip(graph.nodes, steps, strict=True):
        name = f"{prefix}{node.id}"
        tip = "\n".join(described.of(node))
        lines.append(
            f"{indent}{name} [label={_quoted(_label(node, step))} {_style(node, step)} tooltip={_quoted(tip)}];"
        )
        lines += [f"{indent}{prefix}{p} -> {name};" for p in dict.fromkeys(r.node for r in node.parents)]
        for k, (body, part) in enumerate(zip(node.bodies, step.inside, strict=False)):
            inner = f"{name}_{k}_"
            lines.append(f"{indent}subgraph cluster_{inner[:-1]} {{")
            lines.append(f"{indent}  label={_quoted(f'{body.name} of %{node.id}')}; style=dashed;")
            lines += _graph(body, part.steps, inner, indent + "  ")
            lines.append(f"{indent}}}")
            lines += [f"{indent}{inner}{o.node} -> {name} [style=dashed];" for o in _results(body)]
    for k, operand in enumerate(graph.outputs if prefix == "n" else []):  # only the outermost graph has results
        if isinstance(operand, Ref):
            lines.append(f'{indent}out{k} [label="result {k}" shape=plaintext style=""];')
            lines.append(f"{indent}n{operand.node} -> out{k};")
    return lines


def _results(body: Graph) -> list[Ref]:
    return list({o.node: o for o in body.outputs if isinstance(o, Ref)}.values())


def _label(node: Node, step: Step) -> str:
    lines = [f"%{node.id} {node.name}", ", ".join(map(str, node.outputs))]
    if node.kind in ("input", "constant"):
        return "\n".join(lines)
    if step.verdict not in ("proved", "proved under hypotheses"):
        lines.append(step.verdict)
    return "\n".join([*lines, *dict.fromkeys(h.formula for h in step.hypotheses)])


def _style(node: Node, step: Step) -> str:
    if node.kind in ("input", "constant"):
        return 'shape=ellipse fillcolor="#ffffff"'
    return f'fillcolor="{COLOURS[step.verdict]}"' + (" penwidth=2" if step.verdict == "refuted" else "")


def _quoted(text: str) -> str:
    """Return a text as a string of the DOT language: backslashes and quotes escaped, lines broken."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\r", " ").replace("\n", "\\n") + '"'
