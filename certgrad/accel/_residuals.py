"""A loop's step in reverse, split in two: what the step forward computes already, and what waits for the cotangents.

The first part runs in the loop forward, and what the second part reads of it is kept for each step. What depends on
nothing that changes from step to step is computed anew, and so is what only spreads or turns an array that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax

from certgrad.graph._jaxpr import bind
from certgrad.obligations.tracing.jax_internals import is_literal, jaxpr_of

_MOVES = ("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "copy")
"""Computed anew rather than kept, where what they read is no larger."""
_FIXED, _KNOWN, _WAITS = range(3)


@dataclass(frozen=True, eq=False)
class Split:
    """The two parts. `before` computes what is kept; `after` returns what the step in reverse does."""

    jaxpr: Any
    consts: Sequence[Any]
    counts: tuple[int, int, int]
    """Arguments that are the same in each step, carries, rows; the cotangents follow."""
    kept: Sequence[Any]
    first: Sequence[Any]
    second: Sequence[Any]

    def before(self, fixed: Sequence[Any], carry: Sequence[Any], row: Sequence[Any]) -> list[Any]:
        """What is kept of one step."""
        env = self._start([*fixed, *carry, *row])
        _evaluate(self.first, env)
        return [env[v] for v in self.kept]

    def after(
        self, fixed: Sequence[Any], row: Sequence[Any], kept: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """What the step in reverse returns."""
        variables, (_, carries, rows) = self.jaxpr.invars, self.counts
        env = self._start(fixed)
        given = len(fixed) + carries
        env.update(zip(variables[given : given + rows], row, strict=True))
        env.update(zip(variables[given + rows :], cotangents, strict=True))
        env.update(zip(self.kept, kept, strict=True))
        _evaluate(self.second, env)
        return [_read(v, env) for v in self.jaxpr.outvars]

    def _start(self, given: Sequence[Any]) -> dict[Any, Any]:
        env = dict(zip(self.jaxpr.constvars, self.consts, strict=True))
        env.update(zip(self.jaxpr.invars[: len(given)], given, strict=True))
        return env


def split(
    reverse: Callable[..., Sequence[Any]],
    fixed: Sequence[Any],
    carry: Sequence[Any],
    row: Sequence[Any],
    cotangents: Sequence[Any],
) -> Split:
    """Split `reverse`, a function of these in turn, at arrays or types of arrays."""
    closed = jax.make_jaxpr(reverse)(*fixed, *carry, *row, *cotangents)
    jaxpr = jaxpr_of(closed)
    counts = len(fixed), len(carry), len(row)
    when = dict.fromkeys(jaxpr.constvars, _FIXED)
    for k, v in enumerate(jaxpr.invars):
        when[v] = _FIXED if k < counts[0] else _KNOWN if k < sum(counts) else _WAITS
    equations = [(eqn, _when(eqn, when)) for eqn in jaxpr.eqns]
    needed = {v for v in jaxpr.outvars if not is_literal(v)}
    second: list[Any] = []
    for eqn, level in reversed(equations):
        if needed.isdisjoint(eqn.outvars) or (level == _KNOWN and not _moves(eqn)):
            continue
        second.append(eqn)
        needed.update(v for v in eqn.invars if not is_literal(v))
    made = {v for eqn in second for v in eqn.outvars}
    rows = set(jaxpr.invars[counts[0] + counts[1] : sum(counts)])
    kept = [v for v in when if v in needed and when[v] == _KNOWN and v not in rows and v not in made]
    wanted, first = set(kept), []
    for eqn, level in reversed(equations):
        if level < _WAITS and not wanted.isdisjoint(eqn.outvars):
            first.append(eqn)
            wanted.update(v for v in eqn.invars if not is_literal(v))
    return Split(jaxpr, getattr(closed, "consts", ()), counts, kept, first[::-1], second[::-1])


def _when(eqn: Any, when: dict[Any, int]) -> int:
    level = max((when[v] for v in eqn.invars if not is_literal(v)), default=_FIXED)
    if eqn.effects:
        level = _WAITS
    when.update(dict.fromkeys(eqn.outvars, level))
    return level


def _moves(eqn: Any) -> bool:
    return eqn.primitive.name in _MOVES and prod(eqn.invars[0].aval.shape) <= prod(eqn.outvars[0].aval.shape)


def _evaluate(equations: Sequence[Any], env: dict[Any, Any]) -> None:
    for eqn in equations:
        env.update(zip(eqn.outvars, bind(eqn, [_read(v, env) for v in eqn.invars], eqn.params), strict=True))


def _read(v: Any, env: Mapping[Any, Any]) -> Any:
    return v.val if is_literal(v) else env[v]
