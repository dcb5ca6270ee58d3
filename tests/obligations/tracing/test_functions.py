"""Callbacks that each trace makes anew: one function if they are of one code and hold the same."""

import itertools
from functools import partial, wraps

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import certgrad
from certgrad.obligations.tracing.jax_internals._functions import as_made


def called(host, x):
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="broadcast_all")


def rounded_to(function, dtype, factor=1.0):
    @wraps(function)
    def host(x):
        return (factor * function(np.asarray(x))).astype(dtype)

    return host


@pytest.mark.parametrize(
    "make",
    [
        lambda: rounded_to(special.j0, np.dtype(float)),
        lambda: partial(rounded_to(special.j0, np.dtype(float)), 2),
        lambda: lambda x, k=-0.0: x + k,
        lambda: rounded_to(rounded_to(special.j0, np.dtype(float)), np.dtype(float)),
    ],
)
def test_one_code_that_holds_the_same_is_one_function(make):
    assert as_made(make()) == as_made(make())


def of_default(k):
    return lambda x, k=k: x + k


def holding(value):
    return lambda x: x + value


def named(name, of="__name__"):
    """What holds another function may ask what that is called, or is told."""

    def tag():
        return None

    setattr(tag, of, name)
    return lambda x: tag


class Equal:
    """Objects of which all say that they are equal."""

    def __eq__(self, other):
        return isinstance(other, Equal)

    def __hash__(self):
        return 7

    def method(self, x):
        return x


class Shape(jax.ShapeDtypeStruct):
    __eq__, __hash__ = Equal.__eq__, Equal.__hash__


def told(what):
    return np.dtype(float, metadata={"scale": what})


def itself():
    def host(x):
        return host if x else 0

    return host


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (rounded_to(special.j0, np.dtype(float)), rounded_to(special.j1, np.dtype(float))),
        (rounded_to(special.j0, np.dtype(float), 1.0), rounded_to(special.j0, np.dtype(float), 2.0)),
        (holding(1), holding(True)),
        (holding(0.0), holding(-0.0)),
        (holding(1), holding(1.0)),
        (holding([1]), holding([1])),
        (holding(itertools.count()), holding(itertools.count())),
        (holding((1, [2])), holding((1, [2]))),
        (holding(np.zeros(2)), holding(np.zeros(2))),
        (of_default(1), of_default(1.0)),
        (partial(of_default(1), k=1), partial(of_default(1), k=2)),
        (itself(), itself()),
        (named("one"), named("other")),
        (named("one", "__qualname__"), named("other", "__qualname__")),
        (named("one", "__module__"), named("other", "__module__")),
        (named("one", "__doc__"), named("other", "__doc__")),
        (named({"x": 1}, "__annotations__"), named({"x": 2}, "__annotations__")),
        (holding(told(1)), holding(told(2))),
        (holding(Shape((), float)), holding(Shape((), float))),
        (holding(Equal()), holding(Equal())),
        (Equal(), Equal()),
        (Equal().method, Equal().method),
        (lambda x: x + 1, lambda x: x + 2),
    ],
)
def test_what_holds_anything_else_is_another_function(one, other):
    assert as_made(one) != as_made(other)


def test_what_a_function_is_marked_with_counts():
    one, other = holding(1), holding(1)
    other.scale = 2
    assert as_made(one) != as_made(other)


def bessel(of_rule=1.0):
    @jax.custom_jvp
    def j0(x):
        return called(rounded_to(special.j0, x.dtype), x)

    def tangent(primals, tangents):
        (x,), (dx,) = primals, tangents
        value = called(rounded_to(special.j0, x.dtype, of_rule), x)
        return value, -called(rounded_to(special.j1, x.dtype), x) * dx

    j0.defjvp(tangent)
    return j0


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (2.0, False)])
def test_a_value_that_is_called_out_for_anew_is_the_same_value(factor, holds):
    report = certgrad.check(bessel(factor), "n -> n")
    (value,) = [c for c in report.claims if c.kind == "rule_runs_forward"]
    assert value.verdict.startswith("proved") == holds, report


def test_code_that_is_called_back_is_no_code_of_the_rule():
    """It runs in calls and in no trace."""

    @certgrad.solves(lambda z, a, p: jax.scipy.special.gammainc(a, z) - p)
    def solution(a, p):
        def host(a, p):
            if np.any(a > 0):
                return np.asarray(special.gammaincinv(a, p), a.dtype)
            return np.zeros_like(a)

        out = jax.ShapeDtypeStruct(a.shape, a.dtype)
        return jax.pure_callback(host, out, a, p, vmap_method="broadcast_all")

    @jax.custom_jvp
    def inverse(a, p):
        return solution(a, p)

    @inverse.defjvp
    def _(primals, tangents):
        (a, p), (_, dp) = primals, tangents
        x = solution(a, p)
        return x, dp * jnp.exp(x - (a - 1) * jnp.log(x) + jax.lax.lgamma(a))

    report = certgrad.check(inverse, "n, n -> n", differentiable=["p"], domain=["a > 0", "p > 0", "p < 1"])
    assert report.verdict == "proved under hypotheses", report
