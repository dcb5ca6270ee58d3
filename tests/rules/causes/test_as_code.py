"""Terms as expressions: what is written computes what the term says."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.language import tree as t
from certgrad.rules.causes.as_code import NotCodeError, Writer

I, J, K = map(t.Index, "ijk")
WRITER = Writer({"x": "x", "w": "r[1]", "seed": "g"}, {"n": "x.shape[0]", "d": "x.shape[1]"}, "jnp")
X, W = t.Entry("x", (I, J)), t.Entry("w", (J,))
ROW = t.Range("j", t.Axis("x", 1))
SCOPE = {"jnp": jnp, "x": np.arange(6.0).reshape(2, 3) + 1, "r": [None, np.array([2.0, 3.0, 5.0])], "g": np.ones(2)}


def run(term: t.Term, axes: str) -> np.ndarray:
    return np.asarray(eval(WRITER.at(term, axes), dict(SCOPE)))


@pytest.mark.parametrize(
    ("term", "axes", "code"),
    [
        (X, "ij", "x"),
        (X, "ji", "x.T"),
        (t.Mul((X, W)), "ij", "x * r[1]"),
        (t.Mul((t.Number("-1/2"), X)), "ij", "-(x / 2)"),
        (t.Add((X, t.Mul((t.Number("-1"), W)))), "ij", "x - r[1]"),
        (t.Fold("sum", (ROW,), X), "i", "jnp.sum(x, axis=1)"),
        (t.Fold("sum", (ROW,), t.Mul((X, W))), "i", 'jnp.einsum("ij,j->i", x, r[1])'),
        (t.Mul((t.Entry("seed", (I,)), X)), "ij", "g[:, None] * x"),
        (t.Power(t.Size("n"), "-1"), "ij", "1 / x.shape[0]"),
    ],
)
def test_expressions(term: t.Term, axes: str, code: str) -> None:
    assert WRITER.at(term, axes) == code


def test_values() -> None:
    x, w = SCOPE["x"], SCOPE["r"][1]
    assert np.allclose(run(t.Mul((X, W)), "ij"), x * w)
    summed = t.Fold("sum", (t.Range("k", t.Axis("x", 1)),), t.Apply("exp", (t.Entry("x", (I, K)),)))
    softmax = t.Mul((t.Apply("exp", (X,)), t.Power(summed, "-1")))
    assert np.allclose(run(softmax, "ij"), np.exp(x) / np.exp(x).sum(1, keepdims=True))
    mixed = t.Add((t.Mul((t.number(Fraction(3, 4)), X, W)), t.Mul((t.Number("-2"), X))))
    assert np.allclose(run(mixed, "ij"), 0.75 * x * w - 2 * x)
    assert np.allclose(run(t.Truth(t.Compare(">", X, t.Number("3"))), "ij"), x > 3)
    assert np.allclose(run(t.Power(t.Add((X, t.ONE)), "1/2"), "ij"), np.sqrt(x + 1))


def test_what_has_no_expression_is_refused() -> None:
    for term in (t.Entry("z", (I,)), t.Entry("x", (I, I)), t.Entry("x", (I, t.Add((J, t.ONE)))), t.Apply("erf", (X,))):
        with pytest.raises(NotCodeError):
            WRITER.at(term, "ij")
    with pytest.raises(NotCodeError):
        WRITER.at(X, "i")
