"""Guards: what fails where a certified graph runs is named, and counted."""

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from certgrad.accel import CompiledGraph, GuardError, NotCertifiedError, compile_graph
from certgrad.graph import trace
from certgrad.graph.certifying.certify import certification
from certgrad.training import SGD, curves, train, training_step
from examples.models import Draw

WORDS, LENGTH, WIDTH = 17, 6, 12


def of_words(p, tokens, w):
    """A model of words, with what can go wrong in the user's own lines."""
    x = jnp.tanh((p["tokens"][tokens[:-1]] + p["positions"]) @ p["weights"])
    x = x + jax.nn.relu(w["gate"])
    x = x + jnp.log(w["rates"]) / w["scale"]
    x = x + jnp.sqrt(w["spread"])
    log_probabilities = jax.nn.log_softmax(x @ p["tokens"].T)
    return -jnp.mean(jnp.take_along_axis(log_probabilities, tokens[1:, None], axis=-1))


@pytest.fixture(scope="module")
def arguments() -> tuple:
    draw = Draw()
    own = {name: jnp.ones(WIDTH) for name in ("gate", "rates", "scale", "spread")}
    shared = {"tokens": draw(WORDS, WIDTH), "positions": draw(LENGTH, WIDTH), "weights": draw(WIDTH, WIDTH)}
    return shared, draw.integers(WORDS, LENGTH + 1), own


@pytest.fixture(scope="module")
def guarded(arguments: tuple) -> CompiledGraph:
    return compile_graph(trace(of_words, *arguments), checked=True, monitor=True)


def broken(arguments: tuple, name: str, k: int, value: float) -> tuple:
    p, tokens, w = arguments
    return (p, tokens.at[k].set(value), w) if name == "tokens" else (p, tokens, {**w, name: w[name].at[k].set(value)})


