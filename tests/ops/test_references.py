"""Every op against its reference: JAX's own code for the same function."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.ops import Composed, registry
from tests.ops.references import REFERENCES
from tests.ops.sampling import draw, first_of_each

CASES = [(op, case) for op in registry if not isinstance(op, Composed) for case in op.cases]  # those in test_composed
few = settings(max_examples=3, deadline=None, derandomize=True, database=None)


@pytest.mark.one_in(48)
@pytest.mark.parametrize("op, case", first_of_each(CASES))
def test_value_is_that_of_the_reference(op, case, x64):
    first = draw(op, case, 0)
    compiled = jax.jit(lambda *xs: (first.run(*xs), first.like(*xs)))

    @few
    @given(st.integers(0, 2**32 - 1))
    def check(seed):
        got, want = compiled(*draw(op, case, seed).floats)
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=1e-7, atol=1e-9)

    check()


def test_references_are_of_ops():
    assert set(REFERENCES) <= set(registry.names())
