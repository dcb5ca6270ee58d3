"""`certgrad.solves`: a user's own solver together with the equation that its result satisfies.

In a trace the solver is one primitive whose parameters are two programs, the solver's and the residual's, so that a
proof can use both. Running the primitive runs the solver's program alone. Like `linear`, this uses jax.extend.core and
the registration tables of jax.interpreters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.core import trace_state_clean
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from certgrad.errors import UsageError
from certgrad.jaxpr.programs import jaxpr_of

F = TypeVar("F", bound=Callable)
NAME = "certgrad_solution"
"""The primitive. Its operands are the values that the solver captures, those that the residual captures, and the
arguments."""


def solves(residual: Callable) -> Callable[[F], F]:
    """Say that a solver returns a solution z of `residual(z, *args, **kwargs) = 0`.

    @certgrad.solves(lambda z, w, x: z - jnp.tanh(w @ z + x))
    def fixed_point(w, x):
        return jax.lax.fori_loop(0, 50, lambda _, z: jnp.tanh(w @ z + x), jnp.zeros_like(x))

    The solver runs as it is: under `jit`, `vmap` and differentiation too, where its own program is transformed. Inside
    a derivative rule that certgrad proves, its result counts as a solution of the equation, whatever the program does;
    that it is one is then a hypothesis of the proof, listed with the others.

    Args:
        residual: takes what the solver returned, then the solver's own arguments; returns an array of the solution's
            shape, which is 0 where the equation holds. It is traced, and never run.

    Returns a decorator for the solver, a function that returns one float array.

    Raises:
        UsageError: when traced, the solver returns something else than one float array, or the residual does not
            return a float array of its shape.
    """

    def mark(solver: F) -> F:
        @functools.wraps(solver)
        def marked(*args: Any, **kwargs: Any) -> Any:
            return _call(solver, residual, args, kwargs)

        return marked  # type: ignore[return-value]

    return mark


def _call(solver: Callable, residual: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return the solver's result: by the primitive while JAX traces, else by a plain call.

    A solver that needs the values of its arguments cannot be traced, and is called as it is. Raises UsageError where
    solver and residual do not each return one float array, of the same shape.
    """
    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    moving = [k for k, x in enumerate(leaves) if isinstance(x, (jax.Array, np.ndarray, np.generic))]
    if trace_state_clean() and not any(isinstance(leaves[k], jax.core.Tracer) for k in moving):
        return solver(*args, **kwargs)

    def arguments(arrays: Sequence[Any]) -> tuple[tuple, dict[str, Any]]:
        full = list(leaves)
        for k, x in zip(moving, arrays, strict=True):
            full[k] = x
        return jax.tree_util.tree_unflatten(tree, full)

    def run(*arrays: Any) -> Any:
        positional, named = arguments(arrays)
        return solver(*positional, **named)

    def left(z: Any, *arrays: Any) -> Any:
        """Return the residual of the equation at z."""
        positional, named = arguments(arrays)
        return residual(z, *positional, **named)

    arrays = [leaves[k] for k in moving]
    name = getattr(solver, "__name__", "")
    name, shown = (name, f"solver {name}") if name.isidentifier() else ("solution", "solver")
    try:
        solving, of_solver = _traced(run, arrays)
    except jax.errors.ConcretizationTypeError:
        return solver(*args, **kwargs)  # the solver needs values: it runs if they are known, or raises the same error
    (z,) = _one_float(solving, f"The {shown}")
    equation, of_residual = _traced(left, [z, *arrays], keep=1)
    (r,) = _one_float(equation, f"The residual of the {shown}")
    if tuple(r.shape) != tuple(z.shape):
        raise UsageError(
            f"The residual of the {shown} has shape ({', '.join(map(str, r.shape))}), but what it returns has shape "
            f"({', '.join(map(str, z.shape))}). Return one equation for each unknown."
        )
    counts = (len(of_solver), len(of_residual))
    (out,) = _solution_p.bind(
        *of_solver, *of_residual, *arrays, solver=solving, residual=equation, counts=counts, called=name
    )
    return out


