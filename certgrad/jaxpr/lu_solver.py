"""JAX's own solver of linear systems by LU factors, recognised by the program that JAX makes of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jax._src.lax import linalg as _linalg

from certgrad.jaxpr.programs import jaxpr_of, same_program


@dataclass(frozen=True)
class LuSolver:
    """A solve by JAX's LU solver: with the matrix or its transpose, along `axis` of its right-hand side.

    `batch` says which axis of the right-hand side each batch axis of the factors belongs to.
    """

    transposed: bool
    axis: int
    batch: tuple[int, ...]


def lu_solver(closed: Any) -> LuSolver | None:
    """Return how a program solves with factors, a permutation and a right-hand side; None where it is not JAX's LU
    solver.

    It may stand under any number of `vmap`s.
    """
    avals = [v.aval for v in jaxpr_of(closed).invars]
    if len(avals) != 3 or len(avals[0].shape) < 2 or not avals[2].shape:
        return None
    factors, order, right = avals
    square = factors.shape[-2] == factors.shape[-1]
    if not square or order.shape != factors.shape[:-1] or not np.issubdtype(order.dtype, np.integer):
        return None
    axis, count = len(right.shape) - 1, len(factors.shape) - 2
    specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
    for transposed, batch in itertools.product((False, True), itertools.combinations(range(axis), count)):
        if factors.shape[:count] != tuple(right.shape[k] for k in batch):
            continue
        solver: Callable[..., Any] = partial(_solve_one, transposed)
        for k in reversed(range(axis)):
            solver = jax.vmap(solver, (0, 0, 0) if k in batch else (None, None, 0))
        with jax.enable_x64(str(factors.dtype) in ("float64", "complex128")):
            if same_program(jax.make_jaxpr(solver)(*specs), closed):
                return LuSolver(transposed, axis, batch)
    return None


def _solve_one(transposed: bool, lu: Any, order: Any, b: Any) -> Any:
    return _linalg.lu_solve(lu, order, b, trans=int(transposed))
