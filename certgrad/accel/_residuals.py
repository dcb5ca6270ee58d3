"""A loop's step in reverse, split in two: the part that the step forward can compute, and the part for the cotangents.

The first part runs in the forward loop, and the values of it that the second part reads are kept for each step: the
residuals. Not kept but computed anew are values that are the same in all steps, and those that only broadcast or
transpose a residual.
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
"""Primitives that are computed anew rather than kept, where their operand is no larger than their result."""
_CHEAP = (_MOVES | kinds.ADDS | kinds.CHOOSES | kinds.COMPARES | kinds.LOGIC) | frozenset(
    "abs convert_element_type integer_pow mul sign square".split()
)
"""Primitives that are computed anew where all their operands are kept anyway."""
_ONCE = _CHEAP | frozenset("exp log log1p expm1 tanh logistic sin cos sqrt rsqrt erf div pow".split())
"""Primitives of which two equal equations are computed once."""
_FIXED, _KNOWN, _WAITS = range(3)
"""When a value is known: before the loop, in the forward step, or only with the cotangents."""


@dataclass(frozen=True, eq=False)
class Split:
    """A step and its reverse: `before` computes the residuals in the forward loop, `after` the reverse from them."""

    jaxpr: Any
    consts: Sequence[Any]
    counts: tuple[int, int, int]
    """The numbers of arguments that are the same in each step, of carries, and of rows; cotangents follow them."""
    kept: Sequence[Any]
    """The variables that are residuals."""
    first: Sequence[Any]
    """The equations of the part that runs forward."""
    second: Sequence[Any]
    """The equations of the reverse."""
    ahead: Sequence[Any]
    """The results of the first part: the outputs of the step."""
    outputs: Sequence[Any]
    """The results of the second part: cotangents."""

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
        row_start = len(fixed) + carries
        env.update(zip(variables[row_start : row_start + rows], row, strict=True))
        env.update(zip(variables[row_start + rows :], cotangents, strict=True))
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
    """Split `reverse` into the part that can run before the cotangents are known and the rest.

    `reverse` is a function of `fixed`, `carry`, `row` and `cotangents`, given as arrays or types of arrays. Its first
    `ahead` results do not depend on the cotangents: they are the outputs of the step forward. The values of the first
    part that the rest reads are kept, except those that it can derive cheaply from others.
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
    # Known in the reverse without being kept: constants, and the rows and cotangents that its own scan reads.
    available = {*jaxpr.constvars, *jaxpr.invars[: counts[0]], *jaxpr.invars[counts[0] + counts[1] :]}
    makers = {v: eqn for eqn in equations for v in eqn.outvars}
    kept = {
        v
        for eqn, level in zip(equations, levels, strict=True)
        for v in eqn.invars
        if level == _WAITS and not is_literal(v) and when[v] == _KNOWN and v not in available
    }
    kept |= {v for v in outputs if not is_literal(v) and when[v] == _KNOWN and v not in available}
    kept = _spread(kept, makers, when, available)
    # From the last computed to the first: a residual is dropped if the others give it by cheap operations.
    for v in [v for v in reversed(when) if v in kept]:
        if v in makers and _derived(v, makers, when, kept - {v} | available):
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
    replacements: dict[Any, Any] = {}
    seen: dict[Any, Any] = {}
    equations = []
    for eqn in jaxpr.eqns:
        eqn = eqn.replace(invars=[v if is_literal(v) else replacements.get(v, v) for v in eqn.invars])
        if not eqn.effects and eqn.primitive.name in _ONCE:
            operands = tuple((np.asarray(v.val).tobytes(), v.aval) if is_literal(v) else v for v in eqn.invars)
            key = eqn.primitive, operands, frozenset(eqn.params.items())
            if (before := seen.get(key)) is not None:
                replacements.update(zip(eqn.outvars, before.outvars, strict=True))
                continue
            seen[key] = eqn
        equations.append(eqn)
    return equations, [v if is_literal(v) else replacements.get(v, v) for v in jaxpr.outvars]


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
    """Return whether a value can be computed by cheap operations alone from the values at hand."""
    computable: dict[Any, bool] = {}

    def is_available(x: Any) -> bool:
        return is_literal(x) or x in at_hand or when[x] == _FIXED or is_computable(x)

    def is_computable(x: Any) -> bool:
        if x not in computable:
            eqn = makers.get(x)
            computable[x] = eqn is not None and eqn.primitive.name in _CHEAP and all(map(is_available, eqn.invars))
        return computable[x]

    return is_computable(v)


def _assign_level(eqn: Any, when: dict[Any, int]) -> int:
    """Return when an equation's outputs are known, the latest of its operands' levels, and store it for each."""
    level = max((when[v] for v in eqn.invars if not is_literal(v)), default=_FIXED)
    if eqn.effects:
        level = _WAITS
    when.update(dict.fromkeys(eqn.outvars, level))
    return level


def _moves(eqn: Any) -> bool:
    """Return whether an equation only moves the entries of an operand that is no larger than its result."""
    return eqn.primitive.name in _MOVES and prod(eqn.invars[0].aval.shape) <= prod(eqn.outvars[0].aval.shape)


def _evaluate(equations: Sequence[Any], env: dict[Any, Any]) -> None:
    for eqn in equations:
        env.update(zip(eqn.outvars, bound(eqn, [_atom_value(v, env) for v in eqn.invars]), strict=True))


def _atom_value(v: Any, env: Mapping[Any, Any]) -> Any:
    return v.val if is_literal(v) else env[v]
