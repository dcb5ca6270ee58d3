"""A solver that its author marked by `certgrad.solves`: the root of its equation that the solver finds in floats.

The solver runs in float64 at the middle of its arguments. From there Newton's method on the equation comes to a root,
which is proved to exist and enclosed; its tangent is that of the implicit function. Where there is no root near what
the solver returned, nothing is said about the point: it counts as one where the forward has no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from flint import arb, arb_mat

from certgrad.jaxpr.programs import jaxpr_of
from certgrad.numbers.roots import Vector, enclosed_root
from certgrad.obligations.balls import _jaxpr
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import NotDifferentiable, Undecided, Unsupported
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._scalars import ONE, UNKNOWN, ZERO
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Array, Context, Value, filled

NEAR = arb(1) / 1000
"""How far from a root what a solver returns may lie, relative to its largest entry: solvers stop early."""


@primitive("certgrad_solution")
def _solution(ctx: Context, params: Params, *xs: Value) -> Value:
    first, second = params["counts"]
    aval = jaxpr_of(params["solver"]).outvars[0].aval

    def left(z: Value, moves: bool) -> Value:
        return ctx.run(params["residual"], [z, *(x if moves else Value(x.primal) for x in xs[first:])])[0]

    moves = any(x.tangent is not None for x in xs[first:])
    return root_near(params["called"], params["solver"], [*xs[:first], *xs[first + second :]], aval.shape, left, moves)


def root_near(
    called: str,
    solver: object,
    arguments: Sequence[Value],
    shape: Sequence[object],
    left: Callable[[Value, bool], Value],
    moves: bool,
) -> Value:
    """Return the solution of left(z) = 0 near the solver's result at the arguments, with its tangent if it `moves`.

    `left(z, moves)` is the left side of the equation, with the tangents of the arguments or without. Raises
    NotDifferentiable where no such solution is shown to exist, Unsupported where the solver's program is not one for
    concrete sizes.
    """
    sizes = tuple(n for n in shape if isinstance(n, int))
    if len(sizes) != len(shape):
        raise Unsupported("a solver traced at symbolic sizes")
    equation = _Equation(left, sizes)
    start = _run(called, solver, [x.primal for x in arguments]).flatten().tolist()
    root = equation.only_root() or enclosed_root(equation.residual, equation.jacobian, [arb(v) for v in start])
    if root is None or not _is_near(root, start):
        raise NotDifferentiable(f"what {called} returns is near no solution of its equation")
    primal = _shaped(root, sizes)
    if not moves:
        return Value(primal)
    residual_tangent = filled(left(Value(primal), True))
    if any(d is KINK for d in residual_tangent.flat):
        return Value(primal, np.full(sizes, KINK, dtype=object))
    right = [-s.ball(ZERO if d is None else _require_finite(d)) for d in residual_tangent.flat]
    return Value(primal, _shaped(_solved(equation.jacobian(root), right), sizes))


class _Equation:
    """The equation of a solver at fixed arguments, for an unknown of this shape."""

    def __init__(self, left: Callable[[Value, bool], Value], shape: tuple[int, ...]) -> None:
        self.left, self.shape, self.size = left, shape, int(np.prod(shape))

    def _at(self, z: Sequence[object], direction: int | None = None) -> Value:
        """The left side at z, with its derivative along one unknown."""
        tangent = None
        if direction is not None:
            tangent = np.full(self.shape, None, dtype=object)
            tangent.flat[direction] = ONE
        return self.left(Value(_shaped(z, self.shape), tangent), False)

    def residual(self, z: Sequence[object]) -> Vector:
        return [s.ball(_require_finite(v)) for v in self._at(z).primal.flat]

    def jacobian(self, z: Sequence[object]) -> arb_mat:
        columns = [_slopes(self._at(z, k)) for k in range(self.size)]
        return arb_mat([[column[i] for column in columns] for i in range(self.size)])

    def only_root(self) -> Vector | None:
        """The solution of an affine equation: its derivative is known although z is not, so it is constant."""
        try:
            constant = self.jacobian([UNKNOWN] * self.size)
        except (Undecided, NotDifferentiable):
            return None
        return _solved(constant, [-v for v in self.residual([ZERO] * self.size)])


def _solved(matrix: arb_mat, right: Vector) -> Vector:
    try:
        return matrix.solve(arb_mat(len(right), 1, right)).entries()
    except ZeroDivisionError:
        raise Undecided("the equation of a solver does not determine its solution at this precision") from None


def _is_near(root: Vector, found: list[float]) -> bool:
    scale = NEAR * max([1e-9, *map(abs, found)])
    return all(abs(r - v) <= scale for r, v in zip(root, found, strict=True))


def _run(called: str, solver: object, arguments: Sequence[Array]) -> np.ndarray:
    """Return the solver's result in float64 at the middle of its arguments."""
    given = [_middle(x) if x.dtype == object else x for x in arguments]
    try:
        out = np.asarray(_jaxpr.run(solver, given)[0])
    except Exception as error:  # it may refuse a point in its own way: a matrix that it cannot factor
        raise NotDifferentiable(f"{called} raises {type(error).__name__}: {error}") from None
    if not np.isfinite(out).all():
        raise Undecided("a solver that returns no finite number")
    return out


def _middle(x: Array) -> np.ndarray:
    out = np.empty(x.shape, dtype=np.float64)
    out.flat[:] = [float(s.ball(_require_finite(v)).mid()) for v in x.flat]
    return out


def _require_finite(v: object) -> object:
    if not s.finite(v):
        raise Undecided("an argument of a solver is no real number at this precision")
    return v


def _shaped(values: Sequence[object], shape: tuple[int, ...]) -> Array:
    out = np.empty(shape, dtype=object)
    out.flat[:] = values
    return out


def _slopes(left: Value) -> Vector:
    if any(d is KINK for d in filled(left).flat):
        raise Undecided("the equation of a solver has a kink at its solution")
    return [s.ball(ZERO if d is None else _require_finite(d)) for d in filled(left).flat]
