"""Places that predicates of real numbers decide: the first positive entry, an order by signs, a branch at such a place.

They jump where one of these numbers crosses the boundary, and nothing is claimed there.
"""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")


def positive(x):
    return (x > 0).astype(int)


PLACES = {
    "order": lambda x: jnp.argsort(positive(x))[0],
    "greatest": lambda x: lax.top_k(positive(x), 1)[1],
    "first": lambda x: jnp.argmax(positive(x)),
    "rank": lambda x: jnp.argsort(jnp.argsort(positive(x)))[0],
    "half the count": lambda x: jnp.sum(x > 0) // 2,
    "first of a running count": lambda x: jnp.argmax(jnp.cumsum(x > 0)),
}

NUMBERS = {
    "steps of a loop": lambda x: lax.while_loop(lambda s: s < jnp.argmax(positive(x)), lambda s: s + 1, 0),
    "a branch": lambda x: lax.switch(jnp.argmax(positive(x)), [lambda: 1.0, lambda: 2.0, lambda: 3.0]),
    "places before": lambda x: jnp.sum(jnp.arange(x.shape[0]) < jnp.argsort(positive(x))[0]),
}


def custom(value):
    """`value(x, y)`, linear in y, with nothing for x."""
    rule = jax.custom_vjp(value)

    def bwd(arguments, g):
        x, y = arguments
        return jnp.zeros_like(x), jax.vjp(lambda y: value(x, y), y)[1](g)[0]

    rule.defvjp(lambda x, y: (value(x, y), (x, y)), bwd)
    return rule


def entries_at(place):
    return lambda x, y: jnp.sum(y[place(x)])


def times(number):
    return lambda x, y: jnp.sum(y) * number(x)


VALUES = {name: entries_at(place) for name, place in PLACES.items()} | {
    name: times(number) for name, number in NUMBERS.items()
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", VALUES)
def test_where_a_place_jumps_is_excluded(name):
    report = certgrad.check(custom(VALUES[name]), "n, n -> ")
    assert report.verdict == "proved under hypotheses", report
    assert report.hypotheses == ["x ≠ 0"]


def test_a_place_that_nothing_moves_needs_no_hypothesis():
    report = certgrad.check(custom(lambda x, y: jnp.sum(y[jnp.argsort(positive(x))])), "n, n -> ", differentiable=["y"])
    assert report.verdict == "proved", report


def test_a_place_decided_by_integers_needs_no_hypothesis():
    rule = jax.custom_vjp(lambda y, k: y[jnp.argmax(k)])
    rule.defvjp(
        lambda y, k: (y[jnp.argmax(k)], (y, k)),
        lambda s, g: (jnp.zeros_like(s[0]).at[jnp.argmax(s[1])].add(g), None),
    )
    assert certgrad.check(rule, "n, n:int -> ").verdict == "proved"


def side(u):
    """1 where u > 0, else 0: the place of the greatest of two integers."""
    return lax.top_k(jnp.stack([0 * positive(u), positive(u)]).T, 1)[1][:, 0]


def curve(x, y):
    return x**2 + x * y**2 - 2 * y**2


@pytest.mark.slow
def test_the_derivative_of_pieces_is_claimed_beside_their_boundary_alone():
    """u in two pieces: where it is 0 each has the slope 0, and u has a slope."""

    def pieces(x, y):
        return side(curve(x, y)) + side(-curve(x, y))

    def bwd(arguments, g):
        x, y = arguments
        return tuple(g * pieces(x, y) * slope for slope in (2 * x + y**2, 2 * x * y - 4 * y))

    rule = jax.custom_vjp(lambda x, y: curve(x, y) * pieces(x, y))
    rule.defvjp(lambda x, y: (curve(x, y) * pieces(x, y), (x, y)), bwd)
    one = jnp.ones(1)
    assert jax.grad(lambda x: rule(x, one)[0])(one) == 0
    assert jax.grad(lambda x: curve(x, one)[0])(one) == 3
    report = certgrad.check(rule, "n, n -> n")
    assert report.hypotheses == ["x^2 + y^2·x ≠ 2·y^2"], report
