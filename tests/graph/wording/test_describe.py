"""The long description of a node."""

import jax
import jax.numpy as jnp
import pytest

from certgrad import ops
from certgrad.graph import describe, trace
from certgrad.graph.ir import ArrayType, Node
from certgrad.graph.wording.describe import sentence
from tests.graph.models import MLP, mlp


def test_a_primitive() -> None:
    graph = trace(mlp, *MLP).ir
    lines = describe(graph, 9).splitlines()
    assert lines[0] == "%9 max: the greater of x and y; of booleans, or"
    assert lines[1].startswith("written at models.py:")
    assert lines[1].endswith(", in mlp")
    assert lines[2:] == [
        "operand 0: %8 f32[n, h], `x @ W1 + b1`",
        "operand 1: the number 0.0",
        "output: f32[n, h]",
        "read by %10",
    ]
    assert describe(graph, 0).splitlines()[0] == "%0 x: an input of the graph"
    assert describe(graph, 18).splitlines()[-1] == "read by the result"


def test_an_op_and_a_loop() -> None:
    def f(x):
        return jax.lax.scan(lambda c, row: (c + row, c), jnp.zeros_like(x[0]), ops.softmax(x, axis=0))

    graph = trace(f, "x: n d").ir
    op, scan = (next(n.id for n in graph.nodes if n.kind == kind) for kind in ("op", "scan"))
    assert "%2 softmax: an op of certgrad, with its own rules" in describe(graph, op)
    assert "axis: 0" in describe(graph, op).splitlines()
    described = describe(graph, scan)
    assert "inside, body: 3 nodes, given carry0, row0" in described
    assert "output 1: f32[n, d]" in described
    assert described.endswith("read by the result 0, the result 1")


def test_there_is_no_such_node() -> None:
    with pytest.raises(IndexError):
        describe(trace(lambda x: x, "x:").ir, 7)


@pytest.mark.parametrize(
    "name, words",
    [("exp", "exp(x) = Σ_{k≥0} xᵏ/k!"), ("dim_as_value", "a size, as an integer"), ("nextafter", "a primitive of JAX")],
)
def test_the_words_of_primitives_are_those_of_the_specification(name: str, words: str) -> None:
    assert sentence(Node(id=0, name=name, kind="primitive", outputs=[ArrayType(dtype="float32", shape=())])) == words
