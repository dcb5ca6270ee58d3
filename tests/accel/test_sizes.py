"""Sizes at which the function is another program: what runs there is that one, certified, or nothing."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.accel import GuardError, NotCertifiedError, compile_graph, export_graph, load_exported
from certgrad.errors import UsageError
from certgrad.exports import export_onnx, onnx_certificate
from certgrad.graph import trace


@jax.custom_vjp
def wrong(x):
    return jnp.sum(x**2)


wrong.defvjp(lambda x: (wrong(x), x), lambda x, g: (7 * x * g,))


def right(x):
    return jnp.sum(5 * x**2) if x.shape[0] == 2 * x.shape[1] else jnp.sum(2 * x**2)


def excluded(x):
    return wrong(x) if x.shape[0] == 2 * x.shape[1] else jnp.sum(2 * x**2)


@pytest.fixture(scope="module")
def compiled():
    return compile_graph(trace(right, "n d"))


def test_the_certificate_says_that_there_is_another_program(compiled) -> None:
    assert any("Where n = 2*d" in text for text in compiled.certificate.assumptions)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 1), (1, 2), (1, 1)])
def test_each_size_runs_its_own_program(compiled, shape) -> None:
    x = jnp.ones(shape)
    value, (gradient,) = compiled.value_and_grad(x)
    assert (value, gradient[0, 0]) == (right(x), jax.grad(right)(x)[0, 0])
    assert compiled.forward(x) == jax.jit(compiled.forward)(x) == right(x)
    assert compiled.vjp([x], jnp.ones(()))[1][0][0, 0] == jax.grad(right)(x)[0, 0]


@pytest.mark.slow
def test_a_graph_that_is_wrong_at_one_size_does_not_run_at_any() -> None:
    traced = trace(excluded, "n d")
    assert certgrad.certify(traced).verdict == "refuted"
    with pytest.raises(NotCertifiedError, match=r"refuted where n = 2\*d"):
        compile_graph(traced)


def test_a_size_that_no_case_can_be_solved_for() -> None:
    def cubed(x):
        return jnp.sum((3 if x.shape[0] ** 3 == 83**3 else 1) * x)

    compiled = compile_graph(trace(cubed, "n"))
    assert len(compiled.certificate.dimensions) == 1
    assert [compiled.forward(jnp.ones(n)) for n in (82, 83)] == [82, 3 * 83]


def test_no_claim_is_made_of_empty_arrays(compiled) -> None:
    with pytest.raises(UsageError, match="n is 0 in these arrays; right is certified where it is at least 1"):
        compiled.forward(jnp.ones((0, 3)))


def test_guards_are_those_of_the_program_that_runs() -> None:
    def loss(x):
        return jnp.sum(jnp.log(x)) if x.shape[0] == 2 * x.shape[1] else jnp.sum(x / x[0])

    compiled = compile_graph(trace(loss, "n d"), checked=True, monitor=True)
    compiled.value_and_grad(jnp.ones((3, 3)))
    with pytest.raises(GuardError, match=r"log .*fails at 8 of 8 places"):
        compiled.value_and_grad(-jnp.ones((4, 2)))
    first, second = (dict(zip(compiled.monitor.columns, row, strict=True)) for row in compiled.monitor.rows)
    assert not any(first.values())
    assert [name for name, count in second.items() if count and name.startswith("log")]


@pytest.mark.slow
def test_exports_are_of_the_program_at_their_sizes(compiled, tmp_path) -> None:
    x = jnp.ones((4, 2))
    found = load_exported(export_graph(compiled, tmp_path / "right.zip", x))
    assert found.forward(x) == found.forward({"x": x}) == right(x)
    with pytest.raises(UsageError, match=r"forward takes 1 arrays and got 2\. Pass x\."):
        found.forward(x, x)
    assert found.certificate.graph.nodes[2].operands[0].text == "5.0"
    with pytest.raises(UsageError, match=r"Where n = 2\*d, right is another program.*numbers: n, d"):
        export_onnx(compiled, tmp_path / "all.onnx")
    export_onnx(compiled, tmp_path / "there.onnx", sizes={"n": 4, "d": 2})
    assert onnx_certificate(tmp_path / "there.onnx").graph.nodes[2].operands[0].text == "5.0"
