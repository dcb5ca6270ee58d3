"""Plots of the difference of both sides of a refuted obligation along a line through its witness."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from certgrad._subject import Subject
from certgrad.obligations.auditing.witnesses import rule_of
from certgrad.obligations.balls import SIDES, Dims, Point, Programs, Side, nested
from certgrad.obligations.certificate import CaseClaim, Certificate, Claim
from certgrad.obligations.generality.instances import Instance, family
from certgrad.obligations.points import inputs_of, inside_domain
from certgrad.signatures.cases import Case

from ._evaluated import BITS, difference, exact, point_along, steps
from .data import Curve, Dot, Plot

REACH = Fraction(2)
SECONDS = 6.0
"""Seconds for one plot. Points that are not reached by then are left out, which makes the plot shorter."""
_NAMES = {
    "jvp_is_derivative": ("the JVP", "the derivative"),
    "vjp_is_adjoint": ("⟨jvp(x, dx), seed⟩", "⟨dx, vjp(x, seed)⟩"),
    "rule_runs_forward": ("the rule's output", "the function"),
}


def witness_plots(subject: Subject, certificate: Certificate) -> list[Plot]:
    """Return a plot for each claim with a witness that can be evaluated."""
    plots = []
    for claim in certificate.claims:
        k, case = next(((k, c) for k, c in enumerate(claim.cases) if c.witness is not None), (0, None))
        if case is None or claim.kind not in SIDES:
            continue
        try:
            plot = _plot(subject, claim, case, subject.cases[k % len(subject.cases)])
        except Exception:  # a wrong rule may raise anything at a point
            plot = None
        if plot is not None:
            plots.append(plot)
    return plots


def _plot(subject: Subject, claim: Claim, case: CaseClaim, declared: Case) -> Plot | None:
    """Return the plot of the difference of both sides along a line through the witness; None if no point has a value.

    The line goes along the witness's tangents; if it has none, or all are 0, all entries move alike. Points nearest to
    the witness are evaluated first, as time may run out; points outside of the domain are left out.
    """
    witness = case.witness
    assert witness is not None
    instance = _instance(subject, declared, {n: _rank(witness.inputs[n]) for n in subject.arg_names})
    if instance is None:
        return None
    dims = Dims(dict(witness.dims))
    programs = Programs(rule_of(subject, instance.keywords(dims.sizes), True), inputs_of(subject, instance), dims)
    inputs = [
        exact(witness.inputs[spec.name], s, spec.kind) for spec, s in zip(programs.inputs, programs.shapes, strict=True)
    ]
    moving = [programs.inputs[i].name for i in programs.moving]
    all_ones = [np.full(programs.shapes[i], Fraction(1), dtype=object) for i in programs.moving]
    tangents = [
        exact(witness.tangents[n], unit.shape) if n in witness.tangents else unit
        for n, unit in zip(moving, all_ones, strict=True)
    ]
    seeds = [exact(s, shape) for s, shape in zip(witness.seeds.values(), programs.output_shapes, strict=False)]
    if not seeds:
        seeds = [np.full(s, Fraction(1), dtype=object) for s in programs.output_shapes]
    all_zero = all(x == 0 for d in tangents for x in d.flat)
    direction, note = (
        (all_ones, "all entries move alike") if all_zero or not witness.tangents else (tangents, "x + t·dx")
    )
    point = Point(inputs, tangents, seeds)
    points: list[tuple[float, float]] = []
    until = time.thread_time() + SECONDS
    for t in sorted(steps(-REACH, REACH), key=abs):
        if time.thread_time() > until:
            break
        moved = point_along(point, programs.moving, direction, t)
        if not _is_in_domain(subject, programs, moved):
            continue
        y = _difference(claim.kind, programs, moved, witness.where)
        if y is not None:
            points.append((round(float(t), 4), y))
    if not points:
        return None
    names = _NAMES[claim.kind]
    if claim.kind == "vjp_is_adjoint" and programs.rule.jvp is None:
        names = ("⟨derivative, seed⟩", names[1])
    dots = [Dot("at the witness", t, y) for t, y in points if t == 0]
    place_text = "" if "⟨" in witness.where else f", {witness.where}"
    return Plot(
        "witness",
        f"{claim.code}: the difference of both sides on a line through the witness{place_text}",
        "t",
        [Curve(f"{names[0]} − {names[1]}", _in_pieces(points))],
        [(0.0, "witness")],
        dots,
        note,
    )


def _difference(kind: str, programs: Programs, point: Point, where: str) -> float | None:
    """Return the difference of both sides at the entry `where`, or at the first one; None if it has no value."""
    try:
        sides, _ = SIDES[kind](programs, point, BITS, False)
    except Exception:  # not differentiable here, or not decided
        return None
    side: Side | None = next((candidate for candidate in sides if candidate[0] == where), sides[0] if sides else None)
    return None if side is None else difference(side[1], side[2])


def _in_pieces(points: Sequence[tuple[float, float]]) -> list[tuple[float, float] | None]:
    """Return the points in order, with None as a gap wherever a step is missing."""
    ordered = sorted(points)
    width = float(2 * REACH) / 80 * 1.5
    out: list[tuple[float, float] | None] = []
    for k, p in enumerate(ordered):
        if k and p[0] - ordered[k - 1][0] > width:
            out.append(None)
        out.append(p)
    return out


def _is_in_domain(subject: Subject, programs: Programs, point: Point) -> bool:
    values = {one.name: nested(x) for one, x in zip(programs.inputs, point.inputs, strict=True)}
    try:
        return inside_domain(subject, values)
    except Exception:  # a point for which that cannot be decided is left out
        return False


def _rank(value: list | str) -> int:
    return 1 + _rank(value[0]) if isinstance(value, list) and value else int(isinstance(value, list))


def _instance(subject: Subject, case: Case, ranks: dict[str, int]) -> Instance | None:
    """Return the family of shapes with the ranks of the witness; None if there is none."""
    wanted = [ranks[n] for n in subject.arg_names]
    families = family(subject, case)
    return next((i for i in (*families.prove, *families.compare) if [len(s) for s in i.inputs] == wanted), None)
