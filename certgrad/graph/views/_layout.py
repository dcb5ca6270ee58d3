"""A layered drawing of a DAG: parents above children, few crossings, long edges between the boxes.

The method of Sugiyama, Tagawa and Toda (1981): layers by the longest path, places for edges in the layers that they
cross, an order by repeated means of neighbours, and positions that are as near to those means as the boxes allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP, LAYER_GAP, SWEEPS = 18.0, 34.0, 8
Point = tuple[float, float]


@dataclass
class Box:
    """A box by its middle and its sizes, with its neighbours above and below; without height, an edge's crossing."""

    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    above: list[Box] = field(default_factory=list)
    below: list[Box] = field(default_factory=list)


@dataclass(frozen=True)
class Drawing:
    """The boxes with their places, in the given order, and the points that each edge goes through."""

    width: float
    height: float
    boxes: list[Box]
    edges: list[list[Point]]


def layout(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Drawing:
    """Return boxes of these sizes with their places. An edge leads from a box to a later one."""
    boxes = [Box(w, h) for w, h in sizes]
    depth = _depths(len(boxes), edges)
    layers: list[list[Box]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for box, d in zip(boxes, depth, strict=True):
        layers[d].append(box)
    ways = _ways(boxes, depth, edges, layers)
    _order(layers)
    _place(layers)
    width = max((b.x + b.width / 2 for layer in layers for b in layer), default=0.0)
    bottom = layers[-1][0].y + max(b.height for b in layers[-1]) / 2 if layers else 0.0
    return Drawing(width + GAP, bottom + GAP, boxes, [_points(way) for way in ways])


def _depths(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each box: below all its parents; just above its children if these are at least as many."""
    parents: dict[int, list[int]] = {}
    children: dict[int, list[int]] = {}
    for a, b in edges:
        parents.setdefault(b, []).append(a)
        children.setdefault(a, []).append(b)
    depth = [0] * count
    for k in range(count):
        depth[k] = 1 + max((depth[p] for p in parents.get(k, ())), default=-1)
    for k in reversed(range(count)):  # moved down where that makes the edges, in sum, no longer
        if k in children and len(parents.get(k, ())) <= len(children[k]):
            depth[k] = min(depth[c] for c in children[k]) - 1
    return depth


def _ways(
    boxes: Sequence[Box], depth: Sequence[int], edges: Sequence[tuple[int, int]], layers: list[list[Box]]
) -> list[list[Box]]:
    """Return the boxes that each edge goes through; edges that leave one box share their way as far as they can."""
    crossings: dict[tuple[int, int], Box] = {}
    ways = []
    for a, b in edges:
        way = [boxes[a]]
        for d in range(depth[a] + 1, depth[b]):
            if (a, d) not in crossings:
                crossings[a, d] = Box(4.0, 0.0)
                layers[d].append(crossings[a, d])
            way.append(crossings[a, d])
        way.append(boxes[b])
        for upper, lower in pairwise(way):
            if all(lower is not box for box in upper.below):
                upper.below.append(lower)
                lower.above.append(upper)
        ways.append(way)
    return ways


def _order(layers: Sequence[list[Box]]) -> None:
    """Sort each layer by the means of its neighbours' places, in turns those above and below."""
    for sweep in range(SWEEPS):
        place = {id(b): k for layer in layers for k, b in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            keys = {}
            for box in layer:
                near = box.above if sweep % 2 == 0 else box.below
                keys[id(box)] = sum(place[id(n)] for n in near) / len(near) if near else float(place[id(box)])
            layer.sort(key=lambda b: keys[id(b)])
            place.update((id(b), k) for k, b in enumerate(layer))


def _place(layers: Sequence[list[Box]]) -> None:
    """Set the middle of each box: layers from the top down, and in a layer as near as possible to its neighbours."""
    y = GAP
    for layer in layers:
        height = max(b.height for b in layer)
        for box in layer:
            box.y = y + height / 2
        y += height + LAYER_GAP
        _spread(layer, {id(b): 0.0 for b in layer})
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {}
            for box in layer:
                near = box.above if sweep % 2 == 0 else box.below
                wanted[id(box)] = sum(n.x for n in near) / len(near) if near else box.x
            _spread(layer, wanted)
    left = min((b.x - b.width / 2 for layer in layers for b in layer), default=0.0)
    for layer in layers:
        for box in layer:
            box.x += GAP - left


def _spread(layer: Sequence[Box], wanted: Mapping[int, float]) -> None:
    """Place boxes side by side, with the least squares of distances from the wanted places.

    Boxes that would overlap are pooled and moved as one (isotonic regression, by the pool of adjacent violators).
    """
    pools: list[tuple[float, int]] = []  # each pool's place, less its boxes' offsets, and its number of boxes
    offsets: list[float] = []
    offset = 0.0
    for k, box in enumerate(layer):
        offset += (layer[k - 1].width + box.width) / 2 + GAP if k else 0.0
        offsets.append(offset)
        pools.append((wanted[id(box)] - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n)]
    start = 0
    for place, count in pools:
        for k in range(start, start + count):
            layer[k].x = place + offsets[k]
        start += count


def _points(way: Sequence[Box]) -> list[Point]:
    first, *inner, last = way
    return [(first.x, first.y + first.height / 2), *((b.x, b.y) for b in inner), (last.x, last.y - last.height / 2)]
