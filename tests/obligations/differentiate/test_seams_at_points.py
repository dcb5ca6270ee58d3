"""Where the seams of a term are said to be smooth it has a derivative: random choices, at points on their seams."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

from flint import arb, ctx, fmpq
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.decide.cases import Region
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.differentiate.seams import seam_hypotheses
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly
from certgrad.obligations.terms.power import exp_of, fn, pred, sign_of
from certgrad.obligations.terms.predicates import Sign
from certgrad.obligations.terms.walk import deep_atoms
from tests.obligations.assume.test_implications import decided, drawn, x, y

some = settings(max_examples=120, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
TANGENTS = {"x": "dx", "y": "dy"}
POINTS = [(fmpq(a, 2), fmpq(b, 2)) for a in range(-4, 5) for b in range(-4, 5)]
DIRECTIONS = [(1, 0), (0, 1), (1, 1), (1, -1), (2, -1)]
STEP = fmpq(1, 2**70)

seams = drawn(
    x,
    lambda: -x(),
    lambda: x() - ONE,
    lambda: x() - y(),
    lambda: x() * y(),
    lambda: x() * x() - ONE,
    lambda: x() * x(),
    lambda: -x() * x(),
    lambda: y() + x() * x(),
    lambda: exp_of(x()) - ONE,
    lambda: x() + y(),
)
pieces = drawn(
    lambda: ZERO,
    lambda: ONE,
    x,
    y,
    lambda: x() * x(),
    lambda: x() * y(),
    lambda: x() * x() * x(),
    lambda: x().scale(2) - ONE,
    lambda: exp_of(x()),
    lambda: fn("sin", x()),
    lambda: (x() - y()) * (x() - y()),
    lambda: x() * x() * y(),
)


def chosen(condition: Poly, one: Poly, other: Poly) -> Poly:
    return pred(condition) * one + (ONE - pred(condition)) * other


def _close_to(p: Poly, one: Poly, order: int) -> Poly:
    """What agrees with another term on a seam, and from order 2 on with its slopes."""
    power = ONE
    for _ in range(order):
        power = power * p
    return one + power


simple = st.one_of(
    st.builds(chosen, seams, pieces, pieces),
    st.builds(lambda p, a, k: chosen(p, a, _close_to(p, a, k)), seams, pieces, st.integers(1, 3)),
    st.builds(lambda p, a: p * sign_of(p) * a, seams, pieces),
)
terms = st.one_of(
    simple,
    st.builds(lambda a, b: a + b, simple, simple),
    st.builds(lambda a, b: a * b, simple, pieces),
    st.builds(lambda p, a, b: chosen(p, a, b), seams, simple, pieces),
    st.builds(lambda a: exp_of(a), simple),
)


def at(point: tuple[fmpq, fmpq]) -> Mapping[str, fmpq]:
    return dict(zip("xy", point, strict=True))


def value(poly: Poly, point: tuple[fmpq, fmpq]) -> arb:
    return evaluate(poly, {}, lambda tensor, index: at(point)[tensor], {})


def slopes(poly: Poly, point: tuple[fmpq, fmpq]) -> list[tuple[arb, arb]]:
    """On both sides, in each direction."""
    here = value(poly, point)
    moved = [tuple(z + s * d * STEP for z, d in zip(point, way, strict=True)) for way in DIRECTIONS for s in (1, -1)]
    found = [(value(poly, z) - here) / arb(STEP) for z in moved]  # type: ignore[arg-type]
    return [(ahead, -behind) for ahead, behind in zip(found[::2], found[1::2], strict=True)]


def on_seams(poly: Poly) -> list[tuple[fmpq, fmpq]]:
    """The points at which what a condition compares with 0 is 0."""
    compared = {a.poly for a in deep_atoms(poly) if isinstance(a, Sign)}
    return [z for z in POINTS if any(value(p, z) == 0 for p in compared)]


def has_derivative(poly: Poly, point: tuple[fmpq, fmpq]) -> bool:
    """As far as differences over a small step tell: the same on both sides, and linear in the direction."""
    found = slopes(poly, point)
    (x, _), (y, _) = found[:2]
    linear = [x * a + y * b for a, b in DIRECTIONS]
    return all(abs(p - q) < 1e-6 and abs(p - r) < 1e-6 for (p, q), r in zip(found, linear, strict=True))


@some
@given(terms)
def test_where_no_hypothesis_excludes_a_point_there_is_a_derivative(poly):
    found = seam_hypotheses(poly, TANGENTS, Region(Facts()), ())
    event(f"hypotheses: {len(found)}")
    with ctx.workprec(256):
        for point in on_seams(poly):
            table = lambda tensor, index, point=point: at(point)[tensor]
            try:
                if decided(found, table):
                    assert has_derivative(poly, point), (poly, found, point)
            except UndecidedError:
                continue


@some
@given(terms)
def test_points_off_every_seam_are_not_excluded(poly):
    """Hypotheses are about seams: at drawn points, of which none lies on one, they hold."""
    found = seam_hypotheses(poly, TANGENTS, Region(Facts()), ())
    with ctx.workprec(256):
        for a, b in product((Fraction(7, 19), Fraction(-13, 11)), repeat=2):
            point = fmpq(a.numerator, a.denominator), fmpq(b.numerator, b.denominator) + fmpq(1, 97)
            assert decided(found, lambda tensor, index, point=point: at(point)[tensor]) is not False, (poly, found)
