"""Every rule of examples/wrong_rules.py is refuted, and plain numpy confirms each witness: no certgrad, no JAX."""

from fractions import Fraction

import numpy as np
import pytest

from certgrad.obligations import audit
from examples.wrong_rules import rules


def clip(q, high):
    return np.clip(q, 0.01, high)


def log_softmax(z):
    return z - z.max() - np.log(np.sum(np.exp(z - z.max())))


def softmax(z):
    return np.exp(log_softmax(z))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def gelu_slope(x, cubic):
    t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608 * (1 + cubic * x * x)


def normal(x, eps):
    return (x - x.mean()) / np.sqrt(x.var() + eps)


def norm(x):
    return np.sqrt(np.sum(x * x))


FORWARD = {
    "cosine_loss": lambda x, t: 1 - x @ t / (norm(x) * norm(t)),
    "cross_entropy": lambda q, p: -np.sum(p * np.log(clip(q, 1.0))),
    "binary_cross_entropy": lambda q, y: -(y * np.log(clip(q, 0.99)) + (1 - y) * np.log(1 - clip(q, 0.99))),
    "logits_cross_entropy": lambda z, p: -np.sum(p * log_softmax(z)),
    "root_of_square": lambda x: np.sqrt(x * x),
    "relu_reversed": lambda x: np.maximum(x, 0),
    "relu_shared_mask": lambda x: np.maximum(x, 0),
    "gelu_off": gelu,
    "softmax": softmax,
    "layer_norm_without_mean": normal,
    "layer_norm_without_radial": normal,
    "square_matmul": lambda a, b: a @ b,
    "add_bias": lambda x, b: x + b,
}

WRONG_JVP = {
    "root_of_square": lambda x, dx: dx,
    "relu_shared_mask": lambda x, dx: np.where(x > 1, dx, 0),
    "gelu_off": lambda x, dx: gelu_slope(x, 0.134146) * dx,
}

WRONG_VJP = {
    "cosine_loss": lambda x, t, s: (
        -s * (t / (norm(x) * norm(t)) - (x @ t) * x / (norm(x) ** 2 * norm(t))),
        -s * (x / (norm(x) * norm(t)) - (x @ t) * t / (norm(x) * norm(t) ** 3)),
    ),
    "cross_entropy": lambda q, p, s: (-s * p / clip(q, 1.0), -s * np.log(clip(q, 1.0))),
    "binary_cross_entropy": lambda q, y, s: (
        s * (clip(q, 0.99) - y) / (clip(q, 0.99) * (1 - clip(q, 0.99))),
        s * (np.log(1 - clip(q, 0.99)) - np.log(clip(q, 0.99))),
    ),
    "logits_cross_entropy": lambda z, p, s: (s * (softmax(z) - p), -s * log_softmax(z)),
    "relu_reversed": lambda x, s: (np.where(x > 0, 0, s),),
    "softmax": lambda x, s: (softmax(x) * s,),
    "layer_norm_without_mean": lambda x, eps, s: (
        (s - normal(x, eps) * np.mean(normal(x, eps) * s)) / np.sqrt(x.var() + eps),
    ),
    "layer_norm_without_radial": lambda x, eps, s: ((s - s.mean()) / np.sqrt(x.var() + eps),),
    "square_matmul": lambda a, b, s: (a.T @ s, s @ b.T),
    "add_bias": lambda x, b, s: (s, s.mean(axis=0)),
}

PARAMS = ("eps",)


def floats(value):
    """Nested lists of rationals as text, as an array of doubles."""
    return np.vectorize(lambda text: float(Fraction(text)), otypes=[float])(np.array(value, dtype=object))


def central(f, xs, dxs):
    """d/dt f(x + t dx) at 0 by central differences, extrapolated once: the error is of order h⁴."""

    def slope(h):
        ahead, behind = ([x + t * d for x, d in zip(xs, dxs, strict=True)] for t in (h, -h))
        return (f(*ahead) - f(*behind)) / (2 * h)

    h = 2.0**-8
    return (4 * slope(h / 2) - slope(h)) / 3


def witnesses(name):
    """(kind, witness) of each refuted claim."""
    certificate = audit(rules.get(name))
    assert certificate.verdict == "refuted", certificate
    found = [(c.kind, case.witness) for c in certificate.claims for case in c.cases if case.verdict == "refuted"]
    assert found
    assert all(w is not None for _, w in found)
    return found


def point(witness):
    """The witness's arrays: differentiable inputs with tangents, then parameters, and the seed."""
    xs = [floats(v) for k, v in witness.inputs.items() if k not in PARAMS]
    dxs = [floats(witness.tangents[k]) for k in witness.inputs if k not in PARAMS]
    params = [floats(v) for k, v in witness.inputs.items() if k in PARAMS]
    return xs, dxs, params, [floats(v) for v in witness.seeds.values()]


@pytest.mark.parametrize("name", sorted(WRONG_JVP))
def test_a_wrong_jvp_is_refuted_and_numpy_confirms_it(name):
    (witness,) = [w for kind, w in witnesses(name) if kind == "jvp_is_derivative"]
    xs, dxs, params, _ = point(witness)
    derivative = central(lambda *a: FORWARD[name](*a, *params), xs, dxs)
    rule = WRONG_JVP[name](*xs, *params, *dxs)
    assert np.max(np.abs(rule - derivative)) > 1e-8 * np.max(np.abs(derivative))
    # The gap that the certificate states is this one.
    k = np.unravel_index(np.argmax(np.abs(rule - derivative)), rule.shape)
    assert rule[k] == pytest.approx(float(witness.lhs.midpoint), rel=1e-9, abs=1e-9)
    assert derivative[k] == pytest.approx(float(witness.rhs.midpoint), rel=1e-9, abs=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sorted(WRONG_VJP))
def test_a_wrong_vjp_is_refuted_and_numpy_confirms_it(name):
    ((kind, witness),) = witnesses(name)
    assert kind == "vjp_is_adjoint"
    xs, dxs, params, (seed,) = point(witness)
    derivative = np.sum(central(lambda *a: FORWARD[name](*a, *params), xs, dxs) * seed)
    cotangents = WRONG_VJP[name](*xs, *params, seed)
    assert [np.shape(c) for c in cotangents] == [x.shape for x in xs]
    pairing = sum(np.sum(c * d) for c, d in zip(cotangents, dxs, strict=True))
    assert abs(pairing - derivative) > 1e-3
    assert derivative == pytest.approx(float(witness.lhs.midpoint), rel=1e-8, abs=1e-8)
    assert pairing == pytest.approx(float(witness.rhs.midpoint), rel=1e-8, abs=1e-8)


def test_every_example_is_here():
    assert {*WRONG_JVP, *WRONG_VJP} == set(rules.names()) == set(FORWARD)


@pytest.mark.slow
def test_the_balls_of_a_witness_do_not_overlap():
    for name in rules.names():
        for _, w in witnesses(name):
            gap = abs(Fraction(w.lhs.midpoint) - Fraction(w.rhs.midpoint))
            assert gap > Fraction(w.lhs.radius) + Fraction(w.rhs.radius)
