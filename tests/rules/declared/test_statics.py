"""Arguments that are not arrays: each of several values, every real number, functions."""

import enum
import math
import numbers
import operator
from contextlib import suppress
from functools import partial, singledispatch
from numbers import Number
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.errors import UsageError
from certgrad.rules.declared.statics import text_of
from certgrad.rules.inference.infer import inferred
from certgrad.rules.project.configuration import nearest
from tests.rules.judging.test_check import custom_vjp

pytestmark = pytest.mark.usefixtures("proofs_alone")


def leaky_rule(slope, **options):
    out = jax.custom_vjp(lambda x, c: jnp.where(x > 0, x, c * x), nondiff_argnums=(1,))
    out.defvjp(lambda x, c: (jnp.where(x > 0, x, c * x), x), lambda c, x, g: (jnp.where(x > 0, g, slope(c) * g),))
    return out


def checked(rule, c, signature="*s -> *s"):
    return certgrad.check(rule, signature, static={"c": c})


def test_a_number_is_left_open():
    right = leaky_rule(lambda c: c)
    report = checked(right, certgrad.real())
    assert (report.verdict, report.hypotheses) == ("proved under hypotheses", ["x ≠ 0 or c = 1"])
    assert report.certificate.params == {"c": ""}
    assert checked(right, certgrad.real("c > 1")).certificate.params == {"c": "c > 1"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("at_zero", [5, 0])
def test_the_point_that_a_hypothesis_leaves_is_claimed(at_zero):
    """Under x ≠ 0 or c = 1 the derivative at x = 0 is 1; the rule returns something else there."""
    rule = custom_vjp(
        lambda x, c: jnp.where(x > 0, x, c * x),
        lambda x, c: (jnp.where(x > 0, x, c * x), x),
        lambda c, x, g: (jnp.where(x > 0, g, jnp.where(x < 0, c * g, at_zero * g)),),
        nondiff_argnums=(1,),
    )
    assert checked(rule, certgrad.real()).verdict in ("refuted", "unproved")


def test_a_rule_that_is_right_for_some_numbers_is_refuted():
    wrong = leaky_rule(lambda c: c * c)
    report = checked(wrong, certgrad.real("c > 0"))
    assert report.verdict == "refuted"
    assert report.witness.inputs["c"] not in ("0", "1")
    assert f"function(x, {float(report.witness.inputs['c'])})" in report.reproduction


def test_each_value_is_a_case():
    wrong = leaky_rule(lambda c: c * c)
    assert checked(wrong, certgrad.each(0.0, 1.0)).proved
    report = checked(wrong, certgrad.each(0.0, 1.0, 2.0))
    assert [(c.statics, c.verdict) for c in report.claims[0].cases] == [
        ({"c": "0.0"}, "proved under hypotheses"),
        ({"c": "1.0"}, "proved"),
        ({"c": "2.0"}, "refuted"),
    ]
    assert "function(x, 2.0)" in report.reproduction


FUNCTIONS = {
    "clip": lambda c: jnp.clip(c, 0.0, 1.0),
    "floor": jnp.floor,
    "maximum": lambda c: jnp.maximum(c, 1.0),
    "where": lambda c: jnp.where(c > 1, c, 1.0),
    "asarray": lambda c: jnp.asarray(c) * 2,
    "lax": jax.lax.sqrt,
    "jit": jax.jit(lambda c: c * 2),
    "cond": lambda c: jax.lax.cond(c > 1, lambda a: a, lambda a: 2 * a, c),
    "loop": lambda c: jax.lax.fori_loop(0, 3, lambda _, a: a * 2, c),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_left_open_under_the_functions_of_jax(name):
    factor = FUNCTIONS[name]
    right, wrong = (
        custom_vjp(
            lambda x, c: factor(c) * x,
            lambda x, c: (factor(c) * x, None),
            lambda c, _, g, s=scale: (s * factor(c) * g,),
            nondiff_argnums=(1,),
        )
        for scale in (1, 2)
    )
    assert checked(right, certgrad.real("c > 0")).verdict == "proved"
    assert checked(wrong, certgrad.real("c > 0")).verdict == "refuted"


def test_a_default_that_jax_traces_stands_as_it_is():
    """The defaults of jnp.round stand as they are, and so the usual straight-through is a surrogate."""
    rule = jax.custom_jvp(jnp.round)
    rule.defjvp(lambda p, t: (jnp.round(p[0]), t[0]))
    report = certgrad.check(rule, "n -> n", surrogate="straight-through")
    assert report.verdict == "surrogate"
    rule = jax.custom_jvp(lambda x: jnp.round(x))
    rule.defjvp(lambda p, t: (jnp.round(p[0]), t[0]))
    assert certgrad.check(rule, "n -> n", surrogate="straight-through").verdict == "surrogate"


def test_several_arguments_with_several_values_give_their_product():
    def scaled(x, axis, keepdims, c):
        return c * jnp.sum(x, axis, keepdims=keepdims)

    options = {"axis": certgrad.each(0, 1), "keepdims": certgrad.each(True, False), "c": certgrad.real()}
    report = certgrad.check(scaled, "n d", static=options)
    assert report.verdict == "proved"
    assert [c.statics for c in report.claims[0].cases] == [
        {"axis": a, "keepdims": k} for a in ("0", "1") for k in ("True", "False")
    ]
    with pytest.raises(UsageError, match="100 combinations"):
        certgrad.check(scaled, "n d", static=dict.fromkeys(("axis", "c"), certgrad.each(*range(10))) | {"keepdims": 1})
    with pytest.raises(UsageError, match="at least one value"):
        certgrad.each()


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def rms(x, eps, t):
    return x * jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + eps) / math.sqrt(t)


def _rms_fwd(x, eps, t):
    r = jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + eps)
    return x * r / t**0.5, (x, r)


