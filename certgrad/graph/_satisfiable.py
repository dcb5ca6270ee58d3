"""A checked point for a graph's hypotheses: a set that nothing satisfies would prove anything."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from typing import Any, Literal

import jax
import numpy as np
from flint import arb

from certgrad.graph._jaxpr import UnknownDimensionError, replaced
from certgrad.graph._numbers import IDEAL
from certgrad.graph._points import drawn, kinds, rationals
from certgrad.graph._run import Key, Place, Run
from certgrad.graph._trace import TracedGraph
from certgrad.graph.ir import Ref
from certgrad.language.tree import Statement, arrays
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.balls import BallError
from certgrad.obligations.balls import _scalars as scalars
from certgrad.obligations.balls import evaluate as run_on_balls
from certgrad.obligations.decide.evaluate import Evaluation, evaluate
from certgrad.obligations.floats import Setting
from certgrad.obligations.floats import run as run_in_floats
from certgrad.obligations.laws.order import different_entries
from certgrad.obligations.prove.satisfiable import relations_of
from certgrad.obligations.terms.atoms import Access, Dim
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.variables import Var, template
from certgrad.obligations.terms.walk import deep_atoms
from certgrad.obligations.tracing.jax_internals import jaxpr_of, keys_from, kind_of, primitives_of, wide_floats
from certgrad.obligations.tracing.jax_internals._operations import operations

TRIES = 320
DRAWN = 160
"""So many of them are drawn anew, the others near the best of these."""
ONE_ENTRY = 0.5
"""How often one entry is changed there, and not an array."""
FIRST = 12
"""So many of them are of ordinary arrays alone."""
SPREADS = (1, 4, 16)
PRECISION = 192
RIGOROUS = 400_000
"""How many scalar operations rigorous arithmetic is given; beyond, float64 is used, and the certificate says so."""
FLOATS = 20_000_000_000
"""How many scalar operations all points of one search may take in floats, once the fewest are tried."""
FEWEST = 2
UNCOMPILED = 50_000_000
"""So many of them numpy does, one operation on arrays at a time, before a program is compiled, which takes a second."""
CONSTANT = 20_000
"""How many scalar operations it may take to compute values that depend on no input."""
ENTRIES = 4_000
"""How many entries of a hypothesis are looked at in float64."""
TOGETHER = 256
"""At so many of them, what terms have in common is computed once: a maximum that they all are compared with, say."""

UNKNOWN = (UndecidedError, BallError, ZeroDivisionError, KeyError, ValueError, TypeError, IndexError)
"""What is raised at a point at which a hypothesis cannot be told."""

Found = Literal["rigorous", "in floats", "none"]


@dataclass(frozen=True)
class Asked:
    """A hypothesis with what its names stand for in the graph."""

    clause: Clause
    tree: Statement
    arguments: Mapping[str, Ref]
    dims: Mapping[str, Callable[[Mapping[str, int]], int]]
    """The lemma's dimensions, each as a number at dimensions of the graph."""
    place: Place = ()
    result: Sequence[Callable[[Mapping[str, int]], int]] = ()
    """The shape of the operation's result: what its index variables run over that stand only inside expressions."""
    own_sizes: Mapping[str, Any] = field(default_factory=dict)
    """The lemma's dimensions, each as the node has it."""
    extents: Mapping[Var, Poly] = field(default_factory=dict)
    """How far indices run of which the lemma says so, in its dimensions."""

    def keys(self) -> dict[str, Key]:
        """The values that it speaks of."""
        read = {a.tensor for p in self._polys() for a in deep_atoms(p) if isinstance(a, Access)}
        return self.keys_of(read | set(arrays(self.tree)))  # the tree has those as well that are read as indices

    def keys_of(self, names: set[str]) -> dict[str, Key]:
        """The values that these names stand for."""
        return {n: (self.place, r.node, r.output) for n, r in self.arguments.items() if n in names}

    def known_sizes(self) -> dict[str, Callable[[Mapping[str, int]], int]]:
        """The lemma's dimensions that are numbers, whatever the graph's are."""

        def known(size: Callable[[Mapping[str, int]], int]) -> bool:
            try:
                size({})
            except (KeyError, UnknownDimensionError):
                return False
            return True

        return {name: size for name, size in self.dims.items() if known(size)}

    def _polys(self) -> list[Poly]:
        return [a.poly for a in self.clause.alternatives] + [g for g, _ in self.clause.guards]


