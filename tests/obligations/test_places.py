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
