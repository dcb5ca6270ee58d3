"""The styles in which people write rules: nested arguments, no gradients, other libraries' decorators."""

import inspect
import sys
from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax.custom_derivatives import SymbolicZero

import certgrad
from certgrad.errors import SignatureError, UsageError
from certgrad.report import json, markdown, text
from certgrad.report.audited import Audit, RuleResult
from certgrad.rules.finding.find import find
from certgrad.rules.inference.infer import inferred

from .judging.test_check import custom_vjp

pytestmark = pytest.mark.usefixtures("uncompared")


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
    assert f": proved; no gradient for {', '.join(missing)}" in str(report)


def test_none_for_an_argument_that_is_named_is_a_derivative_of_zero():
    product = custom_vjp(lambda x, w: x * w, lambda x, w: (x * w, w), lambda w, g: (g * w, None))
    report = certgrad.check(product, "n, n -> n", differentiable=["x", "w"])
    assert (report.verdict, report.without_gradient) == ("refuted", ())
    assert report.cause == "None is returned for w, which `differentiable` names; JAX takes it for zeros"
    first = custom_vjp(lambda x, w: x, lambda x, w: (x, None), lambda _, g: (g, None))
    assert certgrad.check(first, "n, n -> n", differentiable=["x", "w"]).verdict == "proved"


def test_every_format_says_that_an_argument_has_no_gradient():
    rule = custom_vjp(lambda x, w: x * w, lambda x, w: (x * w, w), lambda w, g: (g * w, None))
    report = certgrad.check(rule, "n, n -> n", name="m:product")
    assert json.decode(json.encode(report.certificate)).without_gradient == ["w"]
    audit = Audit([RuleResult(name="m:product", certificate=report.certificate)])
    assert "| proved; no gradient for w |" in markdown.render(audit)
    assert "proved; no gradient for w" in text.table(audit)


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


def test_an_array_without_gradient_may_be_perturbed_all_the_same():
    def product(x, w):
        return x * w

    def fwd(x, w):
        return x.value * w.value, w.value * (2 if w.perturbed else 1)

    right = custom_vjp(
        product, lambda x, w: (x.value * w.value, w.value), lambda w, g: (g * w, None), symbolic_zeros=True
    )
    report = certgrad.check(right, "n, n -> n")
    assert (report.verdict, report.without_gradient) == ("proved", ("w",))
    wrong = custom_vjp(product, fwd, lambda w, g: (g * w, None), symbolic_zeros=True)
    assert certgrad.check(wrong, "n, n -> n").verdict == "refuted"
    other = custom_vjp(
        product,
        lambda x, w: (x.value * w.value * (2 if w.perturbed else 1), w.value),
        lambda w, g: (g * w, None),
        symbolic_zeros=True,
    )
    report = certgrad.check(other, "n, n -> n")
    assert {c.kind: c.verdict for c in report.claims}["rule_runs_forward"] == "refuted"


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


def test_equinox_hands_on_what_a_call_names():
    """As a rule with such arguments has it: by position it would be a primal, and the rule would fail."""
    equinox = pytest.importorskip("equinox")

    @equinox.filter_custom_jvp
    def scaled(x, factor=None):
        return x * (2.0 if factor is None else factor)

    @scaled.def_jvp
    def scaled_jvp(primals, tangents, factor=None):
        (x,), (dx,) = primals, tangents
        return scaled(x, factor=factor), dx * (2.0 if factor is None else factor)

    assert certgrad.check(scaled, "n -> n", static={"factor": None}).verdict == "proved"
    assert certgrad.check(scaled, "n -> n", static={"factor": 3.0}).verdict == "proved"


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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("graph", [True, False])
def test_flax(graph, tmp_path, monkeypatch):
    nnx = pytest.importorskip("flax.nnx")

    def rule(cotangents):
        out = nnx.custom_vjp(lambda x, w: x * w, **({} if graph else {"graph": False}))
        own = (
            (lambda r, g: cotangents(r, g[1])) if graph else cotangents
        )  # a graph's cotangents: of updates, of outputs
        out.defvjp(lambda x, w: (x * w, (x, w)), own)
        return out

    assert certgrad.check(rule(lambda r, g: (g * r[1], g * r[0])), "n, n -> n").verdict == "proved"
    report = certgrad.check(rule(lambda r, g: (2 * g * r[1], g * r[0])), "n, n -> n")
    assert (report.verdict, report.cause) == ("refuted", "twice the derivative is returned: a factor 2 too many")
    assert certgrad.check(rule(lambda r, g: (g * r[1], None)), "n, n -> n").without_gradient == ("w",)
    with pytest.raises(UsageError, match="without defvjp"):
        certgrad.check(nnx.custom_vjp(lambda x: x), "n -> n")


