"""A graph's hypotheses at arrays: at how many places each one fails, computed in floats, as the program runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from certgrad.graph.certificate import AtArrays
from certgrad.graph.induction.induction import Induction
from certgrad.graph.points.node_statements import NodeStatement, failing, numpys_floats
from certgrad.graph.points.run import Key, Place, Run
from certgrad.graph.points.satisfiable import UNCOMPILED, in_floats
from certgrad.graph.tracing.numbers import IDEAL_NUMBERS, OwnNumbers
from certgrad.language.arithmetic import UnfitError
from certgrad.obligations.tracing.jax_internals import jaxpr_of, wide_floats
from certgrad.obligations.tracing.jax_internals._operations import operations


def at_arrays(induction: Induction, given: Sequence[Any]) -> list[AtArrays]:
    """Return, for each hypothesis of the graph in order, how often it fails at the given arrays, one for each input.

    Where the function raises at these arrays, all results are unknown.
    """
    traced = induction.traced
    sizes = traced.specs.sizes([x.shape for x in given])
    keys = list(dict.fromkeys(key for hypothesis in induction.asked for key in hypothesis.keys.values()))
    places = list(dict.fromkeys(hypothesis.place for hypothesis in induction.asked if hypothesis.place))

    def values(*inputs: Any) -> Any:
        run = Run(sizes, OwnNumbers(IDEAL_NUMBERS.real, IDEAL_NUMBERS.integer), set(keys))
        run.values(traced, inputs, needed=True)
        return [run.kept[key] for key in keys], [run.taken.get(p) for p in places]

    try:
        with wide_floats(traced.specs.wide), jax.debug_nans(False), jax.debug_infs(False):
            kept, taken = _computed(values, given)
    except Exception as error:  # the user's program, only traced until now, may raise anything
        unknown = f"where it runs at them, it raises {type(error).__name__}"
        return [AtArrays(places=0, failing=0, unknown=unknown) for _ in induction.asked]
    table = dict(zip(keys, kept, strict=True)), dict(zip(places, taken, strict=True))
    with numpys_floats():
        return [_evaluated(hypothesis, *table, sizes) for hypothesis in induction.asked]


def _computed(values: Callable[..., Any], given: Sequence[Any]) -> Any:
    """Return a function's values at arrays: by numpy if it takes few operations, else compiled."""
    program, form = jax.make_jaxpr(values, return_shape=True)(*given)
    by_numpy = operations(jaxpr_of(program)) <= UNCOMPILED
    values_found = in_floats(program, given, jax.jit(jax.extend.core.jaxpr_as_fun(program)), by_numpy)
    return jax.tree.unflatten(jax.tree.structure(form), values_found)


def _evaluated(
    asked: NodeStatement, kept: Mapping[Key, Any], taken: Mapping[Place, Any], sizes: Mapping[str, int]
) -> AtArrays:
    """Return how often one hypothesis fails, where first, and what it says there in numbers."""
    arrays = {name: np.asarray(kept[key]) for name, key in asked.keys.items()}
    runs = np.asarray(taken.get(asked.place, True)).astype(bool)
    try:
        about, fails = failing(asked, arrays, runs, sizes)
    except UnfitError as error:
        return AtArrays(places=0, failing=0, unknown=str(error))
    total = int(runs.sum()) * int(np.prod([n for _, n in about.axes]))
    if not fails.times:
        return AtArrays(places=total, failing=0)
    step = tuple(int(k) for k in np.unravel_index(int(fails.step), about.steps))
    place = np.unravel_index(int(fails.place), [n for _, n in about.axes])
    first = {name: int(k) for (name, _), k in zip(about.axes, place, strict=True)}
    if step:
        first = {"step": step[0]} | {f"step inside {k}": s for k, s in enumerate(step[1:], 1)} | first
    return AtArrays(places=total, failing=int(fails.times), first=first, instead=about.instead(fails.sides))
