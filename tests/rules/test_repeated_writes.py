"""Entries that are written several times: what is proved holds whichever write counts, what is refuted fails so."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.obligations.meaning.semantics._positions import ONE_COUNTS, TWICE


def written(backward):
    rule = jax.custom_vjp(lambda base, x, index: base.at[index].set(x))
    rule.defvjp(
        lambda base, x, index: (base.at[index].set(x), (base, x, index)),
        lambda saved, g: (*backward(*saved, g), None),
    )
    return rule


def kept(index, g):
    return g.at[index].set(0.0)


def by_last(base, x, index, g):
    places = jnp.arange(index.shape[0])
    last = jnp.full(g.shape, -1, places.dtype).at[index].max(places)
    return kept(index, g), jnp.where(last[index] == places, g[index], 0.0)


def by_first(base, x, index, g):
    places = jnp.arange(index.shape[0])
    first = jnp.full(g.shape, index.shape[0], places.dtype).at[index].min(places)
    return kept(index, g), jnp.where(first[index] == places, g[index], 0.0)


def by_written(base, x, index, g):
    places = jnp.arange(index.shape[0])
    stays = jnp.full(g.shape, -1, places.dtype).at[index].set(places)
    return kept(index, g), jnp.where(stays[index] == places, g[index], 0.0)


WRONG = {
    "as if all stayed": lambda base, x, index, g: (kept(index, g), g[index]),
    "the base too": lambda base, x, index, g: (g, g[index]),
    "none stays": lambda base, x, index, g: (kept(index, g), 0 * g[index]),
    "halved where repeated": lambda base, x, index, g: (
        kept(index, g),
        g[index] / jnp.zeros_like(g).at[index].add(1.0)[index] ** 2,
    ),
}
LEFT_OPEN = {"the last stays": by_last, "the first stays": by_first}
SPEC, DOMAIN = "m, n, n:int -> m", ["index >= 0", "index < m"]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_whichever_write_stays(name):
    assert certgrad.check(written(WRONG[name]), SPEC, domain=DOMAIN, conformance=False).verdict == "refuted"


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_right_for_some_choice_is_not_refuted(name):
    report = certgrad.check(written(LEFT_OPEN[name]), SPEC, domain=DOMAIN, conformance=False)
    assert report.verdict == "unproved"


def rule(f, bwd):
    found = jax.custom_vjp(f)
    found.defvjp(lambda *a: (f(*a), a), bwd)
    return found


def put(x, u, i):
    return x.at[i].set(u)


def winner(x, i):
    places = jnp.arange(i.shape[0])
    return jnp.full(x.shape, -1, places.dtype).at[i].set(places)[i], places


def of_winner(r, g, counts=lambda won, k: won == k):
    won, places = winner(g, r[2])
    return g.at[r[2]].set(0.0), jnp.where(counts(won, places), g[r[2]], 0.0), None


def of_last(r, g):
    i, k = r[2], jnp.arange(r[2].shape[0])
    overwritten = jnp.any((i[None, :] == i[:, None]) & (k[None, :] > k[:, None]), axis=1)
    return g.at[i].set(0.0), jnp.where(overwritten, 0.0, g[i]), None


def of_jax(r, g):
    return (*jax.vjp(lambda x, u: put(x, u, r[2]), r[0], r[1])[1](g), None)


def of_rows(r, g):  # which row counts, where which entry does is open
    k = jnp.arange(r[2].shape[0])
    won = jnp.full(g.shape[0], -1, k.dtype).at[r[2]].set(k)[r[2]]
    return g.at[r[2]].set(0.0), jnp.where((won == k)[:, None], g[r[2]], 0.0), None


def cleared(x, i):
    return x.at[i].set(0.0)


def squared(x, i):
    return x.at[i].set(x[i] ** 2)


def into_one(x):
    return jnp.zeros(1).at[jnp.zeros(x.shape, int)].set(x)


PUT = "m, n, n:int -> m"
INSIDE = ["i >= 0", "i < m"]
ROWS = "m d, n d, n:int -> m d"
CLEARED = "m, n:int -> m"
RULES = {
    "the one that counts is found": (put, of_winner, PUT, "proved under hypotheses"),
    "as JAX does it": (put, of_jax, PUT, "proved under hypotheses"),
    "rows, as JAX does it": (put, of_jax, ROWS, "proved under hypotheses"),
    "the last": (put, of_last, PUT, "unproved"),
    "all up to the one that counts": (put, lambda r, g: of_winner(r, g, jnp.greater_equal), PUT, "unproved"),
    "which row counts": (put, of_rows, ROWS, "unproved"),
    "one number": (cleared, lambda r, g: (g.at[r[1]].set(0.0), None), CLEARED, "proved"),
    "one number, by its mask": (
        cleared,
        lambda r, g: (g * (1 - jnp.zeros(g.shape).at[r[1]].set(1.0)), None),
        CLEARED,
        "proved",
    ),
    "one number, taken off each time": (cleared, lambda r, g: (g.at[r[1]].add(-g[r[1]]), None), CLEARED, "refuted"),
    "another number": (cleared, lambda r, g: (g.at[r[1]].set(1.0), None), CLEARED, "refuted"),
    "what stands there": (
        squared,
        lambda r, g: (g.at[r[1]].set(2 * r[0][r[1]] * g[r[1]]), None),
        CLEARED,
        "proved under hypotheses",
    ),
    "what stands there, each time": (
        squared,
        lambda r, g: (g.at[r[1]].multiply(2 * r[0][r[1]]), None),
        CLEARED,
        "refuted",
    ),
    "all into one entry, the first": (
        into_one,
        lambda r, g: (jnp.zeros_like(r[0]).at[0].set(g[0]),),
        "n -> 1",
        "unproved",
    ),
    "all into one entry, the last": (
        into_one,
        lambda r, g: (jnp.zeros_like(r[0]).at[-1].set(g[0]),),
        "n -> 1",
        "unproved",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_several_writes_to_one_entry(name):
    f, bwd, signature, verdict = RULES[name]
    report = certgrad.check(rule(f, bwd), signature, domain=INSIDE if "i" in f.__code__.co_varnames else [], name="f")
    assert report.verdict == verdict, str(report)
    if verdict == "unproved":
        assert report.reason == TWICE


def test_the_claim_says_that_the_places_determine_which_one_counts():
    found, number = (
        certgrad.check(rule(f, bwd), signature, domain=INSIDE, name="f")
        for f, bwd, signature, _ in (RULES["the one that counts is found"], RULES["one number"])
    )
    assert ONE_COUNTS in found.rests_on
    assert ONE_COUNTS not in number.rests_on  # whichever counts, it is that number
