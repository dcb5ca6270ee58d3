"""A function that may be written has the same value by each arithmetic."""

import jax
import numpy as np
import pytest
from flint import fmpq

from certgrad.language import places
from certgrad.language import tree as t
from certgrad.language.floats import Floats
from certgrad.language.parse import FUNCTIONS
from certgrad.language.reader import Reader, Scope
from certgrad.obligations.balls.statements import BALLS


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function(name: str) -> None:
    term, at = t.Apply(name, (t.Array("x"),)), 1.25 if name == "acosh" else -0.75 if name == "logistic" else 0.625
    by_floats = Reader(Floats()).read(term)(Scope({"x": np.asarray(at)}, {}))
    exactly = np.asarray(fmpq(*at.as_integer_ratio()), dtype=object)
    with jax.enable_x64(True):
        found = places.question(t.Compare("=", term, t.ZERO), {"x": np.asarray(at)}, {}).counted()
        assert found.sides is not None and float(found.sides[0]) == pytest.approx(by_floats, rel=1e-9)
    assert float(Reader(BALLS).read(term)(Scope({"x": exactly}, {}))) == pytest.approx(by_floats, rel=1e-9)
