"""The styles in which people write rules: nested arguments, no gradients, other libraries' decorators."""

import jax
import jax.numpy as jnp
import pytest
from jax.custom_derivatives import SymbolicZero

import certgrad
from certgrad.errors import SignatureError, UsageError

from .test_check import custom_vjp


def dense(params, x):
    return x @ params["w"] + params["b"]


def dense_rule(cotangents):
    return custom_vjp(dense, lambda p, x: (dense(p, x), (p, x)), lambda r, g: cotangents(*r, g))


def right(p, x, g):
    return {"w": x.T @ g, "b": g.sum(0)}, g @ p["w"].T


SIGNATURE = "{w: d m, b: m}, n d -> n m"


def test_a_dict_of_parameters():
    report = certgrad.check(dense_rule(right), SIGNATURE)
    assert report.verdict == "proved"
    assert [a.name for a in report.arguments] == ["params_b", "params_w", "x"]


def test_any_structure_of_texts():
    report = certgrad.check(dense_rule(right), ({"w": "d m", "b": "m"}, "n d"))
    assert report.verdict == "proved"


def test_the_wrong_entry_is_named():
    wrong = dense_rule(lambda p, x, g: ({"w": x.T @ g, "b": g.mean(0)}, g @ p["w"].T))
    report = certgrad.check(wrong, SIGNATURE)
    assert {a.name: a.verdict for a in report.arguments} == {
        "params_b": "refuted",
        "params_w": "proved",
        "x": "proved",
    }


@pytest.mark.parametrize(
    ("cotangents", "missing"),
    [
        (lambda p, x, g: (None, g @ p["w"].T), ("params_b", "params_w")),
        (lambda p, x, g: ({"w": x.T @ g, "b": None}, g @ p["w"].T), ("params_b",)),
    ],
)
def test_none_is_no_gradient_and_no_finding(cotangents, missing):
    report = certgrad.check(dense_rule(cotangents), SIGNATURE)
    assert report.verdict == "proved"
    assert report.without_gradient == missing
    assert not {a.name for a in report.arguments} & set(missing)
    assert "no gradient for: params_b" in str(report)


def test_none_is_seen_under_jit():
    rule = jax.jit(dense_rule(lambda p, x, g: (None, g @ p["w"].T)))
    rule({"w": jnp.ones((2, 2)), "b": jnp.ones(2)}, jnp.ones((2, 2)))
    assert certgrad.check(rule, SIGNATURE).without_gradient == ("params_b", "params_w")


def test_zeros_are_a_claim():
    rule = dense_rule(lambda p, x, g: ({"w": x.T @ g, "b": jnp.zeros_like(p["b"])}, g @ p["w"].T))
    report = certgrad.check(rule, SIGNATURE)
    assert report.verdict == "refuted"
    assert "zeros are returned for params_b" in report.cause
    flat = custom_vjp(lambda x, w: x, lambda x, w: (x, w), lambda w, g: (g, jnp.zeros_like(w)))
    assert certgrad.check(flat, "n, n -> n").verdict == "proved"


def test_no_gradient_at_all_leaves_the_fwd():
    rule = custom_vjp(jnp.sin, lambda x: (jnp.sin(x), None), lambda _, g: (None,))
    report = certgrad.check(rule, "n -> n")
    assert report.without_gradient == ("x",)
    assert [c.kind for c in report.claims] == ["rule_runs_forward"]
    off = custom_vjp(jnp.sin, lambda x: (jnp.cos(x), None), lambda _, g: (None,))
    assert certgrad.check(off, "n -> n").verdict == "refuted"


def test_nested_outputs_and_a_gradient_made_in_fwd():
    def both(x):
        return jnp.sum(x**2), {"a": x**3, "none": None}

    rule = custom_vjp(both, lambda x: (both(x), (2 * x, 3 * x**2)), lambda r, g: (g[0] * r[0] + g[1]["a"] * r[1],))
    assert certgrad.check(rule, "n -> , {a: n, none: None}").verdict == "proved"


def test_empty_arguments_and_none():
    def add(x, bias):
        return x if bias is None else x + bias

    rule = custom_vjp(add, lambda x, bias: (add(x, bias), None), lambda _, g: (g, None))
    assert certgrad.check(rule, "n, None -> n").verdict == "proved"
    assert certgrad.check(rule, "n, n -> n").without_gradient == ("bias",)


def test_an_argument_with_a_default_stands_at_its_default():
    rule = custom_vjp(lambda x, s=2.0: x * s, lambda x, s: (x * s, s), lambda s, g: (g * s, None))
    assert certgrad.check(rule, "n -> n").verdict == "proved"
    assert certgrad.check(rule, "n, -> n").without_gradient == ("s",)


def test_nondifferentiable_arguments():
    rule = custom_vjp(
        lambda f, x: f(x),
        lambda f, x: (f(x), x),
        lambda f, x, g: jax.vjp(f, x)[1](g),
        nondiff_argnums=(0,),
    )
    assert certgrad.check(rule, "n d -> n d", static={"f": jnp.tanh}).verdict == "proved"
    with pytest.raises(UsageError, match="needs a value for 'f'"):
        certgrad.check(rule, "n d -> n d")


