"""`x.at[i].max`, `min` and `mul` where one window is written, and scatters that write nothing."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")

CLIP = {"mode": "clip"}


def made(forward, bwd):
    f = jax.custom_vjp(forward)
    f.defvjp(lambda *xs: (forward(*xs), xs), bwd)
    return f


def extreme(method, wins):
    """The greater (or smaller) of an entry and a number stands in the place of the entry."""

    def bwd(saved, g):
        x, u, k = saved
        here = g.at[k].get(**CLIP)
        won = wins(u, x.at[k].get(**CLIP))
        return g.at[k].set(jnp.where(won, 0.0, here), **CLIP), jnp.where(won, here, 0.0), None

    return made(lambda x, u, k: getattr(x.at[k], method)(u, **CLIP), bwd)


def product(factor):
    def bwd(saved, g):
        x, u, k = saved
        return g.at[k].mul(factor(u), **CLIP), g.at[k].get(**CLIP) * x.at[k].get(**CLIP), None

    return made(lambda x, u, k: x.at[k].mul(u, **CLIP), bwd)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("method", "wins"), [("max", jnp.greater), ("min", jnp.less)])
def test_extremes(method, wins):
    right = certgrad.check(extreme(method, wins), "n, , :int")
    assert right.verdict == "proved under hypotheses"
    assert right.hypotheses == ["x ≠ u"]
    assert certgrad.check(extreme(method, lambda u, x: ~wins(u, x)), "n, , :int").verdict == "refuted"


def test_products():
    assert certgrad.check(product(lambda u: u), "n, , :int").verdict == "proved"
    assert certgrad.check(product(jnp.ones_like), "n, , :int").verdict == "refuted"


def test_an_index_out_of_range_hits_nothing():
    """Without a mode an update out of range is dropped, and reading there gives the nearest entry."""

    def bwd(saved, g):
        x, u, k = saved
        return g.at[k].mul(u), g[k] * x[k], None

    rule = made(lambda x, u, k: x.at[k].mul(u), bwd)
    assert certgrad.check(rule, "n, , :int", domain="k <= n").verdict == "refuted"
    assert certgrad.check(rule, "n, , :int").assumed == ["k >= 0", "k < n"]


@pytest.mark.slow
def test_several_windows_are_refused():
    found = certgrad.check(made(lambda x, k: x.at[k].max(x), lambda r, g: (g, None)), "n, n:int")
    assert found.verdict in ("unproved", "refuted")
    right = certgrad.check(made(lambda x, k: x.at[k].max(1.0), lambda r, g: (g * (r[0] > 1), None)), "n, m:int")
    assert not right.proved


@pytest.mark.one_in(11)
@pytest.mark.parametrize("method", ["set", "add", "max", "multiply"])
@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("outside", [lambda n: jnp.arange(n) + n, lambda n: -1 - jnp.arange(n) - n])
def test_a_scatter_all_of_whose_indices_are_outside_changes_nothing(method, factor, outside):
    def function(x):
        return getattr(x.at[outside(x.shape[0])], method)(2 * x, mode="drop")

    rule = jax.custom_vjp(function)
    rule.defvjp(lambda x: (function(x), None), lambda _, g: (factor * g,))
    assert certgrad.check(rule, "n", conformance=False).verdict == ("proved" if factor == 1 else "refuted")
