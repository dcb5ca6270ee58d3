"""Compiled graphs against JAX's own derivatives, as a whole and node by node."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops
from certgrad.accel import CompiledGraph, NotCertifiedError, compile_graph
from certgrad.errors import UsageError
from certgrad.graph import trace
from certgrad.graph.tracing.jaxpr import evaluate
from tests.graph import models
from tests.graph.models import MLP, mlp, mlp_with


@pytest.fixture(scope="module")
def compiled() -> CompiledGraph:
    return compile_graph(trace(mlp, *MLP))


def arguments(n: int, d: int, h: int, c: int) -> list:
    random = np.random.default_rng(3)
    return [jnp.asarray(random.normal(size=s)) for s in [(n, d), (d, h), (h,), (h, c), (c,), (n, c)]]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("sizes", [(5, 3, 4, 2), (1, 1, 1, 1), (3, 3, 3, 3), (1, 4, 1, 2)])
def test_value_and_grad_is_jax_s(compiled: CompiledGraph, sizes: tuple) -> None:
    with jax.enable_x64(True):
        args = arguments(*sizes)
        loss, gradients = compiled.value_and_grad(*args)
        expected, wanted = jax.value_and_grad(mlp, argnums=tuple(range(6)))(*args)
        np.testing.assert_allclose(loss, expected, rtol=1e-14)
        for found, one in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(found, one, rtol=1e-12, atol=1e-14)


def test_in_single_precision(compiled: CompiledGraph) -> None:
    args = [x.astype(jnp.float32) for x in arguments(4, 3, 2, 1)]
    loss, gradients = compiled.value_and_grad(*args)
    assert loss.dtype == jnp.float32
    assert all(g.dtype == jnp.float32 for g in gradients)
    np.testing.assert_allclose(loss, mlp(*args), rtol=1e-5)


@pytest.mark.slow
def test_node_by_node() -> None:
    """Each node's forward and vjp, as its lemma has them, against JAX's on the node's own equation."""
    with jax.enable_x64(True):
        compiled = compile_graph(trace(mlp, *MLP))
        sweep, leaves = compiled.sweep(*arguments(4, 3, 5, 2))
        values = sweep.forward(leaves)
        cotangents = sweep.backward(values, [jnp.ones(())])
        traced = compiled.certified.traced
        numeric = dict(sweep.sizes)
        checked = 0
        for node in traced.nodes:
            if (judgement := compiled.certified.induction.judged.get(node.id)) is None:
                continue
            programs, operands = (
                judgement.instance.proof.programs,
                [values[r.node][r.output] for r in traced.slots(node)],
            )
            assert programs is not None
            found = evaluate(programs.forward, operands, sweep.dims_of(node), sweep.numbers)
            for ours, theirs in zip(found, values[node.id], strict=True):
                np.testing.assert_array_equal(ours, theirs)
            arrived = cotangents.get((node.id, 0))
            if arrived is None:
                continue
            equation, slots = traced.equations[node.id].at(numeric), traced.slots(node)
            args = [values[r.node][r.output] for r in slots]
            expected = jax.vjp(lambda *xs, e=equation: e.run(*xs), *args)[1]([arrived])
            by_operand = {str(r): ct for r, ct in zip(slots, expected, strict=True)}
            for operand, ct in sweep.node_vjp(node, values, [arrived]):
                np.testing.assert_allclose(ct, by_operand[str(operand)], rtol=1e-13)
                checked += 1
        assert checked == 16


def test_forward_and_vjp(compiled: CompiledGraph) -> None:
    args = arguments(4, 3, 2, 1)
    loss, cotangents = compiled.vjp(args, jnp.float32(2))
    np.testing.assert_allclose(loss, compiled.forward(*args), rtol=1e-6)
    np.testing.assert_allclose(cotangents[1], 2 * compiled.value_and_grad(*args)[1][1], rtol=1e-5)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("activation", [jax.nn.relu, ops.relu, models.right_vjp, models.right_jvp])
