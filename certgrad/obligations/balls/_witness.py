"""The search for a concrete point where an obligation provably fails, and its simplification for a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import Domain, draw_dims, draw_point, nested, seeded
from certgrad.obligations.balls._errors import MalformedRule
from certgrad.obligations.balls._evaluate import PRECISION
from certgrad.obligations.balls._gaps import Gap, Point, settled_gap
from certgrad.obligations.balls._rule import Dims, Input, Programs, Rule
from certgrad.obligations.balls._scalars import Real
from certgrad.obligations.balls._values import Array

RuleAt = Callable[[Dims], Rule]
SHRINK_EVALUATIONS = 120
SHRINK_POINTS = 12


@dataclass(frozen=True)
class WitnessPoint:
    """A point where both sides of an obligation provably differ.

    Arrays are nested lists of Fractions (ints, bools), by input name; seeds by output position. `lhs` and `rhs` are
    scalars that do not overlap; where `undefined`, one of them is nan or infinite and `relative_gap` is empty.
    """

    kind: str
    dims: Dims
    inputs: dict[str, Any]
    tangents: dict[str, Any]
    seeds: dict[str, Any]
    where: str
    lhs: Real
    rhs: Real
    undefined: bool
    used_stop_gradient: bool
    relative_gap: str

    def texts(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """(midpoint, radius) of both sides as decimals, with as many digits as keep the printed balls apart."""
        with s.precision(4 * PRECISION):
            for digits in (15, 30, 60, 120, 300):
                left, right = ball_text(self.lhs, digits), ball_text(self.rhs, digits)
                if self.undefined or not _read(left).overlaps(_read(right)):
                    break
        return left, right


def ball_text(x: Real, digits: int) -> tuple[str, str]:
    """A scalar as decimal midpoint and radius that enclose it; special values by name, with radius 0."""
    if not s.finite(x):
        return str(x), "0"
    text = s.ball(x).str(digits)
    middle, _, radius = text.strip("[]").partition("+/-")
    return middle.strip() or "0", radius.strip() or "0"


def _read(text: tuple[str, str]) -> arb:
    return arb(f"{text[0]} +/- {text[1]}") if text[1] != "0" else arb(text[0])


@dataclass(frozen=True)
class _Found:
    programs: Programs
    point: Point
    gap: Gap

    @property
    def entries(self) -> int:
        return sum(x.size for x in self.point.inputs)


def find_witness(
    kind: str,
    rule: Rule | RuleAt,
    inputs: Sequence[Input],
    *,
    domain: Domain | None = None,
    fits: Callable[[Dims], bool] = lambda dims: True,
    name: str = "",
    precision: int = PRECISION,
    shapes: int = 8,
    points: int = 10,
    undefined: bool = True,
    shrink: bool = True,
) -> WitnessPoint | None:
    """Search for a point inside the domain where the two sides of the obligation `kind` do not overlap.

    `rule` is a Rule, or a function of the concrete dims that makes one (for an axis that depends on the rank).
    `fits` says which dims are allowed. `name` seeds the draws: the same call finds the same witness. A point where
    the forward has no derivative is no witness. With `undefined`, a side that is nan where the forward is smooth is
    one, if nothing better is found. `shapes` and `points` bound the search: that many shapes, points at each.

    Raises:
        MalformedRule: the rule traces at no shape that was drawn.
        Unsupported: a primitive without semantics here.
    """
    rng = seeded(name, kind)
    at = rule if callable(rule) and not isinstance(rule, Rule) else lambda dims: rule
    fallback: _Found | None = None
    failure: MalformedRule | None = None
    traced = 0
    for dims in draw_dims(inputs, rng, fits):
        if traced >= shapes:
            break
        programs = Programs(at(dims), inputs, dims)
        traced += 1
        try:
            for found in _gaps_at(programs, kind, points, rng, domain, precision):
                if not found.gap.undefined:
                    best = _smaller(found, at, kind, name, domain, fits, precision) if shrink else found
                    return _report(kind, _simplified(best, kind, domain, precision) if shrink else best)
                if fallback is None or found.entries < fallback.entries:
                    fallback = found
        except MalformedRule as error:
            failure = failure or error
            continue
    if fallback is not None and undefined:
        return _report(kind, _simplified(fallback, kind, domain, precision) if shrink else fallback)
    if failure is not None:
        raise failure
    return None


def _gaps_at(
    programs: Programs, kind: str, points: int, rng: Any, domain: Domain | None, precision: int
) -> Iterator[_Found]:
    for k in range(points):
        point = draw_point(programs, kind, k, rng, domain)
        if point is None:
            return
        gap = settled_gap(kind, programs, point, precision)
        if gap is not None:
            yield _Found(programs, point, gap)


# a witness for a reader: small dims, then simple numbers


def _smaller(
    found: _Found,
    at: RuleAt,
    kind: str,
    name: str,
    domain: Domain | None,
    fits: Callable[[Dims], bool],
    precision: int,
) -> _Found:
    """The same failure at smaller dims, if a few points show it."""
    inputs = found.programs.inputs
    for dims in _below(found.programs.dims):
        if not fits(dims):
            continue
        programs = Programs(at(dims), inputs, dims)
        try:
            for other in _gaps_at(programs, kind, SHRINK_POINTS, seeded(name, kind, str(dims)), domain, precision):
                if not other.gap.undefined:
                    return other
        except MalformedRule:
            continue
    return found


def _below(dims: Dims) -> Iterator[Dims]:
    """Smaller dims, the smallest first: all 1, all at most 2, then one dim lowered to 1."""
    seen = {(tuple(dims.sizes.items()), tuple(dims.stars.items()))}
    candidates = []
    for n in (1, 2):
        for rank in (0, 1, 2):
            stars = {k: tuple(min(m, n) for m in v[:rank]) for k, v in dims.stars.items()}
            candidates.append(Dims({k: min(m, n) for k, m in dims.sizes.items()}, stars))
    candidates += [Dims({**dims.sizes, k: 1}, dims.stars) for k in dims.sizes]
    for candidate in candidates:
        key = (tuple(candidate.sizes.items()), tuple(candidate.stars.items()))
        if key not in seen:
            seen.add(key)
            yield candidate


def _simplified(found: _Found, kind: str, domain: Domain | None, precision: int) -> _Found:
    """Greedy: tangents and seeds to 0 and 1, inputs to small integers, as long as the gap stays."""
    best = found
    budget = SHRINK_EVALUATIONS
    names = [one.name for one in found.programs.inputs]
    for group in ("seeds", "tangents", "inputs"):
        for which in range(len(getattr(best.point, group))):
            for index in np.ndindex(getattr(best.point, group)[which].shape):
                for value in _simpler(getattr(best.point, group)[which][index], group):
                    if budget == 0:
                        return best
                    budget -= 1
                    point = _replaced(best.point, group, which, index, value)
                    if group == "inputs" and domain is not None:
                        if not domain({n: nested(x) for n, x in zip(names, point.inputs, strict=True)}):
                            continue
                    gap = settled_gap(kind, best.programs, point, precision)
                    if gap is not None and gap.undefined == found.gap.undefined:
                        best = _Found(best.programs, point, gap)
                        break
    return best


def _simpler(value: Any, group: str) -> list[Fraction]:
    if not isinstance(value, Fraction):
        return []
    wanted = [Fraction(0), Fraction(1)] if group != "inputs" else [Fraction(1), Fraction(2), Fraction(-1)]
    if group == "inputs" and value.denominator > 1:
        wanted.append(Fraction(round(value)))
    return wanted[: wanted.index(value)] if value in wanted else wanted


def _replaced(point: Point, group: str, which: int, index: tuple[int, ...], value: Fraction) -> Point:
    arrays: list[Array] = list(getattr(point, group))
    arrays[which] = arrays[which].copy()
    arrays[which][index] = value
    parts = {"inputs": point.inputs, "tangents": point.tangents, "seeds": point.seeds, group: arrays}
    return Point(**parts)


def _report(kind: str, found: _Found) -> WitnessPoint:
    programs, point, gap = found.programs, found.point, found.gap
    moving = [programs.inputs[i].name for i in programs.moving]
    with s.precision(max(ctx.prec, PRECISION)):
        relative = gap.relative
    return WitnessPoint(
        kind=kind,
        dims=programs.dims,
        inputs={one.name: nested(x) for one, x in zip(programs.inputs, point.inputs, strict=True)},
        tangents={n: nested(x) for n, x in zip(moving, point.tangents, strict=False)},
        seeds={str(i): nested(x) for i, x in zip(programs.floats, point.seeds, strict=False)},
        where=gap.where,
        lhs=gap.lhs,
        rhs=gap.rhs,
        undefined=gap.undefined,
        used_stop_gradient=gap.used_stop_gradient,
        relative_gap="" if relative is None else relative.str(3, radius=False),
    )
