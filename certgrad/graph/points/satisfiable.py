"""The search for a point that satisfies all hypotheses of a graph: without one they would prove anything."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import numpy as np

from certgrad.graph.points.node_statements import NodeStatement, holds, holds_in_floats, numpys_floats
from certgrad.graph.points.points import drawn, kinds, rationals
from certgrad.graph.points.run import Key, Place, Run
from certgrad.graph.tracing.jaxpr import UnknownDimensionError
from certgrad.graph.tracing.jaxpr import replaced as at_sizes
from certgrad.graph.tracing.numbers import IDEAL_NUMBERS
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.language.arithmetic import UnfitError
from certgrad.obligations.balls import BallError
from certgrad.obligations.balls import _scalars as scalars
from certgrad.obligations.balls import evaluate as run_on_balls
from certgrad.obligations.floats import Setting
from certgrad.obligations.floats import run as run_in_floats
from certgrad.obligations.tracing.jax_internals import jaxpr_of, keys_from, kind_of, primitives_of, wide_floats
from certgrad.obligations.tracing.jax_internals._operations import operations

TRIES = 320
"""Points that are tried at most; after them the certificate says that no point was found."""
DRAWN = 160
"""Points among the `TRIES` that are drawn anew; the others are near the best of the drawn ones."""
ONE_ENTRY = 0.5
"""The share of points near the best one at which one entry is changed instead of an array."""
FIRST = 12
"""The first drawn points, all of whose arrays are ordinary."""
SPREADS = (1, 4, 16)
"""The factors by which drawn numbers are spread, in turn."""
PRECISION = 192
RIGOROUS = 400_000
"""Scalar operations in rigorous arithmetic, at most; beyond, float64 is used, and the certificate says so."""
FLOATS = 20_000_000_000
"""Scalar operations in floats for all points of one search, at most, after the first `FEWEST` points."""
FEWEST = 2
"""Points that are tried at least, however long they take."""
UNCOMPILED = 50_000_000
"""Scalar operations of a search that numpy does; for further ones the program is compiled, which takes a second."""
CONSTANT = 20_000
"""Scalar operations for values that depend on no input, at most; beyond, they count as unknown."""
UNKNOWN = (BallError, UnfitError, ZeroDivisionError, KeyError, ValueError, TypeError, IndexError)
"""The errors at a point at which a hypothesis cannot be evaluated; it counts as failing there."""

Certainty = Literal["rigorous", "in floats", "none"]


@dataclass(frozen=True)
class PointSearch:
    """The result of the search for a point."""

    found: Certainty
    never: frozenset[int] = frozenset()
    """The positions of the hypotheses that held at no point that was tried."""
    tried: int = 0
    """The number of points that were tried."""
    cut_short: bool = False
    """Whether the search ended early because each point took long."""


def satisfiable(traced: TracedGraph, asked: Sequence[NodeStatement]) -> PointSearch:
    """Return the result of a search for a point that satisfies all hypotheses at all their indices.

    Arrays that were given as specs are tried first. Else each array is drawn as some kind (positive, ordered, …); then
    single kinds are changed, from those at which the fewest hypotheses failed; last, single arrays or entries of the
    best point are changed.
    """
    if not asked:
        return PointSearch("rigorous")
    search = _Search(traced, asked)
    if (given_arrays := traced.specs.arrays) is not None and (certainty := search.at(given_arrays)) is not None:
        return PointSearch(certainty)
    certainty = search.drawn()
    return PointSearch(certainty, frozenset(range(len(asked))) - search.held, search.tried, search.long_enough)


def holding(traced: TracedGraph, asked: Sequence[NodeStatement]) -> Callable[[Sequence[Any]], bool]:
    """Return a function that says whether all hypotheses hold at arrays of floats or rationals, one an argument."""
    search = _Search(traced, asked)
    return lambda arrays: not asked or search.at(arrays, only_whether=True) is not None


@dataclass(frozen=True)
class _Point:
    """A point: the array of each argument, by its position, and the number of hypotheses that fail at it."""

    sizes: Mapping[str, int]
    shapes: Mapping[int, tuple[tuple[int, ...], str]]
    arrays: Mapping[int, Any]
    failing: int


@dataclass(frozen=True)
class _Programs:
    """The program, at some sizes, that computes all values which the hypotheses mention, from the inputs it needs."""

    program: Any
    compiled: Callable[..., Any]
    needed: list[int]
    """The positions of the function's arguments that it takes."""
    places: list[Place]
    """The graphs inside nodes for which it returns, after the values, at which steps each runs."""
    operations: int
    rigorous: bool
    """Whether it is evaluated in rigorous arithmetic instead of floats."""


