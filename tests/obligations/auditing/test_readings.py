"""A program as it is stored is the one that is claimed: what the decimals of its literals hide is looked for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("verdicts_alone")

TENTH = np.array([0.1], np.float32)


def rule(forward, slope):
    function = jax.custom_vjp(forward)
    function.defvjp(lambda x: (forward(x), x), lambda x, g: (g * slope(x),))
    return function


@pytest.mark.parametrize(
    ("forward", "slope"),
    [
        (lambda x: (x * TENTH - x * 0.1) * 1e9, lambda x: 0 * x),  # 1.49·x, as 0.1 is stored in 32 bits
        (lambda x: jnp.sin((x * TENTH - x * 0.1) * 1e9), lambda x: 0 * x),
    ],
)
def test_what_a_literal_of_fewer_bits_changes_in_an_output_is_seen(forward, slope):
    found = certgrad.check(rule(forward, slope), "n -> n")
    assert found.verdict == "unproved"
    assert "as float32 stores it" in found.reason or "as float64 stores it" in found.reason


@pytest.mark.parametrize(
    ("forward", "slope"),
    [
        (lambda x: x * TENTH, lambda x: 0.1 + 0 * x),
        (lambda x: 0.1 * x * x, lambda x: 0.2 * x),
        (lambda x: x * 0.3 - x * 0.1 - x * 0.2 + x * x, lambda x: 2 * x),
        (lambda x: 1e-3 * jnp.tanh(0.7 * x), lambda x: 7e-4 * (1 - jnp.tanh(0.7 * x) ** 2)),
    ],
)
def test_rounding_alone_takes_no_proof_away(forward, slope):
    assert certgrad.check(rule(forward, slope), "n -> n").verdict.startswith("proved")
