"""Regions: operations that are certified together, because a lemma about one of them alone says nothing.

`stop_gradient` hides a part of the derivative, and NaN or an infinity is no real number; both stand in programs whose
result does not depend on them (the shift of a softmax, the masked entries, the branch that is not selected, the factors
of a matrix beside the solution of its equation). Cholesky factors, eigenvalues and eigenvectors have their derivatives
where the matrix was made symmetric. From such a node on, the smallest run of operations is taken that all its uses go
through and whose lemma, as one function, holds. That lemma is the kernel's: the stopped value has an arbitrary tangent
there, whose coefficient has to vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import jax
import msgspec
import numpy as np

from certgrad.graph.induction.induction import Shared
from certgrad.graph.ir import Graph, Literal, Node, Operand, Ref
from certgrad.graph.lemmas.operation import Operation, argument_names
from certgrad.graph.lemmas.proof import Proof
from certgrad.graph.tracing.jaxpr import Equation, bytes_of, program_equation
from certgrad.graph.tracing.trace import TracedGraph, moving_values, renumbered
from certgrad.jaxpr import kinds
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.auditing.redundant import not_implied
from certgrad.obligations.certificate import PROVED_AS_WRITTEN
from certgrad.obligations.terms.atoms import Access, access
from certgrad.obligations.terms.polynomials import Atom, Poly
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.tracing.jax_internals import dim_poly, wide_floats
from certgrad.obligations.wording.stated import Reads

NODES = 60
"""Operations of a region, at most; where a larger one is needed, the node has no lemma."""
FURTHER = 12
"""Operations, at most, beyond a region whose lemma holds under hypotheses, in search of a better one."""
WITH_OTHERS = 18
"""Operations, at most, beyond a region under hypotheses, with the earlier operations that a larger one needs."""
NO_BETTER = 2
"""Regions in a row that are no better, after which the search for a better one ends."""
OPERATIONS = "operations"
"""The parameter of a region that names its operations, in order."""
MEMBERS = "members"
"""The parameter of a region that says which operations it is made of, as the function's own graph numbers them."""
REACH = 600
"""Nodes behind the first one of a region that are examined at most."""


def with_regions(traced: TracedGraph, shared: Shared) -> TracedGraph:
    """Return the graph with each region as one node, in the graphs inside nodes as well."""
    traced = with_regions_inside(traced, shared)
    seeds = list(_nodes_without_lemma(traced))
    regions = list(_rounded_casts(traced, shared))
    if not seeds and not regions:
        return traced
    uses = Uses(traced, seeds)
    covered: set[int] = set().union(*(r.members for r in regions))
    for seed in seeds:
        if seed not in covered:
            region = _region(traced, uses, seed, shared)
            # A stopped value may be selected only on a boundary, which the lemma sees with the masks that select it.
            if region is None and traced.nodes[seed].name == "stop_gradient":
                region = _region(traced, uses, seed, shared, _with_masks)
            if region is not None and not covered & region.members:
                regions.append(region)
                covered |= region.members
                uses.silent -= region.members
    return join_regions(traced, regions) if regions else traced


def with_regions_inside(traced: TracedGraph, shared: Shared) -> TracedGraph:
    """Return the graph with each region as one node in the graphs inside nodes, and its own nodes as they are."""
    return _with_bodies(traced, {k: [with_regions(b, shared) for b in v] for k, v in traced.bodies.items()})


def joined_as(traced: TracedGraph, graph: Graph, shared: Shared) -> TracedGraph:
    """Return the graph with the regions that `graph`, the one in a certificate, has. No lemma is proved here.

    Raises ValueError where the graph has no such operations.
    """
    regions = regions_in(traced, graph, shared)
    whole = join_regions(traced, regions) if regions else traced
    bodies = {}
    for k, traced_bodies in whole.bodies.items():
        recorded = graph.nodes[k].bodies if k < len(graph.nodes) else []
        if len(recorded) != len(traced_bodies):
            raise ValueError(f"node {k} holds other graphs than the function's")
        bodies[k] = [joined_as(b, g, shared) for b, g in zip(traced_bodies, recorded, strict=True)]
    return _with_bodies(whole, bodies)