def _traced(function: Callable, args: Sequence[Any], keep: int = 0) -> tuple[Any, list[Any]]:
    """Return the program of a function, and the traced values that it captures.

    The captured values are operands of the program, after the first `keep` arguments and before the others, as a
    parameter of a primitive may not hold tracers.
    """
    closed = jax.make_jaxpr(function)(*args)
    captured = [c for c in closed.consts if isinstance(c, jax.core.Tracer)]
    if not captured:
        return closed, []
    places = [k for k, c in enumerate(closed.consts) if isinstance(c, jax.core.Tracer)]
    inner: Any = jaxpr_of(closed)
    consts = list(closed.consts)

    def over(*values: Any) -> Any:
        full = list(consts)
        rest = list(values)
        for k, c in zip(places, rest[keep : keep + len(places)], strict=True):
            full[k] = c
        return jax.core.eval_jaxpr(inner, full, *rest[:keep], *rest[keep + len(places) :])

    return jax.make_jaxpr(over)(*args[:keep], *captured, *args[keep:]), captured


def _one_float(closed: Any, what: str) -> list[Any]:
    """Return the type of a program's one output. Raises UsageError unless that is one float array."""
    avals = closed.out_avals
    if len(avals) != 1 or not jnp.issubdtype(avals[0].dtype, jnp.floating):
        outputs = f"{len(avals)} arrays" if len(avals) != 1 else f"an array of {avals[0].dtype}"
        raise UsageError(
            f"{what} returns {outputs}, but it must return one float array. Mark the part of it that does."
        )
    return [jax.ShapeDtypeStruct(avals[0].shape, avals[0].dtype)]


_solution_p = Primitive(NAME)
_solution_p.multiple_results = True


def _run(*args: Any, solver: Any, residual: Any, counts: tuple[int, int], called: str) -> list[Any]:
    """Run the solver's program, without the values that the residual captures."""
    first, second = counts
    return jaxpr_as_fun(solver)(*args[:first], *args[first + second :])


def _shapes(*avals: Any, solver: Any, **_: Any) -> tuple[list[Any], Any]:
    return solver.out_avals, solver.effects


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    """Return outputs and tangents by the derivative of the solver's own program."""
    moving = [k for k, t in enumerate(tangents) if type(t) is not ad.Zero]

    def of_moving(*values: Any) -> list[Any]:
        full = list(primals)
        for k, value in zip(moving, values, strict=True):
            full[k] = value
        return _run(*full, **params)

    return jax.jvp(of_moving, [primals[k] for k in moving], [tangents[k] for k in moving])


def _batch(
    args: Sequence[Any], axes: Sequence[Any], *, solver: Any, residual: Any, counts: tuple[int, int], called: str
) -> tuple[list[Any], list[int]]:
    """Return the primitive for a batch: solver and residual are both mapped, so that each element has its equation."""
    first, second = counts
    size = next(x.shape[a] for x, a in zip(args, axes, strict=True) if a is not None)
    of_solver, of_residual, rest = args[:first], args[first : first + second], args[first + second :]
    along = axes[:first], axes[first : first + second], axes[first + second :]
    running = jax.vmap(jaxpr_as_fun(solver), in_axes=(*along[0], *along[2]), axis_size=size)
    leaving = jax.vmap(jaxpr_as_fun(residual), in_axes=(0, *along[1], *along[2]), axis_size=size)
    solving = jax.make_jaxpr(running)(*of_solver, *rest)
    (z,) = _one_float(solving, called)
    equation = jax.make_jaxpr(leaving)(z, *of_residual, *rest)
    return _solution_p.bind(*args, solver=solving, residual=equation, counts=counts, called=called), [0]


_solution_p.def_impl(_run)
_solution_p.def_effectful_abstract_eval(_shapes)
ad.primitive_jvps[_solution_p] = _jvp
batching.primitive_batchers[_solution_p] = _batch
mlir.register_lowering(_solution_p, mlir.lower_fun(_run, multiple_results=True))
