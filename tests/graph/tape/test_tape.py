"""The eager tape against `jax.grad`, compiled graphs and `certgrad.graph.trace`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from certgrad import certify, compile_graph, ops, trace
from certgrad.errors import TraceError, UsageError
from certgrad.graph.tape import Tape, Value

pytestmark = pytest.mark.usefixtures("proofs_alone")

SHAPES = {"x": (4, 3), "W": (3, 5), "b": (5,), "y": (4, 5)}


def arrays() -> dict[str, Any]:
    keys = jax.random.split(jax.random.key(7), len(SHAPES))
    return {n: jax.random.normal(k, s) for k, (n, s) in zip(keys, SHAPES.items(), strict=True)}


def mlp(f, x, W, b, y):
    """Written once: with `jax.numpy` on arrays, with `numpy` on values of a tape."""
    h = f.maximum(x @ W + b, 0)
    return ops.mse(ops.tanh(h) * h, y)


def shared(f, x, W, b, y):
    h = x @ W
    h = h * h + h
    return f.mean((h - y) ** 2) + f.sum(b[1:3] * b[0]) / 2


def methods(f, x, W, b, y):
    h = 1 - (x @ W).T.reshape(-1).sum() * 2.0
    return h**2 + f.exp(-b).sum() + f.where(y > 0, y, -2 * y).mean() + abs(b).max()


def several(f, x, W, b, y):
    first, second = f.split(x @ W, 2, axis=0)
    return f.sum(ops.softmax(first, axis=-1) * second[::-1]) + f.linalg.norm(f.concatenate([b, b]))


PROGRAMS = [mlp, shared, methods, several]


def recorded(program: Callable, given: dict[str, Any]) -> tuple[Tape, Value]:
    tape = Tape()
    return tape, program(np, *(tape.input(n, a) for n, a in given.items()))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_values_and_gradients_are_those_of_jax(program: Callable) -> None:
    given = arrays()
    tape, loss = recorded(program, given)
    value, expected = jax.value_and_grad(lambda v: program(jnp, **v))(given)
    np.testing.assert_allclose(loss.value, value, rtol=1e-6)
    gradients = tape.backward(loss).gradients
    assert list(gradients) == list(SHAPES)
    for n in SHAPES:
        np.testing.assert_allclose(gradients[n], expected[n], rtol=1e-5, atol=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_tape_is_the_graph_that_trace_makes(program: Callable) -> None:
    given = arrays()
    tape, loss = recorded(program, given)
    texts = [f"{n}: {' '.join(map(str, s))}" for n, s in SHAPES.items()]
    ours, theirs = tape.graph(loss, name="f").ir, trace(lambda *v: program(jnp, *v), *texts, name="f").ir
    assert [str(n) for n in ours.nodes] == [str(n) for n in theirs.nodes], "the user's lines too"
    without = [msgspec.structs.replace(g, nodes=[_bare(n) for n in g.nodes]) for g in (ours, theirs)]
    assert without[0] == without[1]


def _bare(node: Any) -> Any:
    return msgspec.structs.replace(node, function="")


@pytest.mark.slow
def test_eager_and_compiled_agree() -> None:
    given = arrays()
    tape, loss = recorded(mlp, given)
    graph = tape.graph(loss, x="n d", W="d h", b="h", y="n h")
    assert graph.ir.dims == ["n", "d", "h"]
    assert certify(graph).verdict == "proved under hypotheses"
    value, gradients = compile_graph(graph).value_and_grad(*given.values())
    np.testing.assert_allclose(loss.value, value, rtol=1e-6)
    for eager, compiled in zip(tape.backward(loss).gradients.values(), gradients, strict=True):
        np.testing.assert_allclose(eager, compiled, rtol=1e-5, atol=1e-6)


def test_the_sweep_shows_every_contribution() -> None:
    tape = Tape()
    x = tape.input("x", 3.0)
    y = x * x + x
    sweep = tape.backward(y, 2.0)
    assert [(s.record.name, [c.to.label for c in s.contributions]) for s in sweep.steps] == [
        ("add", ["%1", "%0"]),
        ("mul", ["%0", "%0"]),
    ]
    assert [float(c.total) for s in sweep.steps for c in s.contributions] == [2.0, 2.0, 8.0, 14.0]
    assert float(sweep.of(x)) == 14.0
    assert float(tape.backward(y).of(x)) == 7.0, "a sweep leaves nothing behind on the tape"
    assert float(sweep.of(tape.input("z", 1.0))) == 0.0


def test_several_outputs_and_seeds() -> None:
    tape = Tape()
    x = tape.input("x", jnp.arange(3.0))
    sweep = tape.backward([x * 2, np.sum(x)], [jnp.array([1.0, 10.0, 100.0]), 5.0])
    assert sweep.gradients["x"].tolist() == [7.0, 25.0, 205.0]


def test_python_decides_by_values_while_they_are_recorded() -> None:
    tape = Tape()
    x = tape.input("x", 2.0)
    steps = 0
    while x < 50:
        x, steps = x * x, steps + 1
    assert (steps, float(x)) == (3, 256.0)
    assert [r.name for r in tape.records].count("mul") == 3
    assert float(tape.backward(x).gradients["x"]) == 8 * 2.0**7


def test_integers_have_no_gradient() -> None:
    tape = Tape()
    table, rows = tape.input("table", jnp.arange(6.0).reshape(3, 2)), tape.input("rows", jnp.array([2, 2, 0]))
    loss = np.sum(table[rows] ** 2) + np.argmax(table)
    sweep = tape.backward(loss)
    assert list(sweep.gradients) == ["table"]
    assert sweep.gradients["table"].tolist() == [[0.0, 2.0], [0.0, 0.0], [16.0, 20.0]]
    assert tape.graph(loss, table="n d", rows="k:int").ir.dims == ["n", "d", "k"]


def test_other_functions_of_jax_are_applied() -> None:
    tape = Tape()
    x = tape.input("x", jnp.arange(3.0))
    y = tape.apply(jax.nn.log_softmax, x * jnp.ones(3), axis=-1)
    first, both = tape.apply(lambda a, b: (a[0], {"sum": a + b}), y, y)
    assert isinstance(both["sum"], Value)
    assert tape.records[-1].name == "<lambda>"
    expected = jax.grad(lambda v: jax.nn.log_softmax(v)[0])(jnp.arange(3.0))
    np.testing.assert_allclose(tape.backward(first).gradients["x"], expected, rtol=1e-6)


def test_the_graph_is_of_what_ran() -> None:
    tape = Tape()
    factor, state = np.array([1.0, 2.0, 3.0]), [1.0]
    x = tape.input("x", factor)
    y = np.sum(x * factor) * 1.0
    z = tape.apply(lambda v: v * state[0], y)
    factor[:], state[0] = 0, 5.0
    assert x.value.tolist() == [1.0, 2.0, 3.0]
    run = compile_graph(tape.graph(y))
    assert float(run.value_and_grad(jnp.ones(3))[0]) == 6.0, "the array as it was when the call ran"
    with pytest.raises(TraceError, match="Running the recorded calls again gives another value of %4"):
        tape.graph(z)


@pytest.mark.slow
def test_messages_name_what_is_wrong() -> None:
    tape, other = Tape(), Tape()
    x, z = tape.input("x", jnp.arange(3.0)), other.input("z", 1.0)
    with pytest.raises(UsageError, match="has an input 'x' already"):
        tape.input("x", 1.0)
    with pytest.raises(UsageError, match="'1x' cannot name an input"):
        tape.input("1x", 1.0)
    with pytest.raises(UsageError, match="A value of one tape was used on another"):
        x + z
    with pytest.raises(UsageError, match=r"%0 has shape \(3\), not that of a scalar"):
        tape.backward(x)
    with pytest.raises(UsageError, match=r"The seed has shape \(2,\), and %0 has \(3,\)"):
        tape.backward(x, jnp.ones(2))
    with pytest.raises(UsageError, match="only real numbers have gradients"):
        tape.backward(np.argmax(x))
    with pytest.raises(UsageError, match="Only values of this tape"):
        tape.backward(z)
    with pytest.raises(UsageError, match="2 outputs and 1 seeds"):
        tape.backward([x, x], [1.0])
    with pytest.raises(UsageError, match="would become a plain array here"):
        jnp.asarray(np.asarray(x))
    with pytest.raises(AttributeError, match="has no 'at'"):
        x.at
    with pytest.raises(UsageError, match="has no input 'W'; it has x"):
        tape.graph(x, W="n")
    with pytest.raises(TraceError, match="A recorded call that names sizes"):
        tape.graph(x * jnp.ones(3), x="n")
    before = len(tape.records)
    with pytest.raises(TypeError):
        x @ jnp.ones((2, 2))
    assert len(tape.records) == before, "what did not run is not recorded"
