"""Each primitive's meaning for all shapes is, at every drawn shape, entry and parameter, what JAX computes."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certgrad.obligations.laws.scalar_derivatives import NoDerivativeError
from certgrad.obligations.meaning.semantics import RULES, UnprovedError
from certgrad.signatures.sizes import NoSizeError
from tests.obligations.meaning.semantics.example import Example
from tests.obligations.meaning.semantics.numerics import Point, compare_derivatives, compare_values, meaning
from tests.obligations.meaning.semantics.table import EXAMPLES

BY_DRAWING = settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


def entry(kind: str, low: float, high: float, grid: int, rng: np.random.Generator) -> fmpq:
    """A rational on a coarse grid, where ties and boundaries are common, or on a fine one, where they are not."""
    if kind != "float":
        return fmpq(int(rng.integers(int(low), int(high) + 1)))
    return fmpq(int(rng.integers(round(low * grid), round(high * grid) + 1)), grid)


@st.composite
def points(draw: st.DrawFn, example: Example, grid: int) -> Point:
    """Sizes by hypothesis, which shrinks them; entries by a seed."""
    sizes = {d: draw(st.integers(example.smallest, example.largest), label=d) for d in example.dims}
    rng = np.random.default_rng(draw(st.integers(0, 2**16), label="seed"))
    entries = {}
    for a in example.arguments:
        for index in np.ndindex(*a.shape(sizes)):
            entries[a.name, index] = entry(a.kind, a.low, a.high, grid, rng)
            if a.kind == "float":
                entries[f"d{a.name}", index] = fmpq(int(rng.integers(-8, 9)), 4)
    return Point(example, sizes, entries)


def parameters(draw: st.DataObject, example: Example) -> dict:
    return {k: draw.draw(st.sampled_from(list(v)), label=k) for k, v in example.choices.items()}


def named(examples: list[Example]) -> list:
    return [pytest.param(e, id=e.id) for e in examples]


@pytest.mark.one_in(140)
@pytest.mark.parametrize("example", named(EXAMPLES))
def test_values(example: Example) -> None:
    compared = 0

    @BY_DRAWING
    @given(st.data())
    def check(data: st.DataObject) -> None:
        nonlocal compared
        try:
            known = meaning(example, parameters(data, example))
        except UnprovedError:
            assert example.refused
            return
        try:
            compared += compare_values(known, data.draw(points(example, 4)))
        except NoSizeError:
            assert example.refused  # it holds a number that only the run of a loop tells

    check()
    assert compared or example.refused, "no entry was compared"


@pytest.mark.one_in(200)
@pytest.mark.parametrize("example", named([e for e in EXAMPLES if e.derivative]))
def test_derivatives(example: Example) -> None:
    @BY_DRAWING
    @given(st.data())
    def check(data: st.DataObject) -> None:
        try:
            known = meaning(example, parameters(data, example))
            compare_derivatives(known, data.draw(points(example, 97)))
        except UnprovedError:
            assert example.refused
        except NoDerivativeError as error:
            pytest.fail(f"no derivative: {error}")

    check()


def test_every_primitive_is_here() -> None:
    """A rule without a test is not trusted."""
    tested = {e.primitive for e in EXAMPLES}
    assert {name for name in RULES if name not in tested} <= UNREACHABLE


UNREACHABLE = {
    "empty",  # undefined until it is written
    "empty2",
    "tridiagonal_solve",  # its example is an open one
    "jax.numpy.signbit",  # a function of the library; tests/obligations/tracing/test_sign_bit.py
    "certgrad_solution",  # tests/jaxpr/test_solves.py
}
