"""Integers that are given decide how a program goes on: they are computed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad import check

pytestmark = pytest.mark.usefixtures("proofs_alone")

ORDERS = np.array([0, 2, 3])


def powers(x, orders):
    """x to each of the orders, side by side: made by loops up to the largest, each kept where it belongs."""

    def outer(k, out):
        here = jnp.max(jnp.where(orders == k, orders, 0))
        value = lax.fori_loop(0, here, lambda _, p: p * x, jnp.ones_like(x))
        places = jnp.sum(jnp.where(orders == k, jnp.arange(1, orders.size + 1), 0)) - 1
        return lax.cond(places >= 0, lambda o: o.at[:, places].set(value), lambda o: o, out)

    return lax.fori_loop(0, jnp.max(orders) + 1, outer, jnp.zeros((*x.shape, orders.size)))


def by(slope):
    f = jax.custom_vjp(lambda x: powers(x, jnp.asarray(ORDERS)))
    f.defvjp(lambda x: (f(x), x), lambda x, g: (jnp.sum(g * slope(x), 1),))
    return f


def right(x):
    return jnp.stack([0 * x, 2 * x, 3 * x**2], 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slope", "verdict"),
    [
        (right, "proved"),
        (lambda x: right(x)[:, ::-1], "refuted"),
        (lambda x: right(x) + jnp.array([0.0, 0.0, 1.0]) * x[:, None], "refuted"),
    ],
)
def test_given_integers_decide_steps_branches_and_places(slope, verdict):
    report = check(by(slope), "n -> n 3")
    assert report.verdict == verdict, report


@pytest.mark.slow
@pytest.mark.parametrize(("order", "verdict"), [(3, "proved"), (2, "refuted")])
def test_static_arrays_of_integers(order, verdict):
    @jax.custom_jvp
    def f(x, orders):
        return powers(x, orders)

    @f.defjvp
    def rule(primals, tangents):
        (x, orders), (dx, _) = primals, tangents
        slopes = [k * x ** max(k - 1, 0) for k in (0, 2, order)]
        return f(x, orders), jnp.stack(slopes, 1) * dx[:, None]

    report = check(f, "n -> n 3", static={"orders": ORDERS})
    assert report.verdict == verdict, report
    assert "orders=array of int64 [0, 2, 3]" in report.certificate.signature[0]


def scaled(factor):
    f = jax.custom_vjp(lambda x: x * factor())
    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * 2.0,))
    return f


TABLE = np.array([2**31 - 1, 2])


def wraps():
    """Adds up to more than 2³¹, which 32 bits wrap to a negative number."""
    return jnp.where(jnp.sum(jnp.asarray(TABLE, "int32"), dtype="int32") > 0, 3.0, 2.0)


def wide():
    """Fits 64 bits alone, which JAX has only when it is told so."""
    return jnp.where(jnp.sum(jnp.asarray(TABLE)) > 0, 2.0, 3.0)


def divided():
    """What a division of integers by 0 gives is nothing to rely on."""
    return jnp.where(jnp.max(lax.div(jnp.asarray([1, 2]), jnp.asarray([0, 1]))) == 2, 2.0, 3.0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("factor", [wide, divided])
def test_what_is_not_the_same_everywhere_is_not_computed(factor):
    assert not check(scaled(factor), "n -> n").proved


def test_what_wraps_is_what_runs():
    assert check(scaled(wraps), "n -> n").verdict in ("proved", "unproved")


def test_an_integer_that_is_an_input_is_not_known():
    @jax.custom_vjp
    def f(x, k):
        return x * jnp.max(k).astype(float)

    f.defvjp(lambda x, k: (f(x, k), k), lambda k, g: (2 * g, None))
    assert not check(f, "n, 2:int -> n").proved
