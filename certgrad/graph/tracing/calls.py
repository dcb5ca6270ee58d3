"""A call of a traced function, compared with its program. Its gradient is not called: JAX makes it node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import jax
import numpy as np

from certgrad._subject import Subject
from certgrad.errors import first_line
from certgrad.graph.tracing.trace import TracedGraph, nodes_of
from certgrad.obligations.balls._draw import seeded
from certgrad.obligations.conformance import Conformance, Difference, unlike
from certgrad.obligations.floats import compute
from certgrad.obligations.generality.decisions import answered_otherwise, has_same_programs
from certgrad.obligations.generality.instances import family
from certgrad.obligations.generality.state import ReadState
from certgrad.obligations.points import arguments
from certgrad.obligations.tracing.jax_internals import (
    computed_by,
    kind_of,
    scan_loop,
    typed,
    wide_floats,
)
from certgrad.obligations.tracing.jax_internals._operations import operations
from certgrad.process.threads import PROCESS_LOCK
from certgrad.signatures.sizes import integer_size

PLACES = ((3, 2, 4, 5), (4, 3, 2, 7), (7, 5, 3, 11), (11, 13, 6, 9))
"""Sizes for the dimensions in a call; the first row at which the function is the traced program is taken."""
EQUATIONS = 1_500
"""Operations on arrays, at most, of a function that is called; a longer one is not compared."""
OPERATIONS = 2_000_000_000
"""Operations on numbers, at most, of a function that is called; a longer one is not compared."""


def uncalled(traced: TracedGraph) -> str:
    """Return why the function is not called, or "": a long call costs more than the proof."""
    if (steps := _steps(traced)) > EQUATIONS:
        return f"a call takes {steps:,} operations on arrays"
    if not traced.ir.dims and (count := _operations(traced)) > OPERATIONS:
        return f"a call takes {count:.0e} operations on numbers"
    return ""


def _operations(traced: TracedGraph) -> int:
    """Return about how many operations on numbers a call takes."""
    times = Counter(traced.equations.values())
    return sum(n * operations(equation.program.jaxpr) for equation, n in times.items())


def _steps(traced: TracedGraph) -> int:
    """Return about how many operations on arrays a call takes; a loop of open length counts once."""
    total = len(traced.nodes)
    for node, bodies in traced.bodies.items():
        equation = traced.equations[node]
        length = scan_loop(equation.eqn).length if equation.name == "scan" else 1
        total += sum(map(_steps, bodies)) * (length if isinstance(length, int) else 1)
    return total


def draws(traced: TracedGraph) -> bool:
    """Return whether the function draws random numbers, which differ from dtype to dtype."""
    return any(n.kind == "draw" for n in nodes_of(traced))


def called_alone(subject: Subject, traced: TracedGraph, dtypes: Sequence[str]) -> Conformance:
    """Call the function once in each dtype, and return how the results compare with the value of its program.

    The arguments are the arrays that were given as specs, or drawn ones. Where a call takes too long, the function is
    traced again instead.
    """
    if why := uncalled(traced):
        return Conformance((f"not compared with calls: {why}",), _traced_again(traced))
    sizes = _place(traced)
    at_sizes = f" at {_sized(sizes)}" if sizes else ""
    called_dtypes: list[str] = []
    refused: list[str] = []
    with PROCESS_LOCK:  # no other thread may change state that is compared before and after
        state = ReadState(traced.fn, calls=True)
        for dtype in dtypes:
            try:
                deviation = _difference_from_program(subject, traced, sizes, dtype)
            except Exception as error:  # a function may refuse to be called, in its own way
                refused.append(f"no call in {dtype} ({type(error).__name__}: {first_line(error, 100)})")
                continue
            if deviation:
                reason = f"called{at_sizes} in {dtype} it returns something else: {deviation}"
                return Conformance((), Difference((), reason, sizes))
            called_dtypes.append(dtype)
        if changed := state.compare():
            text = f"a call changes {changed}, which outlives it: later calls may do other things"
            return Conformance((), Difference((), text, {}))
    calls = [f"one call in {' and '.join(called_dtypes)}{at_sizes}"] if called_dtypes else []
    return Conformance((*calls, *refused))


def _traced_again(traced: TracedGraph) -> Difference | None:
    """Return that a second trace gives another program, for a function whose trace changes state; else None."""
    if not traced.changes or has_same_programs(traced, traced.retraced({}), {}):
        return None
    text = f"a trace changes {traced.changes}, which outlives it, and the next one gives another program"
    return Difference((), text, {}, anywhere=True)


def _place(traced: TracedGraph) -> dict[str, int]:
    """Return the first sizes of `PLACES` at which the function is the program that was traced; else the first."""
    rows = [dict(zip(traced.ir.dims, cycle(row), strict=False)) for row in PLACES]
    return next(
        (s for s in rows if not answered_otherwise(traced, {d: integer_size(n) for d, n in s.items()})), rows[0]
    )


def _difference_from_program(subject: Subject, traced: TracedGraph, sizes: Mapping[str, int], dtype: str) -> str:
    """Return how a call differs from the program; "" if it does not. `dtype` is that of floats left to JAX."""
    assert traced.fn is not None
    drawn = traced.specs.arrays or _drawn(subject, sizes)
    if drawn is None:
        raise ValueError("no point of the domain was found")
    own_real = "float64" if traced.specs.wide else "float32"
    points = [np.asarray(x) if kind_of(x.dtype) != "k" else x for x in drawn]
    points = [_cast(x, v.aval.dtype, own_real, dtype) for x, v in zip(points, traced.program.jaxpr.invars, strict=True)]
    with wide_floats(traced.specs.wide and dtype != "float32"), computed_by(compute):
        call_args = [x if kind_of(x.dtype) == "k" else typed(x) for x in points]
        results = [np.asarray(x) for x in jax.tree.leaves(traced.fn(*traced.specs.nest(call_args)))]
    return unlike(results, traced.program, points, sizes, dtype)


def _drawn(subject: Subject, sizes: Mapping[str, int]) -> list[np.ndarray] | None:
    """Return pseudorandom arguments at these sizes; None where no point of the domain is found."""
    instance = family(subject, subject.cases[0]).prove[0]
    shapes = instance.shapes({n: integer_size(v) for n, v in sizes.items()})
    return arguments(subject, instance, shapes, seeded(subject.name, "a call", str(instance.inputs), str(sizes)))


def _cast(x: Any, dtype: Any, own: str, wanted: str) -> Any:
    """Return an argument in `dtype`, that of its trace, or in 32 bits where a trace in 64 is called in float32.

    `own` is the dtype of floats in the trace, `wanted` that of floats in the call.
    """
    kind = kind_of(x.dtype)
    if kind not in "fi":
        return x
    if wanted != own and wanted == "float32":
        dtype = {"float64": np.float32, "int64": np.int32}.get(str(dtype), dtype)
    return x.astype(dtype)


def _sized(sizes: Mapping[str, int]) -> str:
    names_and_values = ", ".join(sizes), ", ".join(map(str, sizes.values()))
    return " = ".join(names_and_values if len(sizes) == 1 else (f"({x})" for x in names_and_values))
