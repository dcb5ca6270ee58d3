"""At corners, too, the specification says what JAX computes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from certgrad.specification.reading import meaning
from tests.specification.corners import CORNERS, Corner
from tests.specification.numerics import at_arrays, check_sorts, compared, run


@pytest.mark.one_in(44)
@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CORNERS])
def test_a_corner(case: Corner) -> None:
    with jax.enable_x64(True):
        program = jax.make_jaxpr(case.run)(*map(jnp.asarray, case.arrays))
    found = meaning(program)
    check_sorts(found)
    compared(at_arrays(found, case.arrays), run(case.run, case.arrays), case.partial)
