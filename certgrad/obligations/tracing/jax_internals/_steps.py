"""The number of steps of a `while` whose test depends on numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from certgrad.jaxpr.programs import bound, equations_of

from ._live import WhileLoop, live_inputs, live_results, part_of
from ._programs import Program
from ._values import kind_of

MOST_COUNTED = 1000
"""Steps that are run to count them; a longer loop has an open number."""


def counted_steps(loop: WhileLoop, held: Sequence[int | None]) -> int | None:
    """Return the number of steps of a loop whose test depends on integers and booleans that step by themselves; else
    None.

    They start at numbers, in `held`, and are run in their own dtypes, so that the number is the same for every input.
    None also where there are too many steps.
    """
    of_test, of_body = loop.test_consts, loop.body_consts
    looked_at = live_inputs(loop.test.jaxpr, [True])
    carried = loop.live_outputs(looked_at[of_test:])
    stepped = live_inputs(loop.body.jaxpr, carried)
    carries = [k for k, wanted in enumerate(carried) if wanted]
    for_test = [k for k in range(of_test) if looked_at[k]]
    for_body = [k for k in range(of_body) if stepped[k]]
    test = part_of(loop.test, [*for_test, *(of_test + k for k in carries)], [0])
    body = part_of(loop.body, [*for_body, *(of_body + k for k in carries)], carries)
    read = [*for_test, *(of_test + k for k in for_body), *(of_test + of_body + k for k in carries)]
    numbers = [held[k] for k in read]
    if any(n is None for n in numbers) or not (_of_integers(test) and _of_integers(body)):
        return None
    avals = [v.aval for v in (*test.jaxpr.invars[: len(for_test)], *body.jaxpr.invars)]
    with jax.enable_x64(True):
        given = [np.asarray(n, aval.dtype) for n, aval in zip(numbers, avals, strict=True)]
        tested, fixed = given[: len(for_test)], given[len(for_test) : len(for_test) + len(for_body)]
        state = given[len(for_test) + len(for_body) :]
        for step in range(MOST_COUNTED):
            (goes_on,) = _run(test, [*tested, *state], [True])
            if not goes_on:
                return step
            state = _run(body, [*fixed, *state], [True] * len(carries))
    return None


def _run(program: Program, args: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """Return the needed outputs; None stands for the others."""
    return live_results(program, args, needed, bound, lambda value, aval: np.asarray(value, aval.dtype))


def _of_integers(program: Program) -> bool:
    """Return whether a program computes single integers and booleans only, inner programs too, without symbolic
    sizes.
    """
    jaxpr, eqns = program.jaxpr, list(equations_of(program.jaxpr))
    avals = [v.aval for v in (*jaxpr.invars, *jaxpr.constvars, *(v for eqn in eqns for v in eqn.outvars))]
    named = any(eqn.primitive.name == "dim_as_value" for eqn in eqns)
    return not named and all(kind_of(aval.dtype) in "ib" and aval.shape == () for aval in avals)