@dataclass(frozen=True)
class Looked:
    """What came of the search for a point."""

    found: Found
    never: frozenset[int] = frozenset()
    """The hypotheses, by their place among all, that held at no point that was tried."""
    tried: int = 0
    """How many points were."""
    cut_short: bool = False
    """Whether more would have been, had each not taken so long."""


def satisfiable(traced: TracedGraph, asked: Sequence[Asked]) -> Looked:
    """Whether a point was found that satisfies all hypotheses at all their indices.

    Each array is of some kind, drawn at first; then kinds are changed one at a time, from those with which the fewest
    hypotheses failed; then arrays and entries, from the point at which the fewest did.
    """
    if not asked:
        return Looked("rigorous")
    search = _Search(traced, asked)
    if (given := traced.specs.arrays) is not None and (found := search.at(given)) is not None:
        return Looked(found)
    found = search.drawn()
    return Looked(found, frozenset(range(len(asked))) - search.held, search.tried, search.long_enough)


def holding(traced: TracedGraph, asked: Sequence[Asked]) -> Callable[[Sequence[Any]], bool]:
    """Whether all hypotheses hold at arrays, one for each argument: of floats, or of rational numbers as objects."""
    search = _Search(traced, asked)
    return lambda arrays: not asked or search.at(arrays, only_whether=True) is not None


@dataclass(frozen=True)
class _Point:
    """Arrays by the arguments that they are for, and how many hypotheses fail there."""

    sizes: Mapping[str, int]
    shapes: Mapping[int, tuple[tuple[int, ...], str]]
    arrays: Mapping[int, Any]
    failing: int


@dataclass(frozen=True)
class _Programs:
    """What hypotheses mention at some sizes, as one program of the inputs that it needs."""

    program: Any
    compiled: Callable[..., Any]
    needed: list[int]
    """The arguments that it takes."""
    places: list[Place]
    """The loops and branches of which it tells the steps that are taken, after the values."""
    operations: int
    rigorous: bool
    """It is evaluated in rigorous arithmetic; otherwise in floats."""


