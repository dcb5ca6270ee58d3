"""Functions of large arrays, whose sizes are numbers: nothing takes long of what is done with their entries."""

import cProfile
import random
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import certify, trace
from certgrad.graph.points import points, satisfiable


def loss(w: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.sum(jnp.log(x @ w))


def large(shape: tuple[int, ...]) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


@pytest.fixture
def no_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rational for each of a million entries takes a minute."""

    def refused(x: np.ndarray) -> np.ndarray:
        assert x.size < 100_000
        return np.asarray(x)

    monkeypatch.setattr(points, "rationals", refused)
    monkeypatch.setattr(satisfiable, "rationals", refused)


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("no_rationals")
@pytest.mark.parametrize("given", [True, False])
def test_large_arrays_are_looked_at_in_floats(given: bool) -> None:
    w, x = large((1100, 1000)), large((1000, 1100))
    arrays = [jnp.ones(s.shape, s.dtype) for s in (w, x)] if given else [w, x]
    certificate = certify(trace(loss, *arrays))
    assert certificate.verdict == "proved under hypotheses"
    assert any("was seen in float64" in text for text in certificate.assumptions)
    assert certificate.measured == ["one call in float32"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_rationals")
def test_few_points_are_tried_where_each_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(satisfiable, "FLOATS", 10_000_000)
    certificate = certify(trace(lambda x: jnp.sum(jnp.log(x) + jnp.log(-x)), large((1000, 1000))))
    assert certificate.verdict == "unproved"
    (finding,) = certificate.findings
    assert finding.startswith("11 points were tried, and none was found that satisfies all hypotheses")
    assert finding.endswith("with the batch left open, as in `n 3 64 64`, more are tried")


@pytest.mark.slow
@pytest.mark.parametrize("asks", [lambda x: hasattr(x, "_trace"), lambda x: "_trace" in dir(x)])
def test_calls_are_compared_however_large_they_are(asks) -> None:
    """What a function does where it is not traced is seen in calls alone."""

    @jax.custom_vjp
    def own(x):
        return jnp.sin(x) * (1.0 if asks(x) else 2.0)

    own.defvjp(lambda x: (own(x), x), lambda x, g: (g * jnp.cos(x),))
    certificate = certify(trace(lambda w, x: jnp.sum(own(x @ w)), large((1100, 1000)), large((1000, 1100))))
    assert certificate.verdict == "unproved"
    assert "it returns something else" in certificate.findings[0]


@pytest.mark.parametrize("kind", [*points.kinds((3, 3), "float")])
def test_floats_are_of_the_kinds_that_rationals_are(kind: str) -> None:
    x = points.drawn(random.Random(1), kind, (4, 3, 3), "float", exact=False)
    assert x.dtype == np.float64
    rows, turned = x.sum(-1), np.swapaxes(x, -1, -2)
    holds = {
        "positive": lambda: (x > 0).all(),
        "negative": lambda: (x < 0).all(),
        "fractions": lambda: (x > 0).all() and (x < 1).all(),
        "distributions": lambda: np.allclose(rows, 1) and (x > 0).all(),
        "nearly distributions": lambda: np.allclose(rows, 1) and (x > 0).all(),
        "nearly sums of 0": lambda: np.allclose(rows, 0),
        "ordered": lambda: (np.diff(x) >= 0).all(),
        "one-hot": lambda: (rows == 1).all() and (np.sort(x) == [0, 0, 1]).all(),
        "triangular": lambda: (x == np.tril(x)).all(),
        "nearly rows of norm 1": lambda: np.allclose((x * x).sum(-1), 1) and (x == np.tril(x)).all(),
        "positive definite": lambda: np.allclose(x, turned) and (np.linalg.eigvalsh(x) > 0).all(),
        "nearly correlations": lambda: np.allclose(x, turned) and np.allclose(np.diagonal(x, 0, 1, 2), 1),
        "any": lambda: (x > 0).any() and (x < 0).any(),
    }
    assert holds[kind]()


def test_under_a_profiler_it_is_certified_as_without() -> None:
    """What watches calls takes the profiler's place, and gives it back."""
    traced = trace(lambda x: jnp.sum(jnp.sin(x)), "x: n")
    profiler = cProfile.Profile()
    with profiler:
        certificate = certify(traced)
        assert sys.getprofile() is profiler
    assert certificate.verdict == "proved"