def regions_in(traced: TracedGraph, graph: Graph, shared: Shared) -> list[Region]:
    """Return the regions of the function's operations that `graph`, the one in a certificate, has.

    Raises ValueError where the function has no such operations.
    """
    regions = []
    for node in graph.nodes:
        if node.kind == "region":
            members = {int(text) for text in node.params.get(MEMBERS, "").split()}
            joinable = all(0 <= k < len(traced.nodes) and _joinable(traced, k) for k in members)
            if not members or not joinable or len(traced.nodes[max(members)].outputs) != 1:
                raise ValueError(f"node {node.id} puts operations together that the function does not have")
            regions.append(as_one(traced, members, max(members), shared))
    if len({r.last for r in regions}) != len(regions):
        raise ValueError("two nodes put operations together for the same result")
    return regions


def _joinable(traced: TracedGraph, k: int) -> bool:
    """Return whether node `k` may be part of a region: it is no input and holds no graphs."""
    return traced.nodes[k].kind != "input" and k not in traced.bodies


def _with_bodies(traced: TracedGraph, bodies: dict[int, list[TracedGraph]]) -> TracedGraph:
    """Return the graph with `bodies` as the graphs inside its nodes."""
    if all(new is old for k, v in bodies.items() for new, old in zip(v, traced.bodies[k], strict=True)):
        return traced
    nodes = [
        msgspec.structs.replace(n, bodies=[b.ir for b in bodies[n.id]]) if n.id in bodies else n for n in traced.nodes
    ]
    return replace(traced, bodies=bodies, ir=msgspec.structs.replace(traced.ir, nodes=nodes))


def _nodes_without_lemma(traced: TracedGraph) -> Iterator[int]:
    """Yield nodes that have no lemma alone: values of `stop_gradient` that depend on inputs, infinite constants and
    the operations that read them, and factorisations whose rule is right for symmetric matrices only.
    """
    moving_nodes: set[int] = set()
    for node in traced.nodes:
        moves, infinite = node.kind == "input", False
        for o in node.operands:
            if type(o) is Ref:
                moves = moves or o.node in moving_nodes
            elif o.text in ("inf", "-inf", "nan"):  # type: ignore[union-attr]
                infinite = True
        if moves:
            moving_nodes.add(node.id)
        if node.name == "stop_gradient":
            has_lemma = node.id not in moving_nodes
        elif node.name in _OF_SYMMETRIC:
            has_lemma = False
        elif node.kind == "constant":
            has_lemma = not node.outputs[0].real or not _one_infinity(traced.constants[node.id])
        else:  # max(x, −∞) and x < ∞ have one for every x; constants made of an infinity, and −∞ + x, have none
            has_lemma = not infinite or (node.id in moving_nodes and node.name not in _INFINITE_WITH_INFINITY)
        if not has_lemma:
            yield node.id


def _rounded_casts(traced: TracedGraph, shared: Shared) -> Iterator[Region]:
    """Yield, as regions, each cast to an integer with the operation that rounded its operand.

    Alone, the lemma of a cast has hypotheses that a rounded operand satisfies.
    """
    taken: set[int] = set()
    for node in traced.nodes:
        source = node.operands[0].node if node.operands and isinstance(node.operands[0], Ref) else None
        if source is None or source in taken or node.name != "convert_element_type":
            continue
        if traced.nodes[source].name in kinds.ROUNDS and np.dtype(node.outputs[0].dtype).kind in "iu":
            taken.add(source)
            yield as_one(traced, {source, node.id}, node.id, shared)


def _one_infinity(constant: Any) -> bool:
    """Return whether a constant is NaN, or one infinity throughout. The kernel reads no other constant that is
    not finite.
    """
    array = np.asarray(constant)
    return not np.isfinite(array).all() and (not array.ndim or bool((array == array.flat[0]).all()))


def small(traced: TracedGraph, node: Node) -> bool:
    """Return whether a node is no constant, or is a constant of one entry that the kernel reads."""
    if node.kind != "constant":
        return True
    constant = traced.constants[node.id]
    readable = not node.outputs[0].real or bool(np.isfinite(constant).all()) or _one_infinity(constant)
    return np.size(constant) <= 1 and readable