class _Search:
    """The hypotheses as programs of the inputs, one at each size, and points at which all of them hold."""

    def __init__(self, traced: TracedGraph, asked: Sequence[Asked]) -> None:
        self.traced, self.asked = traced, asked
        self.wanted = list(dict.fromkeys(k for a in asked for k in a.keys().values()))
        self.programs: dict[tuple[int, ...], _Programs] = {}
        self.order = [*range(len(asked))]
        """In which the hypotheses are looked at."""
        self.held: set[int] = set()
        """Which hypotheses held at a point."""
        self.tried = 0
        self.taken = 0
        """How many scalar operations points in floats took."""

    def at(self, arrays: Sequence[Any], only_whether: bool = False) -> Found | None:
        """Whether the arrays that the function was traced with are such a point; `only_whether`: and no more than that,
        so that the first hypothesis that fails is the last one looked at."""
        try:
            sizes = self.traced.specs.sizes([np.shape(x) for x in arrays])
            at = self._at(sizes)
            point = [_given(arrays[k], at.rigorous) for k in at.needed]
            failing, rigorous = self._failing(sizes, point, only_whether)
        except UNKNOWN:
            return None
        return None if failing else "rigorous" if rigorous else "in floats"

    def drawn(self) -> Found:
        """Whether one was found among those drawn, or near the best of them."""
        rng = random.Random(20)
        least, best = len(self.asked) + 1, dict[int, str]()
        nearest: _Point | None = None
        for attempt in range(DRAWN):
            if self.long_enough:
                break
            # Sizes of 1 are left out: what holds there alone says nothing of a graph of any size.
            sizes = {d: 2 + (attempt + k) % 3 for k, d in enumerate(self.traced.ir.dims)}
            try:
                at = self._at(sizes)
                specs = {k: self.traced.specs.arguments[k].spec for k in at.needed}
                shapes = {k: (_shape(self.traced, k, sizes), spec.dtype) for k, spec in specs.items()}
                chosen = _kinds(rng, shapes, attempt, best)
                spread = SPREADS[attempt % len(SPREADS)]
                point = {k: drawn(rng, chosen[k], *shapes[k], spread, exact=at.rigorous) for k in at.needed}
                failing, rigorous = self._failing(sizes, [*point.values()])
                if not failing:
                    return "rigorous" if rigorous else "in floats"
                if failing <= least:
                    least, best, nearest = failing, chosen, _Point(sizes, shapes, point, failing)
            except (*UNKNOWN, UnknownDimensionError):
                continue
        return "none" if nearest is None else self._near(rng, nearest)

    def _near(self, rng: random.Random, best: _Point) -> Found:
        """Whether one was found from this one on: an array changed at a time, or an entry of one."""
        exact = self._at(best.sizes).rigorous
        for attempt in range(TRIES - DRAWN if best.arrays else 0):
            if self.long_enough:
                break
            k = rng.choice(list(best.arrays))
            kind, spread = rng.choice(kinds(*best.shapes[k])), SPREADS[attempt % len(SPREADS)]
            fresh = drawn(rng, kind, *best.shapes[k], spread, exact=exact)
            if fresh.size and rng.random() < ONE_ENTRY:
                place = np.unravel_index(rng.randrange(fresh.size), fresh.shape)
                one, fresh = fresh[place], best.arrays[k].copy()
                fresh[place] = one
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
        """No further point is tried: what they take in floats is used up."""
        return self.tried >= FEWEST and self.taken > FLOATS

    def _at(self, sizes: Mapping[str, int]) -> _Programs:
        key = tuple(sizes[d] for d in self.traced.ir.dims)
        if key not in self.programs:
            self.programs[key] = _program(self.traced, self.wanted, sizes)
        return self.programs[key]

    def _failing(self, sizes: Mapping[str, int], point: Sequence[Any], one_is_enough: bool = False) -> tuple[int, bool]:
        """How many hypotheses do not hold at the point, and whether rigorous arithmetic says so."""
        at = self._at(sizes)
        self.tried += 1
        if at.rigorous:
            values = run_on_balls(at.program, point, precision=PRECISION).values
        else:
            self.taken += at.operations
            with wide_floats():
                given = [_as_given(x, v.aval.dtype) for x, v in zip(point, jaxpr_of(at.program).invars, strict=True)]
                values = in_floats(at.program, given, at.compiled, self.taken <= UNCOMPILED)
        table = dict(zip([*self.wanted, *at.places], values, strict=True))
        with scalars.precision(PRECISION):
            holding: set[int] = set()
            for k in self.order:
                if _holds_if_known(self.asked[k], table, sizes, at.rigorous):
                    holding.add(k)
                elif one_is_enough:  # what failed here is looked at first at the next point
                    self.order.remove(k)
                    self.order.insert(0, k)
                    break
        self.held |= holding
        return len(self.asked) - len(holding), at.rigorous


def _given(array: Any, exact: bool) -> np.ndarray:
    """The numbers of an array, as rationals if `exact`; for random keys some seeds. Raises TypeError for another."""
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
    """Of the arrays of a point: all ordinary at first, then those of the best point but for one, or any."""
    if attempt < FIRST:
        one = ("any", "positive")[attempt % 2]
        return {k: one if dtype == "float" else "small" for k, (_, dtype) in shapes.items()}
    fresh = {k: rng.choice(kinds(*shapes[k])) for k in shapes}
    if not best or attempt % 4 == 3:
        return fresh
    changed = rng.choice(list(shapes))
    return {k: fresh[k] if k == changed or best[k] not in kinds(*shapes[k]) else best[k] for k in shapes}


def _holds_if_known(asked: Asked, table: Mapping[Any, Any], sizes: Mapping[str, int], rigorous: bool) -> bool:
    try:
        return _holds(asked, table, sizes, rigorous)
    except UNKNOWN:
        return False