@pytest.mark.slow
@pytest.mark.parametrize("right", [True, False])
def test_a_module_of_flax_as_an_argument(right):
    """Its shapes are a module that holds texts; its cotangents are a state."""
    nnx = pytest.importorskip("flax.nnx")

    class Dense(nnx.Module):
        def __init__(self, w, b):
            self.w, self.b = nnx.Param(w), nnx.Param(b)

    def value(module, x):
        return jnp.sin(x @ module.w[...]) + module.b[...]

    def bwd(residuals, cotangents):
        module, x = residuals
        (state, _), g = cotangents
        z = jnp.cos(x @ module.w[...]) * g
        return {"w": state["w"].replace(x.T @ z), "b": state["b"].replace(g.sum(0) * (1 if right else 2))}, z @ (
            module.w[...].T
        )

    rule = nnx.custom_vjp(value)
    rule.defvjp(lambda module, x: (value(module, x), (module, x)), lambda r, c: (nnx.State(bwd(r, c)[0]), bwd(r, c)[1]))
    report = certgrad.check(rule, (Dense("d m", "m"), "n d"))
    assert {a.name: a.verdict for a in report.arguments} == {
        "module_b_value": "proved" if right else "refuted",
        "module_w_value": "proved",
        "x": "proved",
    }
    said = certgrad.check(rule, "{w: d m, b: m}, n d").claims[0].cases[0].reason
    assert 'such an object that holds texts in place of its arrays: (Params(w="d m", b="m"), "n d")' in said


def of_any_number(second):
    return custom_vjp(lambda *xs: xs[0] * xs[1], lambda *xs: (xs[0] * xs[1], xs), lambda r, g: (g * r[1], second(r, g)))


def test_arguments_without_names():
    assert certgrad.check(of_any_number(lambda r, g: g * r[0]), "n, n -> n").verdict == "proved"
    wrong = certgrad.check(of_any_number(lambda r, g: 2 * g * r[0]), "n, n -> n")
    assert [(a.name, a.verdict) for a in wrong.arguments] == [("xs_0", "proved"), ("xs_1", "refuted")]
    assert certgrad.check(of_any_number(lambda r, g: None), "n, n").without_gradient == ("xs_1",)
    bound = certgrad.check(partial(of_any_number(lambda r, g: None), jnp.float32(2)), "")
    assert bound.without_gradient == ("xs_0",)


@pytest.mark.parametrize(
    ("function", "signature", "static"),
    [
        (lambda x, scale=2.0, *ys: scale * x + ys[0] * ys[1], "n, n, n, n -> n", {}),
        (lambda *xs, w: xs[0] * w, "n, n -> n", {}),
        (lambda *xs, axis=0: jnp.sum(xs[0], axis) * xs[1], "n d, d -> d", {}),
        (lambda x, **options: x * options["c"], "n -> n", {"c": certgrad.real()}),
        (partial(lambda a, b, *ys: a * b + ys[0], 2.0), "n, n -> n", {}),
    ],
)
def test_args_and_kwargs(function, signature, static):
    assert certgrad.check(function, signature, static=static).verdict == "proved"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            custom_vjp(lambda *xs: xs[0], lambda *xs: (xs[0], ()), lambda *_: (), nondiff_argnums=(1,)),
            r"takes 'xs_1', one of \*xs, as",
        ),
        (partial(lambda a, *ys: a + ys[0], a=1.0), r"takes arrays by \*ys after an argument that a partial gives"),
        (lambda x, *, w: x * w, r"takes 2 array arguments \(x, w\), but the signature 'n' has 1"),
    ],
)
def test_args_that_a_declaration_cannot_reach(function, said):
    with pytest.raises((UsageError, SignatureError), match=said):
        certgrad.check(function, "n")


