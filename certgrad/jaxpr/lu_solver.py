"""JAX's own solver of linear systems by LU factors, recognised by its program."""

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
    """How JAX's LU solver is called: with the matrix or its transpose, along `axis` of the right-hand side.

    `batch` has, for each batch axis of the factors, the axis of the right-hand side that belongs to it.
    """

    transposed: bool
    axis: int
    batch: tuple[int, ...]


def lu_solver(closed: Any) -> LuSolver | None:
    """Return how a program of factors, a permutation and a right-hand side calls JAX's LU solver; None if it does not.

    The solver may be under `vmap`s. JAX's solver is traced in every way that fits the shapes, with the matrix or its
    transpose and each choice of batch axes, and the program is compared with these traces.
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
