"""Solvers that their author marked by `certgrad.solves`: the root of the equation that a solver finds in floats.

The solver runs in float64 at the middle of its arguments. From its result, Newton's method on the equation leads to a
root, which is proved to exist and enclosed; the tangent of the root z follows from F(z, x) = 0 by the implicit function
theorem. Where no root is near the solver's result, the point counts as one where the forward has no derivative, so that
nothing is said about it.
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
"""How far the result of a solver may be from a root, relative to its largest entry: solvers stop early."""


@primitive("certgrad_solution")
def _solution(ctx: Context, params: Params, *xs: Value) -> Value:
    """Return the solution of the declared equation that is near the result of the marked solver.

    The operands are constants of the solver, constants of the equation (`counts` of each), then the arguments of both.
    """
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
    """Return the solution z of left(z) = 0 near the solver's result at the arguments, with its tangent if it `moves`.

    `left(z, moves)` is the left side of the equation, with the tangents of its other arguments if `moves`, else with
    these constant. The tangent dz solves J·dz = −d, where J is the Jacobian of the left side in z, and d its tangent at
    constant z. `called` names the solver in messages; `shape` is that of z.

    Raises:
        NotDifferentiable: no such solution is shown to exist.
        Unsupported: the solver is traced at symbolic sizes.
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
    """The equation of a solver, its other arguments constant, for an unknown z of this shape."""

    def __init__(self, left: Callable[[Value, bool], Value], shape: tuple[int, ...]) -> None:
        self.left, self.shape, self.size = left, shape, int(np.prod(shape))

    def _at(self, z: Sequence[object], direction: int | None = None) -> Value:
        """Return the left side at z, with its derivative in the entry number `direction` of z, if that is given."""
        tangent = None
        if direction is not None:
            tangent = np.full(self.shape, None, dtype=object)
            tangent.flat[direction] = ONE
        return self.left(Value(_shaped(z, self.shape), tangent), False)

    def residual(self, z: Sequence[object]) -> Vector:
        """Return the left side at z, flattened."""
        return [s.ball(_require_finite(v)) for v in self._at(z).primal.flat]

    def jacobian(self, z: Sequence[object]) -> arb_mat:
        """Return the derivatives of the left side at z: one column for each entry of z."""
        columns = [_slopes(self._at(z, k)) for k in range(self.size)]
        return arb_mat([[column[i] for column in columns] for i in range(self.size)])

    def only_root(self) -> Vector | None:
        """Return the solution of an affine equation; None for any other equation.

        The equation is affine if its Jacobian has a value at an unknown z: so it does not depend on z.
        """
        try:
            constant = self.jacobian([UNKNOWN] * self.size)
        except (Undecided, NotDifferentiable):
            return None
        return _solved(constant, [-v for v in self.residual([ZERO] * self.size)])


def _solved(matrix: arb_mat, right: Vector) -> Vector:
    """Return x of matrix·x = right. Raises Undecided where the matrix may be singular."""
    try:
        return matrix.solve(arb_mat(len(right), 1, right)).entries()
    except ZeroDivisionError:
        raise Undecided("the equation of a solver does not determine its solution at this precision") from None


def _is_near(root: Vector, found: list[float]) -> bool:
    """Return whether the solver's result is within `NEAR` of the root, relative to its largest entry."""
    scale = NEAR * max([1e-9, *map(abs, found)])
    return all(abs(r - v) <= scale for r, v in zip(root, found, strict=True))


def _run(called: str, solver: object, arguments: Sequence[Array]) -> np.ndarray:
    """Return the solver's result in float64 at the middle of its arguments."""
    float_arguments = [_middle(x) if x.dtype == object else x for x in arguments]
    try:
        out = np.asarray(_jaxpr.run(solver, float_arguments)[0])
    except Exception as error:  # a solver may reject a point, such as a matrix that it cannot factor
        raise NotDifferentiable(f"{called} raises {type(error).__name__}: {error}") from None
    if not np.isfinite(out).all():
        raise Undecided("a solver that returns no finite number")
    return out


def _middle(x: Array) -> np.ndarray:
    """Return the midpoints of scalars in float64."""
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
    """Return the tangent of the left side, flattened. Raises Undecided at a kink."""
    if any(d is KINK for d in filled(left).flat):
        raise Undecided("the equation of a solver has a kink at its solution")
    return [s.ball(ZERO if d is None else _require_finite(d)) for d in filled(left).flat]
