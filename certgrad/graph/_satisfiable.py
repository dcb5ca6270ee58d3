"""A checked rational point for a graph's hypotheses: a set that nothing satisfies would prove anything."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import jax
import numpy as np
from flint import arb, fmpq

from certgrad.graph._jaxpr import Numbers, evaluate_equation
from certgrad.graph._trace import TracedGraph
from certgrad.graph.ir import Operand, Ref
from certgrad.obligations._conditions import Clause
from certgrad.obligations._evaluate import UndecidedError, evaluate
from certgrad.obligations._index import Var
from certgrad.obligations._jax_internals import wide_floats
from certgrad.obligations._satisfiable import _true
from certgrad.obligations._terms import Access, deep_atoms
from certgrad.obligations.balls import BallError
from certgrad.obligations.balls import _scalars as scalars
from certgrad.obligations.balls import evaluate as run_on_balls

TRIES = 24
PRECISION = 192


@dataclass(frozen=True)
class Asked:
    """A hypothesis with what its names stand for in the graph."""

    clause: Clause
    arguments: Mapping[str, Ref]
    dims: Mapping[str, Any]
    """The lemma's dimensions, each as a dimension of the graph (something that `sizes` turns into a number)."""


def satisfied_somewhere(traced: TracedGraph, asked: Sequence[Asked]) -> bool:
    """A point was found that satisfies all hypotheses at all their indices, with rigorous arithmetic."""
    if not asked:
        return True
    wanted = list({str(r): r for a in asked for r in a.arguments.values()}.values())
    rng = random.Random(20)
    programs: dict[tuple[int, ...], Any] = {}
    for attempt in range(TRIES):
        sizes = {d: 1 + (attempt + k) % 3 for k, d in enumerate(traced.ir.dims)}
        key = tuple(sizes.values())
        try:
            if key not in programs:
                programs[key] = _program(traced, wanted, sizes)
            point = [_draw(rng, a.spec.shape(sizes, {}), a.spec.dtype, attempt) for a in traced.specs.arguments]
            values = run_on_balls(programs[key], point, precision=PRECISION).values
            table = {str(r): v for r, v in zip(wanted, values, strict=True)}
            with scalars.precision(PRECISION):
                if all(_holds(a, table, sizes) for a in asked):
                    return True
        except (UndecidedError, BallError, ZeroDivisionError, KeyError, ValueError, TypeError):
            continue
    return False


def _program(traced: TracedGraph, wanted: Sequence[Ref], sizes: Mapping[str, int]) -> Any:
    """The values that the hypotheses mention, as one program at concrete shapes."""
    numbers = Numbers(np.float64, np.int64)

    def run(*inputs: Any) -> list[Any]:
        values = forward_values(traced, inputs, sizes, numbers)
        return [values[r.node][r.output] for r in wanted]

    dtypes = {"float": np.float64, "int": np.int64, "bool": np.bool_}
    with wide_floats():
        specs = [jax.ShapeDtypeStruct(a.spec.shape(sizes, {}), dtypes[a.spec.dtype]) for a in traced.specs.arguments]
        return jax.make_jaxpr(run)(*specs)


def forward_values(
    traced: TracedGraph, inputs: Sequence[Any], sizes: Mapping[str, int], numbers: Numbers
) -> list[list[Any]]:
    """Every node's outputs, from the graph's own equations at concrete dimensions."""
    values: list[list[Any]] = []
    given = iter(inputs)

    def read(operand: Operand, atom: Any) -> Any:
        return values[operand.node][operand.output] if isinstance(operand, Ref) else numbers.value(atom.val)

    for node in traced.nodes:
        if node.kind == "input":
            values.append([next(given)])
        elif node.kind == "constant":
            values.append([jax.numpy.asarray(numbers.value(traced.constants[node.id]))])
        else:
            eqn = traced.equations[node.id].eqn
            operands = [read(o, v) for o, v in zip(node.operands, eqn.invars, strict=True)]
            values.append(evaluate_equation(eqn, operands, sizes, numbers))
    return values


def _draw(rng: random.Random, shape: Sequence[int], dtype: str, attempt: int) -> Any:
    if dtype != "float":
        return np.array(
            [rng.randint(0, 1) for _ in range(int(np.prod(shape)))], dtype=bool if dtype == "bool" else int
        ).reshape(shape)
    spread = (1, 4, 16)[attempt % 3]
    low = 0 if attempt % 2 else -8 * spread
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        out[index] = fmpq(2 * rng.randint(low, 8 * spread) + 1, 16)
    return out


def _holds(asked: Asked, table: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    clause = asked.clause
    dims = {name: int(value(sizes)) for name, value in asked.dims.items()}

    def value(tensor: str, index: tuple[int, ...]) -> arb:
        entry = np.asarray(table[str(asked.arguments[tensor])], dtype=object)[index]
        return scalars.ball(entry) if not isinstance(entry, bool | np.bool_) else arb(int(entry))

    ranges = _ranges(clause, asked, table)
    variables = sorted(clause.free)
    for point in product(*(range(ranges.get(v, 1)) for v in variables)):
        env = dict(zip(variables, point, strict=True))
        if any((evaluate(g, dims, value, env) == 1) != want for g, want in clause.guards):
            continue
        if not any(_true(a, evaluate(a.poly, dims, value, env)) for a in clause.alternatives):
            return False
    return True


def _ranges(clause: Clause, asked: Asked, table: Mapping[str, Any]) -> dict[Var, int]:
    """How far each index variable runs: along the axes where it stands alone."""
    found: dict[Var, int] = {}
    for poly in [a.poly for a in clause.alternatives] + [g for g, _ in clause.guards]:
        for atom in deep_atoms(poly):
            if isinstance(atom, Access) and atom.tensor in asked.arguments:
                shape = np.shape(table[str(asked.arguments[atom.tensor])])
                for ix, size in zip(atom.index, shape, strict=True):
                    v = ix.variable()
                    if v is not None:
                        found[v] = min(found.get(v, size), size)
    return found
