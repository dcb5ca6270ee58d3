"""Tracing: nodes, inlined calls, kept ops, source lines, and checks against the equations behind the nodes."""

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from certgrad import ops
from certgrad.errors import TraceError, UsageError
from certgrad.graph import TracedGraph, trace
from certgrad.graph.ir import ArrayType, Ref
from tests.graph.models import MLP, mlp, mlp_with, right_vjp, two_outputs


def names(traced: TracedGraph) -> list[str]:
    return [n.name for n in traced.nodes if n.kind != "input"]


def test_the_perceptron_is_its_equations() -> None:
    traced = trace(mlp, *MLP)
    expected = "dot_general broadcast_in_dim add max dot_general broadcast_in_dim add sub integer_pow"
    assert names(traced) == [*expected.split(), "dim_as_value", "convert_element_type", "reduce_sum", "div"]
    assert traced.check() is None


def test_nested_jits_are_inlined_at_their_call() -> None:
    traced = trace(jax.jit(lambda x: jax.jit(jax.jit(jnp.tanh))(x)), "x: n")
    assert names(traced) == ["tanh"]
    assert traced.nodes[1].source.startswith("test_trace.py:")


def test_a_literal_given_to_an_inner_program() -> None:
    traced = trace(lambda x: jnp.where(x > 0, x, 0), "x: n")
    assert traced.check() is None
    assert "select_n" in names(traced)


def test_functions_with_rules_are_one_node() -> None:
    traced = trace(mlp_with(jax.nn.relu), *MLP)
    kinds = {n.name: n.kind for n in traced.nodes}
    assert kinds["relu"] == "custom_jvp"
    assert kinds["mse"] == "op"
    assert {n.name: n.kind for n in trace(right_vjp, "x: n").nodes}["relu"] == "custom_vjp"


def test_an_op_shows_its_keywords_and_the_line_of_its_call() -> None:
    node = trace(lambda x: ops.softmax(x, axis=0), "x: n").nodes[1]
    assert (node.kind, node.name, node.params) == ("op", "softmax", {"axis": "0"})
    assert node.source.startswith("test_trace.py:")


def test_several_outputs_some_dropped() -> None:
    traced = trace(lambda x, y: two_outputs(x, y)[1], "x: n", "y: n")
    (node,) = [n for n in traced.nodes if n.kind == "custom_jvp"]
    assert len(node.outputs) == 2
    assert traced.ir.outputs == [Ref(node=node.id, output=1)]


def test_outputs_that_are_inputs_twice() -> None:
    traced = trace(lambda x, y: (x, y, x), "x: n", "y:")
    assert traced.ir.outputs == [Ref(node=0), Ref(node=1), Ref(node=0)]


def test_constants_stand_outside() -> None:
    values = np.arange(3.0)
    traced = trace(lambda x: x * values, "x: 3")
    (node,) = [n for n in traced.nodes if n.kind == "constant"]
    assert np.array_equal(traced.constants[node.id], values)


def test_dead_nodes_are_left_out() -> None:
    def f(x):
        jnp.sin(x)
        return jnp.cos(x)

    assert names(trace(f, "x: n")) == ["cos"]


def test_nested_arguments_are_named_by_their_place() -> None:
    traced = trace(lambda p, x: p["w"] @ x + p["b"], {"w": "m n", "b": "m"}, "x: n")
    assert [n.name for n in traced.ir.inputs] == ["p['b']", "p['w']", "x"]


def changed(traced: TracedGraph, position: int, **changes) -> TracedGraph:
    nodes = list(traced.nodes)
    nodes[position] = msgspec.structs.replace(nodes[position], **changes)
    traced.ir = msgspec.structs.replace(traced.ir, nodes=nodes)
    return traced


def test_a_swapped_parent() -> None:
    traced = changed(trace(mlp, *MLP), 6, operands=[Ref(node=1), Ref(node=0)])
    assert (traced.check() or "").startswith(
        "node 6 (dot_general), operand 0 (%1) is f32[d, h], but the operation takes f32[n, d] there "
        "(the node comes from models.py:"
    )


def test_a_parent_read_twice_instead_of_two() -> None:
    traced = changed(trace(lambda x, y: x * x + y, "x: n", "y: n"), 2, operands=[Ref(node=0), Ref(node=1)])
    problem = "node 2 (mul), operand 1 is %1, but the operation reads %0 there as well (the node comes from "
    assert (traced.check() or "").startswith(problem)


def test_a_wrong_declared_shape() -> None:
    traced = changed(trace(mlp, *MLP), 9, outputs=[ArrayType(shape=["h", "n"], dtype="float32")])
    problem = "node 9 (max), output 0 is declared f32[h, n], but the operation gives f32[n, h]"
    assert (traced.check() or "").startswith(problem)


@pytest.mark.parametrize(
    "specs, message",
    [
        (["x: n d!"], "The spec 'x: n d!' of x does not parse: 'd!' is no dim"),
        (["x: *s"], "has a star. A graph is traced at one rank"),
        (["x: n, m"], "is more than one array"),
        (["x: n*n"], "The dimension n stands only inside expressions"),
        ([3], "The spec of x is 3. Write the dimensions as text"),
    ],
)
def test_bad_specs(specs: list, message: str) -> None:
    with pytest.raises(UsageError) as error:
        trace(lambda x: x, *specs)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_given_twice() -> None:
    with pytest.raises(UsageError, match="Two specs are named 'x'"):
        trace(lambda x, y: x, "x: n", "x: n")


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(TraceError) as error:
        trace(lambda x, y: x @ y, "x: n d", "y: n d")
    assert "could not trace <lambda> of x: f32[n, d], y: f32[n, d]" in str(error.value)
    assert "\n" not in str(error.value)


def test_side_effects_are_refused() -> None:
    def f(x):
        jax.debug.print("{}", x)
        return x

    with pytest.raises(TraceError, match="has side effects"):
        trace(f, "x: n")
