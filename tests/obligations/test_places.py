"""Places that are read or written: promised in order or unique, divided by a size, equal to each other."""

import jax
import jax.numpy as jnp
import pytest

import certgrad


def rule(forward, backward):
    function = jax.custom_vjp(forward)
    function.defvjp(lambda *x: (forward(*x), x), backward)
    return function


def hypotheses(report):
    return {h.text for claim in report.claims for h in claim.hypotheses}


def read(back, **promise):
    return rule(
        lambda x, i: jax.ops.segment_sum(x**2, i, num_segments=4, **promise),
        lambda saved, g: (back(saved[0], g[saved[1]]), None),
    )


@pytest.mark.parametrize("promise", ["indices_are_sorted", "unique_indices"])
def test_a_promise_that_is_not_shown_is_listed(promise):
    options = {"domain": ["i >= 0", "i < 4"]}
    right = certgrad.check(read(lambda x, g: 2 * x * g, **{promise: True}), "n, n:int -> 4", **options)
    assert right.verdict == "proved under hypotheses"
    (listed,) = (text for text in hypotheses(right) if "wherever" in text)
    assert ("≥ i[" if "sorted" in promise else "≠ i[") in listed
    wrong = certgrad.check(read(lambda x, g: x * g, **{promise: True}), "n, n:int -> 4", **options)
    assert wrong.verdict == "refuted"


def test_a_promise_about_indices_that_are_wrapped_is_one_about_them_as_given():
    """x[i] with i < 0 reads x[i + n]; sorted places are then those of entries that are sorted and not below 0."""

    def taken(factor):
        return rule(
            lambda x, i: x.at[i].get(indices_are_sorted=True),
            lambda saved, g: (factor * jnp.zeros_like(saved[0]).at[saved[1]].add(g), None),
        )

    right = certgrad.check(taken(1), "n, k:int -> k")
    assert right.verdict == "proved under hypotheses"
    assert {"i ≥ 0", "i ≤ n − 1"} < hypotheses(right)
    assert any(text.startswith("i[j] ≥ i[k] wherever") for text in hypotheses(right))
    assert certgrad.check(taken(2), "n, k:int -> k").verdict == "refuted"


def test_a_promise_that_is_shown_is_not_listed():
    def forward(x):
        i = jnp.arange(x.shape[0])
        return jnp.zeros_like(x).at[i].add(x**2, indices_are_sorted=True, unique_indices=True)

    assert certgrad.check(rule(forward, lambda saved, g: (2 * saved[0] * g,)), "n -> n").verdict == "proved"


def laid_flat(a, b):
    i = jnp.arange(a.shape[0] * b.shape[0])
    return a[i // b.shape[0]] * b[i % b.shape[0]]


def back(shape):
    def bwd(saved, g):
        a, b = saved
        g = g.reshape(shape(a.shape[0], b.shape[0]))
        return (g @ b, a @ g) if g.shape == (a.shape[0], b.shape[0]) else (b @ g, g @ a)

    return bwd


@pytest.mark.slow
def test_places_divided_by_a_size():
    assert certgrad.check(rule(laid_flat, back(lambda m, k: (m, k))), "m, k").verdict == "proved"
    assert certgrad.check(rule(laid_flat, back(lambda m, k: (k, m))), "m, k").verdict == "refuted"


def softmax_of_segments(x, i):
    return jnp.exp(x) / jax.ops.segment_sum(jnp.exp(x), i, num_segments=4)[i]


def segments(within):
    def bwd(saved, g):
        x, i = saved
        p = softmax_of_segments(x, i)
        total = jax.ops.segment_sum(p * g, i, num_segments=4)[i] if within else jnp.sum(p * g)
        return p * (g - total), None

    return rule(softmax_of_segments, bwd)


@pytest.mark.slow
def test_entries_of_equal_segments():
    """Where i[a] = i[b], what stands at the one stands at the other."""
    options = {"domain": ["i >= 0", "i < 4"]}
    assert certgrad.check(segments(True), "n, n:int -> n", **options).verdict == "proved under hypotheses"
    assert certgrad.check(segments(False), "n, n:int -> n", **options).verdict == "refuted"


def test_the_sign_of_a_place():
    """floor(−i/2) is made of the signs of places, which are conditions on them."""

    def forward(x):
        return x * jnp.exp(-(jnp.arange(x.shape[1]) // 2) / 7.0)

    right = rule(forward, lambda saved, g: (forward(g),))
    wrong = rule(forward, lambda saved, g: (g * jnp.exp(-((jnp.arange(g.shape[1]) + 1) // 2) / 7.0),))
    assert certgrad.check(right, "n 6 -> n 6").verdict == "proved"
    assert certgrad.check(wrong, "n 6 -> n 6").verdict == "refuted"


def greatest(x):
    return jax.lax.top_k(x, 2)[0].sum(-1)


def put(x, places, values, axis=-1):
    return jnp.put_along_axis(x, places, values, axis, inplace=False)


def to_greatest(base, places=lambda i: i):
    def bwd(saved, g):
        (x,) = saved
        i = places(jax.lax.top_k(x, 2)[1])
        return (put(base(x), i, jnp.broadcast_to(g[:, None], i.shape)),)

    return bwd


WRONG_WRITES = {
    "beside ones": to_greatest(jnp.ones_like),
    "at every second place": to_greatest(jnp.zeros_like, lambda i: i // 2),
    "at the greatest alone": to_greatest(jnp.zeros_like, lambda i: i[:, :1]),
    "at the greatest, twice": to_greatest(jnp.zeros_like, lambda i: jnp.zeros_like(i) + i[:, :1]),
    "at the least": lambda saved, g: to_greatest(jnp.zeros_like)((-saved[0],), g),
}


@pytest.mark.slow
def test_the_greatest_of_each_row_are_written_once():
    """Two places of an order are of different entries, row by row: none is written twice."""
    report = certgrad.check(rule(greatest, to_greatest(jnp.zeros_like)), "n d+1 -> n")
    assert report.verdict == "proved under hypotheses", report
    assert report.hypotheses == ["x[i,j] differ over j"]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", WRONG_WRITES)
def test_the_greatest_of_each_row_written_otherwise(name):
    assert certgrad.check(rule(greatest, WRONG_WRITES[name]), "n d+1 -> n").verdict == "refuted"


def in_order(axis, back=None, places=jnp.argsort):
    """A sort along the last axis, whose cotangents are written along the axis."""

    def bwd(saved, g):
        i = places(saved[0], axis=-1)
        return (put(jnp.zeros_like(g), i, g, axis) if back is None else back(g, i),)

    return rule(lambda x: jnp.sort(x, axis=-1), bwd)


def test_rows_in_order():
    assert certgrad.check(in_order(-1), "n d -> n d").verdict == "proved under hypotheses"
    wrong = [
        in_order(0),
        in_order(-1, lambda g, i: jnp.take_along_axis(g, i, -1)),
        in_order(-1, places=lambda x, axis: jnp.argsort(-x, axis=axis)),
    ]
    assert [certgrad.check(one, "n n -> n n").verdict for one in wrong] == ["refuted"] * 3
