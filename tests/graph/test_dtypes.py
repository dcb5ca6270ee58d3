"""Graphs in the dtypes that they are called with: each right program beside one that is wrong in that dtype."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import certify, compile_graph, trace
from certgrad.errors import TraceError, UsageError
from certgrad.graph.tracing.spec import read_specs


def verdict(function, *specs) -> str:
    return certify(trace(function, *specs)).verdict


def tripled(dtype, factor=3.0):
    """3·x, with a rule that is off by `factor/3` where it is called in the dtype."""
    rule = jax.custom_vjp(lambda x: 3 * x)
    rule.defvjp(lambda x: (3 * x, None), lambda _, g: ((factor if g.dtype == dtype else 3.0) * g,))
    return rule


def carried(xs, w):
    """A carry that names its dtype, as recurrent layers do."""
    step = lambda h, x: (jnp.tanh(w @ h + x), None)
    return jax.lax.scan(step, jnp.zeros(4, jnp.float32), xs)[0].sum()


def indexed(xs):
    return jax.lax.fori_loop(0, 3, lambda i, total: total + xs[i] * jnp.float32(2), jnp.float32(0))


def halved(x, w):
    """bfloat16 inside, float32 outside."""
    return jnp.mean((x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32) ** 2)


@pytest.mark.parametrize(
    "function, specs",
    [
        (carried, ("t 4", "4 4")),
        (indexed, ("3",)),
        (halved, ("n d", "d h")),
        (lambda x, s: jnp.sum((x.astype(jnp.float16) * s).astype(jnp.float32)), ("n", "f16[]")),
        (lambda x, w, s: jnp.sum(x @ (w.astype(jnp.float32) * s)), ("n d", "w: i8[d, h]", "f16[]")),
        (lambda x, s: jnp.sum(x) * s, (np.ones(3, np.float32), np.float32(2))),
    ],
)
@pytest.mark.one_in(2)
def test_what_names_a_dtype_is_certified(function, specs) -> None:
    assert verdict(function, *specs) == "proved"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_a_rule_that_is_wrong_in_the_dtype_that_runs(dtype) -> None:
    def loss(rule):
        return lambda x: jnp.sum(rule(x.astype(dtype)).astype(jnp.float32))

    specs = (f"{dtype}[n]",)
    assert verdict(loss(tripled(dtype, 3.5)), *specs) == "refuted"
    assert verdict(loss(tripled(dtype)), *specs) == "proved"


def test_a_rule_that_is_wrong_in_a_dtype_that_does_not_run() -> None:
    assert verdict(lambda x: jnp.sum(tripled("float16", 3.5)(x)), "f32[n]") == "proved"
    assert verdict(lambda x: jnp.sum(tripled("float32", 3.5)(x)), "f32[n]") == "refuted"


def test_the_default_is_jax_s() -> None:
    def double(x):
        return 2 * x

    assert trace(double, "n").nodes[0].outputs[0].dtype == "float32"
    with jax.enable_x64(True):
        assert trace(double, "n").nodes[0].outputs[0].dtype == "float64"
        assert trace(double, "f32[n]").nodes[0].outputs[0].dtype == "float32"
    assert trace(double, "f64[n]").nodes[0].outputs[0].dtype == "float64"
    assert trace(double, np.ones(3)).nodes[0].outputs[0].dtype == "float32"  # as `jit` takes it


def test_the_certificate_says_in_which_dtypes() -> None:
    assert certify(trace(halved, "n d", "d h")).traced_in == "bfloat16, float32, without 64-bit numbers"
    assert certify(trace(jnp.sum, "f64[n]")).traced_in == "float64, with 64-bit numbers"


def test_casts_that_round_are_assumptions() -> None:
    def casts(found):
        return [text for text in found.assumptions if "is read as exact" in text]

    found = casts(certify(trace(halved, "n d", "d h")))
    assert found == ["In convert_element_type(x), the cast to bfloat16 is read as exact."]
    assert not casts(certify(trace(lambda x: jnp.mean(x @ x), "n n")))


@pytest.mark.parametrize(
    "text, shown",
    [
        ("x: f32[n, d]", "f32[n, d]"),
        ("x:bf16[n, d]", "bf16[n, d]"),
        ("x: n d:bfloat16", "bf16[n, d]"),
        ("n:uint32", "u32[n]"),
        ("x: n:u8", "u8[n]"),
        ("x: i16[]", "i16[]"),
        ("x: ()", "f32[]"),
        ("()", "f32[]"),
        ("x: ():int", "i32[]"),
    ],
)
def test_dtypes_in_specs(text, shown) -> None:
    assert str(trace(lambda x: x, text).nodes[0].outputs[0]) == shown


def test_a_spec_that_is_no_dtype() -> None:
    with pytest.raises(UsageError, match=r"':f33' is no dtype; write :int, :bool, :key, or one of JAX"):
        read_specs(lambda x: x, ["x: n:f33"])
    with pytest.raises(TraceError, match=r"could not trace <lambda> of x: f32\[n\], y: bf16\[m\] \(without 64-bit"):
        trace(lambda x, y: x + y, "f32[n]", "bf16[m]")


def test_execution_is_in_the_graph_s_own_dtypes() -> None:
    run = compile_graph(trace(halved, "n d", "d h"))
    x, w = np.ones((3, 2), np.float32), np.ones((2, 4), np.float32) / 3
    expected = jax.grad(halved, (0, 1))(jnp.asarray(x), jnp.asarray(w))
    for found, wanted in zip(run.value_and_grad(x, w)[1], expected, strict=True):
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-2)


def test_execution_in_another_dtype_is_that_of_the_same_program() -> None:
    def wide(x):
        return jnp.sum(x**2) if x.dtype == jnp.float32 else jnp.sum(x**3)

    same, other = (compile_graph(trace(f, "n")) for f in (lambda x: jnp.sum(jnp.sin(x)), wide))
    with jax.enable_x64(True):
        x = np.linspace(0, 1, 4)
        np.testing.assert_allclose(same.value_and_grad(x)[1][0], np.cos(x), rtol=1e-14)
        with pytest.raises(UsageError, match=r"was traced in float32, and in float64 it is another program"):
            other.value_and_grad(x)


def test_a_mask_of_the_lowest_number_of_its_dtype():
    def attention(x):
        causal = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool))
        return jnp.sum(jax.nn.softmax(jnp.where(causal, x @ x.T, jnp.finfo(x.dtype).min)) @ x)

    assert certify(trace(attention, "4 3")).verdict == "proved"


def test_parts_in_half_precision_round_as_they_do():
    """A weak number beside bfloat16 is of bfloat16 as well: another rounding, and no other function."""

    def block(x, w):
        h = jnp.tanh(x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16))
        return jnp.sum((x + h).astype(jnp.float32) ** 2)

    found = certify(trace(block, "64 8", "8 8"))
    assert found.verdict == "proved", found.findings
    assert found.measured == ["one call in float32"]
