"""The claims at one point: both sides evaluated by balls, and whether they agree.

Where the forward has a seam at the point (branches meet there), its derivative is taken as the common limit of its
derivatives on both sides along the tangent, evaluated very close by; the value must be continuous. By the mean value
theorem, that limit is the derivative.
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
    """The claim fails at the point. The message says how; `gap` is the difference relative to the larger side.

    `sides` are the two numbers that differ, if the failure is of that kind, and `where` says of what they are.
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
    """The programs at one point and one precision. An evaluation that several claims need is made once, in `known`."""

    programs: Programs
    point: Point
    moving: Sequence[int]
    precision: int
    known: dict[str, Any]

    def _once(self, name: str, run: Callable[[], Any]) -> Any:
        """Return the result of `run`, which is kept under the name."""
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
        """Return the outputs of a program, which takes the arguments, then `extra`, then the parameters."""
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
        """Return the forward's evaluation a very short way along the tangent, forwards (1) or backwards (-1)."""

        def run() -> Evaluation:
            inputs = list(self.point.inputs)
            step = fmpq(side, 2**_NEAR_BITS)
            for i, dx in zip(self.moving, self.point.tangents, strict=True):
                inputs[i] = inputs[i] + dx * step
            return self._forward(inputs, max(_NEAR_PRECISION, self.precision))

        return self._once(f"near {side}", run)


def jvp_is_derivative(at: At) -> None:
    """Check that the JVP's output is the derivative of the forward along the tangent, entry by entry."""
    for k, output in enumerate(at.jvp):
        for place in np.ndindex(output.shape):
            slope, seam = derivative(at, k, place)
            sides_text = f"the jvp and the forward's derivative at {named_place(k, place)}"
            equal(output[place], slope, sides_text, loose=seam)


def derivative(at: At, k: int, place: tuple[int, ...]) -> tuple[Real, bool]:
    """Return the derivative of an entry of output k along the tangent, and whether it is a limit at a seam.

    Raises:
        Undecided: more precision may give an answer.
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
    if slope is KINK or slope is UNKNOWN:  # a tie, or a near tie that more bits do not decide: look beside the point
        return _two_sided(at, k, place), True
    if slope is None:
        return ZERO, False
    if not s.finite(slope):
        raise NoDerivative(f"the forward has no derivative at {where}")
    return slope, False


def _two_sided(at: At, k: int, place: tuple[int, ...]) -> Real:
    """Return the derivative at a seam: the slope just after the point, which is that just before it.

    Raises NoDerivative where the slopes differ or the forward jumps, Tied where the tie lasts beside the point.
    """
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
    """Check that <jvp(x, dx), seed> = <dx, vjp(x, seed)>, with the forward's derivative if the rule has no JVP."""
    loose = False
    if at.programs.jvp is not None:
        output_tangents = at.jvp
    else:
        output_tangents = []
        for k, value in enumerate(at.forward.values):
            slopes = np.empty(value.shape, dtype=object)
            for place in np.ndindex(value.shape):
                slopes[place], seam = derivative(at, k, place)
                loose = loose or seam
            output_tangents.append(slopes)
    left, right = inner(output_tangents, at.point.seeds), inner(at.vjp, at.point.tangents)
    equal(left, right, "⟨jvp(x, dx), seed⟩ and ⟨dx, vjp(x, seed)⟩", loose=loose)


def rule_runs_forward(at: At) -> None:
    """Check that the rule's own primal output is the forward's, entry by entry."""
    if at.programs.primal is not None:
        _check_equal_outputs(at.primal, at, "the rule's output")


def forward_equals_reference(at: At) -> None:
    """Check that the forward's output is the reference's, entry by entry."""
    _check_equal_outputs(at.reference, at, "the reference")


def _check_equal_outputs(outputs: Sequence[Array], at: At, what: str) -> None:
    for k, (output, forward_output) in enumerate(zip(outputs, at.forward.values, strict=True)):
        for place in np.ndindex(output.shape):
            equal(
                _as_rational(output[place]),
                _as_rational(forward_output[place]),
                f"{what} and the forward at {named_place(k, place)}",
            )


CLAIMS: dict[str, Callable[[At], None]] = {
    "jvp_is_derivative": jvp_is_derivative,
    "vjp_is_adjoint": vjp_is_adjoint,
    "rule_runs_forward": rule_runs_forward,
    "forward_equals_reference": forward_equals_reference,
}
"""For each kind of claim, its check at a point: it raises Disagreement if the claim fails, Undecided if it is open."""


def inner(left: Sequence[Array], right: Sequence[Array]) -> Real:
    """Return the sum of all products of entries; if an entry on the left is infinite or NaN, that entry."""
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
    """Raise Disagreement where two numbers differ, Undecided where that is open; `what` names them in the message.

    Numbers are equal if their balls overlap and are narrow enough. With `loose`, one number is a limit that was taken
    at a short distance, so that a difference within the agreed distance is none.
    """
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
    """Return whether two finite numbers are within the agreed distance (`AGREEMENT_BITS`); None if that is open."""
    if type(left) is fmpq and type(right) is fmpq and left == right:
        return True
    with s.precision(2 * _NEAR_PRECISION):
        a, b = s.ball(left), s.ball(right)
        gap, scale = abs(a - b), abs(a).max(abs(b)).max(arb(1))
        bound = scale * arb(2) ** -AGREEMENT_BITS
        return True if gap <= bound else False if gap > bound else None


def _text(x: Real) -> str:
    return s.ball(x).str(8, radius=False) if s.finite(x) else str(x)
