"""Linear relaxations: two affine functions between which a certified scalar lies over a box, by its certified gradient.

Let c be the middle of the box. By the mean value theorem f(x) = f(c) + G·(x − c), where G lies between the bounds of
the gradient over the box. With a slope a in the middle of these bounds, a·(x − c) + low ≤ f(x) ≤ a·(x − c) + high,
where low and high are f(c) ∓ Σ |G_k − a_k|·r_k at its largest, with the radii r of the box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flint import arb

from certgrad._figures import figure
from certgrad.accel._compile import CompiledGraph
from certgrad.accel.bounds._bounds import BITS, Box, _argument, _box, _canonical_dtype, _flat
from certgrad.accel.bounds._enclose import enclose
from certgrad.errors import UsageError
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import Undecided


@dataclass(frozen=True)
class LinearBounds:
    """For every real x in the box: slope · (x − middle) + below ≤ f(x) ≤ slope · (x − middle) + above.

    `slope` and `middle` have an array for each argument that is a box, by its name.
    """

    slope: dict[str, Any]
    middle: dict[str, Any]
    radius: dict[str, Any]
    below: float
    above: float

    @property
    def lower(self) -> float:
        """Return a lower bound of f over the box."""
        return math.nextafter(self.below - self._reach, -math.inf)

    @property
    def upper(self) -> float:
        """Return an upper bound of f over the box."""
        return math.nextafter(self.above + self._reach, math.inf)

    @property
    def _reach(self) -> float:
        terms = [abs(a) * r for n in self.slope for a, r in zip(self.slope[n].flat, self.radius[n].flat, strict=True)]
        return math.fsum(terms) * (1 + 1e-12)

    def picture(self, compiled: CompiledGraph, args: tuple[Any, ...], path: str | Path, points: int = 61) -> Path:
        """Draw both bounds and the graph's value between two opposite corners of the box, and return the path.

        The file is PNG, SVG or PDF by its ending. Raises UsageError without matplotlib.
        """
        canvas = figure("The picture needs", 6, 3.2)
        axes = canvas.subplots()
        positions = np.linspace(-1, 1, points)
        boxes, names = _flat(compiled, args), [a.name for a in compiled.certified.traced.specs.arguments]
        specs = compiled.certified.traced.specs
        values, lines = [], []
        for t in positions:
            arguments = [
                self.middle[n] + t * self.radius[n] if n in self.middle else x
                for n, x in zip(names, boxes, strict=True)
            ]
            typed = [np.asarray(x, _canonical_dtype(d)) for x, d in zip(arguments, specs.dtypes, strict=True)]
            values.append(float(compiled.forward(*specs.nest(typed))))
            lines.append(sum(float((self.slope[n] * t * self.radius[n]).sum()) for n in self.slope))
        axes.fill_between(
            positions, np.add(lines, self.below), np.add(lines, self.above), alpha=0.3, label="between the bounds"
        )
        axes.plot(positions, values, "k", linewidth=1.2, label="value")
        axes.set_xlabel("from one corner of the box to the opposite one")
        axes.legend()
        canvas.savefig(path)
        return Path(path)


def linear_bounds(compiled: CompiledGraph, *args: Any) -> LinearBounds:
    """Return affine bounds of a certified scalar loss over a box, by the mean value theorem and the certified sweep.

    The gradient is enclosed over the box in ball arithmetic. Where a comparison in the sweep is open, such as that of a
    relu, both branches count: this encloses the generalised gradients, so that a maximum needs no derivative. Where a
    comparison of the value itself is open, the value may jump, and there is no such bound.

    Args:
        compiled: from `compile_graph`, of one real number.
        args: the arguments of the function; a `Box` in place of an array of reals.

    Raises:
        UsageError: the graph is not of one real number, no argument is a box, or they do not fit the specs.
        BallError: a comparison of the value is open over the box, or a primitive has no enclosure.
    """
    traced = compiled.certified.traced
    if not traced.ir.scalar_loss:
        raise UsageError(f"{traced.ir.name} does not return one real number, so there is no linear bound. Use bounds.")
    plain = CompiledGraph(compiled.certified)
    names = [a.name for a in traced.specs.arguments]
    flat = [_box(x, n) for x, n in zip(_flat(compiled, args), names, strict=True)]
    varied = [k for k, x in enumerate(flat) if isinstance(x, Box)]
    if not varied:
        raise UsageError("No argument is a box. Put Box(lower, upper) in place of one.")
    middle = {k: flat[k].lower + (flat[k].upper - flat[k].lower) / 2 for k in varied}
    centre = [middle.get(k, x) for k, x in enumerate(flat)]
    typed = [np.asarray(x, _canonical_dtype(d)) for x, d in zip(centre, traced.specs.dtypes, strict=True)]
    value = jax.make_jaxpr(lambda *a: plain._forward(a)[0])(*typed)
    gradient = jax.make_jaxpr(lambda *a: jax.tree.leaves(plain._value_and_grad(a)[0][1]))(*typed)
    moving = [k for k, x in enumerate(traced.specs.dtypes) if np.issubdtype(x, np.floating)]
    with s.precision(BITS):
        box_arguments = [_argument(x) for x in flat]
        enclose(value, box_arguments, decided=True)  # raises where a comparison is open, and the value may jump
        (start,) = enclose(value, [_argument(np.asarray(x)) for x in centre])
        slopes = dict(zip(moving, enclose(gradient, box_arguments), strict=True))
        slope: dict[str, Any] = {}
        radius: dict[str, Any] = {}
        spread = arb(0)  # Σ |G_k − a_k|·r_k at its largest
        for k in varied:
            reach = np.maximum(flat[k].upper - middle[k], middle[k] - flat[k].lower)
            radius[names[k]] = np.where(reach > 0, np.nextafter(reach, np.inf), 0.0)
            slopes_here = np.zeros(middle[k].shape)
            for place in np.ndindex(slopes_here.shape):
                if radius[names[k]][place] == 0:
                    continue
                g = slopes[k][place]
                if not s.finite(g):
                    raise Undecided(f"the derivative with respect to {names[k]} is not known over the box")
                slopes_here[place] = float(s.ball(g).mid())
                spread += abs(s.ball(g) - arb(slopes_here[place])).upper() * arb(float(radius[names[k]][place]))
            slope[names[k]] = slopes_here
        if not s.finite(start.flat[0]):
            raise Undecided("the value in the middle of the box is not known")
        at_middle = s.ball(start.flat[0])
        low, high = (at_middle - spread).lower(), (at_middle + spread).upper()
    return LinearBounds(
        slope,
        {names[k]: middle[k] for k in varied},
        radius,
        math.nextafter(float(low.mid()), -math.inf),
        math.nextafter(float(high.mid()), math.inf),
    )
