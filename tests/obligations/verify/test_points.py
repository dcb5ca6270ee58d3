"""Points on boundaries: what is observed there, and in what order."""

import pytest

from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._draw import seeded
from certgrad.obligations.balls._evaluate import PRECISION
from certgrad.obligations.verify._case import AtShape, Case
from certgrad.obligations.verify._look import first_shape
from certgrad.obligations.verify._points import GENERIC
from certgrad.ops import registry
from tests.obligations.verify.forging import certificate_of


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["huber", "hypot"])
def test_the_first_distances_are_those_of_all_that_are_observed(name):
    op = registry.get(name)
    ((shape, programs),) = first_shape(op, 0)
    with s.precision(PRECISION):
        here = AtShape(Case(op, op.cases[0], certificate_of(name), 0), shape, programs)
        point = here.space.draw(GENERIC, seeded(name), lambda inputs: here.holds([], inputs))
        every = [*map(str, here.watched(point))]  # a ball does not equal itself
        assert every
        for k in range(len(every) + 1):
            few = [*map(str, here.watched(point, k))]
            assert len(few) >= k
            assert few == every[: len(few)]
        assert len(here.watched(point, 1)) < len(every)
