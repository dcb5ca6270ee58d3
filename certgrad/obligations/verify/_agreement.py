"""The claims at one point: both sides evaluated by balls, and whether they agree.

Where the forward has a seam at the point, its derivative there is what the derivatives close by, on both sides along
the tangent, tend to; the value must be continuous. By the mean value theorem that is the derivative, if it exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, fmpq

from certgrad.jaxpr.at_shapes import Programs
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import NotDifferentiable, Undecided
from certgrad.obligations.balls._evaluate import PRECISION, Evaluation, evaluate
from certgrad.obligations.balls._gaps import named_place
from certgrad.obligations.balls._scalars import UNKNOWN, ZERO, Real
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Array
from certgrad.obligations.verify._points import Point

AGREEMENT_BITS = 400
"""Two sides agree where they differ by at most 2**-400 of the larger one, or of 1 if both are smaller."""
PRECISIONS = (PRECISION, 4 * PRECISION, 16 * PRECISION)
_NEAR_BITS = 1200
"""The distance of points beside a seam is 2 to the minus this."""
_NEAR_PRECISION = 4096


class Disagreement(Exception):
    """The claim fails at the point. The message says how; `gap` is by how much, relative to the larger side.

    `sides` are the two numbers, at `where`, if there are two.
    """

    def __init__(
        self, message: str, gap: float = math.inf, sides: tuple[Real, Real] | None = None, where: str = ""
    ) -> None:
        super().__init__(message)
        self.gap, self.sides, self.where = gap, sides, where


class NoDerivative(Disagreement):
    """The forward has no derivative at the point, or no value."""


class Unbounded(Undecided):
    """A side may be infinite or undefined: no ball holds it."""


class Tied(Undecided):
    """A comparison of the forward stays undecided close by as well: irrational numbers that are equal all around the
    point.
    """


@dataclass(frozen=True, eq=False)
class At:
    """The programs at one point and one precision; what several claims need is evaluated once."""

    programs: Programs
    point: Point
    moving: Sequence[int]
    precision: int
    known: dict[str, Any]

    def _once(self, name: str, run: Callable[[], Any]) -> Any:
        if name not in self.known:
            self.known[name] = run()
        return self.known[name]

    @property
    def forward(self) -> Evaluation:
        return self._once("forward", lambda: self._forward(self.point.inputs, self.precision))

    def _forward(self, inputs: Sequence[Array], precision: int) -> Evaluation:
        tangents = self.point.along(self.moving)
        return evaluate(self.programs.forward, inputs, tangents, precision=precision, keep_stopped=True)

    def _values(self, name: str, extra: Sequence[Array]) -> list[Array]:
        count = len(self.programs.shapes)
        args, params = self.point.inputs[:count], self.point.inputs[count:]
        program = self.programs.all()[name]
        return self._once(name, lambda: evaluate(program, [*args, *extra, *params], precision=self.precision).values)

    @property
    def jvp(self) -> list[Array]:
        return self._values("jvp", self.point.tangents)

    @property
    def vjp(self) -> list[Array]:
        return self._values("vjp", self.point.seeds)

    @property
    def primal(self) -> list[Array]:
        return self._values("primal", [])

    @property
    def reference(self) -> list[Array]:
        return self._values("reference", [])

    def near(self, side: int) -> Evaluation:
        """The forward a very short way along the tangent, forwards (1) or backwards (-1)."""

        def run() -> Evaluation:
            inputs = list(self.point.inputs)
            step = fmpq(side, 2**_NEAR_BITS)
            for i, dx in zip(self.moving, self.point.tangents, strict=True):
                inputs[i] = inputs[i] + dx * step
            return self._forward(inputs, max(_NEAR_PRECISION, self.precision))

        return self._once(f"near {side}", run)


def jvp_is_derivative(at: At) -> None:
    """The JVP's output is the derivative of the forward along the tangent, entry by entry."""
    for k, got in enumerate(at.jvp):
        for place in np.ndindex(got.shape):
            slope, seam = derivative(at, k, place)
            what = f"the jvp and the forward's derivative at {named_place(k, place)}"
            equal(got[place], slope, what, loose=seam)


def derivative(at: At, k: int, place: tuple[int, ...]) -> tuple[Real, bool]:
    """Return the derivative of one entry of an output along the tangent, and whether it is a limit at a seam.

    Raises:
        NoDerivative: the forward is not defined there, or has no derivative.
    """
    try:
        forward = at.forward
    except NotDifferentiable as error:
        raise NoDerivative(str(error)) from None
    where = named_place(k, place)
    value: Any = forward.values[k][place]
    slope: Any = forward.tangents[k][place]
    if value is UNKNOWN:
        raise Unbounded(where)
    if slope is UNKNOWN and at.precision == PRECISION:
        raise Undecided(where)
    if not s.finite(value):
        raise NoDerivative(f"the forward is not defined at {where}")
    if slope is KINK or slope is UNKNOWN:  # more bits did not tell a tie from a near tie: look beside it
        return _two_sided(at, k, place), True
    if slope is None:
        return ZERO, False
    if not s.finite(slope):
        raise NoDerivative(f"the forward has no derivative at {where}")
    return slope, False