def test_rules_of_every_kind_run(activation) -> None:
    loss = mlp_with(activation)
    found = compile_graph(trace(loss, *MLP))
    with jax.enable_x64(True):
        args = arguments(3, 2, 4, 2)
        for ours, theirs in zip(found.value_and_grad(*args)[1], jax.grad(loss, tuple(range(6)))(*args), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_several_outputs_fan_out_and_nesting() -> None:
    def f(p, k):
        a, b = models.two_outputs(p["w"], p["w"] * p["b"])
        return {"a": a * k, "w": p["w"], "n": jnp.sum(b)}

    found = compile_graph(trace(f, {"w": "n", "b": "n"}, "k: n:int"))
    with jax.enable_x64(True):
        p, k = {"w": jnp.arange(1.0, 4), "b": jnp.arange(3.0)}, jnp.arange(3)
        outputs, (found_p, found_k) = found.vjp((p, k), {"a": jnp.ones(3), "w": 2 * jnp.ones(3), "n": jnp.ones(())})
        expected, pull = jax.vjp(lambda p: f(p, k), p)
        assert jax.tree.all(jax.tree.map(jnp.allclose, outputs, expected))
        (wanted,) = pull({"a": jnp.ones(3), "w": 2 * jnp.ones(3), "n": jnp.ones(())})
        assert jax.tree.all(jax.tree.map(jnp.allclose, found_p, wanted))
        assert found_k is None


def test_a_graph_that_is_not_proved_is_not_compiled() -> None:
    with pytest.raises(NotCertifiedError, match=r"is refuted, so it is not compiled: %9 relu at models.py"):
        compile_graph(trace(mlp_with(models.scaled_op), *MLP))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda a: [*a[:5], a[5][:, 0]], "target has 1 axes, but its spec 'n c' has 2"),
        (lambda a: [*a[:5], a[5][:2]], r"target has shape \(2, 1\), but its spec 'n c' with n = 4.* gives \(4, 1\)"),
        (lambda a: a[:5], "The graph takes 6 arguments, and got 5"),
        (lambda a: [a[0].astype(int), *a[1:]], "x is int32, but its spec is of real numbers"),
        (lambda a: [[a[0]], *a[1:]], "Argument 0 is nested as"),
    ],
)
def test_arguments_that_do_not_fit(compiled: CompiledGraph, change, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compiled.value_and_grad(*change(arguments(4, 3, 2, 1)))


def test_no_gradient_without_a_loss() -> None:
    with pytest.raises(UsageError, match="does not return one real number"):
        compile_graph(trace(lambda x: x * x, "x: n")).value_and_grad(jnp.ones(3))


def test_scattered_cotangents_add_up_in_the_dtype_that_runs() -> None:
    def loss(table, rows):
        return jnp.sum(table[rows] ** 2)

    run = compile_graph(trace(loss, "n d", "k:int"))
    table, rows = jnp.arange(6, dtype=jnp.float32).reshape(3, 2), jnp.array([0, 2, 2])
    _, (gradient, _) = run.value_and_grad(table, rows)
    expected = jax.grad(loss)(table, rows)
    assert gradient.dtype == jnp.float32
    assert jnp.array_equal(gradient, expected)


def test_random_numbers_run_as_they_were_traced() -> None:
    def f(x):
        return jnp.sum(x * jax.random.uniform(jax.random.key(0), x.shape))

    run = compile_graph(trace(f, "n d"))
    x = jnp.ones((3, 2))
    np.testing.assert_allclose(run.value_and_grad(x)[1][0], jax.grad(f)(x))
    with jax.enable_x64(True), pytest.raises(UsageError, match=r"in float32, and in float64 it is another program"):
        run.value_and_grad(np.ones((3, 2)))


def test_arrays_of_other_kinds_of_numbers_do_not_run() -> None:
    """In narrower integers the function's own would wrap, and of integers `~` is another function than of booleans."""
    halved = compile_graph(trace(lambda w, i: jnp.sum(w * (i // 2)), "m", "m:int"))
    assert halved.forward(jnp.ones(2), jnp.array([255, 128])) == 127 + 64
    for given in (np.array([255, 128], np.uint8), jnp.ones(2), jnp.array([True, False])):
        with pytest.raises(UsageError, match=r"is .*, but its spec is of int32"):
            halved.forward(jnp.ones(2), given)
    masked = compile_graph(trace(lambda w, m: jnp.sum(jnp.where(~m, w, -w)), "m", "m:bool"))
    with pytest.raises(UsageError, match=r"m is int32, but its spec is of truth values\. Pass an array of bool"):
        masked.forward(jnp.ones(3), jnp.array([0, 1, 2]))


def test_arrays_of_several_dtypes_do_not_run_where_one_was_traced() -> None:
    compiled = compile_graph(trace(lambda x, y: jnp.sum(x * y if x.dtype == y.dtype else 2 * x * y), "n", "n"))
    with pytest.raises(UsageError, match="given arrays of bfloat16 and float32, in which it may be another program"):
        compiled.forward(jnp.ones(2), jnp.ones(2, jnp.bfloat16))
    scaled = compile_graph(trace(lambda x, y: x * y, "n", ""))
    assert scaled.forward(jnp.ones(2, jnp.bfloat16), 0.5).dtype == jnp.bfloat16
