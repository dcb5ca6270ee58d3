"""Implicit roots, in the forms in which they are written: each gets a verdict, and no form breaks anything."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad import check
from certgrad.rules.causes.missing import NOTHING, missing_term
from certgrad.rules.subject.user_rule import UserRule

pytestmark = pytest.mark.usefixtures("proofs_alone")


def newton(f, x0):
    return lax.fori_loop(0, 2, lambda _, x: x - f(x) / (3 * x**2 + 1), x0)


def tangent_solve(g, y):
    return y / g(jnp.ones_like(y))


def custom_root(a):
    return lax.custom_root(lambda x: x**3 + x - a, jnp.zeros_like(a), newton, tangent_solve)


def with_vjp(function, backward):
    made = jax.custom_vjp(function)
    made.defvjp(lambda *args: (function(*args), (*args, function(*args))), backward)
    return made


def slope(y):
    return 3 * y**2 + 1


def by_while(a):
    test = lambda x: jnp.any(jnp.abs(x**3 + x - a) > 1e-6)
    return lax.while_loop(test, lambda x: x - (x**3 + x - a) / (3 * x**2 + 1), jnp.zeros_like(a))


def jvp_around_custom_root():
    made = jax.custom_jvp(custom_root)

    @made.defjvp
    def rule(primals, tangents):
        y = made(*primals)
        return y, tangents[0] / slope(y)

    return made


def of_a_dict(parameters, x):
    return newton(lambda y: y**3 + parameters["a"] * y - parameters["b"] * x, jnp.zeros_like(x))


def of_a_dict_backward(residuals, g):
    parameters, x, y = residuals
    u = g / (3 * y**2 + parameters["a"])
    return {"a": -jnp.sum(u * y), "b": jnp.sum(u * x)}, parameters["b"] * u


def jvp_of_a_dict():
    def function(parameters):
        f = lambda x: x**3 + parameters["a"] * x - parameters["b"]
        return lax.custom_root(f, jnp.zeros_like(parameters["b"]), newton, tangent_solve)

    made = jax.custom_jvp(function)

    @made.defjvp
    def rule(primals, tangents):
        y = made(*primals)
        return y, (tangents[0]["b"] - tangents[0]["a"] * y) / (3 * y**2 + primals[0]["a"])

    return made


def with_keywords():
    def function(a, *, steps=2, start=0.0):
        return lax.fori_loop(0, steps, lambda _, x: x - (x**3 + x - a) / slope(x), jnp.full_like(a, start))

    made = jax.custom_vjp(function)
    made.defvjp(lambda a, **_: (function(a), function(a)), lambda y, g: (g / slope(y),))
    return made


def with_options():
    def function(a, steps=2):
        return lax.fori_loop(0, steps, lambda _, x: x - (x**3 + x - a) / slope(x), jnp.zeros_like(a))

    made = jax.custom_vjp(function, nondiff_argnums=(1,))
    made.defvjp(lambda a, steps: (function(a, steps), function(a, steps)), lambda steps, y, g: (g / slope(y),))
    return made


def of_a_residual():
    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def solve(residual, a):
        return newton(lambda x: residual(a, x), jnp.zeros_like(a))

    def forward(residual, a):
        x = solve(residual, a)
        return x, (a, x)

    def backward(residual, kept, g):
        a, x = kept
        u = g / jax.vjp(lambda x: residual(a, x), x)[1](jnp.ones_like(x))[0]
        return (jax.vjp(lambda a: residual(a, x), a)[1](-u)[0],)

    solve.defvjp(forward, backward)
    return solve


def of_two(a, b):
    step = lambda _, c: (a - jnp.sin(c[1]) / 4, b - jnp.cos(c[0]) / 4)
    return lax.fori_loop(0, 2, step, (jnp.zeros_like(a), jnp.zeros_like(b)))


def of_two_backward(kept, g):
    *_, (x, y) = kept
    d = 1 + jnp.cos(y) * jnp.sin(x) / 16
    return (g[0] + jnp.sin(x) / 4 * g[1]) / d, (g[1] - jnp.cos(y) / 4 * g[0]) / d


def linear(matrix, b):
    return lax.custom_linear_solve(
        lambda v: matrix @ v, b, lambda _, b: jnp.linalg.solve(matrix, b), lambda _, b: jnp.linalg.solve(matrix.T, b)
    )


def linear_backward(kept, g):
    matrix, _, x = kept
    u = jnp.linalg.solve(matrix.T, g)
    return -jnp.outer(u, x), u


RESIDUAL = {"residual": lambda a, x: x**3 + x - a}
FORMS = {
    "while": (with_vjp(by_while, lambda kept, g: (g / slope(kept[1]),)), "n", {}),
    "custom_root": (with_vjp(custom_root, lambda kept, g: (g / slope(kept[1]),)), "", {}),
    "custom_root, vector": (with_vjp(custom_root, lambda kept, g: (g / slope(kept[1]),)), "n", {}),
    "custom_jvp around custom_root": (jvp_around_custom_root(), "n", {}),
    "dict": (with_vjp(of_a_dict, of_a_dict_backward), "{a: , b: }, n", {}),
    "custom_jvp of a dict": (jvp_of_a_dict(), "{a: n, b: n}", {}),
    "keywords": (with_keywords(), "n", {}),
    "options": (with_options(), "n", {"static": {"steps": 2}}),
    "residual": (of_a_residual(), "n", {"static": RESIDUAL}),
    "two equations": (with_vjp(of_two, of_two_backward), "n, n", {}),
    "linear": (with_vjp(linear, linear_backward), "n n, n", {}),
}
VERDICTS = ("proved", "proved under hypotheses", "unproved", "refuted")


@pytest.mark.one_in(11)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_a_verdict(form):
    function, signature, options = FORMS[form]
    report = check(function, signature, conformance=False, **options)
    assert report.verdict in VERDICTS
    said = " ".join(str(report).split())
    assert "zip()" not in said
    assert "Error" not in said
    if report.verdict == "unproved":
        assert "if that solves an equation, say which by certgrad.solves" in said


def test_a_term_is_not_said_to_be_missing_where_the_derivative_is_not_known():
    function, signature, _ = FORMS["while"]
    rule = UserRule(function, signature)
    assert missing_term(rule) == NOTHING