@pytest.mark.parametrize(
    "planted, said",
    [
        (
            ("gate", 3, 0),
            r"relu at test_guards\.py:\d+: .*`w\['gate'\]` ≠ 0 fails at 1 of 12 .* = 3, where it is 0 ≠ 0",
        ),
        (("rates", 4, -1), r"log at .*`w\['rates'\]` > 0 fails at 1 of 12 places, first at axis 0 = 4, .* is -1 > 0"),
        (("scale", 6, 0), r"div at .*`w\['scale'\]` ≠ 0 fails at 1 of 12 places, first at axis 0 = 6, .* is 0 ≠ 0"),
        (("spread", 5, 0), r"sqrt at .*`w\['spread'\]` > 0 fails at 1 of 12 places, first at axis 0 = 5, .* is 0 > 0"),
        (("tokens", 6, 99), r"gather at .* fails at 1 of 6 places, first at .* = 5"),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else "",
)
def test_a_planted_defect_is_named(guarded: CompiledGraph, arguments: tuple, planted: tuple, said: str) -> None:
    with pytest.raises(GuardError, match=said):
        guarded.value_and_grad(*broken(arguments, *planted))
    failed = {name: n for name, n in guarded.monitor.metrics().items() if n and name != "not finite"}
    assert list(failed.values()) == [1]


def test_what_is_right_passes_and_is_what_runs_without_guards(guarded: CompiledGraph, arguments: tuple) -> None:
    plain = compile_graph(guarded.certified)
    for found, expected in zip(*(jax.tree.leaves(g.value_and_grad(*arguments)) for g in (guarded, plain)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert not any(guarded.monitor.metrics().values())


def finished(run):
    """Also what is told to the host."""
    jax.block_until_ready(run())
    jax.effects_barrier()


def logs(x):
    return jnp.sum(jnp.log(x))


def test_inside_jit_vmap_and_scan() -> None:
    found = compile_graph(trace(logs, "x: n"), checked=True, monitor=True)
    rows = jnp.array([[1.0, 2, 3], [1, -2, -3]])
    counted = r"log at test_guards\.py:\d+: every element of `x` > 0 fails at 2 of 3 places, first at axis 0 = 1"
    for run in (
        lambda: jax.jit(found.value_and_grad)(rows[1]),
        lambda: jax.vmap(found.value_and_grad)(rows),
        lambda: jax.lax.scan(lambda c, x: (c, found.value_and_grad(x)), 0, rows),
    ):
        with pytest.raises(Exception, match=counted):
            finished(run)
    finished(lambda: jax.jit(jax.vmap(found.forward))(rows[:1]))
    assert max(found.monitor.series(found.monitor.names[0])) == 2
    with pytest.raises(GuardError, match="1 of 5 places, first at axis 0 = 4"):  # at other sizes, other places
        found.forward(jnp.ones(5).at[4].set(0))


def test_inside_a_loop_the_step_is_named() -> None:
    def looped(xs):
        def step(c, x):
            return c + jnp.log(x), c

        return jax.lax.scan(step, jnp.zeros(()), xs)[0]

    found = compile_graph(trace(looped, "xs: n"), checked=True)
    with pytest.raises(GuardError, match=r"log at test_guards.py:\d+: .* fails at 1 of 4 places, first at step 2"):
        found.value_and_grad(jnp.array([1.0, 2, -3, 4]))


@pytest.mark.slow
def test_what_is_not_finite_is_followed_to_its_node() -> None:
    def large(x):
        return jnp.sum(jnp.tanh(x) * jnp.exp(x) - x)

    found = compile_graph(trace(large, "x: n"), checked=True)
    with pytest.raises(GuardError, match=r"returned what is not finite: %\d+ exp at test_guards.py:\d+ is the first"):
        found.value_and_grad(jnp.array([1.0, 1000]))
    with pytest.raises(GuardError, match="%0 x is the first that is NaN"):
        found.value_and_grad(jnp.array([1.0, jnp.nan]))

    def masked(x):  # its own infinities are no numbers that went wrong
        kept = jnp.where(jnp.arange(3) < 2, x, -jnp.inf)
        return jnp.sum(jax.nn.softmax(kept)[:2] * x[:2]) + jnp.sum(jnp.exp(x))

    found = compile_graph(trace(masked, jnp.zeros(3)), checked=True)
    assert jnp.isfinite(found.value_and_grad(jnp.array([1.0, 2, 3]))[0])
    with pytest.raises(GuardError, match=r"%\d+ exp at test_guards.py:\d+ is the first that is infinite"):
        found.value_and_grad(jnp.array([1.0, 2, 1000]))


def test_what_is_not_finite_is_followed_inside_jit_vmap_and_scan() -> None:
    def large(x):
        return jnp.sum(jnp.tanh(x) * jnp.exp(x) - x)

    found = compile_graph(trace(large, "x: n"), checked=True, monitor=True)
    rows = jnp.array([[1.0, 2], [1, 1000]])
    for run in (
        lambda: jax.jit(found.value_and_grad)(rows[1]),
        lambda: jax.vmap(found.value_and_grad)(rows),
        lambda: jax.lax.scan(lambda c, x: (c, found.value_and_grad(x)), 0, rows),
    ):
        with pytest.raises(Exception, match=r"not finite: %\d+ exp at test_guards\.py:\d+ is the first"):
            finished(run)
    assert max(found.monitor.series("not finite")) == 1


def test_counts_inside_jit_vmap_and_scan() -> None:
    rows = jnp.array([[1.0, 2, 3], [1, -2, -3], [0, 1, 1]])
    for run in (
        lambda found: [jax.jit(found.value_and_grad)(row) for row in rows],
        lambda found: jax.vmap(found.value_and_grad)(rows),
        lambda found: jax.lax.scan(lambda c, x: (c, found.value_and_grad(x)), 0, rows),
    ):
        found = compile_graph(trace(logs, "x: n"), monitor=True)
        finished(lambda f=found, r=run: r(f))
        assert sorted(found.monitor.series(found.monitor.names[0])) == [0, 1, 2]


def test_counts_go_into_the_log_of_a_run_and_its_curves(tmp_path) -> None:
    step = training_step(trace(logs, "x: n"), SGD, ["x"], monitor=True)
    start = step.start({"x": jnp.array([1.0, 0.5])}, hyperparameters={"lr": 0.3})
    run = train(step, start, [{}], steps=2, log_every=1, progress=False)
    name = step.monitor.names[0]
    assert [e.metrics[name] for e in run.log.entries] == [0, 1]
    pytest.importorskip("matplotlib")
    assert "<svg" in curves(run.log, tmp_path / "counts.svg", [name]).read_text()


def test_a_training_step_is_guarded_and_counted() -> None:
    step = training_step(trace(logs, "x: n"), SGD, ["x"], checked=True, monitor=True)
    context = step.start({"x": jnp.array([1.0, 0.5])}, hyperparameters={"lr": 1.0})
    context, _ = step(context)
    with pytest.raises(GuardError, match="first at axis 0 = 0, where it is 0 > 0"):
        step(context)
    assert step.monitor.series(step.monitor.names[0]) == [0, 2]
    assert "failed 2 times in 1 call\n  not finite: in 1 call" in str(step.monitor)


def test_a_program_that_is_not_the_certificate_s_is_not_compiled() -> None:
    done = certification(trace(logs, "x: n"))
    steps = list(done.certificate.steps)
    log = next(k for k, s in enumerate(steps) if s.operation.startswith("log"))
    steps[log] = msgspec.structs.replace(steps[log], lemma="0" * 64)
    done.certificate = msgspec.structs.replace(done.certificate, steps=steps)
    with pytest.raises(NotCertifiedError, match=r"%1 log .* runs the rules of the lemma .*, and its step names 000000"):
        compile_graph(done)
