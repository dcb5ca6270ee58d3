"""The graph as data: summaries, strict JSON, and the first broken invariant by name."""

import msgspec
import pytest

from certgrad.graph import ir, trace
from certgrad.graph.ir import ArrayType, Graph, Literal, Node, Ref
from tests.graph.models import MLP, mlp


@pytest.fixture(scope="module")
def graph() -> Graph:
    return trace(mlp, *MLP).ir


def replaced(graph: Graph, position: int, **changes) -> Graph:
    nodes = list(graph.nodes)
    nodes[position] = msgspec.structs.replace(nodes[position], **changes)
    return msgspec.structs.replace(graph, nodes=nodes)


def test_a_traced_graph_is_well_formed(graph: Graph) -> None:
    assert ir.check(graph) is None


def test_one_line_a_node(graph: Graph) -> None:
    assert str(graph.nodes[1]) == "%1 f64[d, h] = input W1"
    assert str(graph.nodes[9]).startswith("%9 f64[n, h] = max(%8, 0.0)   models.py:")
    assert str(graph.nodes[14]).startswith("%14 f64[n, c] = integer_pow(%13) [y=2]   models.py:")


def test_json_round_trip(graph: Graph) -> None:
    assert ir.decode(ir.encode(graph)) == graph
    assert ir.encode(ir.decode(ir.encode(graph))) == ir.encode(graph)


def test_decoding_is_strict(graph: Graph) -> None:
    with pytest.raises(msgspec.ValidationError):
        ir.decode(ir.encode(graph).replace(b'"name": "mlp"', b'"name": "mlp", "more": 1'))
    with pytest.raises(msgspec.ValidationError):
        ir.decode(ir.encode(graph).replace(b'"format": 1', b'"format": "1"'))


def test_scalar_loss(graph: Graph) -> None:
    assert graph.scalar_loss
    assert not trace(lambda x: x, "x: n").ir.scalar_loss


@pytest.mark.parametrize(
    "position, changes, message",
    [
        (8, {"id": 9}, "node 9 (add) stands at position 8; a node's id is its position"),
        (8, {"operands": [Ref(node=6)]}, "node 8 (add) has 1 operands; a node of this kind has 2"),
        (8, {"operands": [Ref(node=6), Ref(node=40)]}, "node 8 (add), operand 1 is %40, but there is no such node"),
        (8, {"operands": [Ref(node=6), Ref(node=-1)]}, "there is no such node"),
        (8, {"operands": [Ref(node=9), Ref(node=7)]}, "operand 0 is %9, which does not come before it"),
        (8, {"operands": [Ref(node=8), Ref(node=7)]}, "parents come before their children"),
        (8, {"operands": [Ref(node=6, output=1), Ref(node=7)]}, "operand 0 is output 1 of node 6, which has 1"),
        (8, {"outputs": []}, "node 8 (add) has no output"),
        (0, {"operands": [Literal(text="1.0", dtype="float64")]}, "node 0 (x) has 1 operands"),
    ],
)
def test_the_first_broken_invariant(graph: Graph, position: int, changes: dict, message: str) -> None:
    found = ir.check(replaced(graph, position, **changes))
    assert found is not None
    assert message in found


def test_outputs_are_checked(graph: Graph) -> None:
    found = ir.check(msgspec.structs.replace(graph, outputs=[Ref(node=99)]))
    assert found is not None
    assert found.startswith("output 0 is %99, but there is no such node (the graph has 19)")


def test_a_node_without_parents() -> None:
    node = Node(id=0, kind="input", name="x", outputs=[ArrayType(shape=["n"], dtype="float64")])
    graph = Graph(format=1, name="f", dims=["n"], nodes=[node], outputs=[Ref(node=0)])
    assert ir.check(graph) is None
    assert node.parents == []
