"""The graph as data: summaries and strict JSON."""

import msgspec
import pytest

from certgrad.graph import ir, trace
from certgrad.graph.ir import Graph
from tests.graph.models import MLP, mlp


@pytest.fixture(scope="module")
def graph() -> Graph:
    return trace(mlp, *MLP).ir


def test_one_line_a_node(graph: Graph) -> None:
    assert str(graph.nodes[1]) == "%1 f32[d, h] = input W1"
    assert str(graph.nodes[9]).startswith("%9 f32[n, h] = max(%8, 0.0)   models.py:")
    assert str(graph.nodes[14]).startswith("%14 f32[n, c] = integer_pow(%13) [y=2]   models.py:")


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
