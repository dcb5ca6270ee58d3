"""Forwards with a step held constant, or its derivative taken for 1, as rules do that forget a term or a factor."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from certgrad._subject import Rules
from certgrad.jaxpr import kinds
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import trace_rules
from certgrad.obligations.tracing.jax_internals import (
    equations_of,
    evaluate,
    inner_program,
    is_literal,
    own_lines,
    primal_body,
    trace,
)
from certgrad.rules.subject.user_rule import UserRule

from .words import place_in_users_code, place_of_step, word_of

MAX_STEPS = 40
"""Steps that are held constant in turn, reductions first; further ones are not tried."""
_FIRST = kinds.REDUCES | kinds.CONTRACTS | {"cumsum"}
_COMPARED = kinds.ORDERS | kinds.KEEPS_CONSTANTS | {"jit"}
"""Primitives that compare numbers, or that hand a number on to a comparison."""
MAX_CONSTANTS = 4
"""Numbers that a program compares with, the smallest first, that are tried as bounds of a domain, at most."""
LARGEST = 1e6
"""The largest magnitude of a number that is tried as a bound of a domain; a larger one is not tried."""


def compared_constants(one: UserRule, rules: Rules) -> list[str]:
    """Return the numbers other than 0 that the programs may compare with, smallest first, as a domain writes them."""
    try:
        programs = trace_rules(rules, family(one, one.cases[0]).prove[0].shapes(), 0, one.name).all()
    except Exception:  # what the rule does when it is traced
        return []
    equations = (e for p in programs.values() for e in equations_of(p.jaxpr) if e.primitive.name in _COMPARED)
    literals = (x.val for e in equations for x in e.invars if is_literal(x) and jnp.ndim(x.val) == 0)
    values = {float(x) for x in literals if np.asarray(x).dtype.kind in "fiub"}
    bounds = sorted(c for c in values if c and abs(c) < LARGEST)[:MAX_CONSTANTS]
    return [str(int(c)) if c == int(c) else repr(c) for c in bounds]


def held_constant(one: UserRule, rules: Rules) -> Iterator[tuple[str, Callable[[list], list]]]:
    """Yield mistakes in words, each with a changed forward: a rule with the mistake is the derivative of that.

    The changed forward computes the same values with a step held constant (`stop_gradient`), or with a step's
    derivative taken for 1. First, if there are several reductions, all of them are held constant; then for each step,
    reductions first, the step is held constant, or a scan's carry, or the step's derivative is taken for 1; at last the
    derivative of a whole expression is taken for 1.
    """
    steps: dict[_Key, Any] = {}
    line_of: dict[_Key, Any] = {}
    without_line: list[_Key] = []

    def note(key: _Key, eqn: Any) -> None:
        # An equation without a line of the user's code is inside of a function of JAX. It gets the line of the next
        # equation that has one: the call of that function, which comes after what is inside of it.
        without_line.append(key)
        if key.place[0]:
            line_of.update(dict.fromkeys(without_line, eqn))
            without_line.clear()
        if any(jnp.issubdtype(v.aval.dtype, jnp.floating) for v in eqn.outvars):
            steps[key] = eqn

    try:
        arrays = family(one, one.cases[0]).prove[0].shapes().structs()
        with own_lines():
            program = primal_body(trace(lambda *xs: rules.forward(list(xs), []), arrays))
        trace(lambda *xs: evaluate(program, xs, _by_key(note)), arrays)
    except Exception:  # what does not trace has no steps
        return
    reductions = [key for key in steps if key.kind in _FIRST]
    if len(reductions) > 1:
        text = "terms are missing: all sums and maxima are treated as constants"
        yield text, _changed(rules, dict.fromkeys(reductions, _constant))
    order = [*reductions, *(key for key in steps if key.kind not in _FIRST)][:MAX_STEPS]
    for key in order:
        eqn, function = steps[key], _name_of_called_function(steps[key])
        what = f"{function or f'the {word_of(key.kind)}'}{place_of_step(line_of.get(key, eqn))}"
        if not function:
            yield f"a term is missing: {what} is treated as a constant", _changed(rules, {key: _constant})
            floats = [k for k, v in enumerate(eqn.outvars) if jnp.issubdtype(v.aval.dtype, jnp.floating)]
            for k in floats if len(floats) > 1 else ():
                text = f"a term is missing: result {k} of {what} is treated as a constant"
                yield text, _changed(rules, {key: partial(_one_constant, k)})
        if key.kind == "scan":
            text = f"a term is missing: the state that a step of {what} hands to the next is treated as a constant"
            yield text, _changed(rules, {key: _without_state})
        if _of_one(eqn):
            text = f"a factor is missing: the derivative of {what} is taken to be 1"
            yield text, _changed(rules, {key: _identity})
    yield from _calls_as_identity(rules, steps)


def _calls_as_identity(rules: Rules, steps: Mapping[_Key, Any]) -> Iterator[tuple[str, Callable[[list], list]]]:
    """Yield mistakes in words, each with its forward: the derivative of one expression is taken for 1.

    An expression is the steps at one place in the user's code; it has to map an array to one of the same shape.
    """
    expressions: dict[Any, list[_Key]] = defaultdict(list)
    for key in steps:
        expressions[key.place].append(key)
    for place, keys in expressions.items():
        first, last = steps[keys[0]], steps[keys[-1]]
        operands = [v.aval.shape for v in first.invars if jnp.issubdtype(v.aval.dtype, jnp.floating)]
        if place[0] and len(keys) > 1 and operands[:1] == [last.outvars[0].aval.shape] and len(last.outvars) == 1:
            what = f"what is computed{place_of_step(last)} is differentiated as if it were its operand"
            yield f"a factor is missing: {what}", _changed(rules, _as_identity(keys[0], keys[-1]))


def _as_identity(first: _Key, last: _Key) -> dict[_Key, _Act]:
    """Return replacements for two steps, with which `last` gives its value with the derivative of `first`'s operand."""
    operand: list[Any] = []  # the first float operand of `first`, once that step has run

    def note(eqn: Any, operands: list, outs: list) -> list:
        operand[:] = [x for x in operands if jnp.issubdtype(jnp.result_type(x), jnp.floating)][:1]
        return outs

    return {first: note, last: lambda eqn, operands, outs: _identity(eqn, operand, outs)}


