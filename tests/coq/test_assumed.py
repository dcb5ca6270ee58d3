"""What theorems assume of functions that Coq lacks is true: at points, by the balls of its functions."""

from functools import partial

import pytest
from flint import arb, fmpq

from certgrad.coq._statements import ASSUMPTIONS
from certgrad.obligations.balls.statements import BALLS

STEP = arb(10) ** -5


def value(name, *arguments):
    return BALLS.apply(name, arguments)


def slope(f, x):
    return (f(x + STEP) - f(x - STEP)) / (2 * STEP)


SAID = {
    "lgamma": (partial(value, "lgamma"), partial(value, "digamma")),
    "digamma": (partial(value, "digamma"), lambda x: value("polygamma", fmpq(1), x)),
    "erf_inv": (partial(value, "erf_inv"), lambda x: arb.pi().sqrt() / 2 * (value("erf_inv", x) ** 2).exp()),
    "polygamma": (lambda x: value("polygamma", fmpq(2), x), lambda x: value("polygamma", fmpq(3), x)),
    "igamma": (
        lambda x: value("igamma", arb(1.25), x),
        lambda x: ((arb(1.25) - 1) * x.log() - x - value("lgamma", arb(1.25))).exp(),
    ),
    "bessel_i0e": (lambda x: abs(x).exp() * value("bessel_i0e", x), lambda x: abs(x).exp() * value("bessel_i1e", x)),
    "bessel_i1e": (
        lambda x: abs(x).exp() * value("bessel_i1e", x),
        lambda x: abs(x).exp() * (value("bessel_i0e", x) - value("bessel_i1e", x) / x),
    ),
}
"""By function: what the hypothesis differentiates, and what it says the derivative is."""


def test_each_hypothesis_is_tried():
    assert SAID.keys() == ASSUMPTIONS.keys()


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("x", [0.3, 0.9, -0.4])
def test_hypotheses_hold_at_points(name, x):
    if name == "igamma":
        x = abs(x)
    function, derivative = SAID[name]
    assert abs(float(slope(function, arb(x)) - derivative(arb(x)))) < 1e-5 * max(1.0, abs(float(derivative(arb(x)))))


def test_the_derivative_of_igamma_in_its_first_argument():
    a, x = arb(1.25), arb(0.7)
    assert abs(float(slope(lambda b: value("igamma", b, x), a) - value("igamma_grad_a", a, x))) < 1e-8
