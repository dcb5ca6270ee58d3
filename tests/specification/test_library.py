"""The calculus and the specification agree on every traced program of the op library, at drawn points.

Of primitives that the calculus reads from the specification this compares its reader with `Evaluation`; of the others
neither knows of the other. Where the calculus counts a value as defined, so does the specification, with that value.
Programs that the calculus does not read as a whole, as those of ops that are made of others, are compared with JAX;
so is what it counts as undefined at a whole point.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np
import pytest
from flint import arb, fmpq

from certgrad.language.arithmetic import UndefinedError
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.tensor import Tensor, argument
from certgrad.obligations.balls import Undecided
from certgrad.obligations.balls.statements import BALLS
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.generality.instances import Instance, family
from certgrad.obligations.meaning.semantics import Context, UnprovedError, interpret
from certgrad.obligations.prove.problem import Shapes, trace_rules
from certgrad.obligations.terms.functions import UndecidedError as NotTold
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.variables import template
from certgrad.obligations.tracing.jax_internals import Program, kind_of, shape_polys
from certgrad.ops import Case, Op, registry
from certgrad.ops._composed import Composed
from certgrad.specification.evaluate import Evaluation
from certgrad.specification.program import Program as Meaning
from certgrad.specification.reading import meaning
from tests.obligations.meaning.semantics.numerics import Point, holds
from tests.specification.numerics import check_sorts, compared, on_any_platform, real_parts

CASES = [(op, case) for op in registry for case in op.cases]
KINDS = {"f": "float", "i": "int", "b": "bool", "k": "key"}
RANGES = ((-3, 3, 4), (0, 1, 32), (1, 3, 97))
"""Where the entries of a point lie, and of which grid: ties are common on a coarse one."""
ENTRIES = 4


@pytest.mark.one_in(180)
@pytest.mark.parametrize("op, case", [pytest.param(o, c, id=f"{o.name}-{k}") for k, (o, c) in enumerate(CASES)])
def test_an_op(op: Op, case: Case) -> None:
    instance = family(op, case).prove[0]
    for name, program in _programs(op, instance.shapes()).items():
        clear_caches()
        found = meaning(program)
        check_sorts(found)
        terms = None if isinstance(op, Composed) else _terms(program, [t.name for t in found.inputs])
        rng = np.random.default_rng(len(op.name))
        count = 0
        for bounds in RANGES:
            sizes = _sizes(found, instance, rng)
            entries = dict(_entries(found, program, sizes, bounds, rng))
            at = Evaluation(found, sizes, lambda n, i, entries=entries: entries[n, i], BALLS, on_any_platform)
            found_here = 0 if terms is None else _beside_terms(at, terms, entries)
            count += found_here or _beside_jax(at, op, instance, name, entries)
        assert count, f"nothing was compared of the {name}"


def _programs(op: Op, shapes: Shapes) -> dict[str, Program]:
    return trace_rules(op.rules(shapes.statics), shapes, len(op.params), op.name).all()


def _terms(program: Program, names: list[str]) -> list[Tensor] | None:
    """What the calculus makes of the program; None where it declines."""
    avals = [v.aval for v in program.jaxpr.invars]
    inputs = [argument(n, shape_polys(a), KINDS[kind_of(a.dtype)]) for n, a in zip(names, avals, strict=True)]
    try:
        return [t for t in interpret(Context(Facts()), program, inputs, [True] * len(program.jaxpr.outvars)) if t]
    except UnprovedError:
        return None


def _sizes(found: Meaning, instance: Instance, rng: np.random.Generator) -> dict[str, int]:
    """Small sizes at which no tensor of the program has a negative one."""
    for attempt in range(40):
        sizes = {name: int(rng.integers(1, 3 + attempt // 8)) for name in instance.names}
        at = Evaluation(found, sizes, lambda name, index: 0, BALLS)
        fit = all(n >= 0 for tensor in at._tensors.values() for n in at.shape(tensor))
        if fit and all(n >= 1 for t in found.inputs for n in at.shape(t)):
            return sizes
    raise AssertionError("no sizes")


def _entries(
    found: Meaning, program: Program, sizes: Mapping[str, int], bounds: tuple[int, int, int], rng: np.random.Generator
) -> Iterator[tuple[tuple[str, tuple[int, ...]], Any]]:
    low, high, grid = bounds
    at = Evaluation(found, sizes, lambda name, index: 0, BALLS)
    for tensor, v in zip(found.inputs, program.jaxpr.invars, strict=True):
        for index in itertools.product(*map(range, at.shape(tensor))):
            if not index and low == 0 and kind_of(v.aval.dtype) == "f":
                yield (tensor.name, index), fmpq(int(rng.integers(1, 4)), 16)  # a parameter: often small and positive
            elif kind_of(v.aval.dtype) == "f":
                yield (tensor.name, index), fmpq(int(rng.integers(low * grid, high * grid + 1)), grid)
            elif kind_of(v.aval.dtype) == "i":
                beyond = (-1, max([2, *sizes.values()])) if low < 0 else (0, min([2, *sizes.values()]))
                yield (tensor.name, index), int(rng.integers(*beyond))
            else:
                yield (tensor.name, index), bool(rng.integers(2))


def _beside_terms(at: Evaluation, terms: list[Tensor], entries: Mapping[Any, Any]) -> int:
    exact = {k: x if isinstance(x, fmpq) else fmpq(int(x)) for k, x in entries.items()}
    point = Point(None, dict(at.sizes), exact)  # type: ignore[arg-type]
    count = 0
    for k, tensor in enumerate(terms):
        places = itertools.product(*map(range, at.shape(at.program.outputs[k])))
        for index in itertools.islice(places, ENTRIES):
            env = {template(axis): i for axis, i in enumerate(index)}
            if not all(holds(clause, point, env) for clause in tensor.defined):
                continue
            try:
                value, term = at.output(k, index), evaluate(tensor.body, at.sizes, point.value, env)
            except UndefinedError as error:
                pytest.fail(f"at {index} of {at.sizes} the calculus has a value, and it is not defined: {error}")
            except (Undecided, NotTold):
                continue
            difference = abs(term - arb(int(value) if isinstance(value, bool) else value))
            assert difference < 1e-9 * (1 + abs(term)) or difference.rad() > 1e-12, (index, at.sizes, value, term)
            count += 1
    return count


def _beside_jax(at: Evaluation, op: Op, instance: Instance, name: str, entries: Mapping[Any, Any]) -> int:
    program = _programs(op, instance.at(at.sizes).shapes())[name]
    arrays = []
    for tensor, v in zip(at.program.inputs, program.jaxpr.invars, strict=True):
        array = np.zeros(v.aval.shape, v.aval.dtype)
        for index in np.ndindex(*array.shape):
            x = entries[tensor.name, index]
            array[index] = int(x.p) / int(x.q) if isinstance(x, fmpq) else x
        arrays.append(array)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        outputs = real_parts(jax.core.eval_jaxpr(program.jaxpr, program.consts, *arrays))
    return compared(at, outputs, partial=True)