def written_once(one: UserRule, rules: Rules) -> Iterator[tuple[str, Rules]]:
    """Yield a text that the rule is right where no place is written to twice, with the rule for distinct places alone.

    The forward and the VJP of that rule promise JAX that the indices of each `scatter` are distinct
    (`unique_indices=True`). Nothing is yielded if the forward has no `scatter` without this promise.
    """
    try:
        with own_lines():
            arrays = family(one, one.cases[0]).prove[0].shapes().structs()
            program = primal_body(trace(lambda *xs: rules.forward(list(xs), []), arrays))
    except Exception:  # what does not trace writes to no places
        return
    writes = [e for e in equations_of(program.jaxpr) if e.primitive.name == "scatter"]
    if not any(not e.params["unique_indices"] for e in writes):
        return

    def promised(function: Callable[..., list]) -> Callable[..., list]:
        def run(*groups: list) -> list:
            flat, tree = jax.tree.flatten(groups)
            body = primal_body(jax.make_jaxpr(lambda *xs: function(*jax.tree.unflatten(tree, xs)))(*flat))
            return evaluate(body, flat, _written_once)

        return run

    where = place_of_step(writes[0])
    text = f"right where the places that are written to{where} differ from each other: of two writes to one, one counts"
    yield (
        text,
        replace(rules, jvp=None, primal=None, both=None, forward=promised(rules.forward), vjp=promised(rules.vjp)),
    )


