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


def by_the_sum(x):
    """The same threshold by a sum over the entries that are counted."""
    greatest = jnp.sort(x)[::-1]
    above = 1.0 + (jnp.arange(x.shape[0]) + 1) * greatest > jnp.cumsum(greatest)
    return jax.nn.relu(x - (jnp.sum(jnp.where(above, greatest, 0.0)) - 1.0) / jnp.sum(above))


@pytest.mark.slow
@pytest.mark.parametrize("forward", [projected, by_the_sum])
def test_of_any_number_of_entries(forward):
    """The entries above the threshold are as many as the sorted ones by which it is determined."""
    report = certgrad.check(rule(forward), "n -> n")
    assert report.verdict == "proved under hypotheses", report


def sparsemax(x):
    greatest = jnp.sort(x)[::-1]
    sums = jnp.cumsum(greatest)
    count = jnp.sum(1.0 + (jnp.arange(x.shape[0]) + 1) * greatest > sums)
    return jnp.maximum(x - (sums[count - 1] - 1.0) / count, 0.0)


@pytest.mark.slow
def test_of_rows():
    rows = jax.vmap(sparsemax)
    function = jax.custom_vjp(rows)
    function.defvjp(lambda x: (rows(x), x), lambda x, g: (jax.vmap(centred)(rows(x), g),))
    assert certgrad.check(function, "b n -> b n").verdict == "proved under hypotheses"


@pytest.mark.slow
def test_at_numbers_where_sizes_are_open():
    report = certgrad.check(rule(projected_to_few), "n+1 -> n+1")
    assert report.verdict == "proved at sizes", report
    assert [claim.verdict for claim in report.claims] == ["proved at sizes"] * 3


@pytest.mark.one_in(9)
@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize(
    ("forward", "shapes"), [(projected, "3 -> 3"), (projected_to_few, "3 -> 3"), (projected, "n -> n")]
)
def test_wrong_derivatives(forward, shapes, parts):
    assert certgrad.check(rule(forward, **parts), shapes).verdict == "refuted"


def at_the_count(x, y):
    return y[jnp.clip(jnp.count_nonzero(x > 0), 0, y.shape[0] - 1)]


def count_read(place, forward=at_the_count):
    """What the entry at a place that a count says moves: that entry alone."""
    function = jax.custom_vjp(forward)

    def backward(saved, g):
        x, y = saved
        return jnp.zeros_like(x), jnp.zeros_like(y).at[place(x, y.shape[0])].add(g)

    function.defvjp(lambda x, y: (forward(x, y), (x, y)), backward)
    return function


def test_an_index_that_is_a_count():
    """Anything that is clamped to an axis is an index of it; it jumps where an entry changes its sign."""
    report = certgrad.check(count_read(lambda x, m: jnp.clip(jnp.count_nonzero(x > 0), 0, m - 1)), "n, m -> ")
    assert (report.verdict, report.hypotheses) == ("proved under hypotheses", ["x ≠ 0"])


WRONG_PLACES = {
    "one before": lambda x, m: jnp.clip(jnp.count_nonzero(x > 0) - 1, 0, m - 1),
    "of the others": lambda x, m: jnp.clip(jnp.count_nonzero(x < 0), 0, m - 1),
    "of those above 1": lambda x, m: jnp.clip(jnp.count_nonzero(x > 1), 0, m - 1),
    "not clamped": lambda x, m: jnp.count_nonzero(x > 0),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("place", WRONG_PLACES.values(), ids=WRONG_PLACES.keys())
def test_an_index_that_is_another_count(place):
    assert certgrad.check(count_read(place), "n, m -> ").verdict == "refuted"


@pytest.mark.parametrize(("place", "verdict"), [(jnp.argmax, "proved under hypotheses"), (jnp.argmin, "refuted")])
def test_an_index_that_is_an_argument(place, verdict):
    function = count_read(lambda x, m: place(x) + 1, lambda x, y: y[jnp.argmax(x) + 1])
    assert certgrad.check(function, "n, n+1 -> ").verdict == verdict


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