def _rms_bwd(eps, t, residuals, g):
    x, r = residuals
    return ((r * g - x * r**3 * jnp.mean(g * x, -1, keepdims=True)) / math.sqrt(t),)


rms.defvjp(_rms_fwd, _rms_bwd)


def test_python_arithmetic_on_open_numbers():
    positive = {"eps": certgrad.real("eps > 0"), "t": certgrad.real("t > 0")}
    assert certgrad.check(rms, "n d -> n d", static=positive).verdict == "proved"
    anywhere = certgrad.check(rms, "n d -> n d", static={"eps": 0.5, "t": certgrad.real()})
    assert anywhere.hypotheses == ["t > 0"]


def test_numbers_that_are_arrays_for_the_rule():
    @jax.custom_vjp
    def f(x, c):
        return x / (x * x + c)

    f.defvjp(lambda x, c: (f(x, c), (x, c)), lambda r, g: (g * (r[1] - r[0] ** 2) / (r[0] ** 2 + r[1]) ** 2, None))
    assert checked(f, certgrad.real("c > 0")).verdict == "proved"

    @partial(jax.custom_jvp, nondiff_argnums=(1,))
    def e(x, c):
        return jnp.exp(c * x)

    e.defjvp(lambda c, p, t: (e(p[0], c), c * e(p[0], c) * t[0]))
    assert checked(e, certgrad.real()).verdict == "proved"


def branches(x, c):
    return x if c == 0.5 else c * x


def looks_at_types(x, c):
    return x if isinstance(c, float) and c == 0.5 else c * x


def catches(x, c):
    try:
        return x if c == 0.5 else c * x
    except Exception:
        return c * x


def hidden_in_a_helper(x, c):
    return looks_at_types(x, c)


TABLE = {"f": looks_at_types}


def hidden_in_a_table(x, c):
    return TABLE["f"](x, c)


class Holder:
    def __call__(self, x, c):
        return looks_at_types(x, c)

    def method(self, x, c):
        return looks_at_types(x, c)


held = Holder()


def hidden_in_an_object(x, c):
    return held(x, c)


def hidden_in_a_method(x, c):
    return Holder.method(None, x, c)


@jax.custom_vjp
def inner(x, c):
    return c * x


inner.defvjp(lambda x, c: (c * x, c), lambda c, g: (looks_at_types(g, c), None))


def hidden_in_another_rule(x, c):
    return inner(x, c)


asks = isinstance
attributed = SimpleNamespace(f=looks_at_types)
bound = partial(looks_at_types)
vectorized = np.vectorize(looks_at_types)


@singledispatch
def dispatched(c, x):
    return c * x


@dispatched.register
def _(c: float, x):
    return x


def by_alias(x, c):
    return x if asks(c, Number) else c * x


def by_default(x, c, asks=isinstance):
    return x if asks(c, numbers.Number) else c * x


def by_attribute(x, c):
    return attributed.f(x, c)


def by_partial(x, c):
    return bound(x, c)


