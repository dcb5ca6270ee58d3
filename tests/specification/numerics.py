"""A program's meaning at concrete sizes and entries, beside what JAX computes in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import fmpq

from certgrad.language import tree as e
from certgrad.language.arithmetic import UndefinedError
from certgrad.language.sorts import sort
from certgrad.obligations.balls import Undecided, ball
from certgrad.obligations.balls.statements import BALLS
from certgrad.specification import program as p
from certgrad.specification.evaluate import Evaluation
from tests.language.misfit import misfit

TOLERANCE = 1e-9
Entries = Mapping[tuple[str, tuple[int, ...]], Any]


def exact_entry(x: Any) -> Any:
    """An entry of an array as the specification's evaluator takes it."""
    if np.asarray(x).dtype.kind == "f":
        return fmpq(*float(x).as_integer_ratio())
    return bool(x) if np.asarray(x).dtype.kind == "b" else int(x)


def at_arrays(program: p.Program, arrays: Sequence[Any], sizes: Mapping[str, int] | None = None) -> Evaluation:
    """The program at these arrays."""
    held = dict(zip((t.name for t in program.inputs), map(np.asarray, arrays), strict=True))
    return Evaluation(
        program, sizes or {}, lambda name, index: exact_entry(held[name][index]), BALLS, on_any_platform, factored
    )


def factored(at: Evaluation, d: p.Determined, outer: tuple[int, ...]) -> list[Any]:
    """Factors of a matrix as LAPACK computes them, as JAX does on a CPU: the equations hold of them."""
    a = np.array([[float(ball(x).mid()) for x in row] for row in at.matrix(d, outer)])
    if d.method == "eigh":
        values, vectors = np.linalg.eigh(a)
        factors = [vectors, values]
    else:
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        factors = [s, u, vt] if d.method == "svd" else list(np.linalg.qr(a))
    values = [exact_entry(x) for factor in factors for x in factor.flat]
    gaps = list(at.differences(d, outer, values))
    assert gaps
    assert all(close(gap, 0.0) for gap in gaps)
    return values


def on_any_platform(definition: p.Opaque, k: int, index: tuple[int, ...]) -> int:
    """The first of the programs for several platforms, which say the same."""
    assert definition.name.startswith("platform_index"), definition.name
    return 0


def expressions(definitions: Sequence[p.Definition]) -> Iterator[tuple[e.Node, e.Sort]]:
    """All expressions that define something, with the sorts that they must have."""
    for d in definitions:
        if isinstance(d, p.Defined):
            yield d.entry, d.tensor.sort
        elif isinstance(d, p.Determined):
            yield from ((x, "boolean") for x in (*d.equations, d.condition))
        elif isinstance(d, p.Loop):
            yield from expressions(d.body)
            for c in d.carries:
                yield c.start, c.tensor.sort
                yield c.step, c.tensor.sort


def check_sorts(program: p.Program) -> None:
    """Every part of every expression has the sort that it must have."""
    for x, wanted in expressions(program.definitions):
        assert not misfit(x), misfit(x)
        assert sort(x) == wanted


def real_parts(outputs: Any) -> list[np.ndarray]:
    """The outputs of a call as arrays of reals: complex ones as two."""
    arrays = [np.asarray(x) for x in jax.tree_util.tree_leaves(outputs)]
    return [part for a in arrays for part in ([a.real, a.imag] if a.dtype.kind == "c" else [a])]


def run(fn: Callable[..., Any], arrays: Sequence[Any]) -> list[np.ndarray]:
    """What JAX computes."""
    with jax.enable_x64(True), np.errstate(all="ignore"):
        return real_parts(fn(*map(jnp.asarray, arrays)))


def close(value: Any, number: Any) -> bool:
    """Equal up to the rounding of doubles."""
    exact = float(value.mid()) if hasattr(value, "mid") else float(value)
    return bool(np.isfinite(exact)) and abs(exact - float(number)) <= TOLERANCE * max(1.0, abs(float(number)))


def compared(found: Evaluation, arrays: Sequence[np.ndarray], partial: bool = False) -> int:
    """Check every entry of every output; how many were compared.

    What the specification defines, JAX computes. What it does not define is no number for JAX either; with `partial`,
    it may be one.
    """
    count = 0
    assert len(arrays) == len(found.program.outputs)
    for k, array in enumerate(arrays):
        assert found.shape(found.program.outputs[k]) == array.shape
        for index in np.ndindex(*array.shape):
            try:
                value = found.output(k, index)
            except UndefinedError:
                if np.isfinite(array[index]) and not partial:
                    pytest.fail(f"not defined at {index}, where JAX has {array[index]}")
                continue
            except Undecided:
                continue  # 1/3 as a ball on the boundary of a case
            assert close(value, array[index]), f"at {index}: {value}, and in JAX {array[index]}"
            count += 1
    return count
