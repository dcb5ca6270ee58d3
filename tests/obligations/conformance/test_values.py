"""Programs evaluated at numbers."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.obligations.conformance._values import Setting, run
from certgrad.obligations.tracing.jax_internals import abstract, trace, wide_floats


def test_what_jax_computes_is_computed_in_64_bits() -> None:
    """The largest of the windows of 1 + 1e-12, whatever the caller's configuration."""
    with wide_floats():
        program = trace(
            lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,), "VALID"), [abstract((4,), "float64")]
        )
    (found,) = run(program, [np.full(4, 1 + 1e-12)], Setting())
    assert found.tolist() == [1 + 1e-12] * 2
