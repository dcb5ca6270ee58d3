"""Entries that are written several times: a rule is wrong only if it is wrong whichever write stays."""

import jax
import jax.numpy as jnp
import pytest

import certgrad


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
LEFT_OPEN = {"the last stays": by_last, "the first stays": by_first, "the one that is written": by_written}
SPEC, DOMAIN = "m, n, n:int -> m", ["index >= 0", "index < m"]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_whichever_write_stays(name):
    assert certgrad.check(written(WRONG[name]), SPEC, domain=DOMAIN, conformance=False).verdict == "refuted"


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_right_for_some_choice_is_not_refuted(name):
    report = certgrad.check(written(LEFT_OPEN[name]), SPEC, domain=DOMAIN, conformance=False)
    assert report.verdict == "unproved"