class Uses:
    """The readers of each node, and which nodes are fixed (depend on no input) or silent (need no cotangent)."""

    def __init__(self, traced: TracedGraph, seeds: Iterable[int]) -> None:
        """Collect where each node is read last and by which nodes, which are fixed, and which are silent.

        Silent are `seeds`, the nodes that hand a silent value on as it is, and the operations that make the matrix of
        a factorisation symmetric. An output of the graph counts as read by a node after the last one.
        """
        self.silent = set(seeds)
        self.moving = moving_values(traced, [True] * len(traced.ir.inputs))
        self.last = [0] * len(traced.nodes)
        self.readers: list[set[int]] = [set() for _ in traced.nodes]
        self.fixed = [False] * len(traced.nodes)
        for node in traced.nodes:
            reads = [o.node for o in node.operands if isinstance(o, Ref)]
            for k in reads:
                self.last[k] = node.id
                self.readers[k].add(node.id)
            if node.name in _AS_IT_IS and not self.silent.isdisjoint(reads):
                self.silent.add(node.id)
            self.fixed[node.id] = node.kind != "input" and all(self.fixed[k] for k in reads)
        for o in traced.ir.outputs:
            if isinstance(o, Ref):
                self.last[o.node] = len(traced.nodes)
                self.readers[o.node].add(len(traced.nodes))
        symmetric: set[int] = set()
        for node in reversed(traced.nodes):
            symmetrises = node.name in _MAKES_SYMMETRIC and self.readers[node.id] and self.readers[node.id] <= symmetric
            if symmetrises or node.name in _OF_SYMMETRIC:
                symmetric.add(node.id)
        self.silent |= symmetric


@dataclass
class Region:
    """Operations that are certified as one: their nodes, the last of which gives the result, and what they read."""

    members: set[int]
    last: int
    operands: list[Ref]
    equation: Equation
    name: str
    """What its node is called: the user's function that it ends in, or its first and last operations."""


Before = Callable[[TracedGraph, "Uses", set[int]], set[int]]
"""A function that returns some operations together with the earlier operations that belong to them."""


def _region(traced: TracedGraph, uses: Uses, seed: int, shared: Shared, before: Before | None = None) -> Region | None:
    """Return the smallest region from node `seed` on whose lemma has no hypotheses, or else one whose lemma is proved
    under some; None if there is none.

    Nodes that read the seed, directly or not, are collected in order; whenever later nodes read only the newest of
    them, they are tried as a region that ends in it. A region under hypotheses is replaced by a larger one only if that
    has weaker hypotheses, such as "some entry of each row is kept" in place of "all are". `before` adds the earlier
    operations that a region needs (`_with_ancestors`).
    """
    reached = {seed}
    under_hypotheses: Region | None = None
    least_hypotheses: list[Clause] = []
    shapes: dict[str, tuple[Poly, ...]] = {}
    open_until, no_better = uses.last[seed], 0
    for node in traced.nodes[seed + 1 : seed + REACH]:
        if not any(isinstance(o, Ref) and o.node in reached for o in node.operands):
            continue
        if node.id in traced.bodies:
            break
        closes = open_until <= node.id and len(node.outputs) == 1  # nothing later reads another of its nodes
        reached.add(node.id)
        if len(reached) > (NODES if under_hypotheses is None else FURTHER + len(under_hypotheses.members)):
            break
        if closes and node.name not in _ON_THE_WAY:
            members = (before or _with_ancestors)(traced, uses, reached)
            if under_hypotheses is not None and (
                no_better >= NO_BETTER or len(members) > WITH_OTHERS + len(under_hypotheses.members)
            ):
                break
            region = as_one(traced, members, node.id, shared)
            proof = proof_of(region, uses.moving, shared)
            if proof.lemma.verdict == "proved":
                return region
            no_better += 1
            if proof.lemma.verdict in PROVED_AS_WRITTEN:
                hypotheses = _of_graph(region, proof.clauses)
                shapes |= {_name(r): tuple(map(dim_poly, _aval(traced, r)[0])) for r in region.operands}
                if under_hypotheses is None or _weaker(hypotheses, least_hypotheses, Reads(shapes)):
                    under_hypotheses, least_hypotheses, no_better = region, hypotheses, 0
        open_until = max(open_until, uses.last[node.id])
        if open_until >= len(traced.nodes):
            break
    return under_hypotheses


_ON_THE_WAY = kinds.KEEPS_CONSTANTS | {"exp"}
"""Operations in which no region ends: nothing has cancelled yet."""
_AS_IT_IS = kinds.KEEPS_CONSTANTS | {"select_n"}
"""Operations that pass an infinity on as it is."""
_INFINITE_WITH_INFINITY = frozenset("select_n mul add sub div".split())
"""Operations that, with an infinity as an operand, have no finite result for some or all other operands."""
_OF_SYMMETRIC = frozenset({"cholesky", "eigh"})
"""Factorisations whose rules hold for symmetric matrices; JAX's functions make their argument symmetric first."""
_MAKES_SYMMETRIC = frozenset("add div mul transpose".split())
"""The operations of (a + aᵀ)/2, the symmetric matrix that such a factorisation is given."""


