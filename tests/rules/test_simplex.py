"""Projections onto the simplex: the greatest entries less a threshold, as many as a count says; and wrong ones."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")


def support_of(greatest):
    """How many of the entries, the greatest first, are above the threshold that they themselves determine."""
    number = jnp.arange(greatest.shape[0]) + 1
    sums = jnp.cumsum(greatest)
    count = jnp.count_nonzero(1.0 / number + (greatest - sums / number) > 0)
    return count, (sums[count - 1] - 1) / count


def projected(x):
    _, threshold = support_of(jnp.sort(x)[::-1])
    return jax.nn.relu(x - threshold)


def projected_to_few(x):
    greatest, places = lax.top_k(x, 2)
    _, threshold = support_of(greatest)
    return jnp.sum(jax.nn.relu(greatest - threshold)[:, None] * jax.nn.one_hot(places, len(x), dtype=x.dtype), axis=0)


def centred(y, d, inside=lambda y: y > 0, count=lambda support: jnp.count_nonzero(support), less=1):
    support = inside(y)
    return support * d - less * (jnp.dot(support, d) / count(support)) * support


def rule(forward, **parts):
    function = jax.custom_jvp(forward)

    @function.defjvp
    def jvp(primals, tangents):
        y = function(*primals)
        return y, centred(y, *tangents, **parts)

    return function


WRONG = {
    "by the number of entries": {"count": lambda support: support.shape[0]},
    "without the mean": {"less": 0},
    "entries on the boundary": {"inside": lambda y: y >= 0},
    "twice the mean": {"less": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("forward", [projected, projected_to_few])
def test_the_derivative_is_centred_on_the_support(forward):
    report = certgrad.check(rule(forward), "3 -> 3")
    assert report.verdict == "proved under hypotheses", report
    assert "x[i] differ over i" in report.hypotheses


@pytest.mark.slow
def test_at_numbers_where_sizes_are_open():
    report = certgrad.check(rule(projected), "n -> n")
    assert report.verdict == "proved at sizes", report
    assert [claim.verdict for claim in report.claims] == ["proved at sizes"] * 3


@pytest.mark.one_in(9)
@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("forward", [projected, projected_to_few])
def test_wrong_derivatives(forward, parts):
    assert certgrad.check(rule(forward, **parts), "3 -> 3").verdict == "refuted"


def test_a_count_that_may_be_0_is_no_divisor():
    """That some entry is above ½ is not shown: it is a hypothesis, or nothing is proved."""
    report = certgrad.check(rule(projected, count=lambda support: jnp.count_nonzero(support) - 1), "2 -> 2")
    assert not report.proved


@pytest.mark.parametrize(("which", "verdict"), [(0, "proved under hypotheses"), (1, "refuted")])
def test_an_entry_at_a_counted_place(which, verdict):
    """The entry at a place that a count says, along an axis in order: its derivative goes to that entry."""

    def value(x):
        u = jnp.sort(x)
        return u[jnp.count_nonzero(u[:2] > 0)]

    function = jax.custom_vjp(value)

    def backward(x, seed):
        place = jnp.argsort(x)[jnp.count_nonzero(jnp.sort(x)[:2] > which)]
        return (jnp.zeros_like(x).at[place].add(seed),)

    function.defvjp(lambda x: (value(x), x), backward)
    report = certgrad.check(function, "3 -> ")
    assert report.verdict == verdict, report
