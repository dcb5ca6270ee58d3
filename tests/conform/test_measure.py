"""What is measured in floats is what it is: units of the dtype, and what conditioning explains told from what it does
not."""

import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from certgrad.conform import PARTS, bounded, conform, devices, explained
from certgrad.conform._measure import _float, max_ulp_error
from certgrad.conform._points import calls, is_in_domain
from certgrad.ops import registry


def test_units_are_those_of_the_dtype() -> None:
    exact = np.array([1, 1.5, 2.0**-10])
    found = np.array([1, 1.5, 2.0**-10], np.float32)
    assert max_ulp_error(found, exact, jnp.float32) == 0
    found[1] += 10 * np.float32(2.0**-23)
    assert max_ulp_error(found, exact, jnp.float32) == 10
    assert max_ulp_error(np.array([1, np.inf, 0], np.float32), exact, jnp.float32) == np.inf
    assert max_ulp_error(np.array([1, np.nan, 0], np.float32), exact, jnp.float32) == np.inf


def test_what_the_dtype_is_too_narrow_for_is_no_error() -> None:
    exact = np.array([1e300, -1e300, 1e-300])
    assert max_ulp_error(np.array([np.inf, -np.inf, 0], np.float32), exact, jnp.float32) == 0
    assert max_ulp_error(np.array([np.inf, np.inf, 0], np.float32), exact, jnp.float32) == np.inf
    assert max_ulp_error(np.zeros(1, np.float32), np.array([1e-300]), jnp.float32) < 1


@pytest.mark.parametrize("name", ["exp", "sqrt", "log1p"])
def test_ops_that_are_accurate(name: str) -> None:
    found = conform(registry.get(name), ["float32", "bfloat16"], hardly=False)
    assert not found.without
    assert {*found.parts["float32"]} == {*PARTS}
    assert all(m.ulps <= 4 for m in found.parts["float32"].values())
    assert not found.problems()


def test_the_domain_is_also_what_the_dtype_makes_of_it() -> None:
    """a + b is no pole, but in float16 it is rounded to one: there the op's own sum is that pole."""
    betaln = registry.get("betaln")
    (call, *_) = calls(betaln, np.random.default_rng(0))
    near = [np.full(shape, x) for shape, x in zip(call.shapes, (-4.25, 0.25 + 2.0**-12), strict=True)]
    assert is_in_domain(call, near, np.float64)
    assert not is_in_domain(call, near, np.float16)
    assert not is_in_domain(call, near, jnp.bfloat16)
    assert is_in_domain(call, [near[0], near[1] + 0.25], np.float16)


def test_hard_arguments_name_an_overflow() -> None:
    found = conform(registry.get("cube"), ["float32"])
    over = [h for h in found.hard["float32"] if h.lost]
    assert [(h.what, h.lost, h.nan) for h in over] == [("arguments near ±2e+19", ["jvp", "vjp"], [])]


@pytest.mark.slow
def test_a_rule_that_cancels_is_told_from_an_op_that_is_ill_conditioned() -> None:
    found = conform(registry.get("i1e"), ["float32"]).hard["float32"]
    assert any(not explained(h.ulps, h.conditioned) for h in found if "near ±7e+04" in h.what)
    lgamma = next(h for h in conform(registry.get("lgamma"), ["float32"]).hard["float32"] if "5e-07 of 1" in h.what)
    assert lgamma.ulps > 1000
    assert lgamma.conditioned > 1000
    assert explained(lgamma.ulps, lgamma.conditioned)


def test_a_ball_around_zero_is_zero_only_if_it_is_small() -> None:
    assert np.isnan(_float(arb(10) ** arb(10) ** 25))
    assert np.isnan(_float(arb(0, 1e-9)))
    assert _float(arb(0, 1e-70)) == 0
    assert _float(arb(3) / 2) == 1.5


def test_what_has_no_kernel_is_said() -> None:
    assert "float16" in conform(registry.get("cholesky"), ["float16"], hardly=False).without


def test_devices() -> None:
    assert "cpu" in devices()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["softmax", "matmul", "relu", "logsumexp", "cross_entropy_labels"])
def test_proved_bounds_hold_of_what_is_measured(name: str) -> None:
    found = bounded(registry.get(name), ["float32"], points=10)
    for proved in found.parts["float32"].values():
        assert not proved.reason
        assert proved.measured <= proved.bound < 50


def test_what_has_no_bound_says_why() -> None:
    found = bounded(registry.get("lgamma"), ["float32"], points=2)
    assert found.parts["float32"]["forward"].reason == "nothing is assumed of how lgamma is rounded"
