"""Every kind of node of the graph language: the builder's term is the traced function's graph, and numpy's values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from certgrad import ops
from certgrad.graph import builder as b
from certgrad.graph import certify, trace
from certgrad.graph.ir import Graph
from certgrad.obligations.certificate import PROVED_AS_WRITTEN

pytestmark = pytest.mark.usefixtures("proofs_alone")


@dataclass(frozen=True)
class Kind:
    """A kind: its term and its function of the same variables, and what numpy says."""

    name: str
    specs: tuple[str, ...]
    term: Callable[..., b.Term]
    function: Callable[..., Any]
    numpy: Callable[..., Any] | None

    def __str__(self) -> str:
        return self.name


def pointwise(name: str, term: Any, function: Any, numpy: Any) -> Kind:
    return Kind(name, ("x: n d",), term, function, numpy)


def softmax(x):
    e = np.exp(x)
    return e / e.sum(0)


def layer_norm(x, gamma, beta):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - m) / np.sqrt(v + 1e-5) * gamma + beta


def pooled(x, combine, fill):
    """Windows of 3 × 3 with stride 2, one row and column around."""
    p = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=fill)
    return combine([p[:, :, i : i + 5 : 2, j : j + 5 : 2] for i in range(3) for j in range(3)], axis=0)


def convolved(x, k):
    """Stride 2, padding 1, by the definition."""
    p = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    rows = range(0, p.shape[2] - k.shape[2] + 1, 2)
    out = [[np.einsum("bcij,ocij->bo", p[:, :, r : r + 3, c : c + 3], k) for c in rows] for r in rows]
    return np.moveaxis(np.array(out), (0, 1), (2, 3))


XY = ("x: n d", "y: n d")
IMAGE = "x: n 2 6 6"
ARRAY = np.array([[1.0, -2.5], [0.5, 3.0]])

KINDS = [
    Kind("input", ("x: n d",), lambda x: x, lambda x: x, lambda x: x),
    Kind("const", ("x: 2 2",), lambda x: x + b.constant(ARRAY), lambda x: x + ARRAY, lambda x: x + ARRAY),
    Kind(
        "permute",
        ("x: n d 3",),
        lambda x: b.permute(x, axes=(2, 0, 1)),
        lambda x: jnp.transpose(x, (2, 0, 1)),
        lambda x: np.moveaxis(x, 2, 0),
    ),
    pointwise("detach", b.detach, jax.lax.stop_gradient, lambda x: x),
    Kind(
        "rand_uniform",
        ("x: n d",),
        lambda x: x + b.uniform("n d", seed=3),
        lambda x: x + jax.random.uniform(jax.random.key(3), x.shape),
        None,
    ),
    Kind(
        "bernoulli_mask",
        ("x: n d",),
        lambda x: b.where(b.bernoulli("n d", seed=3, p=0.25), x, 0 * x),
        lambda x: ops.where(jax.random.bernoulli(jax.random.key(3), 0.25, x.shape), x, 0 * x),
        None,
    ),
    Kind("add", XY, lambda x, y: x + y, lambda x, y: x + y, np.add),
    Kind("sub", XY, lambda x, y: 1.5 - x - y, lambda x, y: 1.5 - x - y, lambda x, y: 1.5 - x - y),
    Kind("mul_elem", XY, lambda x, y: x * y, lambda x, y: x * y, np.multiply),
    pointwise("abs", b.abs, ops.abs, np.abs),
    pointwise("sqrt", b.sqrt, ops.sqrt, lambda x: np.where(x > 0, np.sqrt(np.abs(x)), 0)),
    pointwise("inv", b.inv, ops.inv, lambda x: 1 / x),
    Kind("max_elem", XY, b.maximum, ops.max, lambda x, y: np.where(x > y, x, y)),
    Kind("min_elem", XY, b.minimum, ops.min, lambda x, y: np.where(x > y, y, x)),
    Kind(
        "max_pool2d",
        (IMAGE,),
        b.max_pool2d(window=3, strides=2, padding=1),
        lambda x: ops.max_pool2d(x, 3, strides=2, padding=1),
        lambda x: pooled(x, np.max, -np.inf),
    ),
    Kind(
        "avg_pool2d",
        (IMAGE,),
        b.avg_pool2d(window=3, strides=2, padding=1),
        lambda x: ops.avg_pool2d(x, 3, strides=2, padding=1),
        lambda x: pooled(x, np.mean, 0),
    ),
    Kind(
        "broadcast_to",
        ("x: d", "y: n"),
        lambda x, y: b.broadcast_to(x, shape="n d"),
        lambda x, y: jnp.broadcast_to(x, (y.shape[0], x.shape[0])),
        lambda x, y: np.stack([x] * len(y)),
    ),
    pointwise("reduce_sum", b.sum(axis=1), lambda x: ops.reduce_sum(x, axis=1), lambda x: x @ np.ones(x.shape[1])),
    pointwise("reduce_mean", b.mean(axis=0), lambda x: ops.mean(x, axis=0), lambda x: x.sum(0) / len(x)),
    pointwise("sum", b.sum, ops.reduce_sum, lambda x: np.sum(x)),
    Kind("matmul", ("x: n d", "y: d h"), lambda x, y: x @ y, lambda x, y: x @ y, lambda x, y: x.dot(y)),
    Kind(
        "linear",
        ("x: n d", "W: h d", "c: h"),
        lambda x, W, c: b.linear(W, c)(x),
        ops.linear,
        lambda x, W, c: np.einsum("nd,hd->nh", x, W) + c,
    ),
    Kind(
        "conv2d",
        ("x: n 2 7 7", "k: 3 2 3 3"),
        lambda x, k: x >> b.conv2d(k, stride=2, padding=1),
        lambda x, k: ops.conv2d(x, k, stride=2, padding=1),
        convolved,
    ),
    pointwise("relu", b.relu, ops.relu, lambda x: x * (x > 0)),
    pointwise("tanh", b.tanh, ops.tanh, lambda x: 1 - 2 / (np.exp(2 * x) + 1)),
    pointwise("sigmoid", b.sigmoid, ops.sigmoid, lambda x: np.exp(x) / (np.exp(x) + 1)),
    pointwise("exp", b.exp, ops.exp, np.exp),
    Kind("log", ("x: n",), lambda x: b.log(x * x), lambda x: ops.log(x * x), lambda x: 2 * np.log(np.abs(x))),
    pointwise("sin", b.sin, ops.sin, np.sin),
    pointwise("cos", b.cos, ops.cos, np.cos),
    pointwise("softmax", b.softmax(axis=0), lambda x: ops.softmax(x, axis=0), softmax),
    Kind(
        "layernorm",
        ("x: n d", "gamma: d", "beta: d"),
        lambda x, gamma, beta: x >> b.layer_norm(gamma, beta),
        ops.layer_norm,
        layer_norm,
    ),
    Kind(
        "reshape",
        ("x: n d 3",),
        b.reshape(shape="n 3*d"),
        lambda x: jnp.reshape(x, (x.shape[0], 3 * x.shape[1])),
        lambda x: x.reshape(len(x), -1),
    ),
    pointwise("flatten", b.flatten, jnp.ravel, lambda x: np.concatenate(list(x))),
    Kind(
        "concat",
        XY,
        lambda x, y: b.concatenate(x, y, axis=1),
        lambda x, y: jnp.concatenate([x, y], 1),
        lambda x, y: np.hstack([x, y]),
    ),
    Kind(
        "swap_first_two",
        ("x: n d 2",),
        b.swap_first_two,
        lambda x: jnp.swapaxes(x, 0, 1),
        lambda x: np.moveaxis(x, 0, 1),
    ),
    Kind(
        "transpose_last_two",
        ("x: 2 n d",),
        b.transpose_last_two,
        jnp.matrix_transpose,
        lambda x: np.stack([m.T for m in x]),
    ),
    Kind("mse_loss", XY, b.mse, ops.mse, lambda x, y: ((x - y) ** 2).mean()),
]
SIZES = {"n": 3, "d": 4, "h": 2}


def anonymous(graph: Graph) -> Graph:
    """Without the name of the function and the lines."""
    nodes = [
        msgspec.structs.replace(n, source="", function="", bodies=[anonymous(g) for g in n.bodies]) for n in graph.nodes
    ]
    return msgspec.structs.replace(graph, name="", nodes=nodes)


def values(variables: tuple[b.Term, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=[d.evaluate(SIZES) for d in v.argument.spec.dims]) for v in variables]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_kind(kind: Kind) -> None:
    """One graph from the term and from the function; one value from numpy, from JAX, and by definition."""
    variables = b.variables(*kind.specs)
    model = b.Model([], variables, kind.term(*variables))
    assert anonymous(model.trace().ir) == anonymous(trace(lambda _, *args: kind.function(*args), {}, *kind.specs).ir)
    arrays = values(variables)
    found = model.evaluate({}, *arrays)
    with jax.enable_x64(True):
        np.testing.assert_allclose(found, model({}, *arrays), rtol=1e-12, atol=1e-14)
    if kind.numpy is not None:
        np.testing.assert_allclose(found, kind.numpy(*arrays), rtol=1e-12, atol=1e-14)


@pytest.mark.one_in(26)
@pytest.mark.parametrize("kind", [k for k in KINDS if k.name not in ("conv2d", "detach")], ids=str)
def test_a_kind_is_certified(kind: Kind) -> None:
    variables = b.variables(*kind.specs)
    found = certify(b.Model([], variables, kind.term(*variables)).trace())
    assert found.verdict in PROVED_AS_WRITTEN, found.findings


def test_detach_is_a_surrogate() -> None:
    x = b.variable("x: n")
    assert certify(b.Model([], [x], b.detach(x)).trace()).verdict == "surrogate"
