"""Integers that the calculus does not follow, where entries are read or masked at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import Array

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")

TABLE = jnp.array([1.0, 3.0, -2.0, 5.0])


def _first_positive(x: Array) -> Array:
    return jnp.argmax(x > 0)


def _where_it_runs_low(x: Array) -> Array:
    """The place of the least value that a loop carries."""
    return jnp.argmin(jax.lax.scan(lambda c, a: (c + a**3 + a - 10.0, c), 0.0, x)[1])


READ: dict[str, Callable[..., Any]] = {
    "an entry": lambda x: x[_first_positive(x)],
    "an entry of another": lambda x, y: y[jnp.argmax(x > y)],
    "a slice": lambda x: jax.lax.dynamic_slice(x, (_first_positive(x),), (1,))[0],
    "one hot": lambda x: jnp.sum(x * jax.nn.one_hot(_first_positive(x), x.shape[0])),
    "written to": lambda x: x.at[_first_positive(x)].set(0.0),
    "a mask": lambda x: jnp.where(jnp.arange(x.shape[0]) < _first_positive(x), x, 0.0),
    "a condition": lambda x: jnp.where(_first_positive(x) > 0, x, 0.0),
    "a table": lambda x: jnp.sin(TABLE[_first_positive(x)]) * jnp.sum(x),
    "by a loop": lambda x: x[_where_it_runs_low(x)],
}


def _with_jax_rule(f: Callable[..., Any]) -> Callable[..., Any]:
    rule = jax.custom_vjp(f)
    rule.defvjp(lambda *x: (f(*x), x), lambda x, g: jax.vjp(f, *x)[1](g))
    return rule


@pytest.mark.one_in(10)
@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_where_they_jump_nothing_is_proved(read: Callable[..., Any]) -> None:
    """JAX's rule is wrong where the place changes, and that is nowhere listed: for x = (0, 5) the first of them is 5
    and just above it 0.
    """
    count = 2 if "y" in read.__code__.co_varnames else 1
    rule = _with_jax_rule(read)
    out = " n" if read(*[jnp.ones(3)] * count).ndim else " "
    sizes = None if read is READ["a table"] else ()  # there each size takes seconds
    report = certgrad.check(rule, f"{', '.join(['n'] * count)} ->{out}", conformance=False, sizes=sizes)
    assert report.verdict in ("unproved", "proved at sizes")
    if report.verdict == "proved at sizes":  # there the entries are compared one by one
        assert any("≠" in text for text in report.hypotheses)


@pytest.mark.parametrize("size", ["n", "12"])
def test_in_a_graph_neither(size: str) -> None:
    rule = _with_jax_rule(READ["an entry"])
    certificate = certgrad.certify(certgrad.trace(lambda x: 2 * rule(x), size))
    assert certificate.verdict == "unproved"
    assert "an arg-extremum of booleans" in str(certificate.findings)


@pytest.mark.slow
def test_frexp_picks_from_a_table() -> None:
    rule = _with_jax_rule(lambda x: x * TABLE[jnp.clip(jnp.frexp(x)[1], 0, 3)])
    report = certgrad.check(rule, "-> ", conformance=False)
    assert any("is not an integer" in text for text in report.hypotheses) or report.verdict == "unproved"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", [jnp.uint32, jnp.int8])
def test_numbers_that_an_integer_type_cannot_hold(dtype: Any) -> None:
    function = lambda x: jnp.sum(x * TABLE[(x.astype(dtype) + dtype(1)) % 4])
    certificate = certgrad.certify(certgrad.trace(function, jnp.arange(1.0, 5.0)))
    assert certificate.verdict == ("unproved" if dtype == jnp.uint32 else "proved under hypotheses")


def test_neither_is_a_number_of_steps() -> None:
    """A loop of as many steps as the place says doubles its carry in each."""

    def power(x: Array) -> Array:
        count = _first_positive(x)
        return jax.lax.while_loop(lambda c: c[0] < count, lambda c: (c[0] + 1, 2 * c[1]), (0, 1.0))[1]

    def backward(x: Array, g: Array) -> tuple[Array]:
        return (g * power(x) * jnp.ones_like(x),)

    rule = jax.custom_vjp(lambda x: power(x) * jnp.sum(x))
    rule.defvjp(lambda x: (power(x) * jnp.sum(x), x), backward)
    report = certgrad.check(rule, "n -> ", conformance=False)
    assert report.verdict in ("unproved", "proved at sizes")


def _bits(x: Array) -> Array:
    return jax.lax.bitcast_convert_type(x, jnp.int64 if x.dtype == jnp.float64 else jnp.int32)


def _with_tangent(f: Callable[..., Any], of: Callable[..., Any]) -> Callable[..., Any]:
    rule = jax.custom_jvp(f)
    rule.defjvp(lambda primals, tangents: (rule(*primals), of(*primals, *tangents)))
    return rule


def test_a_rule_is_proved_where_such_a_value_is_not_taken() -> None:
    """Of the bits nothing is known, and no derivative: the claim is about the numbers whose bits are not read."""

    def f(x: Array) -> Array:
        return jnp.where(jnp.abs(x) < 1e-30, _bits(x).astype(x.dtype), 2 * x)

    report = certgrad.check(_with_tangent(f, lambda x, dx: 2 * dx), "n -> n")
    assert report.verdict == "proved under hypotheses"
    texts = {h.text for h in report.claims[0].hypotheses}
    assert {"x ≥ 1e-30 wherever x > 0", "x ≤ −1e-30 wherever x < 0", "x ≠ 0"} <= texts


BITS: dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    "added": ("n -> n", lambda x: x + _bits(x).astype(x.dtype), lambda x, dx: dx),
    "a condition": (
        "n -> n",
        lambda x: jnp.where(_bits(x) > 5, 2 * x, 3 * x),
        lambda x, dx: jnp.where(_bits(x) > 5, 2 * dx, 3 * dx),
    ),
    "an index": (
        ", 4 -> ",
        lambda x, w: w[jnp.abs(_bits(x)) % 4],
        lambda x, w, dx, dw: dw[jnp.abs(_bits(x)) % 4],
    ),
    "one hot": (
        ", n -> ",
        lambda x, w: jnp.sum(w * (jnp.arange(w.shape[0]) == _bits(x))),
        lambda x, w, dx, dw: jnp.sum(dw * (jnp.arange(w.shape[0]) == _bits(x))),
    ),
    "an order": ("n -> n", lambda x: x[jnp.argsort(_bits(x))], lambda x, dx: dx[jnp.argsort(_bits(x))]),
    "a mask of another": (
        ", n -> n",
        lambda x, w: jnp.where(_bits(x) > 0, w, 2 * w),
        lambda x, w, dx, dw: jnp.where(_bits(x) > 0, dw, 2 * dw),
    ),
}


@pytest.mark.parametrize("name", BITS)
def test_where_it_is_taken_nothing_is_proved(name: str) -> None:
    signature, f, of = BITS[name]
    report = certgrad.check(_with_tangent(f, of), signature, conformance=False, sizes=())
    assert report.verdict == "unproved"
    assert "the bits of a number are nothing over the reals" in report.claims[0].cases[0].reason


WRAPPED: dict[str, Callable[..., Any]] = {
    "a product": lambda k: (4 * k) // 4 != k,
    "a sum": lambda k: k + 2**30 < k,
    "a remainder": lambda k: (3 * k) % 3 != 0,
    "a square": lambda k: k * k < 0,
}


@pytest.mark.parametrize("name", WRAPPED)
def test_arithmetic_on_bits_wraps_around(name: str) -> None:
    """The bits of 1.0 are a large integer: 4 times it is another one than the type holds."""

    def f(x: Array, w: Array) -> Array:
        return WRAPPED[name](_bits(x)).astype(w.dtype) * w

    rule = jax.custom_vjp(f)
    rule.defvjp(lambda x, w: (f(x, w), (x, w)), lambda r, g: (jnp.zeros_like(r[0]), jnp.sum(0 * g)))
    report = certgrad.check(rule, "n, -> n", conformance=False, sizes=())
    assert report.verdict == "unproved"
