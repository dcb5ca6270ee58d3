"""Forwards in which one step is taken for a constant: what a rule that forgets a term is the derivative of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad._subject import Rules
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import trace_rules
from certgrad.obligations.tracing.jax_internals import (
    equations_of,
    evaluate,
    is_literal,
    primal_body,
    trace,
)

from ._user_rule import UserRule
from ._words import place_of_step, word_of

MAX_STEPS = 40
_FIRST = ("reduce_sum", "reduce_max", "reduce_min", "dot_general", "cumsum")


_COMPARED = "lt le gt ge eq ne max min clamp broadcast_in_dim convert_element_type jit".split()
"""What compares numbers, and what hands them on to that."""
MAX_CONSTANTS = 4
LARGEST = 1e6


def compared_constants(one: UserRule, rules: Rules) -> list[str]:
    """Numbers other than 0 that the programs may compare with, smallest first, as a domain writes them."""
    try:
        programs = trace_rules(rules, family(one, one.cases[0]).prove[0].shapes(), 0, one.name).all()
    except Exception:  # what the rule does when it is traced
        return []
    equations = (e for p in programs.values() for e in equations_of(p.jaxpr) if e.primitive.name in _COMPARED)
    literals = (x.val for e in equations for x in e.invars if is_literal(x) and jnp.ndim(x.val) == 0)
    values = {float(x) for x in literals if np.asarray(x).dtype.kind in "fiub"}
    found = sorted(c for c in values if c and abs(c) < LARGEST)[:MAX_CONSTANTS]
    return [str(int(c)) if c == int(c) else repr(c) for c in found]


def held_constant(one: UserRule, rules: Rules) -> Iterator[tuple[str, Callable[[list], list]]]:
    """The forward with each of its steps held constant in turn, reductions first, and with all reductions."""
    steps: list[tuple[str, str]] = []

    def note(eqn: Any, outs: list) -> list:
        of_floats = any(jnp.issubdtype(v.aval.dtype, jnp.floating) for v in eqn.outvars)
        steps.append((eqn.primitive.name, place_of_step(eqn)) if of_floats else ("", ""))
        return outs

    try:
        arrays = family(one, one.cases[0]).prove[0].shapes().structs()
        traced = trace(lambda *xs: rules.forward(list(xs), []), arrays)
        program = primal_body(traced)
        trace(lambda *xs: evaluate(program, xs, note), arrays)
    except Exception:  # what does not trace has no steps
        return
    reductions = {k for k, s in enumerate(steps) if s[0] in _FIRST}
    if len(reductions) > 1:
        yield "terms are missing: all sums and maxima are treated as constants", _holding(rules, reductions)
    order = sorted(range(len(steps)), key=lambda k: (steps[k][0] not in _FIRST, k))
    for k in [k for k in order if steps[k][0]][:MAX_STEPS]:
        word, place = word_of(steps[k][0]), steps[k][1]
        yield f"a term is missing: the {word}{place} is treated as a constant", _holding(rules, {k})


def _holding(rules: Rules, which: set[int]) -> Callable[[list], list]:
    def forward(args: list) -> list:
        program = primal_body(jax.make_jaxpr(lambda *xs: rules.forward(list(xs), []))(*args))
        count = -1

        def hold(eqn: Any, outs: list) -> list:
            nonlocal count
            count += 1
            return [jax.lax.stop_gradient(y) for y in outs] if count in which else outs

        return evaluate(program, args, hold)

    return forward
