"""Indices that are promised to be unique: it is a hypothesis, and a point where it is broken shows nothing."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

UNIQUE = {"unique_indices": True}
DOMAIN = ["i >= 0", "i < m"]


def rule(f, bwd):
    found = jax.custom_vjp(f)
    found.defvjp(lambda *a: (f(*a), a), bwd)
    return found


def written(x, u, i):
    return x.at[i].set(u, **UNIQUE)


def multiplied(x, u, i):
    return x.at[i].multiply(u, **UNIQUE)


RULES = {
    "written": (
        written,
        lambda r, g: (g.at[r[2]].set(0.0, **UNIQUE), g[r[2]], None),
        "m, n, n:int",
        "proved under hypotheses",
    ),
    "rows": (
        written,
        lambda r, g: (g.at[r[2]].set(0.0, **UNIQUE), g[r[2]], None),
        "m d, n d, n:int",
        "proved under hypotheses",
    ),
    "what was there is kept": (written, lambda r, g: (g, g[r[2]], None), "m, n, n:int", "refuted"),
    "multiplied": (
        multiplied,
        lambda r, g: (g.at[r[2]].multiply(r[1], **UNIQUE), g[r[2]] * r[0][r[2]], None),
        "m, n, n:int",
        "proved under hypotheses",
    ),
    "without the factor": (multiplied, lambda r, g: (g, g[r[2]] * r[0][r[2]], None), "m, n, n:int", "refuted"),
    "read": (
        lambda x, i: x.at[i].get(**UNIQUE),
        lambda r, g: (jnp.zeros_like(r[0]).at[r[1]].set(g, **UNIQUE), None),
        "m, n:int",
        "proved under hypotheses",
    ),
    "not promised": (
        lambda x, u, i: x.at[i].multiply(u),
        lambda r, g: (g.at[r[2]].multiply(r[1]), g[r[2]] * r[0][r[2]], None),
        "m, n, n:int",
        "refuted",
    ),
    "promised by the function alone": (
        multiplied,
        lambda r, g: (g.at[r[2]].multiply(r[1]), g[r[2]] * r[0][r[2]], None),
        "m, n, n:int",
        "unproved",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_indices_that_are_promised_to_be_unique(name):
    f, bwd, signature, verdict = RULES[name]
    report = certgrad.check(rule(f, bwd), signature, domain=DOMAIN, conformance=False)
    assert report.verdict == verdict, report
    if verdict == "proved under hypotheses":
        assert any("i[j] ≠ i[k]" in str(h) for h in report.hypotheses)


def test_more_places_than_there_are():
    """No three indices below two differ: of nothing nothing is claimed."""
    f, bwd, _, _ = RULES["written"]
    report = certgrad.check(rule(f, bwd), "2, 3, 3:int", domain=["i >= 0", "i < 2"], conformance=False)
    assert report.verdict == "unproved"
    assert "no point was found that satisfies all hypotheses" in str(report)


@pytest.mark.parametrize("domain", [DOMAIN, ["i >= 0", "i <= m - 1"]])
def test_bounds_are_asked_no_further_at_one_size(domain):
    """At m = 1 an index in range is one that is at most 0, which i < m says there: not that all are 0."""
    f = rule(lambda x, i: x[i], lambda r, g: (jnp.zeros_like(r[0]).at[r[1]].set(g, **UNIQUE), None))
    report = certgrad.check(f, "m, n:int", domain=domain, conformance=False)
    assert report.verdict == "proved under hypotheses"
    assert "i ≤ 0" not in report.hypotheses