def _with_ancestors(traced: TracedGraph, uses: Uses, reached: set[int]) -> set[int]:
    """Return the nodes of a region with earlier nodes that serve it alone (the shift of a softmax) or depend on no
    input (masks, sizes). The former have to be silent, or to be read by stopped values alone.
    """
    members = set(reached)
    stopped = {k for k in reached if traced.nodes[k].name == "stop_gradient"}  # and nodes that only they read
    for node in _before(traced, members):
        readers = uses.readers[node.id]
        fixed = uses.fixed[node.id] and small(traced, node)
        silent = node.id in uses.silent
        if readers and readers <= stopped and len(node.outputs) == 1:
            stopped.add(node.id)
            members.add(node.id)
            continue
        constant = fixed or node.name == "is_finite"  # which is true of every real number
        if len(node.outputs) == 1 and (constant or (silent and readers <= members)):
            members.add(node.id)
    return members


def _before(traced: TracedGraph, members: Set[int]) -> Iterator[Node]:
    """Yield the operations that `members` read and that may join them, the last one first.

    The caller adds an operation to `members` if it joins; then the operations that it reads are yielded as well.
    """
    waiting: list[int] = []
    seen: set[int] = set()

    def read_by(k: int) -> None:
        for o in traced.nodes[k].operands:
            if isinstance(o, Ref) and o.node not in seen:
                seen.add(o.node)
                heappush(waiting, -o.node)

    for k in members:
        read_by(k)
    while waiting:
        node = traced.nodes[-heappop(waiting)]
        if node.id in members or node.kind == "input" or node.id in traced.bodies:
            continue
        yield node
        if node.id in members:
            read_by(node.id)


def _with_masks(traced: TracedGraph, uses: Uses, reached: set[int]) -> set[int]:
    """Return the nodes of a region with the comparisons that decide its selections, and those that depend on no input.

    A stopped value that is selected only on a boundary does not matter elsewhere, whatever it is made of.
    """
    members = set(reached)
    for node in _before(traced, members):
        fixed = uses.fixed[node.id] and small(traced, node)
        if len(node.outputs) == 1 and (fixed or node.outputs[0].dtype == "bool"):
            members.add(node.id)
    return members


def as_one(traced: TracedGraph, members: set[int], last: int, shared: Shared) -> Region:
    """Return the members as one equation, a region, whose output is that of the last member."""
    order = sorted(members)
    operands: dict[tuple[int, int], Ref] = {}
    for k in order:
        for o in traced.nodes[k].operands:
            if isinstance(o, Ref) and o.node not in members:
                operands.setdefault((o.node, o.output), o)
    refs = list(operands.values())
    place = {k: i for i, k in enumerate(order)}
    outside = {key: i for i, key in enumerate(operands)}

    def slot(o: Operand) -> Any:
        if isinstance(o, Literal):
            return o.text
        return place[o.node] if o.node in members else (outside[o.node, o.output],)

    # Regions of equal operations, wired alike, share one equation, so that they share a lemma.
    key = tuple(
        (
            traced.equations.get(k, k if traced.nodes[k].kind == "constant" else None),
            *map(slot, traced.nodes[k].operands),
        )
        for k in order
    )
    constants = tuple(bytes_of(traced.constants[k]) for k in order if k in traced.constants)
    equation = shared.regions.get((tuple(key[i] for i, k in enumerate(order) if k not in traced.constants), constants))
    if equation is None:
        wide = any(traced.equations[k].wide for k in order if k in traced.equations)
        with wide_floats(wide):
            equation = _equation(traced, order, last, refs, wide)
        shared.regions[tuple(key[i] for i, k in enumerate(order) if k not in traced.constants), constants] = equation
    end = traced.nodes[last]
    return Region(members, last, refs, equation, end.function or f"{traced.nodes[order[0]].name}…{end.name}")


def _equation(traced: TracedGraph, order: Sequence[int], last: int, refs: Sequence[Ref], wide: bool) -> Equation:
    """Return the nodes `order`, run in turn on the values `refs`, as one equation whose output is that of `last`."""

    def run(*args: Any) -> Any:
        values: dict[tuple[int, int], Any] = {(r.node, r.output): x for r, x in zip(refs, args, strict=True)}
        for k in order:
            if k in traced.constants:
                values[k, 0] = jax.numpy.asarray(traced.constants[k])
                continue
            equation, node = traced.equations[k], traced.nodes[k]
            slots = [values[r.node, r.output] for r in traced.slots(node)]
            values.update(((k, i), x) for i, x in enumerate(equation.run(*slots)))
        return values[last, 0]

    avals = []
    for r in refs:
        out = _aval(traced, r)
        avals.append(jax.ShapeDtypeStruct(out[0], out[1]))
    return program_equation(run, avals, wide)


