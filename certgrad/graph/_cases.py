"""Sizes at which the function may trace to another program than the graph: each is traced again and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from certgrad.errors import CertgradError
from certgrad.graph._trace import TracedGraph
from certgrad.obligations._decisions import _render as rendering
from certgrad.obligations._decisions import contrary
from certgrad.obligations._jax_internals import Program, serialised

Fixed = dict[str, int | str]
CASES = 24


@dataclass(frozen=True)
class Case:
    """Dimensions set to numbers or to each other, and the function's graph there; None where it does not trace."""

    fixed: Fixed
    graph: TracedGraph | None

    def __str__(self) -> str:
        return " and ".join(f"{d} = {v}" for d, v in sorted(self.fixed.items()))


@dataclass(frozen=True)
class One:
    """A program where `contrary` expects the programs of a rule."""

    program: Program

    def all(self) -> dict[str, Program]:
        return {"graph": self.program}


def other_programs(traced: TracedGraph) -> Iterator[Case]:
    """The cases where the function traces to another program than the graph with those dimensions set.

    Comparisons of dimensions by the function's own code are decided the other way one by one, and again in the traces
    so found. Those by JAX's library code (every broadcast asks) are tried together: all dimensions 1, and all equal.
    """
    names = traced.ir.dims
    queue: list[Fixed] = [dict.fromkeys(names, 1)] if names else []
    if len(names) > 1:
        queue.append(dict.fromkeys(names[1:], names[0]))
    queue += _contrary(traced, {})
    seen: set[str] = set()
    while queue:
        fixed = queue.pop(0)
        key = str(sorted(fixed.items()))
        if key in seen:
            continue
        seen.add(key)
        if len(seen) > CASES:
            yield Case(fixed, None)
            return
        try:
            other = traced.retraced(fixed)
        except CertgradError:
            yield Case(fixed, None)
            continue
        queue += _contrary(other, fixed)
        if serialised(other.program, dims=rendering({})) != serialised(traced.program, dims=rendering(fixed)):
            yield Case(fixed, other)


def _contrary(traced: TracedGraph, fixed: Fixed) -> list[Fixed]:
    return contrary(One(traced.program), fixed, everything=False)  # type: ignore[arg-type]
