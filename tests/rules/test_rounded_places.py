"""Gathers and scatters at rounded places, as interpolation has them; and wrong rules of that kind."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad


def whole(x, how=jnp.floor):
    return how(x).astype(jnp.int32)


def rule(value, backward):
    function = jax.custom_vjp(value)
    function.defvjp(lambda *args: (value(*args), args), lambda args, seed: backward(*args, seed))
    return function


def interpolated(x, table):
    k, t = whole(x), x - jnp.floor(x)
    return (1 - t) * table[k] + t * table[k + 1]


def weights(x, table, seed, left=lambda t: 1 - t, right=lambda t: t, how=jnp.floor):
    k, t = whole(x, how), x - jnp.floor(x)
    into = jnp.zeros_like(table).at[k].add(seed * left(t)).at[k + 1].add(seed * right(t))
    return seed * (table[k + 1] - table[k]), into


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({}, "proved under hypotheses"),
        ({"left": lambda t: t, "right": lambda t: 1 - t}, "refuted"),
        ({"right": lambda t: t * t}, "refuted"),
        ({"how": jnp.ceil}, "refuted"),
        ({"how": jnp.round}, "refuted"),
    ],
)
def test_interpolation_in_a_table(parts, verdict):
    report = certgrad.check(rule(interpolated, lambda *args: weights(*args, **parts)), "n, m -> n")
    assert report.verdict == verdict, report
    if not parts:
        assert {str(h) for h in report.hypotheses} == {"x is not an integer", "floor(x) ≤ m − 2", "floor(x) ≥ −m"}


@pytest.mark.slow
def test_bilinear_interpolation():
    def corners(y, x):
        j, i = whole(y), whole(x)
        t, s = y - j, x - i
        return [(j, i, (1 - t) * (1 - s)), (j, i + 1, (1 - t) * s), (j + 1, i, t * (1 - s)), (j + 1, i + 1, t * s)]

    def value(image, y, x):
        return sum(w * image[j, i] for j, i, w in corners(y, x))

    def backward(image, y, x, seed, turned=False):
        j, i = whole(y), whole(x)
        t, s = y - j, x - i
        a, b, c, d = image[j, i], image[j, i + 1], image[j + 1, i], image[j + 1, i + 1]
        of_y, of_x = (1 - s) * (c - a) + s * (d - b), (1 - t) * (b - a) + t * (d - c)
        into = jnp.zeros_like(image)
        for row, column, w in corners(y, x):
            into = into.at[row, column].add(seed * w)
        return into, seed * (of_x if turned else of_y), seed * (of_y if turned else of_x)

    assert certgrad.check(rule(value, backward), "h w, n, n -> n").verdict == "proved under hypotheses"
    turned = rule(value, lambda *args: backward(*args, turned=True))
    assert certgrad.check(turned, "h w, n, n -> n").verdict == "refuted"


def zero(x, table, seed):
    return jnp.zeros_like(x)


WRONG = {
    "the place has a derivative": (
        lambda x, table: table[whole(x)],
        lambda x, table, seed: (seed, jnp.zeros_like(table).at[whole(x)].add(seed)),
    ),
    "a cast is no floor below 0": (
        lambda x, table: table[x.astype(jnp.int32)],
        lambda x, table, seed: (zero(x, table, seed), jnp.zeros_like(table).at[whole(x)].add(seed)),
    ),
    "one write wins": (
        lambda x, table: table[whole(x)],
        lambda x, table, seed: (zero(x, table, seed), jnp.zeros_like(table).at[whole(x)].set(seed)),
    ),
    "the difference turned": (
        lambda x, table: table[whole(x[1:] - x[:-1])],
        lambda x, table, seed: (
            zero(x, table, seed),
            jnp.zeros_like(table).at[whole(x[:-1] - x[1:])].add(seed),
        ),
    ),
    "another entry": (
        lambda x, table: table[whole(x[1:])],
        lambda x, table, seed: (zero(x, table, seed), jnp.zeros_like(table).at[whole(x[:-1])].add(seed)),
    ),
    "twice the number": (
        lambda x, table: table[whole(2 * x)],
        lambda x, table, seed: (zero(x, table, seed), jnp.zeros_like(table).at[2 * whole(x)].add(seed)),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_at_rounded_places(name):
    value, backward = WRONG[name]
    signature = "n+1, m -> n" if name in ("the difference turned", "another entry") else "n, m -> n"
    report = certgrad.check(rule(value, backward), signature)
    assert report.verdict in ("refuted", "unproved"), report
    assert report.verdict == "refuted" or name in ("one write wins",), report


def walked(late):
    """A table read at the place that a loop has come to, before or after the step."""

    def value(x, table):
        def step(place, dx):
            moved = place + dx
            return moved, table[whole(moved if late else place)]

        return jnp.sum(lax.scan(step, jnp.float32(0.5), x)[1])

    return value


def test_places_that_a_loop_carries_are_told_apart():
    """Which step's place it is stands in no index, so that nothing is proved of these."""
    for late in (False, True):
        given = walked(True)
        backward = lambda x, table, seed, late=late: jax.vjp(walked(late), x, table)[1](seed)
        assert certgrad.check(rule(given, backward), "n, m -> ").verdict in ("unproved", "refuted")
    assert certgrad.equal(walked(True), walked(False), "n, m -> ").verdict in ("unproved", "refuted")


def spread(off=0, weight=1.0):
    """Points spread over the two places around each, as nonuniform Fourier transforms do, flattened for the scatter."""

    def places(x):
        at = jnp.floor(x)[:, None] + jnp.arange(2)
        return at.astype(jnp.int32), at - x[:, None]

    @jax.custom_vjp
    def rule(x, c):
        at, z = places(x)
        return jnp.zeros(6).at[at.ravel()].add((c[:, None] * jnp.exp(-z * z)).ravel(), mode="drop")

    def backward(residuals, g):
        x, c = residuals
        at, z = places(x)
        taken = g.at[at + off].get(mode="fill", fill_value=0) * jnp.exp(-z * z)
        return jnp.sum(2 * weight * z * c[:, None] * taken, 1), jnp.sum(taken, 1)

    rule.defvjp(lambda x, c: (rule(x, c), (x, c)), backward)
    return rule


def test_points_that_are_spread_over_a_grid():
    """A rounded number of a reshaped entry is that of the entry: which place is meant is looked at, as for integers."""
    report = certgrad.check(spread(), "m, m -> 6")
    assert report.verdict == "proved under hypotheses"


@pytest.mark.parametrize("wrong", [{"off": 1}, {"weight": -1.0}])
def test_points_that_are_spread_over_another_grid(wrong):
    assert certgrad.check(spread(**wrong), "m, m -> 6").verdict == "refuted"
