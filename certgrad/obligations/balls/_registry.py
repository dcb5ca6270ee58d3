"""The table of primitives: lax name -> rule, filled by the modules that `_primitives` imports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from certgrad.obligations.balls._values import Context, Value

Params = Mapping[str, Any]
Rule = Callable[..., Value | list[Value]]
"""rule(ctx, params, *operands) -> one output, or the list of all."""

RULES: dict[str, Rule] = {}


def primitive(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule under the names of lax primitives."""

    def register(rule: Rule) -> Rule:
        for name in names:
            assert name not in RULES, name
            RULES[name] = rule
        return rule

    return register


__all__ = ["RULES", "Context", "Params", "Rule", "Value", "primitive"]