def _program(traced: TracedGraph, wanted: Sequence[Key], sizes: Mapping[str, int]) -> _Programs:
    """The values that the hypotheses mention, as one program at concrete shapes, of the inputs that they depend on."""
    inside = list(dict.fromkeys(key[0] for key in wanted if key[0]))

    def run(*inputs: Any) -> list[Any]:
        execution = Run(sizes, IDEAL, set(wanted))
        given: list[Any] = [None] * len(traced.specs.arguments)
        for k, x in zip(needed, inputs, strict=True):
            given[k] = x
        execution.values(traced, given, needed=True)
        return [*(execution.kept[key] for key in wanted), *(execution.taken[p] for p in inside)]

    live = Run(sizes, IDEAL, set(wanted))._live(traced, ())
    needed = [k for k, node in enumerate(traced.ir.inputs) if node.id in live]
    with wide_floats():
        arguments = [traced.specs.arguments[k] for k in needed]
        shapes = [_shape(traced, k, sizes) for k in needed]
        specs = [
            jax.ShapeDtypeStruct(s, IDEAL.dtype(a.dtype(wide=True))) for s, a in zip(shapes, arguments, strict=True)
        ]
        program = jax.make_jaxpr(run)(*specs)
    count = operations(jaxpr_of(program))
    rigorous = count <= RIGOROUS and not _draws(jaxpr_of(program))
    compiled = jax.jit(jax.extend.core.jaxpr_as_fun(program))
    return _Programs(program, compiled, needed, inside, count, rigorous)


