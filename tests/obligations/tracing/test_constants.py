"""Constants of numpy's that are traced with 64 bits, and computed with in 32."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad

WEIGHTS = np.array([1.0, 2.0, 3.0])


def weighted(scale):
    rule = jax.custom_vjp(lambda x: x * WEIGHTS)
    rule.defvjp(lambda x: (x * WEIGHTS, None), lambda _, g: (scale * g * WEIGHTS,))
    return rule


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("signature", "verdict"), [("3 -> 3", "proved"), ("n -> n", "proved at sizes")])
def test_a_rule_with_a_constant_of_numpy(signature, verdict, capfd):
    """At n = 1 the function returns another shape than is declared, of which nothing is claimed."""
    report = certgrad.check(weighted(1), signature)
    assert (report.verdict, report.sizes) == (verdict, [] if verdict == "proved" else [{"n": 3}])
    assert certgrad.check(weighted(2), signature).verdict == "refuted"
    assert capfd.readouterr().err == ""


def test_a_function_can_be_called_after_its_audit():
    """In either width, whichever was first."""
    x = np.ones(3, "float32")
    for wide in (True, False, True):
        with jax.enable_x64(wide):
            jax.make_jaxpr(lambda x: x * WEIGHTS)(x)
        assert (jnp.asarray(x) + WEIGHTS).dtype == np.float32
        assert jax.jit(lambda x: x / WEIGHTS)(x).dtype == np.float32
