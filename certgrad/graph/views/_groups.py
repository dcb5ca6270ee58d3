"""The boxes of a drawing: nodes, or where there are many, runs of neighbours that come from one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from certgrad.graph.certificate import Step
from certgrad.graph.ir import Graph, Node
from certgrad.obligations.certificate import VerdictName, worst

READABLE = 150
"""Boxes of a drawing, at most; a larger graph is drawn by runs of nodes."""
_NAMELESS = ("<genexpr>", "<lambda>", "<listcomp>", "<dictcomp>")


@dataclass(frozen=True)
class Group:
    """Neighbouring nodes, with their steps."""

    title: str
    nodes: list[Node]
    steps: list[Step]

    @property
    def verdict(self) -> VerdictName:
        return worst([s.verdict for s in self.steps])

    @property
    def hypotheses(self) -> list[str]:
        """Return the texts of the hypotheses, each once, in order."""
        return list(dict.fromkeys(h.text for s in self.steps for h in s.hypotheses))


def groups(graph: Graph, steps: Sequence[Step], most: int = READABLE) -> list[Group]:
    """Return the runs of nodes that come from one function; neighbouring runs are joined to have at most `most`."""
    pairs = list(zip(graph.nodes, steps, strict=True))
    runs = [(title, list(run)) for title, run in groupby(pairs, key=lambda pair: function_label(pair[0]))]
    together = -(-len(runs) // most) or 1
    joined_runs = []
    for start in range(0, len(runs), together):
        part = runs[start : start + together]
        titles = list(dict.fromkeys(title for title, _ in part))
        shown = titles if len(titles) <= 3 else [*titles[:2], "…", titles[-1]]
        members = [pair for _, run in part for pair in run]
        joined_runs.append(Group(", ".join(shown), [n for n, _ in members], [s for _, s in members]))
    return joined_runs


def function_label(node: Node) -> str:
    """Return the name of the function that a node comes from, without parts such as `<lambda>`; else "graph"."""
    if node.kind in ("input", "constant"):
        return f"{node.kind}s"
    parts = [p for p in node.function.split(".<locals>.") if p not in _NAMELESS]
    return parts[-1] if parts and parts[-1] else "graph"


def edges(groups: Sequence[Group]) -> list[tuple[int, int]]:
    """Return which group reads which, each pair once."""
    place = {n.id: k for k, g in enumerate(groups) for n in g.nodes}
    pairs = ((place[p.node], k) for k, g in enumerate(groups) for n in g.nodes for p in n.parents if p.node in place)
    return list(dict.fromkeys((a, b) for a, b in pairs if a != b))