class _Search:
    """The hypotheses as programs of the inputs at several sizes, and the search for a point at which all hold."""

    def __init__(self, traced: TracedGraph, asked: Sequence[NodeStatement]) -> None:
        self.traced, self.asked = traced, asked
        self.wanted = list(dict.fromkeys(k for a in asked for k in a.keys.values()))
        self.programs: dict[tuple[int, ...], _Programs] = {}
        self.order = [*range(len(asked))]
        """The order in which the hypotheses are evaluated."""
        self.held: set[int] = set()
        """The hypotheses that held at some point."""
        self.tried = 0
        self.taken = 0
        """The scalar operations of all points in floats so far."""

    def at(self, arrays: Sequence[Any], only_whether: bool = False) -> Certainty | None:
        """Return "rigorous" or "in floats" if arrays, one for each argument, satisfy all hypotheses; else None.

        With `only_whether`, the evaluation ends at the first hypothesis that fails.
        """
        try:
            sizes = self.traced.specs.sizes([np.shape(x) for x in arrays])
            program = self._at(sizes)
            point = [_as_numbers(arrays[k], program.rigorous) for k in program.needed]
            failing, rigorous = self._failing(sizes, point, only_whether)
        except UNKNOWN:
            return None
        return None if failing else "rigorous" if rigorous else "in floats"

    def drawn(self) -> Certainty:
        """Search for a point that satisfies all hypotheses, at drawn points, then near the best of them.

        Return whether it was found by rigorous arithmetic, in floats, or not at all ("none").
        """
        rng = random.Random(20)
        least, best_kinds = len(self.asked) + 1, dict[int, str]()
        nearest: _Point | None = None
        for attempt in range(DRAWN):
            if self.long_enough:
                break
            # Sizes are 2 to 4: hypotheses that hold at size 1 alone say nothing of a graph of any size.
            sizes = {d: 2 + (attempt + k) % 3 for k, d in enumerate(self.traced.ir.dims)}
            try:
                program = self._at(sizes)
                specs = {k: self.traced.specs.arguments[k].spec for k in program.needed}
                shapes = {k: (_shape(self.traced, k, sizes), spec.dtype) for k, spec in specs.items()}
                chosen_kinds = _kinds(rng, shapes, attempt, best_kinds)
                spread = SPREADS[attempt % len(SPREADS)]
                point = {
                    k: drawn(rng, chosen_kinds[k], *shapes[k], spread, exact=program.rigorous) for k in program.needed
                }
                failing, rigorous = self._failing(sizes, [*point.values()])
                if not failing:
                    return "rigorous" if rigorous else "in floats"
                if failing <= least:  # equals are taken too, so that the search goes on from new points
                    least, best_kinds, nearest = failing, chosen_kinds, _Point(sizes, shapes, point, failing)
            except (*UNKNOWN, UnknownDimensionError):
                continue
        return "none" if nearest is None else self._near(rng, nearest)

    def _near(self, rng: random.Random, best: _Point) -> Certainty:
        """Search from the best point on, changing one array or one entry at a time; return what `drawn` returns."""
        exact = self._at(best.sizes).rigorous
        for attempt in range(TRIES - DRAWN if best.arrays else 0):
            if self.long_enough:
                break
            k = rng.choice(list(best.arrays))
            kind, spread = rng.choice(kinds(*best.shapes[k])), SPREADS[attempt % len(SPREADS)]
            fresh = drawn(rng, kind, *best.shapes[k], spread, exact=exact)
            if fresh.size and rng.random() < ONE_ENTRY:  # put one new entry into the best point's array
                place = np.unravel_index(rng.randrange(fresh.size), fresh.shape)
                entry, fresh = fresh[place], best.arrays[k].copy()
                fresh[place] = entry
            point = {**best.arrays, k: fresh}
            try:
                failing, rigorous = self._failing(best.sizes, [*point.values()])
            except UNKNOWN:
                continue
            if not failing:
                return "rigorous" if rigorous else "in floats"
            if failing <= best.failing:
                best = replace(best, arrays=point, failing=failing)
        return "none"

    @property
    def long_enough(self) -> bool:
        """Whether the limit of operations in floats is reached, so that no further point is tried."""
        return self.tried >= FEWEST and self.taken > FLOATS

    def _at(self, sizes: Mapping[str, int]) -> _Programs:
        """Return the program at these sizes, made once."""
        key = tuple(sizes[d] for d in self.traced.ir.dims)
        if key not in self.programs:
            self.programs[key] = _program(self.traced, self.wanted, sizes)
        return self.programs[key]

    def _failing(self, sizes: Mapping[str, int], point: Sequence[Any], one_is_enough: bool = False) -> tuple[int, bool]:
        """Return how many hypotheses fail at the point, and whether rigorous arithmetic was used.

        With `one_is_enough`, those after the first that fails are counted as failing without being evaluated.
        """
        program = self._at(sizes)
        self.tried += 1
        if program.rigorous:
            values = run_on_balls(program.program, point, precision=PRECISION).values
        else:
            self.taken += program.operations
            with wide_floats():
                inputs = [
                    _as_given(x, v.aval.dtype) for x, v in zip(point, jaxpr_of(program.program).invars, strict=True)
                ]
                values = in_floats(program.program, inputs, program.compiled, self.taken <= UNCOMPILED)
        table = dict(zip([*self.wanted, *program.places], values, strict=True))
        with scalars.precision(PRECISION) if program.rigorous else numpys_floats():
            holding: set[int] = set()
            for k in self.order:
                if _holds_if_known(self.asked[k], table, sizes, program.rigorous):
                    holding.add(k)
                elif one_is_enough:  # the next point is to meet this hypothesis first
                    self.order.remove(k)
                    self.order.insert(0, k)
                    break
        self.held |= holding
        return len(self.asked) - len(holding), program.rigorous


