"""Comparisons that are certified together with what they compare, where no point satisfies their own hypotheses.

On its own, a comparison has the hypothesis that its sides differ: there it is constant near the point, and so is all
that is computed from it. But where its sides are one and the same function of the inputs it is constant as well
(`x == x.T` of a matrix that was made symmetric), and what leads to it need not be differentiable there
(`abs(x - x.T) <= eps`).
So where a hypothesis of a comparison, or of an operation that only leads to it, held at no point that was tried, the
comparison is joined with operations before it, the nearest first, until their lemma, as one function, has no
hypothesis. That lemma is the kernel's.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from certgrad.graph.induction.induction import Induction
from certgrad.graph.induction.regions import (
    NODES,
    OPERATIONS,
    Region,
    Uses,
    as_one,
    join_regions,
    proof_of,
    regions_in,
    remaining_nodes,
    small,
    with_regions_inside,
)
from certgrad.graph.ir import Ref
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.jaxpr.kinds import COMPARES
from certgrad.obligations.certificate import PROVED_AS_WRITTEN

DEPTH = 12
"""The longest chain of operations before a comparison that is certified together with it."""


def with_comparisons(traced: TracedGraph, induction: Induction, never: Set[int]) -> TracedGraph | None:
    """Return the graph with each comparison that needs it joined to a region; None where there is no such comparison.

    `induction` is the induction over the graph with regions; `never` are the positions, in its list of hypotheses, of
    those that held at no point.
    """
    shared = induction.shared
    traced = with_regions_inside(traced, shared)
    regions = regions_in(traced, induction.traced.ir, shared)
    # `induction` numbers the nodes that stay beside its regions; these positions lead back to the nodes of `traced`.
    stay = remaining_nodes(traced, regions)
    uses = Uses(traced, [])
    asking_nodes = [h.node for s in induction.steps for h in s.hypotheses]
    failing = {stay[asking_nodes[k]] for k in never if not induction.asked[k].place}
    joined: list[Region] = []
    for last in sorted(_compared(traced, uses, failing)):
        if last not in {r.last for r in regions}:
            joined += filter(None, [_region(traced, uses, last, induction)])
    return join_regions(traced, [*regions, *joined]) if joined else None


def joins_comparisons(traced: TracedGraph) -> bool:
    """Return whether a region of the graph ends in a comparison."""
    return any(n.kind == "region" and n.params[OPERATIONS].split(", ")[-1] in COMPARES for n in traced.nodes)


def _compared(traced: TracedGraph, uses: Uses, failing: Set[int]) -> set[int]:
    """Return the comparisons among the nodes `failing`, and those in which all uses of such a node end."""
    comparisons: set[int] = set()
    serving: list[set[int] | None] = [None] * (
        len(traced.nodes) + 1
    )  # in which comparisons all uses end; None: some end elsewhere
    for node in reversed(traced.nodes):
        if node.name in COMPARES and node.kind == "primitive":
            serving[node.id] = {node.id}
        elif node.id not in traced.bodies and uses.readers[node.id]:
            ends = [serving[r] for r in uses.readers[node.id]]
            serving[node.id] = None if any(e is None for e in ends) else set().union(*(e for e in ends if e))
        if node.id in failing:
            comparisons |= serving[node.id] or set()
    return comparisons


def _region(traced: TracedGraph, uses: Uses, last: int, induction: Induction) -> Region | None:
    """Return the smallest region that ends in comparison `last` and has no hypotheses, else the largest that is proved.

    None where no region is proved.
    """
    under_hypotheses = None
    for members in _before(traced, uses, last):
        region = as_one(traced, members, last, induction.shared)
        verdict = proof_of(region, uses.moving, induction.shared).lemma.verdict
        if verdict == "proved":
            return region
        if verdict in PROVED_AS_WRITTEN:
            under_hypotheses = region
    return under_hypotheses


def _before(traced: TracedGraph, uses: Uses, last: int) -> Iterator[set[int]]:
    """Yield growing sets of nodes that end in the comparison `last`: each adds what the newest of its nodes read."""
    members, edge = {last}, {last}
    for _ in range(DEPTH):
        read = {o.node for k in edge for o in traced.nodes[k].operands if isinstance(o, Ref)}
        edge = {k for k in read - members if _joins(traced, uses, k)}
        if not edge or len(members | edge) > NODES:
            return
        members |= edge
        yield members.copy()


def _joins(traced: TracedGraph, uses: Uses, k: int) -> bool:
    """Return whether node `k` may join a region: an operation or a small constant, with one output."""
    node = traced.nodes[k]
    joinable = node.kind not in ("input", "draw") and k not in traced.bodies and len(node.outputs) == 1
    return joinable and small(traced, node)
