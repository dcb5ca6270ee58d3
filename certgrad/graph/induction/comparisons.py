"""Comparisons that are certified together with what they compare: where nothing satisfies what one asks on its own.

A comparison is constant near a point, and so is all that is computed of it, where its sides differ; that is what it
asks on its own. But where its sides are one and the same function of the inputs it is constant as well (`x == x.T` of
a matrix that was made symmetric), and what stands on its way need not be differentiable there (`abs(x - x.T) <= eps`).
So a comparison of which, or on whose way, a hypothesis held at no point that was tried, is put together with operations
before it, the nearest first, until the lemma of these, as one function, asks nothing. That lemma is the kernel's.
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
    """The graph with such comparisons joined; None where that changes nothing.

    `induction` is the one over the graph with regions, `never` the hypotheses, by their place among all of it, that
    held nowhere.
    """
    shared = induction.shared
    traced = with_regions_inside(traced, shared)
    regions = regions_in(traced, induction.traced.ir, shared)
    stay = remaining_nodes(traced, regions)
    uses = Uses(traced, [])
    asking = [h.node for s in induction.steps for h in s.hypotheses]
    failing = {stay[asking[k]] for k in never if not induction.asked[k].place}
    more: list[Region] = []
    for last in sorted(_compared(traced, uses, failing)):
        if last not in {r.last for r in regions}:
            more += filter(None, [_region(traced, uses, last, induction)])
    return join_regions(traced, [*regions, *more]) if more else None


def joins_comparisons(traced: TracedGraph) -> bool:
    """Return whether a region of the graph ends in a comparison."""
    return any(n.kind == "region" and n.params[OPERATIONS].split(", ")[-1] in COMPARES for n in traced.nodes)


def _compared(traced: TracedGraph, uses: Uses, failing: Set[int]) -> set[int]:
    """The comparisons among these nodes, and those that are the only readers of one, also through other operations."""
    found: set[int] = set()
    serving: list[set[int] | None] = [None] * (len(traced.nodes) + 1)  # where all uses end; None: not in comparisons
    for node in reversed(traced.nodes):
        if node.name in COMPARES and node.kind == "primitive":
            serving[node.id] = {node.id}
        elif node.id not in traced.bodies and uses.readers[node.id]:
            ends = [serving[r] for r in uses.readers[node.id]]
            serving[node.id] = None if any(e is None for e in ends) else set().union(*(e for e in ends if e))
        if node.id in failing:
            found |= serving[node.id] or set()
    return found


def _region(traced: TracedGraph, uses: Uses, last: int, induction: Induction) -> Region | None:
    """The smallest region that ends in the comparison and asks nothing; failing that, the largest that holds."""
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
    """The comparison with one operation more on each way to it, and so on."""
    members, edge = {last}, {last}
    for _ in range(DEPTH):
        read = {o.node for k in edge for o in traced.nodes[k].operands if isinstance(o, Ref)}
        edge = {k for k in read - members if _joins(traced, uses, k)}
        if not edge or len(members | edge) > NODES:
            return
        members |= edge
        yield members.copy()


def _joins(traced: TracedGraph, uses: Uses, k: int) -> bool:
    node = traced.nodes[k]
    alone = node.kind not in ("input", "draw") and k not in traced.bodies and len(node.outputs) == 1
    return alone and small(traced, node)
