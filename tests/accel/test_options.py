"""Options of a run: each is in force and printed, and the gradients are those of a run without it."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.accel import Options, compile_graph
from certgrad.errors import UsageError
from certgrad.graph import trace
from certgrad.training import ADAM, train, training_step

RANDOM = np.random.default_rng(0)


def draw(*shape: int) -> Any:
    return jnp.asarray(RANDOM.normal(size=shape) * 0.3, jnp.float32)


def deep(params: Any, x: Any) -> Any:
    for W in params:
        x = jnp.tanh(x @ W)
    return jnp.mean(x**2)


def recurrent(params: Any, xs: Any) -> Any:
    def cell(h: Any, x: Any) -> Any:
        h = jnp.tanh(x @ params["W"] + h @ params["U"])
        return h, jax.nn.sigmoid(h)

    return jnp.mean(jax.lax.scan(cell, jnp.zeros(params["U"].shape[0], xs.dtype), xs)[1] ** 2)


def nested(params: Any, xs: Any) -> Any:
    def outer(h: Any, x: Any) -> Any:
        def inner(g: Any, row: Any) -> Any:
            g = jnp.sin(g * row) + h
            return g, g * row

        g, ys = jax.lax.scan(inner, h, params["U"])
        return jnp.tanh(g + x @ params["W"]), jnp.sum(ys * jnp.exp(h))

    return jnp.sum(jax.lax.scan(outer, jnp.zeros(4, xs.dtype), xs)[1])


DEEP = ([draw(16, 16) for _ in range(24)], draw(256, 16))
RECURRENT = ({"W": draw(3, 4), "U": draw(4, 4)}, draw(7, 3))


@pytest.fixture(scope="module")
def graphs() -> dict:
    return {f.__name__: trace(f, *given) for f, given in ((deep, DEEP), (recurrent, RECURRENT), (nested, RECURRENT))}


def apart(found: Any, wanted: Any) -> float:
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    return max(float(jnp.abs(a - b).max() / (jnp.abs(b).max() + 1e-30)) for a, b in pairs)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("remat", [False, True])
@pytest.mark.parametrize("f, given", [(deep, DEEP), (recurrent, RECURRENT), (nested, RECURRENT)])
def test_gradients_are_those_of_jax_whether_values_are_kept_or_not(
    graphs: dict, f: Any, given: Any, remat: bool
) -> None:
    compiled = compile_graph(graphs[f.__name__], options=Options(remat=remat))
    assert apart(compiled.value_and_grad(*given), jax.value_and_grad(f, (0, 1))(*given)) < 2e-5


def planned(compiled: Any, *given: Any) -> int:
    leaves = compiled.certified.traced.specs.flat(given)
    return jax.jit(compiled._value_and_grad).lower(leaves).compile().memory_analysis().temp_size_in_bytes


@pytest.mark.slow
def test_steps_that_are_computed_anew_need_less_memory() -> None:
    def planned(remat: bool) -> int:
        given = RECURRENT[0], draw(4000, 3)
        program = trace(recurrent, *given)
        compiled = compile_graph(program, options=Options(remat=remat))
        lowered = jax.jit(compiled._value_and_grad).lower(compiled.certified.traced.specs.flat(given))
        return int(lowered.compile().memory_analysis().temp_size_in_bytes)

    assert planned(True) < 0.7 * planned(False)


def test_values_outside_loops_are_computed_anew_behind_barriers(graphs: dict) -> None:
    """XLA on a CPU takes the barriers away, as it does those of jax.checkpoint; elsewhere they hold."""
    compiled = compile_graph(graphs["deep"], options=Options(remat=True))
    program = jax.make_jaxpr(compiled._value_and_grad)(compiled.certified.traced.specs.flat(DEEP))
    names = [e.primitive.name for e in program.jaxpr.eqns]
    count = len(compiled.certified.traced.nodes)
    assert names.count("optimization_barrier") == -(-count // math.isqrt(count))
    assert names.count("tanh") >= 2 * len(DEEP[0])


def test_a_loop_keeps_no_more_than_what_jax_keeps(graphs: dict) -> None:
    def widths(program: Any) -> int:
        scans = [e for e in program.jaxpr.eqns if e.primitive.name == "scan"]
        return sum(v.aval.size for v in scans[0].outvars if v.aval.ndim and v.aval.shape[0] == 7)

    compiled = compile_graph(graphs["recurrent"])
    leaves = compiled.certified.traced.specs.flat(RECURRENT)
    ours = jax.make_jaxpr(compiled._value_and_grad)(leaves)
    theirs = jax.make_jaxpr(jax.value_and_grad(recurrent, (0, 1)))(*RECURRENT)
    assert sum(e.primitive.name == "scan" for e in ours.jaxpr.eqns) == 2
    assert widths(ours) <= widths(theirs)


@pytest.mark.slow
def test_dtypes(graphs: dict) -> None:
    exact = compile_graph(graphs["deep"]).value_and_grad(*DEEP)
    found = compile_graph(graphs["deep"], options=Options(dtype="bfloat16")).value_and_grad(*DEEP)
    assert found[0].dtype == jnp.bfloat16
    assert apart(found[0].astype(jnp.float32), exact[0]) < 0.1
    with jax.enable_x64(True):
        wide = compile_graph(graphs["deep"], options=Options(dtype="float64"))
        found = wide.value_and_grad(*DEEP)
        assert found[0].dtype == jnp.float64
        given = jax.tree.map(lambda x: x.astype(jnp.float64), DEEP)
        assert apart(found, jax.value_and_grad(deep, (0, 1))(*given)) < 1e-12
    with pytest.raises(UsageError, match="float64 needs 64 bits"):
        Options(dtype="float64")


def test_precision_of_products(graphs: dict) -> None:
    def asked(options: Options) -> set:
        compiled = compile_graph(graphs["deep"], options=options)
        leaves = compiled.certified.traced.specs.flat(DEEP)
        program = jax.make_jaxpr(compiled._value_and_grad)(leaves)
        return {e.params["precision"] for e in program.jaxpr.eqns if e.primitive.name == "dot_general"}

    assert asked(Options()) == {None}
    highest = jax.lax.Precision.HIGHEST
    assert asked(Options(matmul_precision="highest")) == {(highest, highest)}


def mixed(options: Options) -> Any:
    return training_step(trace(recurrent, *RECURRENT), ADAM, ["params"], options=options)


@pytest.mark.slow
def test_a_step_in_bfloat16_keeps_its_parameters_in_float32() -> None:
    step = mixed(Options(dtype="bfloat16"))
    context = step.start({"params": RECURRENT[0]})
    context, value = step(context, xs=RECURRENT[1])
    assert value.dtype == jnp.bfloat16
    assert {x.dtype for x in jax.tree.leaves((context.parameters, context.gradients, context.state["m"]))} == {
        np.dtype(np.float32)
    }
    plain = mixed(Options())
    wanted, _ = plain(plain.start({"params": RECURRENT[0]}), xs=RECURRENT[1])
    assert apart(context.gradients, wanted.gradients) < 0.05
    assert "dtype: bfloat16, parameters in float32" in str(step)


@pytest.mark.slow
def test_a_run_that_donates_is_the_same_run(tmp_path: Any) -> None:
    pytest.importorskip("orbax.checkpoint")
    runs = []
    for k, options in enumerate((Options(), Options(donate=True, device="cpu:0", deterministic=True))):
        step = mixed(options)
        start = step.start({"params": RECURRENT[0]})
        runs.append(
            train(
                step, start, [{"xs": RECURRENT[1]}], steps=6, folder=tmp_path / str(k), log_every=1, save_every=2,
                progress=False,
            )
        )  # fmt: skip
        assert jnp.isfinite(start.parameters["params['W']"]).all()  # the start is not given up
    assert apart(runs[0].context.parameters, runs[1].context.parameters) < 1e-6
    step = mixed(Options(donate=True))
    start = step.start({"params": jax.tree.map(jnp.copy, RECURRENT[0])})
    step(start, xs=RECURRENT[1])
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(start.parameters["params['W']"])
    with pytest.raises(UsageError, match="one that donates uses it up"):
        training_step(trace(recurrent, *RECURRENT), ADAM, ["params"], checked=True, options=Options(donate=True))


def test_what_is_in_force_is_printed(graphs: dict) -> None:
    text = str(compile_graph(graphs["deep"]))
    assert text.splitlines()[0] == "deep, compiled"
    assert "dtype: float32" in text
    assert "remat: values are kept for the sweep" in text
    chosen = Options(device="cpu:0", dtype="bfloat16", matmul_precision="highest", remat=True, donate=True)
    text = str(compile_graph(graphs["deep"], options=chosen))
    assert text.splitlines()[1].startswith("device: cpu:0 (")
    assert text.splitlines()[2:] == [
        "dtype: bfloat16",
        "matmul precision: highest",
        "deterministic: yes, as always on a cpu",
        "remat: values are computed anew in the sweep",
        "donation: arguments are given up",
    ]


@pytest.mark.parametrize(
    "given, said",
    [
        ({"device": "abacus"}, "There is no device 'abacus' here; there are"),
        ({"device": "cpu:99"}, "There is no device 'cpu:99' here"),
        ({"dtype": "float8"}, "The option dtype is 'float8'; there are float64, float32, bfloat16, float16"),
        ({"matmul_precision": "best"}, "The option matmul_precision is 'best'; there are default, high, highest"),
    ],
)
def test_options_that_there_are_not(given: dict, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Options(**given)
