"""The table of primitives: lax name -> rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from certgrad.obligations.balls._values import Context, Value
from certgrad.process.on_demand import Table

Params = Mapping[str, Any]
Rule = Callable[..., Value | list[Value]]
"""rule(ctx, params, *operands) returns the output of a primitive, or the list of its outputs."""

RULES: Table[Rule] = Table(
    "certgrad.obligations.balls",
    "_elementwise _shapes _control _reductions _contractions _logic _indexing _special _windows _linear_algebra "
    "_factorisations _solvers",
)


primitive = RULES.adds
"""A decorator that registers a rule under the names of lax primitives."""

__all__ = ["RULES", "Context", "Params", "Rule", "Value", "primitive"]