def by_vectorize(x, c):
    return vectorized(x, c)


def by_dispatch(x, c):
    return dispatched(c, x)


def by_check(x, c):
    return x if numbers.Number.__instancecheck__(c) else c * x


def by_import(x, c):
    import tests.rules.declared.test_statics as own

    return own.looks_at_types(x, c)


def by_dynamic_import(x, c):
    return __import__(__name__, fromlist=["_"]).looks_at_types(x, c)


def by_match(x, c):
    match c:
        case float():
            return x
        case _:
            return c * x


def by_identity(x, c):
    return x if c is HALF else c * x


def by_getter(x, c):
    return x if operator.attrgetter("__class__")(c) in (0,) else c * x


def by_dtype(x, c):
    return x if np.asarray(c).dtype == np.float64 else c * x


def by_scalar(x, c):
    return x if np.isscalar(c) else c * x


def by_context(x, c):
    with suppress(Exception):
        return x if c == 0.5 else c * x
    return c * x


HALF = 0.5


def looks_up(x, c):
    return {0.5: x}.get(c, c * x)


def converts(x, c):
    return x * round(c)


@pytest.mark.one_in(16)
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (branches, "boolean conversion"),
        (looks_up, "needs the value of c"),
        (converts, "needs the value of c"),
        (looks_at_types, "looks_at_types uses float"),
        (catches, "catches may test types or catch exceptions"),
        (hidden_in_a_helper, "looks_at_types uses"),
        (hidden_in_a_table, "looks_at_types uses"),
        (hidden_in_an_object, "Holder cannot be searched"),
        (by_alias, "isinstance cannot be searched"),
        (by_default, "isinstance cannot be searched"),
        (by_attribute, "SimpleNamespace cannot be searched"),
        (by_partial, "looks_at_types uses"),
        (by_vectorize, "cannot be searched"),
        (by_dispatch, "dispatched cannot be searched"),
        (by_check, "uses"),
        (by_import, "may test types"),
        (by_dynamic_import, "uses __import__"),
        (by_match, "uses float"),
        (by_identity, "by identity"),
        (by_getter, "uses"),
        (by_dtype, "needs the value of c"),
        (by_scalar, "uses isscalar"),
        (by_context, "uses suppress"),
        (hidden_in_a_method, "looks_at_types uses"),
        (hidden_in_another_rule, "looks_at_types uses"),
    ],
)
def test_code_that_needs_the_number_is_never_proved(function, said):
    """All of these return something else at c = ½, where a number that is left open cannot see it."""
    report = checked(function, certgrad.real(), "n -> n")
    assert report.verdict == "unproved"
    assert said in report.claims[0].cases[0].reason
    assert "certgrad.each" in report.claims[0].cases[0].reason


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def annotated(x, c: float) -> float:
    return x * c


annotated.defvjp(lambda x, c: (x * c, None), lambda c, _, g: (g * c,))


def test_an_annotation_asks_nothing_of_a_number():
    assert checked(annotated, certgrad.real(), "n -> n").verdict == "proved"


def test_an_undeclared_number_whose_value_the_code_needs_has_some():
    (declared,) = inferred(leaky_rule(lambda c: c if isinstance(c, object) else 0)).found[:1]
    assert declared.static == {"c": certgrad.each(2, 3, 1)}


def test_an_undeclared_number_is_left_open():
    (declared,) = inferred(leaky_rule(lambda c: c)).found[:1]
    assert declared.static == {"c": certgrad.real()}