def _shape(traced: TracedGraph, argument: int, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Of an argument, as the program has it: its specs say nothing of dimensions that were set to others."""
    return tuple(replaced(tuple(traced.program.jaxpr.invars[argument].aval.shape), sizes))


def _draws(jaxpr: Any) -> bool:
    """It makes numbers of random bits, which balls know nothing of."""
    return not {"random_bits", "threefry2x32"}.isdisjoint(primitives_of(jaxpr))


def in_floats(program: Any, given: Sequence[Any], compiled: Callable[..., Any], by_numpy: bool) -> list[Any]:
    """The values of a program in floats: by numpy if that is to be tried and can, else as JAX compiles it."""
    if by_numpy:
        with suppress(Exception):  # an operation that numpy has not, or a loop of too many steps
            return run_in_floats(program, [x if kind_of(x.dtype) == "k" else np.asarray(x) for x in given], Setting())
    return [x if kind_of(x.dtype) == "k" else np.asarray(x) for x in compiled(*given)]


def _as_given(value: np.ndarray, dtype: Any) -> Any:
    return keys_from(value) if kind_of(dtype) == "k" else value.astype(dtype)


def _holds(asked: Asked, table: Mapping[Any, Any], sizes: Mapping[str, int], rigorous: bool) -> bool:
    """The hypothesis holds at these values, at all its indices and at every step of the loops around it."""
    clause = asked.clause
    dims = {name: int(value(sizes)) for name, value in asked.dims.items()}
    entries = {name: _entries(table[key], rigorous) for name, key in asked.keys().items()}
    steps: list[tuple[int, ...]] = [()]
    if asked.place:
        taken = np.asarray(table[asked.place]).astype(bool)
        steps = [index for index in np.ndindex(*taken.shape) if taken[index]]
    if not steps:
        return True
    ranges = _ranges(clause, {n: e.shape[len(steps[0]) :] for n, e in entries.items()})
    known = {v: _whole(n, dims) for v, n in asked.extents.items() if v in clause.free and v not in ranges}
    ranges = known | {template(k): size(sizes) for k, size in enumerate(asked.result)} | ranges
    variables = sorted(clause.free)
    points = product(steps, product(*(range(ranges[v]) for v in variables)))
    relations, different = relations_of(clause), different_entries(clause)
    once = any(r.once is not None for r in relations)
    plain = _plain_reads(clause) if not clause.guards and not once and different is None else None
    at = {v: k for k, v in enumerate(variables)}
    reads = [(entries[t], [(None if v is None else at[v], k) for v, k in ix]) for t, ix in plain or ()]
    seen: dict[Any, bool] = {}
    last: tuple[int, ...] | None = None
    for k, (step, point) in enumerate(points if rigorous else islice(points, ENTRIES)):
        if step != last or k % TOGETHER == 0:
            there, last = Evaluation(dims, partial(_at_step, entries, step)), step
        read = tuple([e[(*step, *[k if p is None else point[p] for p, k in ix])] for e, ix in reads])
        whole = plain is not None and all(isinstance(x, int | np.integer) for x in read)
        if whole and read in seen:  # what is true of some numbers is true wherever these are read
            if not seen[read]:
                return False
            continue
        env = dict(zip(variables, point, strict=True))
        if clause.guards and any((there.poly(g, env) == 1) != want for g, want in clause.guards):
            continue
        if different is not None:
            holds = there.all_different(*different, env)
        else:
            holds = any(r.holds(there, env) for r in relations)
        if whole:
            seen[read] = holds
        if not holds:
            return False
    return True


def _at_step(
    entries: Mapping[str, np.ndarray], step: tuple[int, ...], tensor: str, index: tuple[int, ...]
) -> arb | int:
    """An entry of an array, at a step of the loops around it."""
    entry = entries[tensor][(*step, *index)]
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool):
        return int(entry)  # it may stand in an index
    return scalars.ball(entry) if not isinstance(entry, bool | np.bool_ | float) else arb(float(entry))


def _entries(value: Any, rigorous: bool) -> np.ndarray:
    """Balls as they are, floats as float64, and integers as those of Python, which are read faster one by one."""
    if rigorous:
        return np.asarray(value, dtype=object)
    kind = kind_of(value.dtype)
    return value.astype(np.float64 if kind == "f" else object) if kind in "fi" else value


def _whole(size: Poly, dims: Mapping[str, int]) -> int:
    """A size at dimensions. Raises KeyError where it speaks of anything else."""

    def nothing(tensor: str, index: tuple[int, ...]) -> arb:
        raise KeyError(tensor)

    return int(evaluate(size, dims, nothing, {}).unique_fmpz())


def holds_for_constants(traced: TracedGraph, asked: Asked) -> bool:
    """The hypothesis is about values that depend on no input, and holds for them: computed, and proved with balls."""
    wanted = list(dict.fromkeys(asked.keys().values()))
    here = Asked(asked.clause, asked.tree, asked.arguments, asked.known_sizes())
    keys = [(() if k[0] == asked.place else k[0], *k[1:]) for k in wanted]

    def run() -> list[Any]:
        execution = Run({}, IDEAL, set(keys))
        execution.values(traced, [None] * len(traced.ir.inputs), needed=True)
        return [execution.kept[key] for key in keys]

    try:
        with wide_floats():
            program = jax.make_jaxpr(run)()
        shapes = {n: v.aval.shape for n, v in zip(here.keys(), jaxpr_of(program).outvars, strict=False)}
        if operations(jaxpr_of(program)) > CONSTANT or not asked.clause.free <= set(_ranges(asked.clause, shapes)):
            return False
        table = dict(zip(keys, run_on_balls(program, [], precision=PRECISION).values, strict=True))
        with scalars.precision(PRECISION):
            return _holds(here, table, {}, rigorous=True)
    except UNKNOWN:
        return False
    except UnknownDimensionError:  # the values depend on a size
        return False


def _plain_reads(clause: Clause) -> list[tuple[str, list[tuple[Var | None, int]]]] | None:
    """The entries that a clause without guards reads, each at variables or numbers; None where there is more to it."""
    found: dict[Access, list[tuple[Var | None, int]]] = {}
    for atom in (a for x in clause.alternatives for a in deep_atoms(x.poly)):
        if isinstance(atom, Dim):
            continue
        if not isinstance(atom, Access):
            return None
        places: list[tuple[Var | None, int]] = []
        for ix in atom.index:
            v, k = ix.variable(), ix.const.constant()
            if k is None or (v is None and ix.terms):
                return None
            places.append((v, int(k)))
        found[atom] = places
    return [(a.tensor, places) for a, places in found.items()]


def _ranges(clause: Clause, shapes: Mapping[str, tuple[int, ...]]) -> dict[Var, int]:
    """How far each index variable runs: along the axes where it stands alone."""
    found: dict[Var, int] = {}
    for poly in [a.poly for a in clause.alternatives] + [g for g, _ in clause.guards]:
        for atom in deep_atoms(poly):
            if isinstance(atom, Access) and atom.tensor in shapes:
                for ix, size in zip(atom.index, shapes[atom.tensor], strict=True):
                    v = ix.variable()
                    if v is not None:
                        found[v] = max(found.get(v, size), size)
    return found
