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
import numpy as np

from certgrad.jaxpr import kinds
from certgrad.jaxpr.programs import bound, needed_for
from certgrad.obligations.tracing.jax_internals import is_literal, jaxpr_of

_MOVES = kinds.MOVES_ENTRIES - {"optimization_barrier"}
"""Computed anew rather than kept, where what they read is no larger."""
_CHEAP = (_MOVES | kinds.ADDS | kinds.CHOOSES | kinds.COMPARES | kinds.LOGIC) | frozenset(
    "abs convert_element_type integer_pow mul sign square".split()
)
"""Computed anew where all that they read is kept anyway."""
_ONCE = _CHEAP | frozenset("exp log log1p expm1 tanh logistic sin cos sqrt rsqrt erf div pow".split())
"""Computed once where they are computed twice of the same."""
_FIXED, _KNOWN, _WAITS = range(3)


@dataclass(frozen=True, eq=False)
class Split:
    """A step and its reverse: `before` computes the residuals, `after` the reverse from them."""

    jaxpr: Any
    consts: Sequence[Any]
    counts: tuple[int, int, int]
    """Arguments that are the same in each step, carries, rows; the cotangents follow."""
    kept: Sequence[Any]
    first: Sequence[Any]
    second: Sequence[Any]
    ahead: Sequence[Any]
    outputs: Sequence[Any]

    def before(self, fixed: Sequence[Any], carry: Sequence[Any], row: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the outputs of one step and its residuals."""
        env = self._start([*fixed, *carry, *row])
        _evaluate(self.first, env)
        return [_atom_value(v, env) for v in self.ahead], [env[v] for v in self.kept]

    def after(
        self, fixed: Sequence[Any], row: Sequence[Any], kept: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """Return the cotangents of one step, from its residuals."""
        variables, (_, carries, rows) = self.jaxpr.invars, self.counts
        env = self._start(fixed)
        given = len(fixed) + carries
        env.update(zip(variables[given : given + rows], row, strict=True))
        env.update(zip(variables[given + rows :], cotangents, strict=True))
        env.update(zip(self.kept, kept, strict=True))
        _evaluate(self.second, env)
        return [_atom_value(v, env) for v in self.outputs]

    def _start(self, given: Sequence[Any]) -> dict[Any, Any]:
        env = dict(zip(self.jaxpr.constvars, self.consts, strict=True))
        env.update(zip(self.jaxpr.invars[: len(given)], given, strict=True))
        return env


def split_reverse_step(
    reverse: Callable[..., Sequence[Any]],
    fixed: Sequence[Any],
    carry: Sequence[Any],
    row: Sequence[Any],
    cotangents: Sequence[Any],
    ahead: int,
) -> Split:
    """Split `reverse`, a function of these in turn, into what can run before the cotangents are known and the rest.

    It is traced at arrays or types of arrays. Its first `ahead` results do not depend on the cotangents: they are what
    the step forward returns. What the rest needs of the first part is kept, but for what it can derive from others.
    """
    closed = jax.make_jaxpr(reverse)(*fixed, *carry, *row, *cotangents)
    jaxpr = jaxpr_of(closed)
    counts = len(fixed), len(carry), len(row)
    when = dict.fromkeys(jaxpr.constvars, _FIXED)
    for k, v in enumerate(jaxpr.invars):
        when[v] = _FIXED if k < counts[0] else _KNOWN if k < sum(counts) else _WAITS
    equations, results = _distinct(jaxpr)
    forward, outputs = results[:ahead], results[ahead:]
    levels = [_assign_level(eqn, when) for eqn in equations]
    given = {*jaxpr.constvars, *jaxpr.invars[: counts[0]], *jaxpr.invars[counts[0] + counts[1] :]}
    makers = {v: eqn for eqn in equations for v in eqn.outvars}
    kept = {
        v
        for eqn, level in zip(equations, levels, strict=True)
        for v in eqn.invars
        if level == _WAITS and not is_literal(v) and when[v] == _KNOWN and v not in given
    }
    kept |= {v for v in outputs if not is_literal(v) and when[v] == _KNOWN and v not in given}
    kept = _spread(kept, makers, when, given)
    for v in [v for v in reversed(when) if v in kept]:
        if v in makers and _derived(v, makers, when, kept - {v} | given):
            kept.discard(v)
    ordered = [v for v in when if v in kept]
    return Split(
        jaxpr,
        getattr(closed, "consts", ()),
        counts,
        ordered,
        needed_for(equations, [*ordered, *forward]),
        needed_for(equations, outputs, kept),
        forward,
        outputs,
    )


def _distinct(jaxpr: Any) -> tuple[list[Any], list[Any]]:
    """Return the equations and outputs of a jaxpr with common subexpressions computed once."""
    same: dict[Any, Any] = {}
    seen: dict[Any, Any] = {}
    equations = []
    for eqn in jaxpr.eqns:
        eqn = eqn.replace(invars=[v if is_literal(v) else same.get(v, v) for v in eqn.invars])
        if not eqn.effects and eqn.primitive.name in _ONCE:
            operands = tuple((np.asarray(v.val).tobytes(), v.aval) if is_literal(v) else v for v in eqn.invars)
            key = eqn.primitive, operands, frozenset(eqn.params.items())
            if (before := seen.get(key)) is not None:
                same.update(zip(eqn.outvars, before.outvars, strict=True))
                continue
            seen[key] = eqn
        equations.append(eqn)
    return equations, [v if is_literal(v) else same.get(v, v) for v in jaxpr.outvars]


def _spread(kept: set[Any], makers: Mapping[Any, Any], when: Mapping[Any, int], given: set[Any]) -> set[Any]:
    """Return the residuals with each array that only broadcasts or transposes a smaller one replaced by that one."""
    out: set[Any] = set()
    waiting = list(kept)
    while waiting:
        v = waiting.pop()
        if v in given or when[v] == _FIXED:
            continue
        if v in makers and _moves(makers[v]):
            waiting += [x for x in makers[v].invars if not is_literal(x)]
        else:
            out.add(v)
    return out


def _derived(v: Any, makers: Mapping[Any, Any], when: Mapping[Any, int], at_hand: set[Any]) -> bool:
    """Return whether a value can be computed from available ones by cheap operations alone."""
    found: dict[Any, bool] = {}

    def at(x: Any) -> bool:
        return is_literal(x) or x in at_hand or when[x] == _FIXED or computed(x)

    def computed(x: Any) -> bool:
        if x not in found:
            eqn = makers.get(x)
            found[x] = eqn is not None and eqn.primitive.name in _CHEAP and all(map(at, eqn.invars))
        return found[x]

    return computed(v)


def _assign_level(eqn: Any, when: dict[Any, int]) -> int:
    level = max((when[v] for v in eqn.invars if not is_literal(v)), default=_FIXED)
    if eqn.effects:
        level = _WAITS
    when.update(dict.fromkeys(eqn.outvars, level))
    return level


def _moves(eqn: Any) -> bool:
    return eqn.primitive.name in _MOVES and prod(eqn.invars[0].aval.shape) <= prod(eqn.outvars[0].aval.shape)


def _evaluate(equations: Sequence[Any], env: dict[Any, Any]) -> None:
    for eqn in equations:
        env.update(zip(eqn.outvars, bound(eqn, [_atom_value(v, env) for v in eqn.invars]), strict=True))


def _atom_value(v: Any, env: Mapping[Any, Any]) -> Any:
    return v.val if is_literal(v) else env[v]