def test_statics_in_the_configuration(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.certgrad.signatures]\n"m:f" = { signature = "n", static = { c = { real = "c > 0" }, '
        'k = { each = [1, 2] }, mode = "same", table = { a = 1, b = 2 } } }\n'
    )
    static = nearest(tmp_path).signatures["m:f"].static
    assert static == {
        "c": certgrad.real("c > 0"),
        "k": certgrad.each(1, 2),
        "mode": "same",
        "table": {"a": 1, "b": 2},
    }


def gelu(x):
    return jax.nn.gelu(x)


def test_functions_have_the_same_text_in_every_run():
    def made(k):
        return lambda x: k * x

    assert text_of(gelu) == f"{__name__}.gelu"
    assert text_of(jnp.tanh) == "jax.numpy.tanh"
    assert text_of(partial(gelu, x=2)) == f"partial({__name__}.gelu, x=2)"
    assert text_of((gelu, {"a": 1})) == f"({__name__}.gelu, {{'a': 1}})"
    assert text_of(made(2)) == text_of(made(2))
    assert text_of(made(2)) != text_of(made(3))
    assert text_of(made(2)).startswith(
        "test_functions_have_the_same_text_in_every_run.<locals>.made.<locals>.<lambda> #"
    )
    assert "0x" not in text_of(object())
    rule = jax.custom_vjp(lambda f, x: f(x), nondiff_argnums=(0,))
    rule.defvjp(lambda f, x: (f(x), x), lambda f, x, g: jax.vjp(f, x)[1](g))
    report = certgrad.check(rule, "n -> n", static={"f": certgrad.each(jnp.tanh, gelu)})
    assert [c.statics["f"] for c in report.claims[0].cases] == ["jax.numpy.tanh", f"{__name__}.gelu"]


def scaled_power(kind, slope):
    @partial(kind, nondiff_argnums=(0, 2))
    def scaled(*args):
        k, x, m = args
        return m * x**k

    if kind is jax.custom_jvp:
        scaled.defjvp(lambda k, m, xs, dxs: (scaled(k, *xs, m), slope(k, m) * xs[0] ** (k - 1) * dxs[0]))
    else:
        scaled.defvjp(lambda k, x, m: (scaled(k, x, m), x), lambda k, m, x, g: (slope(k, m) * x ** (k - 1) * g,))
    return scaled


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [jax.custom_jvp, jax.custom_vjp])
def test_what_is_taken_as_it_is_among_the_star_arguments(kind):
    right, wrong = scaled_power(kind, lambda k, m: m * k), scaled_power(kind, lambda k, m: k)
    given = {"args_0": 3, "args_2": 2.0}
    assert certgrad.check(right, "n -> n", static=given).verdict == "proved"
    assert certgrad.check(wrong, "n -> n", static=given).verdict == "refuted"
    assert certgrad.check(partial(right, 3), "n -> n", static={"args_1": 2.0}).verdict == "proved"
    assert certgrad.check(partial(wrong, 3), "n -> n", static={"args_1": 2.0}).verdict == "refuted"
    with pytest.raises(UsageError, match="takes 'args_0', one of \\*args, as it is"):
        certgrad.check(right, "n -> n")


def test_a_function_that_calls_itself_has_a_text():
    def made(step):
        def power(k, x):
            return x * 0 + 1 if k == 0 else step * x * power(k - 1, x)

        return power

    assert text_of(made(2)) == text_of(made(2)) != text_of(made(3))
    right = jax.custom_jvp(lambda x: 8 * x**3)
    right.defjvp(lambda xs, dxs: (right(*xs), 24 * xs[0] ** 2 * dxs[0]))
    verdicts = [certgrad.check(right, "n -> n", approximates=partial(made(c), 3)).verdict for c in (2, 3)]
    assert verdicts == ["proved", "refuted"]


class Mode(enum.Enum):
    SINE = 1
    COSINE = 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Mode.COSINE, f"{__name__}.Mode.COSINE"),
        ((Mode.COSINE, [float("inf"), "a"]), f"({__name__}.Mode.COSINE, [float('inf'), 'a'])"),
        (jnp.tanh, "jax.numpy.tanh"),
        (jnp.float32, "jax.numpy.float32"),
        (SimpleNamespace(a=1), "given_mode"),
    ],
    ids=["a member of an enum", "inside containers", "a function", "a class", "what no text gives"],
)
def test_a_reproduction_writes_static_values_as_python_reads_them(value, text):
    @partial(jax.custom_vjp, nondiff_argnums=(1,))
    def sine(x, mode):
        assert mode is value or mode == value
        return jnp.sin(x)

    sine.defvjp(lambda x, mode: (sine(x, mode), x), lambda mode, x, g: (2 * g * jnp.cos(x),))
    script = certgrad.check(sine, "n", static={"mode": value}).reproduction
    assert f"function(x, {text})" in " ".join(script.split())
    assert ("given_mode = ...  # namespace(a=1)" in script) == (text == "given_mode")
    lines = [line for line in script.splitlines() if "function = " not in line and "= ..." not in line]
    names = {"function": sine, "given_mode": value}
    exec("\n".join(line for line in lines if not line.startswith(("from ", "jax.config"))), names)
    assert names["returned"] == pytest.approx(2 * names["expected"], rel=0.05)
