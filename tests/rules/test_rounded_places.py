"""Gathers and scatters at rounded places, as interpolation has them; and wrong rules of that kind."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")


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


@pytest.mark.one_in(6)
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


@pytest.mark.one_in(6)
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


@pytest.mark.slow
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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("wrong", [{"off": 1}, {"weight": -1.0}])
def test_points_that_are_spread_over_another_grid(wrong):
    assert certgrad.check(spread(**wrong), "m, m -> 6").verdict == "refuted"


def around(x, size, taps=2):
    """The places around x on a ring, and how far they are from it."""
    first = jnp.ceil(x - taps / 2).astype(jnp.int32)
    places = first[:, None] + jnp.arange(taps)[None, :]
    return places % size, places.astype(x.dtype) - x[:, None]


def spread_on_a_ring(x, a):
    places, z = around(x, 4)
    return jax.ops.segment_sum((a[:, None] * z * z).ravel(), places.ravel(), num_segments=4)


def gathered_from_a_ring(x, a, seed, slope=lambda z: -2 * z, size=4):
    places, z = around(x, size)
    seen = seed[places.ravel()].reshape(places.shape)
    return a * jnp.sum(seen * slope(z), -1), jnp.sum(seen * z * z, -1)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({}, "proved under hypotheses"),
        ({"slope": lambda z: 2 * z}, "refuted"),
        ({"size": 3}, "refuted"),
    ],
)
def test_places_wrapped_around(parts, verdict):
    """k mod 4 of a rounded k is a whole number from 0 to 3, of negative k too."""
    backward = rule(spread_on_a_ring, lambda *args: gathered_from_a_ring(*args, **parts))
    report = certgrad.check(backward, "n, n -> 4")
    assert report.verdict == verdict, report


@pytest.mark.slow
def test_remainders_towards_zero_are_others():
    """lax.rem of a negative number is no place on the ring."""
    table = lambda remainder: lambda x, t: t[remainder(whole(x), 4)]

    def backward(x, t, seed, remainder=jnp.remainder):
        return jnp.zeros_like(x), jnp.zeros_like(t).at[remainder(whole(x), 4)].add(seed)

    assert certgrad.check(rule(table(jnp.remainder), backward), "n, 4 -> n").proved
    wrong = rule(table(jnp.remainder), lambda *args: backward(*args, remainder=lambda k, m: jnp.abs(lax.rem(k, m))))
    assert certgrad.check(wrong, "n, 4 -> n").verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize(("turned", "verdict"), [(False, "proved under hypotheses"), (True, "refuted")])
def test_spreading_on_a_torus(turned, verdict):
    """4·j + i = 4·l + k says j = l and i = k, of remainders of rounded numbers too."""

    def value(x, y, a):
        (i, z), (j, w) = around(x, 4), around(y, 4)
        weights = (a[:, None] * w)[:, :, None] * z[:, None, :]
        at = j[:, :, None] * 4 + i[:, None, :]
        return jax.ops.segment_sum(weights.ravel(), at.ravel(), num_segments=16).reshape(4, 4)

    def backward(x, y, a, seed):
        (i, z), (j, w) = around(x, 4), around(y, 4)
        at = j[:, :, None] * 4 + i[:, None, :]
        seen = (seed.T if turned else seed).ravel()[at.ravel()].reshape(at.shape)
        of_x, of_y = jnp.sum(seen * w[:, :, None], -2), jnp.sum(seen * z[:, None, :], -1)
        return -a * jnp.sum(of_x, -1), -a * jnp.sum(of_y, -1), jnp.sum(of_x * z, -1)

    assert certgrad.check(rule(value, backward), "n, n, n -> 4 4").verdict == verdict


def quotient_of_rounded(divided):
    return rule(
        lambda x, y: y * divided(x).astype(y.dtype),
        lambda x, y, seed: (jnp.zeros_like(x), seed * jnp.floor(jnp.floor(x) / 4)),
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("divided", "domain", "verdict"),
    [
        (lambda x: whole(x) // 4, None, "proved under hypotheses"),
        (lambda x: whole(x) >> 2, None, "proved under hypotheses"),
        (lambda x: (whole(x) - whole(x) % 4) // 4, None, "proved under hypotheses"),
        (lambda x: lax.div(whole(x), jnp.int32(4)), None, "refuted"),
        (lambda x: lax.div(whole(x), jnp.int32(4)), "x > 0", "proved under hypotheses"),
    ],
)
def test_quotients_of_rounded_numbers(divided, domain, verdict):
    """⌊⌊x⌋/4⌋, of negative x too; lax.div rounds towards 0."""
    options = {"domain": domain} if domain else {}
    report = certgrad.check(quotient_of_rounded(divided), "n, n -> n", **options)
    assert report.verdict == verdict, report
