"""What is written for a reader has the value of what it stands for."""

import pytest
from flint import fmpq

from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import ONE
from certgrad.obligations.terms.power import exp_of, power
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.variables import template
from certgrad.obligations.wording.present import show
from certgrad.obligations.wording.readable import with_tanh


@pytest.fixture(autouse=True)
def _fresh():
    clear_caches()


def entry(name):
    return access(name, (of_var(template(0)),))


def tanh(p):
    e = exp_of(p.scale(2))
    return (e - ONE) * power(e + ONE, -1)


def test_a_hyperbolic_tangent_is_shown_as_one():
    p = entry("x") + entry("y").scale(fmpq(1, 3))
    folded = with_tanh(entry("z") - tanh(p).scale(2))
    assert show(folded) == "z[i] − 2·tanh(x[i] + y[i]/3)"


def test_what_is_none_stays():
    e = exp_of(entry("x").scale(2))
    for p in (power(e + ONE, -1), e * power(e + ONE, -1), e * power(e + ONE, -2), tanh(entry("x")) ** 2):
        assert with_tanh(p) == p
