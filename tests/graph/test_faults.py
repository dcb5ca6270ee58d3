"""Planted faults in the middle of a model: each is caught, and the message names the node and the line."""

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from certgrad.accel import check_sweep, compile_graph
from certgrad.errors import TraceError
from certgrad.graph import TracedGraph, certify, check, ir, trace
from certgrad.graph.ir import ArrayType, Ref
from examples.models.perceptrons import mlp
from examples.models.transformers import attention_block, block
from tests.graph.models import wrong_jvp


def traced() -> TracedGraph:
    fn, args = mlp()
    return trace(fn, *args)


def changed(graph: TracedGraph, name: str, **changes) -> TracedGraph:
    """The graph with the first node of that name changed."""
    nodes = list(graph.nodes)
    position = next(n.id for n in nodes if n.name == name)
    nodes[position] = msgspec.structs.replace(nodes[position], **changes)
    graph.ir = msgspec.structs.replace(graph.ir, nodes=nodes)
    return graph


@pytest.mark.slow
def test_an_operation_without_a_proof() -> None:
    def model(W, x):
        return jnp.sum(jnp.tanh(jax.lax.linalg.lu(jnp.tanh(W @ x))[0]))

    found = certify(trace(model, "3 3", "3 3"))
    assert found.verdict == "unproved"
    (finding,) = found.findings
    assert "lu at test_faults.py:" in finding
    assert sum(s.verdict == "proved" for s in found.steps) == len(found.steps) - 1


def test_a_wrong_rule_in_the_middle_of_a_transformer() -> None:
    _, (params, x, target) = attention_block()

    def model(p, x, target):
        return jnp.mean((wrong_jvp(block(p, x, 2)) - target) ** 2)

    found = certify(trace(model, params, x, target))
    assert found.verdict == "refuted"
    finding, own = found.findings
    assert own.startswith("the graph is refuted: vjp_is_adjoint")
    assert "wrong_jvp at test_faults.py:" in finding
    assert "the two sides differ at the witness" in finding


@pytest.mark.parametrize(
    "name, changes, message",
    [
        (
            "dot_general",
            {"operands": [Ref(node=0), Ref(node=4)]},
            "operand 0 (%0) is f32[4, 8], but the operation takes f32[5, 4]",
        ),
        ("dot_general", {"operands": [Ref(node=12), Ref(node=2)]}, "operand 0 is %12, which does not come before it"),
        ("relu", {"outputs": [ArrayType(shape=["8", "5"], dtype="float32")]}, "is declared f32[8, 5]"),
        ("relu", {"outputs": [ArrayType(shape=["5", "8"], dtype="float64")]}, "is declared f64[5, 8]"),
    ],
    ids=["swapped parents", "a cycle", "a wrong shape", "a wrong dtype"],
)
def test_a_broken_graph(name: str, changes: dict, message: str) -> None:
    graph = changed(traced(), name, **changes)
    with pytest.raises(TraceError) as error:
        certify(graph)
    assert message in str(error.value)
    assert f"({name})" in str(error.value)
    assert "(the node comes from perceptrons.py:" in str(error.value)


def test_an_operation_that_is_not_the_one_of_its_equation() -> None:
    """Two nodes of one type swapped: the literal that a product reads is part of its operation."""
    graph = trace(lambda x: jnp.sum(x * 2.0 + x * 3.0), "4")
    first, second = [n for n in graph.nodes if n.name == "mul"]
    graph.equations[first.id] = graph.equations[second.id]
    with pytest.raises(TraceError, match=r"operand 1 is 2\.0, but the operation has 3\.0 there"):
        certify(graph)


def test_a_cotangent_that_is_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The algebra is not provable (test_theorems), and the executed sweep breaks the equation of the value."""

    def f(x):
        y = jnp.sin(x)
        return jnp.sum(y * jnp.cos(x) + jnp.exp(y))

    compiled = compile_graph(trace(f, "n"))
    x = np.linspace(0.1, 0.9, 4)
    assert check_sweep(compiled, x) is None
    monkeypatch.setattr("certgrad.accel._sweep._add", lambda cotangents, key, ct: cotangents.__setitem__(key, ct))
    found = check_sweep(compiled, x)
    assert found is not None
    assert found.startswith("the cotangent of node 1 (sin) is not the sum of what %3 mul, %4 exp gives it")
    assert "(the node comes from test_faults.py:" in found


def test_a_cycle_in_a_file() -> None:
    """Two nodes of a graph read from JSON that wait for each other."""
    data = ir.encode(trace(lambda x: jnp.cos(jnp.sin(x)), "n").ir)
    graph = ir.decode(data.replace(b'"node": 0', b'"node": 2'))
    found = check(graph)
    assert found is not None
    assert found.startswith("node 1 (sin), operand 0 is %2, which does not come before it")
    assert "(the node comes from test_faults.py:" in found
