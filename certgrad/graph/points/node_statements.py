"""A statement at a node (a hypothesis, or bounds of a value), evaluated at values of the graph by balls or in floats.

The statement is evaluated as the certificate lists it, at every step of the loops around the node.
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
    """The value of the graph for each name in the statement."""
    own_sizes: Mapping[str, Any]
    """The node's size for each dimension of the lemma."""
    place: Place = ()
    text: str = ""
    """The text of the statement in the certificate."""

    @cached_property
    def keys(self) -> dict[str, Key]:
        """Return the key of each value that the statement mentions, by its name."""
        mentioned = arrays(self.tree)
        return {n: (self.place, r.node, r.output) for n, r in self.arguments.items() if n in mentioned}

    def dims(self, sizes: Mapping[str, Any]) -> dict[str, int]:
        """Return the numbers of the lemma's dimensions at the graph's `sizes`, as far as these give them."""
        numbers = {}
        for name, size in self.own_sizes.items():
            with suppress(KeyError, UnknownDimensionError):
                numbers[name] = int(sized(size)(sizes))
        return numbers


def sized(size: Any) -> Callable[[Mapping[str, Any]], Any]:
    """Return a node's size as a function of the graph's dimensions, which gives a number where they are numbers."""
    if isinstance(size, str):
        return lambda sizes: sizes[size]
    if isinstance(size, int):
        return lambda sizes: int(size)
    return lambda sizes: replaced(size, sizes)


Table = Mapping[Any, Any]
"""The values of a graph by key and, by place, at which steps of the loops around it an inner graph runs."""


def holds(asked: NodeStatement, table: Table, sizes: Mapping[str, int]) -> bool:
    """Return whether the statement certainly holds at values that are balls. Raises Undecided or UnfitError."""
    test, dims = statements.question(asked.tree), asked.dims(sizes)
    arrays_by_name = {name: np.asarray(table[key], dtype=object) for name, key in asked.keys.items()}
    runs = np.asarray(table.get(asked.place, True)).astype(bool)
    # The first axes of a value are those of the loops around the node: check each step that runs.
    return all(test.holds({n: x[(*step, ...)] for n, x in arrays_by_name.items()}, dims) for step in np.argwhere(runs))


def holds_in_floats(asked: NodeStatement, table: Table, sizes: Mapping[str, int]) -> bool:
    """Return whether the statement holds at arrays of floats, computed in floats. Raises UnfitError."""
    arrays_by_name = {name: np.asarray(table[key]) for name, key in asked.keys.items()}
    runs = np.asarray(table.get(asked.place, True)).astype(bool)
    return not failing(asked, arrays_by_name, runs, sizes, where=False)[1].times


@contextmanager
def numpys_floats() -> Iterator[None]:
    """Within it, statements at arrays are computed in float64 by numpy, since compiling them takes longer."""
    with wide_floats(), jax.debug_nans(False), jax.debug_infs(False), computed_by(compute):
        yield


@dataclass(frozen=True)
class About:
    """The places at which a statement is evaluated: its index variables with their ranges, and the loops around it."""

    axes: tuple[tuple[str, int], ...]
    steps: tuple[int, ...]
    """The number of steps of each loop, run or not."""
    relation: str
    """The relation, if the statement is a single comparison."""

    def instead(self, sides: tuple[Any, Any] | None) -> str:
        """Return the compared numbers, as `-1 > 0`; "" for a statement that is no comparison."""
        return "" if sides is None else f" {SIGNS[self.relation]} ".join(map(_number_text, sides))


class Failing(NamedTuple):
    """How often a statement fails, and where first: each an array of one number."""

    times: Any
    """The number of places at which it is false or undefined."""
    step: Any
    """The first step of the surrounding loops with such a place, as a flat index over all loops."""
    place: Any
    """The first such place at that step, as a flat index over all axes."""
    sides: tuple[Any, Any] | None
    """The two compared numbers at that place, if the statement is a single comparison."""


def failing(
    asked: NodeStatement, values: Mapping[str, Any], runs: Any, sizes: Mapping[str, Any], where: bool = True
) -> tuple[About, Failing]:
    """Return where a statement is evaluated and how often it fails, over the steps of surrounding loops that run.

    `runs` says of each step of the loops whether it runs; `values` have an axis for each loop in front. With `where`,
    also return the first place at which it fails, which takes longer. Raises UnfitError where the statement cannot be
    evaluated.
    """
    about: list[Question] = []  # taken out of `count`, which `vmap` runs and whose results are arrays alone
    dims = asked.dims(sizes)

    def count(values: Mapping[str, Any], run: Any) -> Any:
        about[:] = [question(asked.tree, values, dims)]
        if not where:
            return jnp.where(run, (~about[0].holds()).sum(), 0), None, None
        counts = about[0].counted()
        return jnp.where(run, counts.failing, 0), counts.first, counts.sides

    at_steps: Callable[..., Any] = count  # one `vmap` for each surrounding loop
    for _ in range(np.ndim(runs)):
        at_steps = jax.vmap(at_steps)
    times, first, sides = at_steps(values, runs)
    described = About(about[0].axes, tuple(np.shape(runs)), about[0].relation)
    if not where:
        return described, Failing(times.sum(), None, None, None)
    first_step = jnp.argmax(times.reshape(-1) > 0) if times.size else jnp.zeros((), jnp.int32)

    def entry(x: Any) -> Any:
        return jnp.asarray(x).reshape(-1)[first_step] if times.size else jnp.zeros((), jnp.int32)

    return described, Failing(
        times.sum(), first_step, entry(first), None if sides is None else (entry(sides[0]), entry(sides[1]))
    )


def _number_text(value: Any) -> str:
    value = np.asarray(value)
    return f"{float(value):.6g}" if value.dtype.kind not in "iub" else str(value)