def _as_numbers(array: Any, exact: bool) -> np.ndarray:
    """Return an array's numbers, as rationals if `exact`, and seeds for random keys. Raises TypeError for others."""
    if kind_of(array.dtype) == "k":
        return np.zeros(array.shape, dtype=int)
    if array.dtype == object:
        return rationals(array) if exact else array.astype(float)
    if kind_of(array.dtype) not in "fib":
        raise TypeError(f"an array of {array.dtype}")
    numbers = np.asarray(array)
    if kind_of(array.dtype) != "f":
        return numbers
    return rationals(numbers.astype(float).astype(object)) if exact else numbers.astype(float)


def _kinds(
    rng: random.Random, shapes: Mapping[int, tuple[Sequence[int], str]], attempt: int, best: Mapping[int, str]
) -> dict[int, str]:
    """Return a kind for each array of a point: at first all ordinary; later the best point's kinds with one changed.

    Each fourth time all kinds are drawn anew.
    """
    if attempt < FIRST:
        kind = ("any", "positive")[attempt % 2]
        return {k: kind if dtype == "float" else "small" for k, (_, dtype) in shapes.items()}
    fresh = {k: rng.choice(kinds(*shapes[k])) for k in shapes}
    if not best or attempt % 4 == 3:
        return fresh
    changed = rng.choice(list(shapes))
    return {k: fresh[k] if k == changed or best[k] not in kinds(*shapes[k]) else best[k] for k in shapes}


def _holds_if_known(asked: NodeStatement, table: Mapping[Any, Any], sizes: Mapping[str, int], rigorous: bool) -> bool:
    """Return whether a hypothesis holds at the values; False where it cannot be evaluated."""
    try:
        return holds(asked, table, sizes) if rigorous else holds_in_floats(asked, table, sizes)
    except UNKNOWN:
        return False


