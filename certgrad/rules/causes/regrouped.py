"""Changes of the order of two steps: brackets that are missing, a function of a product and not of one factor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import acts as _acts
from .step_search import Search
from .steps import Act, Change, Run, Step

SUMS, PRODUCTS = ("add", "add_any", "sub"), ("mul", "div")
_OF_ONE = frozenset("integer_pow square sqrt rsqrt exp log tanh logistic sin cos abs sign neg log1p expm1".split())
"""Functions of one number that may be taken of a sum or product, or of one operand of it, by mistake."""


def brackets(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes of a + b·c to (a + b)·c, and of (a + b)·c to a·c + b: brackets that are missing or too wide."""
    name = step.eqn.primitive.name
    for j, operand in enumerate(step.operands if name in (*SUMS, *PRODUCTS) else ()):
        inner = search.maker(operand.key)
        if inner is None or (name, j) == ("div", 1):
            continue
        places = range(1 if inner.eqn.primitive.name == "div" else 2)
        if name in SUMS and inner.eqn.primitive.name in PRODUCTS:
            text = f"brackets are missing: {search.the(inner)} is to be of all of {search.the(step)}"
        elif name in PRODUCTS and inner.eqn.primitive.name in SUMS:
            text, places = f"{search.the(step)} is to be of one term of {search.the(inner)} alone", range(2)
        else:
            continue
        for k in places:
            yield from search.tried(step, text, _exchanged(inner, j, k))


def _exchanged(inner: Step, j: int, k: int) -> Act:
    """Return the act that makes g(.., f(.., b, ..), ..) of f(.., g(.., b, ..), ..).

    f is the step, g is `inner`, the step that gives operand `j` of f, and b is operand `k` of g.
    """

    def act(r: Run, s: Step) -> Any:
        within = r.program.step(inner.key)
        of_outer, of_inner = r.operands(s), r.operands(within)
        of_inner[k] = r.apply(s.eqn, [*of_outer[:j], of_inner[k], *of_outer[j + 1 :]])[0]
        return r.apply(within.eqn, of_inner)[0]

    return act


def of_one_operand(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes of f(a·b) to f(a)·b, and of f(a)·b to f(a·b), and the same for sums and quotients."""
    name, joins = step.eqn.primitive.name, (*SUMS, *PRODUCTS)
    for j, operand in enumerate(step.operands if name in (*_OF_ONE, *joins) else ()):
        inner = search.maker(operand.key)
        if inner is None or {name in _OF_ONE, inner.eqn.primitive.name in _OF_ONE} != {True, False}:
            continue
        if name in joins:
            text = f"{search.the(inner)} is to be of all of {search.the(step)}"
            yield from search.tried(step, text, _exchanged(inner, j, 0))
        for k, part in enumerate(inner.operands if inner.eqn.primitive.name in joins else ()):
            if part.key is not None:
                text = f"{search.the(step)} is to be of {search.named(part.key)} alone, inside of {search.the(inner)}"
                yield from search.tried(step, text, _exchanged(inner, j, k))


def made_before(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes of f(a)·b to f(a·b), and of f(a) / b to f(a / b), where f may be several steps."""
    name = step.eqn.primitive.name
    shape = np.shape(search.points[0].run.values[step.outs[0]])
    for j in range(len(step.operands) if name == "mul" else 1 if name == "div" else 0):
        last, by = search.maker(step.operands[j].key), step.operands[1 - j]
        if last is None:
            continue
        for base in search.program.behind(last):
            if np.shape(search.points[0].run.values[base]) != shape or base == step.operands[j].key:
                continue
            what = search.named(by.key) if by.key is not None else f"{by.literal.val}"
            how = "divided" if name == "div" else "multiplied"
            text = f"{search.named(base)} is to be {how} by {what} before {search.the(last)}, and not after"
            yield from search.tried(step, text, _acts.moved_before(base, j))