def _two_sided(at: At, k: int, place: tuple[int, ...]) -> Real:
    where = named_place(k, place)
    value = at.forward.values[k][place]
    sides = []
    for side in (1, -1):
        near = at.near(side)
        slope = near.tangents[k][place]
        slope = ZERO if slope is None else slope
        if slope is UNKNOWN and s.finite(value):
            raise Tied(where)
        if slope is KINK or not s.finite(slope) or not s.finite(near.values[k][place]):
            raise NoDerivative(f"the forward has no derivative at {where}")
        if not _close(near.values[k][place], value):
            raise NoDerivative(f"the forward jumps at {where}")
        sides.append(slope)
    if not _close(*sides):
        raise NoDerivative(f"the forward has a kink at {where}: {_text(sides[1])} and {_text(sides[0])} on its sides")
    return sides[0]


def vjp_is_adjoint(at: At) -> None:
    """<jvp(x, dx), seed> = <dx, vjp(x, seed)>, with the forward's derivative where the rule has no JVP."""
    loose = False
    if at.programs.jvp is not None:
        moved = at.jvp
    else:
        moved = []
        for k, value in enumerate(at.forward.values):
            slopes = np.empty(value.shape, dtype=object)
            for place in np.ndindex(value.shape):
                slopes[place], seam = derivative(at, k, place)
                loose = loose or seam
            moved.append(slopes)
    left, right = inner(moved, at.point.seeds), inner(at.vjp, at.point.tangents)
    equal(left, right, "⟨jvp(x, dx), seed⟩ and ⟨dx, vjp(x, seed)⟩", loose=loose)


def rule_runs_forward(at: At) -> None:
    """The rule's own primal output is the forward's, entry by entry."""
    if at.programs.primal is not None:
        _check_equal_outputs(at.primal, at, "the rule's output")


def forward_equals_reference(at: At) -> None:
    """The forward's output is the reference's, entry by entry."""
    _check_equal_outputs(at.reference, at, "the reference")


def _check_equal_outputs(outputs: Sequence[Array], at: At, what: str) -> None:
    for k, (got, wanted) in enumerate(zip(outputs, at.forward.values, strict=True)):
        for place in np.ndindex(got.shape):
            equal(
                _as_rational(got[place]),
                _as_rational(wanted[place]),
                f"{what} and the forward at {named_place(k, place)}",
            )


CLAIMS: dict[str, Callable[[At], None]] = {
    "jvp_is_derivative": jvp_is_derivative,
    "vjp_is_adjoint": vjp_is_adjoint,
    "rule_runs_forward": rule_runs_forward,
    "forward_equals_reference": forward_equals_reference,
}


def inner(left: Sequence[Array], right: Sequence[Array]) -> Real:
    total: Real = ZERO
    for x, y in zip(left, right, strict=True):
        for a, b in zip(x.flat, y.flat, strict=True):
            if not s.finite(a) and a is not UNKNOWN:
                return a
            total = s.add(total, s.mul(a, s.rational(b)))
    return total


def _as_rational(x: Any) -> Real:
    return fmpq(int(x)) if isinstance(x, np.generic | bool | int) else x


def equal(left: Real, right: Real, what: str, loose: bool = False) -> None:
    """Raise Disagreement, or Undecided, unless the two are equal; `loose` says that one is a limit."""
    if left is UNKNOWN or right is UNKNOWN:
        raise Unbounded(what)
    if not s.finite(left) or not s.finite(right):
        raise Disagreement(f"{what}: {_text(left)} and {_text(right)}", sides=(left, right), where=what)
    if (loose or s.overlap(left, right)) and _close(left, right):
        return
    if (loose and _is_within_agreed_distance(left, right) is None) or s.overlap(left, right):
        raise Undecided(what)
    raise Disagreement(
        f"{what} differ: {_text(left)} and {_text(right)}", _relative_gap(left, right), (left, right), what
    )


def _relative_gap(left: Real, right: Real) -> float:
    a, b = s.ball(left), s.ball(right)
    return float((abs(a - b) / abs(a).max(abs(b)).max(arb(2) ** -200)).mid())


def _close(left: Real, right: Real) -> bool:
    return _is_within_agreed_distance(left, right) is True


def _is_within_agreed_distance(left: Real, right: Real) -> bool | None:
    """Whether two finite numbers are certainly within the agreed distance; None if that is open."""
    if type(left) is fmpq and type(right) is fmpq and left == right:
        return True
    with s.precision(2 * _NEAR_PRECISION):
        a, b = s.ball(left), s.ball(right)
        gap, scale = abs(a - b), abs(a).max(abs(b)).max(arb(1))
        bound = scale * arb(2) ** -AGREEMENT_BITS
        return True if gap <= bound else False if gap > bound else None


def _text(x: Real) -> str:
    return s.ball(x).str(8, radius=False) if s.finite(x) else str(x)