def test_rules_of_libraries_are_found_once(tmp_path, monkeypatch):
    pytest.importorskip("equinox")
    pytest.importorskip("flax")
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "lib_rules.py").write_text(
        "import equinox, jax\nfrom flax import nnx\n"
        "@nnx.custom_vjp\ndef a(x): return x\n"
        "b = nnx.custom_vjp(lambda x: x, graph=False)\nb.defvjp(lambda x: (x, None), lambda r, g: (g,))\n"
        "@equinox.filter_custom_vjp\ndef c(x): return x\n"
        "@equinox.filter_custom_jvp\ndef d(x): return x\n"
        "d.def_jvp(lambda p, t: (p[0], t[0]))\nagain = d\n"
    )
    (tmp_path / "lib_user.py").write_text("from lib_rules import a, b, c, d\n")
    found = find(str(tmp_path / "lib_rules.py")).rules
    assert [(f.name, f.problem) for f in found] == [
        ("lib_rules:a", "an nnx.custom_vjp without defvjp: it has no rule"),
        ("lib_rules:b", ""),
        ("lib_rules:c", "a filter_custom_vjp without def_fwd and def_bwd: it has no rule"),
        ("lib_rules:d", ""),
    ]
    assert find(str(tmp_path / "lib_user.py")).rules == ()


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
    assert report.verdict == "refuted"
    assert [a.cause for a in report.arguments] == ["", "it has the shape n d, and not d"]


@pytest.mark.parametrize(
    ("signature", "said"),
    [("n d -> d", "returns shapes"), ("{w n} -> n", "no entry"), ("(n, n -> n", "brackets"), ((3,), "written as text")],
)
def test_signatures_that_do_not_fit(signature, said):
    with pytest.raises(SignatureError, match=said):
        certgrad.check(lambda x: x.sum(-1), signature)


def test_rules_behind_a_wrapper_are_searched_for_ranks():
    def slope(dx, y, x):
        return 2 * x * dx if x.ndim < 9 else 0 * dx

    @jax.custom_jvp
    def square(x):
        return x**2

    square.defjvps(slope)
    assert certgrad.check(square, "*s -> *s").claims[0].cases[0].scope.startswith("all shapes, ranks 0, 1, 2, 3, 4")
    equinox = pytest.importorskip("equinox")
    filtered = equinox.filter_custom_jvp(lambda x: x**2)

    @filtered.def_jvp
    def _(primals, tangents):
        return primals[0] ** 2, slope(tangents[0], None, primals[0])

    assert certgrad.check(filtered, "*s -> *s").claims[0].cases[0].scope.startswith("all shapes, ranks 0, 1, 2, 3, 4")


def scaled(x, w=1.0, *, eps):
    return w * x / jnp.sqrt(x**2 + eps)


def scaled_backward(x, g):
    return (g * 1e-3 / jnp.sqrt(x**2 + 1e-3) ** 3,)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "inner",
    [
        partial(scaled, eps=1e-3),
        partial(scaled, w=1.0, eps=1e-3),
        partial(lambda eps, x: scaled(x, eps=eps), 1e-3),
        lambda x, *, eps=1e-3: scaled(x, eps=eps),
    ],
)
@pytest.mark.parametrize("factor", [1, 2])
def test_what_a_partial_gives_inside_a_custom_function(inner, factor):
    taken = [p for p in inspect.signature(inner).parameters.values() if p.kind != p.KEYWORD_ONLY]

    def backward(x, g):
        return tuple(factor * c for c in scaled_backward(x, g)) + (None,) * (len(taken) - 1)

    made = jax.custom_vjp(inner)
    made.defvjp(lambda x, *rest: (inner(x, *rest), x), backward)
    assert certgrad.check(made, "n", static={"w": 1.0} if len(taken) > 1 else None).verdict == (
        "proved" if factor == 1 else "refuted"
    )
    assert inferred(made).found[0].signature == "n d"


def gradient_of(function):
    """A decorator as TensorFlow Probability's: the function returns its value and its backward function."""

    def wrapped(*args, **kwargs):
        return function(*args, **kwargs)[0]

    made = jax.custom_vjp(wrapped)
    made.defvjp(lambda *args: (wrapped(*args), args), lambda args, g: (function(*args)[1](g),))
    made.__wrapped__ = function
    return made


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("factor", "verdict"), [(2, "proved"), (1, "refuted")])
def test_a_default_that_jax_does_not_see_is_left_to_the_function(factor, verdict):
    """Given by position it would be an argument of which the backward function knows nothing."""

    def square(x, name=None):
        return x**2, lambda g: factor * g * x

    assert certgrad.check(gradient_of(square), "*s -> *s").verdict == verdict
