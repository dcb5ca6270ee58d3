"""The magnitudes that an op states: no NaN at their ends, in no dtype; and none is stated without need."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.conform import Conformity, conform
from certgrad.ops import registry
from certgrad.ops._magnitudes import ANY_MAGNITUDE, Magnitudes
from certgrad.report.pages import floats

STATED = [name for name in registry.names() if registry.get(name).magnitudes != ANY_MAGNITUDE]
QUICK = ("weight_norm",)


def lost(found: Conformity) -> list[str]:
    """Where it is NaN at the magnitudes that it states."""
    return [
        f"{part} in {dtype}, {h.what}" for dtype, hard in found.hard.items() for h in hard if h.stated for part in h.nan
    ]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in STATED])
def test_no_nan_at_the_ends_and_nan_beyond_them(name: str) -> None:
    found = conform(registry.get(name))
    assert {*found.magnitudes} == {"float64", "float32", "bfloat16", "float16"}
    assert {*found.parts} == {*found.magnitudes} - {*found.without}  # solvers have no kernel in the narrow ones
    assert found.problems() == []
    beyond = [h for hard in found.hard.values() for h in hard if not h.stated]
    assert any(h.nan for h in beyond), "it states magnitudes that it does not need"


@contextmanager
def stating(name: str, magnitudes: Magnitudes) -> Iterator[None]:
    op = registry.get(name)
    before, op.magnitudes = op.magnitudes, magnitudes
    try:
        yield
    finally:
        op.magnitudes = before


@pytest.mark.slow
def test_an_op_that_states_too_much_is_found_at_the_end() -> None:
    with stating("triplet_margin", Magnitudes(most=3 / 4)):
        found = conform(registry.get("triplet_margin"), ["float32"])
    assert any("NaN in float32 with arguments of the most stated" in problem for problem in found.problems())


@pytest.mark.slow
def test_a_written_reason_excuses_no_nan() -> None:
    with stating("attention", ANY_MAGNITUDE):
        found = conform(registry.get("attention"), ["float16"])
    assert "is NaN in float16 with arguments near ±1e+03" in "; ".join(found.problems())
    assert "is NaN" in "; ".join(dataclasses.replace(found, reason="written").problems())
    assert "## Without a reason" in floats.as_markdown([found], "")
    assert not found.magnitudes


def test_the_report_prints_what_is_stated() -> None:
    found = conform(registry.get("weight_norm"), ["float32", "float16"], hardly=False)
    assert "weight_norm: from 2^-31 up to 2^31 in float32, from 2^-3 up to 2^3 in float16" in floats.as_text([found])
    assert "| `weight_norm` | from 2^-31 up to 2^31 | from 2^-3 up to 2^3 |" in floats.as_markdown([found], "")


def test_the_ends() -> None:
    stated = Magnitudes(most=1 / 4, least=1 / 2)
    assert stated.ends(jnp.float32) == (2.0**-63, 2.0**31)
    assert stated.holds([np.array([0, -(2.0**31)]), np.array([2.0**-63])], jnp.float32)
    assert not stated.holds([np.array([2.0**32])], jnp.float32)
    assert not stated.holds([np.array([2.0**-64])], jnp.float32)
    assert ANY_MAGNITUDE.ends(jnp.float16) == (0, np.inf)
    assert ANY_MAGNITUDE.text(jnp.float16) == "any"


def test_nan_is_searched_for_beside_the_points_whose_exact_value_is_known() -> None:
    with stating("focal", ANY_MAGNITUDE):
        found = conform(registry.get("focal"), ["float32"])
    assert "forward, jvp, vjp is NaN in float32 with arguments near ±1e+24" in found.problems()


def test_a_product_in_another_order_is_no_nan() -> None:
    """1.702 * x is no number of float16 where the logistic function is 0."""

    def before(residuals, dx):
        x, s = residuals
        return s * (1 + 1.702 * x * (1 - s)) * dx

    op = registry.get("quick_gelu")
    assert conform(op, ["float16"]).problems() == []
    assert "jvp, vjp is NaN" in conform(op.with_rules(jvp=before, vjp=before), ["float16"]).problems()[0]


@pytest.mark.slow
def test_large_scores_do_not_exceed_their_own_maximum() -> None:
    """A quotient after the product of queries and keys was fused into each of its uses, and rounded in two ways."""
    found = conform(registry.get("multi_head_attention"), ["float32"])
    assert lost(found) == []