def test_a_rule_that_sees_what_moves_is_proved_for_every_choice():
    def product(x, w):
        return x * w

    def fwd(x, w):
        return x.value * w.value, (x.value, w.value)

    def forgetful(x, w):
        return x.value * w.value, (x.value, w.value if x.perturbed and w.perturbed else jnp.zeros_like(w.value))

    def bwd(r, g):
        return g * r[1], g * r[0]

    rule = custom_vjp(product, fwd, bwd, symbolic_zeros=True)
    report = certgrad.check(rule, "n, n -> n")
    assert report.verdict == "proved"
    assert [c.statics["perturbed arguments"] for c in report.claims[0].cases] == ["x, w", "x", "w"]
    assert certgrad.check(custom_vjp(product, forgetful, bwd, symbolic_zeros=True), "n, n -> n").verdict == "refuted"


def test_a_rule_that_sees_which_outputs_are_used():
    def both(x):
        return 2 * x, x**2

    def fwd(x):
        return both(x.value), x.value

    def right(x, g):
        a, b = (0 * x if isinstance(c, SymbolicZero) else c for c in g)
        return (2 * a + 2 * x * b,)

    def forgetful(x, g):
        if isinstance(g[1], SymbolicZero):
            return (g[0],)
        return right(x, g)

    report = certgrad.check(custom_vjp(both, fwd, right, symbolic_zeros=True), "n -> n, n")
    assert report.verdict == "proved"
    assert len(report.claims[0].cases) == 3
    assert certgrad.check(custom_vjp(both, fwd, forgetful, symbolic_zeros=True), "n -> n, n").verdict == "refuted"


def test_an_intended_surrogate_still_has_the_value_of_its_function():
    rule = custom_vjp(lambda x: x, lambda x: (2 * x, None), lambda _, g: (-g,))
    report = certgrad.check(rule, "n -> n", surrogate="reversal")
    assert {c.kind: c.verdict for c in report.claims} == {"vjp_is_adjoint": "surrogate", "rule_runs_forward": "refuted"}
    assert report.verdict == "refuted"


def test_custom_gradient():
    assert certgrad.check(jax.custom_gradient(lambda x: (jnp.sin(x), lambda g: (g * jnp.cos(x),))), "n -> n").proved
    wrong = certgrad.check(jax.custom_gradient(lambda x: (jnp.sin(x), lambda g: (-g * jnp.cos(x),))), "n -> n")
    assert wrong.verdict == "refuted"
    assert wrong.cause == "the sign is wrong"


def test_equinox():
    equinox = pytest.importorskip("equinox")

    @equinox.filter_custom_vjp
    def scaled(pair, y):
        return pair[0] * pair[1] * y

    scaled.def_fwd(lambda perturbed, pair, y: (pair[0] * pair[1] * y, None))
    scaled.def_bwd(lambda r, g, perturbed, pair, y: (g * pair[1] * y, g * pair[0] * y))
    report = certgrad.check(scaled, "(n, n), n -> n")
    assert report.verdict == "proved"
    assert report.undifferentiated == ("y",)

    @equinox.filter_custom_jvp
    def lifted(x, y):
        return x * jnp.exp(y)

    @lifted.def_jvp
    def _(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        out = x * jnp.exp(y)
        return out, (0 if dx is None else dx * jnp.exp(y)) + (0 if dy is None else 2 * out * dy)

    report = certgrad.check(lifted, "n, n -> n")
    assert {a.name: a.verdict for a in report.arguments} == {"x": "proved", "y": "refuted"}


def test_a_rule_inside_a_function_and_a_loop():
    square = custom_vjp(lambda x: x**2, lambda x: (x**2, x), lambda x, g: (2 * x * g,))
    assert certgrad.check(lambda x, w: square(x * w).sum(-1), "n d, n d -> n").verdict == "proved"
    wrong = custom_vjp(lambda x: x**2, lambda x: (x**2, x), lambda x, g: (x * g,))
    report = certgrad.check(lambda x, w: wrong(x * w).sum(-1), "n d, n d -> n")
    assert report.verdict == "refuted"
    assert report.cause.startswith("half the derivative")


def test_a_captured_traced_value_is_refused():
    def outer(x, w):
        return custom_vjp(lambda x: x * w, lambda x: (x * w, None), lambda _, g: (g * w,))(x)

    report = certgrad.check(outer, "n, n -> n")
    assert report.verdict == "unproved"
    assert "closes over a traced value" in report.claims[0].cases[0].reason


def test_a_cotangent_of_the_wrong_shape_is_a_verdict():
    rule = custom_vjp(lambda x, b: x + b, lambda x, b: (x + b, None), lambda _, g: (g, g))
    report = certgrad.check(rule, "n d, d -> n d")
    assert report.verdict == "unproved"
    assert "a sum over the axes that were broadcast is missing" in report.cause


@pytest.mark.parametrize(
    ("signature", "said"),
    [("n d -> d", "returns shapes"), ("{w n} -> n", "no entry"), ("(n, n -> n", "brackets"), ((3,), "written as text")],
)
def test_signatures_that_do_not_fit(signature, said):
    with pytest.raises(SignatureError, match=said):
        certgrad.check(lambda x: x.sum(-1), signature)