def _aval(traced: TracedGraph, ref: Ref) -> tuple[Any, Any]:
    """Return shape and dtype of a value, with its dimensions as JAX has them."""
    node = traced.nodes[ref.node]
    if node.id in traced.equations:
        aval = traced.equations[node.id].eqn.outvars[ref.output].aval
        return aval.shape, aval.dtype
    if node.kind == "input":
        aval = traced.program.jaxpr.invars[[n.id for n in traced.ir.inputs].index(node.id)].aval
        return aval.shape, aval.dtype
    value = np.asarray(traced.constants[node.id])
    return value.shape, value.dtype


def _weaker(clauses: Sequence[Clause], than: Sequence[Clause], reads: Reads) -> bool:
    """Return whether the clauses follow from the clauses `than` and not the other way round, and none has a guard."""
    return (
        not any(c.guards for c in clauses)
        and not not_implied(clauses, than, {}, reads)
        and bool(not_implied(than, clauses, {}, reads))
    )


def _name(ref: Ref) -> str:
    """Return the name of a value by its number in the graph: `%3.0`."""
    return f"%{ref.node}.{ref.output}"


def _of_graph(region: Region, clauses: Sequence[Clause]) -> list[Clause]:
    """Return a lemma's hypotheses with each argument named as the region's operand: `%3.0`."""
    names = {name: _name(r) for name, r in zip(_names(region), region.operands, strict=False)}

    def named(atom: Atom) -> Poly | None:
        return access(names.get(atom.tensor, atom.tensor), atom.index) if isinstance(atom, Access) else None

    return [clause.rewritten(Rewriter(replace=named)) for clause in clauses]


def _names(region: Region) -> tuple[str, ...]:
    return argument_names(len(region.equation.variables))


def proof_of(region: Region, moving: Set[tuple[int, int]], shared: Shared) -> Proof:
    """Return the proof of the region's lemma; its active operands are those in `moving`, not a mask cast to float."""
    active = tuple(k for k, r in enumerate(region.operands) if (r.node, r.output) in moving)
    title = f"region {region.name}"
    return shared.lemmas.of(Operation(region.equation, _names(region), active, (), title, search=False)).proof


def join_regions(traced: TracedGraph, regions: Sequence[Region]) -> TracedGraph:
    """Return the graph with each region as one node, at the place of its last member."""
    stay = remaining_nodes(traced, regions)
    at = {r.last: r for r in regions}
    if not at.keys() <= {*stay}:  # the end of a region is inside another one, and nothing outside reads it
        return join_regions(traced, [r for r in regions if r.last in stay])
    equations = traced.equations | {k: r.equation for k, r in at.items()}
    nodes = [_node(traced, at[k]) if k in at else traced.nodes[k] for k in stay]
    return renumbered(replace(traced, equations=equations), nodes)


def _node(traced: TracedGraph, region: Region) -> Node:
    """Return the node that stands for a region, in the place of its last member."""
    last, members = traced.nodes[region.last], sorted(region.members)
    return Node(
        id=last.id,
        kind="region",
        name=region.name,
        operands=[*region.operands],
        outputs=region.equation.output_types,
        params={
            OPERATIONS: ", ".join(traced.nodes[k].name for k in members),
            MEMBERS: " ".join(map(str, members)),
        },
        source=last.source,
        function=last.function,
    )


def remaining_nodes(traced: TracedGraph, regions: Sequence[Region]) -> list[int]:
    """Return the nodes that remain: the last one of each region, and every node that something outside reads."""
    last = {r.last for r in regions}
    gone = {k for r in regions for k in r.members if k != r.last}
    kept = {o.node for n in traced.nodes if n.id not in gone | last for o in n.operands if isinstance(o, Ref)}
    kept |= {r.node for region in regions for r in region.operands}
    kept |= {o.node for o in traced.ir.outputs if isinstance(o, Ref)}
    while True:  # a kept member of a region needs its operands
        read = {o.node for k in kept & gone - last for o in traced.nodes[k].operands if isinstance(o, Ref)}
        if read <= kept:
            break
        kept |= read
    return [n.id for n in traced.nodes if n.id not in gone or n.id in kept]
