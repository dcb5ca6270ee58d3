"""A statement at a node (a hypothesis, or bounds of a value), evaluated at values of the graph by balls or in floats.

It is the statement as the certificate lists it, at every step of the loops around the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.graph.ir import Ref
from certgrad.graph.points.run import Key, Place
from certgrad.graph.tracing.jaxpr import UnknownDimensionError, replaced
from certgrad.language.places import Question, question
from certgrad.language.relations import SIGNS
from certgrad.language.tree import Statement, arrays
from certgrad.obligations.balls import statements
from certgrad.obligations.floats import compute
from certgrad.obligations.tracing.jax_internals import computed_by, wide_floats


@dataclass(frozen=True)
class NodeStatement:
    """A statement over the values of a node's operands."""

    tree: Statement
    arguments: Mapping[str, Ref]
    """What its names stand for in the graph."""
    own_sizes: Mapping[str, Any]
    """The lemma's dimensions, each as the node has it."""
    place: Place = ()
    text: str = ""
    """What the certificate calls it."""

    @cached_property
    def keys(self) -> dict[str, Key]:
        """The values that it speaks of."""
        read = arrays(self.tree)
        return {n: (self.place, r.node, r.output) for n, r in self.arguments.items() if n in read}

    def dims(self, sizes: Mapping[str, Any]) -> dict[str, int]:
        """The lemma's dimensions at those of the graph, as far as these are known."""
        found = {}
        for name, size in self.own_sizes.items():
            with suppress(KeyError, UnknownDimensionError):
                found[name] = int(sized(size)(sizes))
        return found


def sized(size: Any) -> Callable[[Mapping[str, Any]], Any]:
    """A size at a node as a function of the graph's dimensions: a number where these are numbers."""
    if isinstance(size, str):
        return lambda sizes: sizes[size]
    if isinstance(size, int):
        return lambda sizes: int(size)
    return lambda sizes: replaced(size, sizes)


Table = Mapping[Any, Any]
"""Values of a graph by key, and by place whether a graph inside runs, at each step of the loops around it."""


def holds(asked: NodeStatement, table: Table, sizes: Mapping[str, int]) -> bool:
    """Return whether the statement certainly holds at values that are balls. Raises Undecided or UnfitError."""
    one, dims = statements.question(asked.tree), asked.dims(sizes)
    here = {name: np.asarray(table[key], dtype=object) for name, key in asked.keys.items()}
    runs = np.asarray(table.get(asked.place, True)).astype(bool)
    # What loops around it keep is stacked along the first axes.
    return all(one.holds({n: x[(*step, ...)] for n, x in here.items()}, dims) for step in np.argwhere(runs))


def holds_in_floats(asked: NodeStatement, table: Table, sizes: Mapping[str, int]) -> bool:
    """Return whether the statement holds at arrays of floats, computed in floats. Raises UnfitError."""
    here = {name: np.asarray(table[key]) for name, key in asked.keys.items()}
    runs = np.asarray(table.get(asked.place, True)).astype(bool)
    return not failing(asked, here, runs, sizes, where=False)[1].times


@contextmanager
def numpys_floats() -> Iterator[None]:
    """Statements at arrays are computed in float64 by numpy, operation by operation: to compile takes longer."""
    with wide_floats(), jax.debug_nans(False), jax.debug_infs(False), computed_by(compute):
        yield


@dataclass(frozen=True)
class About:
    """The choices that a statement is evaluated at: its variables with their ranges, and the loops around it."""

    axes: tuple[tuple[str, int], ...]
    steps: tuple[int, ...]
    """How many each of the loops takes, or can."""
    relation: str
    """The sign of a single comparison."""

    def instead(self, sides: tuple[Any, Any] | None) -> str:
        """Return the compared numbers, as `-1 > 0`; "" for a statement that is no comparison."""
        return "" if sides is None else f" {SIGNS[self.relation]} ".join(map(_number_text, sides))


class Failing(NamedTuple):
    """How often a statement fails, and where first: arrays of one number each, or numpy's."""

    times: Any
    """At so many places it does not hold, or is undefined."""
    step: Any
    """The first step of the loops around it at which one is, counted along all loops."""
    place: Any
    """The first place there, counted along all axes."""
    sides: tuple[Any, Any] | None
    """What is compared there, where it is one comparison."""


def failing(
    asked: NodeStatement, values: Mapping[str, Any], runs: Any, sizes: Mapping[str, Any], where: bool = True
) -> tuple[About, Failing]:
    """Count how often a statement fails at arrays of JAX or numpy, over the steps of surrounding loops that run.

    `runs` says of each step of the loops whether it runs; `values` have an axis for each loop in front. With `where`,
    also return the first place at which it fails, which takes longer. Raises UnfitError where the statement cannot be
    evaluated.
    """
    about: list[Question] = []
    dims = asked.dims(sizes)

    def count(values: Mapping[str, Any], run: Any) -> Any:
        about[:] = [question(asked.tree, values, dims)]
        if not where:
            return jnp.where(run, (~about[0].holds()).sum(), 0), None, None
        found = about[0].counted()
        return jnp.where(run, found.failing, 0), found.first, found.sides

    at_steps: Callable[..., Any] = count
    for _ in range(np.ndim(runs)):
        at_steps = jax.vmap(at_steps)
    times, first, sides = at_steps(values, runs)
    of = About(about[0].axes, tuple(np.shape(runs)), about[0].relation)
    if not where:
        return of, Failing(times.sum(), None, None, None)
    at = jnp.argmax(times.reshape(-1) > 0) if times.size else jnp.zeros((), jnp.int32)

    def entry(x: Any) -> Any:
        return jnp.asarray(x).reshape(-1)[at] if times.size else jnp.zeros((), jnp.int32)

    return of, Failing(times.sum(), at, entry(first), None if sides is None else (entry(sides[0]), entry(sides[1])))


def _number_text(value: Any) -> str:
    value = np.asarray(value)
    return f"{float(value):.6g}" if value.dtype.kind not in "iub" else str(value)