def _written_once(eqn: Any, operands: list, outs: list) -> list:
    if eqn.primitive.name != "scatter":
        return outs
    return [eqn.primitive.bind(*operands, **{**eqn.params, "unique_indices": True})]


_Act = Callable[[Any, list, list], list]
"""Takes an equation, its operands and its outputs; returns the outputs that replace these."""


class _Key(NamedTuple):
    """Names a step such that it is found again in a trace at other sizes, where other steps may be absent."""

    kind: str
    """The equation's primitive, or the name of the function that it calls."""
    place: tuple[str, int, int, int]
    """File, line and columns of the user's code that made the equation; the file is "" if none did."""
    number: int
    """The equation's number among those of this kind at this place, from 0."""


def _name_of_called_function(eqn: Any) -> str:
    return str(eqn.params["name"]) if inner_program(eqn) is not None and "name" in eqn.params else ""


def _by_key(seen: Callable[[_Key, Any], _Act | None]) -> _Act:
    """Return an act for all equations: for each the act that `seen` returns for its key, or its own outputs if None."""
    counts: Counter[Any] = Counter()

    def replaced(eqn: Any, operands: list, outs: list) -> list:
        kind, place = _name_of_called_function(eqn) or eqn.primitive.name, place_in_users_code(eqn)
        act = seen(_Key(kind, place, counts[kind, place]), eqn)
        counts[kind, place] += 1
        return outs if act is None else act(eqn, operands, outs)

    return replaced


def _of_one(eqn: Any) -> bool:
    """Return whether an equation maps one array of floats to one of the same shape.

    Of such a step the derivative may be forgotten as a factor. A change of sign, a cast, a loop or an equation that
    only passes a value on is left out, as nobody forgets its derivative.
    """
    name, floats = eqn.primitive.name, [v.aval for v in eqn.invars if jnp.issubdtype(v.aval.dtype, jnp.floating)]
    same = len(floats) == len(eqn.outvars) == 1 and floats[0].shape == eqn.outvars[0].aval.shape
    return same and name not in kinds.RENAMES | {"convert_element_type", "neg", "while"}


def _constant(eqn: Any, operands: list, outs: list) -> list:
    return [jax.lax.stop_gradient(y) for y in outs]


def _one_constant(k: int, eqn: Any, operands: list, outs: list) -> list:
    """Return the outputs of an equation with output `k` held constant."""
    return [jax.lax.stop_gradient(y) if j == k else y for j, y in enumerate(outs)]


def _identity(eqn: Any, operands: list, outs: list) -> list:
    """Return the outputs of an equation of one float operand, with the derivative of the identity."""
    (x,) = (x for x in operands if jnp.issubdtype(jnp.result_type(x), jnp.floating))
    return [x + jax.lax.stop_gradient(y - x) for y in outs]


def _without_state(eqn: Any, operands: list, outs: list) -> list:
    """Return the outputs of a scan whose carry is held constant in each step."""
    p = eqn.params
    fixed, state = operands[: p["num_consts"]], operands[p["num_consts"] :][: p["num_carry"]]

    def step(carry: list, row: list) -> tuple[list, list]:
        constant = [jax.lax.stop_gradient(x) for x in carry]
        outputs = evaluate(p["jaxpr"], [*fixed, *constant, *row])
        return outputs[: len(carry)], outputs[len(carry) :]

    rows = operands[p["num_consts"] + p["num_carry"] :]
    last, collected = jax.lax.scan(step, state, rows, None if rows else p["length"], p["reverse"])
    return [*last, *collected]


def _changed(rules: Rules, acts: Mapping[_Key, _Act]) -> Callable[[list], list]:
    """Return the forward in which the equations of these keys are replaced, each by its act."""

    def forward(args: list) -> list:
        with own_lines():  # also where it is called by a backward
            program = primal_body(jax.make_jaxpr(lambda *xs: rules.forward(list(xs), []))(*args))
        return evaluate(program, args, _by_key(lambda key, eqn: acts.get(key)))

    return forward