def _program(traced: TracedGraph, wanted: Sequence[Key], sizes: Mapping[str, int]) -> _Programs:
    """Return the program that computes the `wanted` values, at concrete sizes, from the inputs that they depend on."""
    places = list(dict.fromkeys(key[0] for key in wanted if key[0]))

    def run(*inputs: Any) -> list[Any]:
        execution = Run(sizes, IDEAL_NUMBERS, set(wanted))
        all_inputs: list[Any] = [None] * len(traced.specs.arguments)
        for k, x in zip(needed, inputs, strict=True):
            all_inputs[k] = x
        execution.values(traced, all_inputs, needed=True)
        return [*(execution.kept[key] for key in wanted), *(execution.taken[p] for p in places)]

    # Inputs that no wanted value depends on are left out: nothing need be drawn for them.
    live = Run(sizes, IDEAL_NUMBERS, set(wanted))._live(traced, ())
    needed = [k for k, node in enumerate(traced.ir.inputs) if node.id in live]
    with wide_floats():
        arguments = [traced.specs.arguments[k] for k in needed]
        shapes = [_shape(traced, k, sizes) for k in needed]
        specs = [
            jax.ShapeDtypeStruct(s, IDEAL_NUMBERS.dtype(a.dtype(wide=True)))
            for s, a in zip(shapes, arguments, strict=True)
        ]
        program = jax.make_jaxpr(run)(*specs)
    count = operations(jaxpr_of(program))
    rigorous = count <= RIGOROUS and not _draws(jaxpr_of(program))
    compiled = jax.jit(jax.extend.core.jaxpr_as_fun(program))
    return _Programs(program, compiled, needed, places, count, rigorous)


def _shape(traced: TracedGraph, argument: int, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return an argument's shape at these sizes, from the program: its spec may name dimensions that were replaced."""
    return tuple(at_sizes(tuple(traced.program.jaxpr.invars[argument].aval.shape), sizes))


def _draws(jaxpr: Any) -> bool:
    """Return whether a program makes numbers of random bits, which balls cannot evaluate."""
    return not {"random_bits", "threefry2x32"}.isdisjoint(primitives_of(jaxpr))


def in_floats(program: Any, given: Sequence[Any], compiled: Callable[..., Any], by_numpy: bool) -> list[Any]:
    """Return the outputs of a program in floats: with `by_numpy`, by numpy where it can, else by JAX's compiler."""
    if by_numpy:
        with suppress(Exception):  # numpy lacks an operation, or a loop has too many steps
            return run_in_floats(program, [x if kind_of(x.dtype) == "k" else np.asarray(x) for x in given], Setting())
    return [x if kind_of(x.dtype) == "k" else np.asarray(x) for x in compiled(*given)]


def _as_given(value: np.ndarray, dtype: Any) -> Any:
    return keys_from(value) if kind_of(dtype) == "k" else value.astype(dtype)


def holds_for_constants(traced: TracedGraph, asked: NodeStatement) -> bool:
    """Return whether a hypothesis on values that depend on no input holds, proved by ball arithmetic.

    False where the values depend on a size, or take too long.
    """
    at_top = replace(asked, place=())  # the graph is evaluated on its own, also one inside a node
    keys = list(dict.fromkeys(k if k[0] != asked.place else ((), *k[1:]) for k in asked.keys.values()))

    def run() -> list[Any]:
        execution = Run({}, IDEAL_NUMBERS, set(keys))
        execution.values(traced, [None] * len(traced.ir.inputs), needed=True)
        return [execution.kept[key] for key in keys]

    try:
        with wide_floats():
            program = jax.make_jaxpr(run)()
        if operations(jaxpr_of(program)) > CONSTANT:
            return False
        table = dict(zip(keys, run_on_balls(program, [], precision=PRECISION).values, strict=True))
        with scalars.precision(PRECISION):
            return holds(at_top, table, {})
    except (*UNKNOWN, UnknownDimensionError):  # the values depend on a size
        return False
