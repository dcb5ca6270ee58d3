"""Hypotheses on indices are the same at every rank of them, and a witness keeps to them."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")


def rule(f, bwd, factor):
    made = jax.custom_vjp(f)
    made.defvjp(lambda w, ids: (f(w, ids), (w, ids)), lambda kept, g: (factor * bwd(*kept, g), None))
    return made


LOOKUPS = {
    "rows": (lambda w, ids: w[ids], lambda w, ids, g: jnp.zeros_like(w).at[ids].add(g), "v d, *b:int -> *b d"),
    "rows at one index": (lambda w, i: w[i], lambda w, i, g: jnp.zeros_like(w).at[i].add(g), "v d, :int -> d"),
    "entries": (lambda w, ids: w[ids], lambda w, ids, g: jnp.zeros_like(w).at[ids].add(g), "v, *b:int -> *b"),
    "columns": (
        lambda w, i: w[:, i],
        lambda w, i, g: jnp.zeros_like(w).at[:, i].add(g),
        "d v, :int -> d",
    ),
    "an entry of a scaled vector": (
        lambda w, i: 3.0 * w[i],
        lambda w, i, g: jnp.zeros_like(w).at[i].add(3.0 * g),
        "v, :int -> ",
    ),
}


@pytest.mark.one_in(10)
@pytest.mark.parametrize("lookup", LOOKUPS)
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "proved under hypotheses"), (2.0, "refuted")])
def test_a_lookup(lookup, factor, verdict):
    f, bwd, signature = LOOKUPS[lookup]
    assert certgrad.check(rule(f, bwd, factor), signature).verdict == verdict


def test_what_is_wrong_at_rank_0_alone_is_refuted_inside_the_hypotheses():
    f = lambda w, ids: w[ids]
    bwd = lambda w, ids, g: jnp.zeros_like(w).at[ids].add(g if ids.ndim else 2 * g)
    report = certgrad.check(rule(f, bwd, 1.0), "v d, *b:int -> *b d")
    assert report.verdict == "refuted"
    (witness,) = [case.witness for claim in report.certificate.claims for case in claim.cases if case.witness]
    assert -witness.dims["v"] <= int(witness.inputs["ids"]) < witness.dims["v"]
