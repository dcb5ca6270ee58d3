"""Models: chains, sharing, both meanings, lines, and messages for what does not fit."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import certify, compile_graph, ops, trace
from certgrad.errors import UsageError
from certgrad.graph.builder import (
    Model,
    Term,
    constant,
    let,
    lift,
    linear,
    mse,
    relu,
    reshape,
    softmax,
    sum,
    uniform,
    variable,
    variables,
)
from tests.graph.builder.test_kinds import anonymous

pytestmark = pytest.mark.usefixtures("proofs_alone")

W, B, V, C, X = variables("W: h d", "b: h", "V: h h", "c: h", "x: n d")
TARGET = variable("target: n h")


@pytest.fixture
def arrays() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    params = {"W": rng.normal(size=(3, 2)), "b": rng.normal(size=3)}
    params |= {"V": rng.normal(size=(3, 3)), "c": rng.normal(size=3)}
    return params, rng.normal(size=(4, 2)), rng.normal(size=(4, 3))


def residual() -> Model:
    net = linear(W, B) >> relu >> (lambda u: let(u, lambda h: relu(linear(V, C)(h) + h)))
    return Model([W, B, V, C], [X], net, name="residual")


def residual_function(p, x):
    h = ops.relu(ops.linear(x, p["W"], p["b"]))
    return ops.relu(ops.linear(h, p["V"], p["c"]) + h)


def test_a_chain_is_the_traced_function(arrays) -> None:
    params, x, _ = arrays
    model = residual()
    traced = trace(residual_function, *model.specs)
    assert anonymous(model.trace().ir) == anonymous(traced.ir)
    assert [n.name for n in traced.ir.inputs] == ["V", "W", "b", "c", "x"]
    with jax.enable_x64(True):
        np.testing.assert_allclose(model.evaluate(params, x), residual_function(params, x), rtol=1e-12)


def test_let_computes_once_and_two_calls_compute_twice() -> None:
    once = Model([], [X], let(softmax(X), lambda h: h + h))
    twice = Model([], [X], softmax(X) + softmax(X))
    assert [n.name for n in once.trace().nodes] == ["x", "softmax", "add"]
    assert [n.name for n in twice.trace().nodes] == ["x", "softmax", "softmax", "add"]
    by_name = softmax(X)
    assert anonymous(Model([], [X], by_name + by_name).trace().ir) == anonymous(once.trace().ir)


def test_nodes_are_in_the_order_in_which_terms_are_written() -> None:
    def body(a, b):
        first = softmax(a)
        return relu(b) * first

    def function(_, a, b):
        first = ops.softmax(a)
        return ops.relu(b) * first

    a, b = variables("a: n", "b: n")
    traced = trace(function, {}, "a: n", "b: n")
    assert anonymous(Model([], [a, b], body).trace().ir) == anonymous(traced.ir)


@pytest.mark.slow
def test_certified_compiled_and_differentiated(arrays) -> None:
    params, x, target = arrays
    loss = Model([W, B, V, C], [X, TARGET], mse(residual().outputs[0], TARGET), name="loss")
    certificate = certify(loss.trace())
    assert certificate.verdict == "proved under hypotheses"
    assert [h.text.split(":")[0] for h in certificate.hypotheses] == ["relu at test_model.py"] * 2
    value, (gradients, *_) = compile_graph(loss.trace()).value_and_grad(params, x, target)
    np.testing.assert_allclose(value, loss.evaluate(params, x, target), rtol=1e-5)
    expected = jax.grad(lambda p: jnp.mean((residual_function(p, x) - target) ** 2))(jax.tree.map(jnp.asarray, params))
    for name, found in gradients.items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-4, atol=1e-6)


def test_a_node_stands_at_the_line_where_its_term_was_written() -> None:
    layer = linear(W, B)
    line = layer_line()
    model = Model([W, B], [X], layer >> relu)
    places = {n.name: n.source for n in model.trace().nodes}
    assert places["linear"] == f"test_model.py:{line}"
    assert places["relu"] == f"test_model.py:{line + 2}"


def layer_line() -> int:
    source, start = inspect.getsourcelines(test_a_node_stands_at_the_line_where_its_term_was_written)
    return start + next(k for k, text in enumerate(source) if "layer = linear" in text)


def test_several_outputs_and_print() -> None:
    h = softmax(X)
    model = Model([], [X], (h, h * 2.0 - constant([1.0])))
    assert len(model.trace().ir.outputs) == 2
    assert str(model) == "model(x: n d)\n  v1 = softmax(x)\n  return v1, ((v1 * 2.0) - constant)"
    assert str(residual()).splitlines()[1:] == [
        "  h = relu(linear(x, W, b))",
        "  return relu((linear(h, V, c) + h))",
    ]


def test_lifted_functions(arrays) -> None:
    _, x, _ = arrays
    gelu = lift(ops.gelu_tanh)
    model = Model([], [X], gelu >> lift(jnp.sinh, numpy=np.sinh))
    assert [n.name for n in model.trace().nodes] == ["x", "gelu_tanh", "sinh"]
    with jax.enable_x64(True):
        np.testing.assert_allclose(model.evaluate({}, x), jnp.sinh(ops.gelu_tanh(jnp.asarray(x))), rtol=1e-12)


def test_a_long_chain() -> None:
    """Construction, printing and evaluation are loops, not recursions."""
    x = variable("x: n")
    term = x
    for _ in range(1200):
        term = -term
    model = Model([], [x], term)
    assert model.evaluate({}, np.array([-1.0, 2.0])).tolist() == [-1.0, 2.0]
    assert len(model.trace().nodes) == 1201
    assert len(str(model)) > 1200


def messages() -> dict[str, tuple[object, str]]:
    return {
        "shapes": (lambda: linear(X, V, C), "linear at test_model.py:"),
        "shapes named": (lambda: linear(X, V, C), "does not take x f64[n, d], weight f64[h, h], bias f64[h]"),
        "too few": (lambda: linear(W), "linear was given 1 arguments. It takes x, weight, bias to give a value"),
        "too many": (lambda: relu(X, W), "relu was given 2 arguments. It takes x to give a value"),
        "a layer": (lambda: relu(softmax(axis=0)), "x is a layer that waits for an argument"),
        "an array": (lambda: relu(np.ones(3)), "write constant(…) around an array"),
        "no layer": (lambda: relu >> 3, "3 cannot stand in a chain"),
        "binary in a chain": (lambda: softmax >> linear, "linear in a chain takes weight, bias: write linear(…)"),
        "truth": (lambda: relu(X) if X else X, "has no truth value"),
        "iteration": (lambda: list(X), "cannot be iterated over"),
        "no name": (lambda: variable("n d"), "The spec 'n d' of a variable has no name"),
        "bad spec": (lambda: variable("x: n d!"), "The spec 'x: n d!' does not parse"),
        "star": (lambda: variable("x: *n"), "must be the shape of one array at one rank"),
        "free variable": (lambda: Model([W], [X], linear(X, W, B)), "uses b: h, which is neither among its parameters"),
        "twice": (lambda: Model([X], [X], X), "Two variables of model are named 'x'"),
        "no variable": (lambda: Model([relu(X)], [X], X), "is no variable"),
        "no term": (lambda: Model([], [X], [X, 3]), "Output 1 of model is 3"),
        "a dimension": (
            lambda: Model([], [X], X * sum(uniform("k", seed=0))),
            "has the dimension k, which no parameter",
        ),
        "let": (lambda: let(X, lambda a, b: a), "let was given 1 values, but its function takes a, b"),
        "let of nothing": (lambda: let(lambda a: a), "let takes values and then a function of them"),
        "parameters": (lambda: residual().evaluate({"W": 1}, 2), "has the parameters W, b, V, c, and was given W"),
        "inputs": (lambda: Model([], [X], X).evaluate({}), "takes the inputs x, and was given 0 arrays"),
        "rank": (lambda: Model([], [X], X).evaluate({}, np.ones(3)), "x has 1 axes, but its spec is 'x: n d'"),
        "size": (
            lambda: Model([W, B], [X], linear(W, B)).evaluate({"W": np.ones((2, 3)), "b": np.ones(2)}, np.ones((5, 4))),
            "x has shape (5, 4), but its spec 'x: n d' with h = 2, d = 3, n = 5 gives (5, 3)",
        ),
        "constant": (lambda: constant("a"), "is no array of real numbers"),
        "reshape": (
            lambda: reshape(X, shape="n n"),
            "does not take x f64[n, d]: d*n entries are not those of the shape (n, n)",
        ),
        "op": (lambda: lift(lambda x: (x, x))(X), "not one array"),
    }


@pytest.mark.parametrize("case", messages())
def test_messages(case: str) -> None:
    action, message = messages()[case]
    with pytest.raises(UsageError) as error:
        action()  # type: ignore[operator]
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_terms_are_values() -> None:
    assert isinstance(2.0 / (1.0 - X) ** 2, Term)
    assert repr(softmax(X)) == "softmax: f64[n, d]"
    assert (X > 0).type.dtype == "bool"
