"""A hypothesis at a node, or what is said of where a value is, at values of the graph: by balls, or in floats.

What is evaluated is the statement as the certificate lists it, at every step of the loops around the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from certgrad.graph._jaxpr import UnknownDimensionError, replaced
from certgrad.graph._run import Key, Place
from certgrad.graph.ir import Ref
from certgrad.language.places import Question, question
from certgrad.language.tree import Statement, arrays
from certgrad.obligations.balls import statements
from certgrad.obligations.floats import compute
from certgrad.obligations.tracing.jax_internals import computed_by, wide_floats


@dataclass(frozen=True)
class Asked:
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


def holds(asked: Asked, table: Table, sizes: Mapping[str, int]) -> bool:
    """It certainly holds at values that are balls. Raises Undecided or UnfitError where that cannot be told."""
    one, dims = statements.question(asked.tree), asked.dims(sizes)
    here = {name: np.asarray(table[key], dtype=object) for name, key in asked.keys.items()}
    runs = np.asarray(table.get(asked.place, True)).astype(bool)
    # What loops around it keep is stacked along the first axes.
    return all(one.holds({n: x[(*step, ...)] for n, x in here.items()}, dims) for step in np.argwhere(runs))


def holds_in_floats(asked: Asked, table: Table, sizes: Mapping[str, int]) -> bool:
    """It holds at arrays of floats, as computed in floats. Raises UnfitError where that cannot be told."""
    here = {name: np.asarray(table[key]) for name, key in asked.keys.items()}
    runs = np.asarray(table.get(asked.place, True)).astype(bool)
    return bool(np.all(at_each_step(asked, here, runs, sizes, lambda one, run: one.holds().all() | ~run)[1]))


@contextmanager
def numpys_floats() -> Iterator[None]:
    """Statements at arrays are computed in float64 by numpy, operation by operation: to compile takes longer."""
    with wide_floats(), jax.debug_nans(False), jax.debug_infs(False), computed_by(compute):
        yield


def at_each_step(
    asked: Asked, values: Mapping[str, Any], runs: Any, sizes: Mapping[str, int], of: Callable[[Question, Any], Any]
) -> tuple[Question, Any]:
    """What `of` says of the statement at arrays, and of whether it is asked, at each step of the loops around it.

    Raises UnfitError where it cannot be evaluated.
    """
    about: list[Question] = []
    dims = asked.dims(sizes)

    def one(values: Mapping[str, Any], run: Any) -> Any:
        about[:] = [question(asked.tree, values, dims)]
        return of(about[0], run)

    at: Callable[..., Any] = one
    for _ in range(np.ndim(runs)):
        at = jax.vmap(at)
    found = at(values, runs)
    return about[0], found
