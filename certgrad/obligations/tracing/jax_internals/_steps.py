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
"""The most steps that are run to count them; a loop with more steps has an open number of steps."""


def counted_steps(loop: WhileLoop, held: Sequence[int | None]) -> int | None:
    """Return the number of steps of a loop whose test depends on scalar integers and booleans alone.

    `held` are the integers among the operands of the loop, None for others. The part of test and body that computes the
    test is cut out, and run on these numbers in their own dtypes; so the number of steps is the same for every input.
    Return None where that part reads anything else, and where there are `MOST_COUNTED` steps or more.
    """
    of_test, of_body = loop.test_consts, loop.body_consts
    # Operands of the loop: constants of the test, constants of the body, carries. Of each what the test depends on.
    test_inputs = live_inputs(loop.test.jaxpr, [True])
    carried = loop.live_outputs(test_inputs[of_test:])
    body_inputs = live_inputs(loop.body.jaxpr, carried)
    carries = [k for k, wanted in enumerate(carried) if wanted]
    for_test = [k for k in range(of_test) if test_inputs[k]]
    for_body = [k for k in range(of_body) if body_inputs[k]]
    test = part_of(loop.test, [*for_test, *(of_test + k for k in carries)], [0])
    body = part_of(loop.body, [*for_body, *(of_body + k for k in carries)], carries)
    read = [*for_test, *(of_test + k for k in for_body), *(of_test + of_body + k for k in carries)]
    numbers = [held[k] for k in read]
    if any(n is None for n in numbers) or not (_of_integers(test) and _of_integers(body)):
        return None
    avals = [v.aval for v in (*test.jaxpr.invars[: len(for_test)], *body.jaxpr.invars)]
    with jax.enable_x64(True):
        values = [np.asarray(n, aval.dtype) for n, aval in zip(numbers, avals, strict=True)]
        test_consts, body_consts = values[: len(for_test)], values[len(for_test) : len(for_test) + len(for_body)]
        state = values[len(for_test) + len(for_body) :]
        for step in range(MOST_COUNTED):
            (goes_on,) = _run(test, [*test_consts, *state], [True])
            if not goes_on:
                return step
            state = _run(body, [*body_consts, *state], [True] * len(carries))
    return None


def _run(program: Program, args: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """Return the needed outputs of a program run on numpy arrays; None in the place of the others."""
    return live_results(program, args, needed, bound, lambda value, aval: np.asarray(value, aval.dtype))


def _of_integers(program: Program) -> bool:
    """Return whether a program, with those inside, computes scalar integers and booleans only, and reads no size."""
    jaxpr, eqns = program.jaxpr, list(equations_of(program.jaxpr))
    avals = [v.aval for v in (*jaxpr.invars, *jaxpr.constvars, *(v for eqn in eqns for v in eqn.outvars))]
    named = any(eqn.primitive.name == "dim_as_value" for eqn in eqns)
    return not named and all(kind_of(aval.dtype) in "ib" and aval.shape == () for aval in avals)
