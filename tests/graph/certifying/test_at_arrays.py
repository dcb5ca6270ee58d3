"""Where arrays are given, a certificate says whether its hypotheses hold of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import certify, trace
from certgrad.graph.wording.report import render_markdown, render_text

pytestmark = pytest.mark.usefixtures("proofs_alone")


def loss(w, x, labels):
    kept = jnp.log(jax.nn.relu(x @ w))
    return -jnp.sum(jnp.take_along_axis(kept, labels[:, None], 1))


W, X = np.eye(3, dtype=np.float32), np.ones((4, 3), np.float32)


def test_all_hold() -> None:
    certificate = certify(trace(loss, W, X, np.array([0, 1, 2, 0])))
    assert certificate.verdict == "proved under hypotheses"
    assert len(certificate.at_arrays) == len(certificate.hypotheses) > 0
    assert all(not found.failing and not found.unknown for found in certificate.at_arrays)
    assert "every element of `x @ w` ≠ 0: holds for your arrays" in " ".join(render_text(certificate).split())


def test_what_fails_comes_first() -> None:
    x = X.copy()
    x[2, 1] = 0
    certificate = certify(trace(loss, W, x, np.array([0, 1, 2, 3])))
    text = " ".join(render_text(certificate).split())
    assert "Nothing is claimed of your arrays: 3 of 4 hypotheses fail there." in text
    assert "`x @ w` ≠ 0: fails at 1 of 12 places of your arrays, first at [2, 1], where 0 ≠ 0 is asked" in text
    assert "fails at 1 of 4 places of your arrays, first at [3, 0, 0]" in text
    listed = text.index(": fails at"), text.index(": holds for")
    assert listed[0] < listed[1]
    assert "**Nothing is claimed of your arrays: 3 of 4 hypotheses fail there.**" in render_markdown(certificate)


def test_at_every_step_of_a_loop() -> None:
    def run(w, xs):
        def step(carry, x):
            return carry * w + x, jnp.log(x)

        carry, rows = jax.lax.scan(step, jnp.ones(2), xs)
        return jnp.sum(carry) + jnp.sum(rows)

    xs = np.ones((5, 2), np.float32)
    xs[3, 0] = -1
    certificate = certify(trace(run, np.float32(2), xs))
    (found,) = certificate.at_arrays
    assert (found.places, found.failing, found.first) == (10, 1, {"step": 3, "axis 0": 0})
    assert found.instead == "-1 > 0"


def test_a_branch_that_is_not_taken_asks_nothing() -> None:
    def run(x, flag):
        return jnp.sum(jax.lax.cond(flag, jnp.log, jnp.sin, x))

    below = np.array([-1.0, 2.0], np.float32)
    (found,) = certify(trace(run, below, np.array(True))).at_arrays
    assert (found.places, found.failing) == (2, 1)
    (found,) = certify(trace(run, below, np.array(False))).at_arrays
    assert (found.places, found.failing) == (0, 0)


def test_shapes_alone_say_nothing() -> None:
    specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (W, X, np.zeros(4, np.int32))]
    assert certify(trace(loss, *specs)).at_arrays == []
    assert certify(trace(loss, W, "x: 4 3", np.zeros(4, np.int32))).at_arrays == []


def test_under_debug_nans() -> None:
    def norms(x):
        return jnp.sqrt(jnp.sqrt(x)).sum()

    with jax.debug_nans(True):
        found = certify(trace(norms, np.array([1.0, -1.0, 4.0], np.float32))).at_arrays
    assert [one.failing for one in found] == [1, 1]


def test_a_program_that_raises_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(*_: object, **__: object) -> None:
        raise NotImplementedError("no such platform")

    traced = trace(lambda x: jnp.sqrt(x).sum(), np.ones(3, np.float32))
    monkeypatch.setattr("certgrad.graph.certifying.at_arrays.Run", raising)
    (found,) = certify(traced).at_arrays
    assert found.unknown == "where it runs at them, it raises NotImplementedError"
