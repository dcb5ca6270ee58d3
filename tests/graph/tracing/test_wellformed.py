"""`check`: the first broken invariant, by node and by name."""

import jax
import jax.numpy as jnp
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.graph import certify, check, trace
from certgrad.graph.ir import ArrayType, Graph, Literal, Node, Ref, decode, encode
from tests.graph.models import MLP, mlp

GRAPH = trace(mlp, *MLP).ir


def loops(x, c):
    """A scan, a cond in it, and a while before it."""
    start = jax.lax.while_loop(lambda v: v < 3, lambda v: v + 1, 0)

    def step(carry, row):
        return jax.lax.cond(start > 2, lambda u: u + row, lambda u: u - row, carry), carry * c

    return jax.lax.scan(step, jnp.zeros_like(c), x)


LOOPS = trace(loops, "x: n d", "c: d").ir
SCAN = next(n for n in LOOPS.nodes if n.kind == "scan")


def replaced(graph: Graph, position: int, **changes) -> Graph:
    nodes = list(graph.nodes)
    nodes[position] = msgspec.structs.replace(nodes[position], **changes)
    return msgspec.structs.replace(graph, nodes=nodes)


def with_body(**changes) -> Graph:
    return replaced(LOOPS, SCAN.id, bodies=[msgspec.structs.replace(SCAN.bodies[0], **changes)])


def reals(*shape: str) -> ArrayType:
    return ArrayType(shape=list(shape), dtype="float64")


@pytest.mark.parametrize("graph", [GRAPH, LOOPS], ids=["perceptron", "loops"])
def test_a_traced_graph_is_well_formed(graph: Graph) -> None:
    assert check(graph) is None


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
        (
            8,
            {"operands": [Ref(node=6), Literal(text="0", dtype="real")]},
            "operand 1 has the dtype real, which is none",
        ),
        (8, {"outputs": []}, "node 8 (add) has no output"),
        (8, {"name": "select_n", "operands": []}, "has 0 operands; a node of this kind has 1 or more"),
        (8, {"outputs": [reals("n", "k")]}, "output 0 has an axis of length 'k', but k is no dimension"),
        (8, {"outputs": [reals("n", "2*k - 1")]}, "but k is no dimension of the graph (c, d, h, n)"),
        (8, {"outputs": [reals("n", "h!")]}, "output 0 has an axis of length 'h!', which is no size"),
        (8, {"outputs": [reals("-3")]}, "output 0 has an axis of length '-3', which is no size"),
        (
            8,
            {"outputs": [ArrayType(shape=["n"], dtype="complex64")]},
            "output 0 has the dtype complex64, which is none",
        ),
        (8, {"bodies": [LOOPS]}, "node 8 (add) has 1 graphs inside; a node of this kind has 0"),
        (
            0,
            {"operands": [Literal(text="1.0", dtype="float64")]},
            "node 0 (x) has 1 operands; a node of this kind has 0",
        ),
        (1, {"name": "x"}, "node 1 is a second input named x"),
    ],
)
def test_the_first_broken_invariant(position: int, changes: dict, message: str) -> None:
    found = check(replaced(GRAPH, position, **changes))
    assert found is not None
    assert message in found
    if position >= 6:
        assert "(the node comes from models.py:" in found


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"format": 9}, "the format is 9; this version reads format 1"),
        ({"dims": ["n", "n", "d", "h", "c"]}, "the dimension 'n' is listed twice"),
        ({"dims": ["n", "d", "h", "2*c"]}, "the dimension '2*c' is no name"),
        ({"dims": ["n", "d", "h"]}, "node 3 (W2), output 0 has an axis of length 'c', but c is no dimension"),
        ({"outputs": [Ref(node=99)]}, "output 0 is %99, but there is no such node (the graph has 19)"),
    ],
)
def test_the_graph_itself(changes: dict, message: str) -> None:
    assert (check(msgspec.structs.replace(GRAPH, **changes)) or "").startswith(message)


def test_graphs_inside_nodes() -> None:
    body = SCAN.bodies[0]
    wrong = replaced(body, len(body.nodes) - 1, operands=[Ref(node=99), Ref(node=0)]).nodes
    assert "(scan), inside its body: node" in (check(with_body(nodes=wrong)) or "")
    assert "inside its body: it returns 1 values, but the node has 2" in (
        check(with_body(outputs=body.outputs[:1])) or ""
    )
    fewer = msgspec.structs.replace(LOOPS.nodes[SCAN.id], operands=SCAN.operands[:-1])
    assert "inside its body: it takes " in (check(replaced(LOOPS, SCAN.id, operands=fewer.operands)) or "")
    if "num_carry" in SCAN.params:  # JAX 0.11 does not say how many are carried
        swapped = check(replaced(LOOPS, SCAN.id, outputs=SCAN.outputs[::-1]))
        assert "inside its body: output 0 is f32[d], but f32[n, d] at the node" in (swapped or "")
    assert "a node of this kind has 1" in (check(replaced(LOOPS, SCAN.id, bodies=[])) or "")
    names = [n.name for n in body.nodes if n.kind == "cond"]
    assert names == ["cond"]


def test_a_node_without_parents() -> None:
    node = Node(id=0, kind="input", name="x", outputs=[reals("n")])
    graph = Graph(format=1, name="f", dims=["n"], nodes=[node], outputs=[Ref(node=0)])
    assert check(graph) is None
    assert node.parents == []


DATA = encode(LOOPS).decode()


@given(st.integers(0, len(DATA) - 1), st.sampled_from('0123456789-"{}[],:abn. '))
@settings(max_examples=75, deadline=None)
def test_any_damage_is_refused_or_still_a_graph(position: int, character: str) -> None:
    """Strict decoding or `check` says no, or the graph is whole; nothing else happens."""
    damaged = DATA[:position] + character + DATA[position + 1 :]
    try:
        graph = decode(damaged.encode())
    except msgspec.DecodeError:
        return
    if check(graph) is None:
        assert str(graph)
        assert check(decode(encode(graph))) is None


def test_a_matrix_of_equal_sizes_is_flattened() -> None:
    traced = trace(lambda x: jnp.sin(jnp.reshape(x, -1)), "x: n n")
    assert traced.ir.nodes[-1].outputs[0].shape == ["n^2"]
    assert check(traced.ir) is None
    assert certify(traced).verdict == "proved"
