"""Rules that are right where their indices are in range, and rules whose residuals hold sizes."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.errors import DomainError

pytestmark = pytest.mark.usefixtures("proofs_alone")


def lookup(backward, residual=lambda table: table.shape[0]):
    @jax.custom_vjp
    def embed(table, ids):
        return table[ids]

    embed.defvjp(lambda table, ids: (table[ids], (residual(table), ids)), backward)
    return embed


def by_one_hot(residuals, g):
    size, ids = residuals
    return jax.nn.one_hot(ids, size, dtype=g.dtype).T @ g, None


def doubled(residuals, g):
    size, ids = residuals
    return 2 * jax.nn.one_hot(ids, size, dtype=g.dtype).T @ g, None


def into_zeros(residuals, g):
    shape, ids = residuals
    return jnp.zeros(shape, g.dtype).at[ids].add(g), None


IN_RANGE = ["ids >= 0", "ids < v"]


def test_one_hot_rows_are_right_where_indices_are_in_range():
    found = certgrad.check(lookup(by_one_hot), "v d, n:int -> n d", domain=IN_RANGE)
    assert found.verdict == "proved under hypotheses"


def test_twice_the_cotangent_is_refuted_inside_the_domain():
    found = certgrad.check(lookup(doubled), "v d, n:int -> n d", domain=IN_RANGE)
    assert found.verdict == "refuted"
    (witness,) = (case.witness for claim in found.claims for case in claim.cases if case.witness)
    assert all(0 <= int(i) < witness.dims["v"] for i in witness.inputs["ids"])


def test_without_the_domain_indices_are_assumed_to_be_from_0_on():
    assert certgrad.check(lookup(by_one_hot), "v d, n:int -> n d").assumed == ["ids >= 0"]


def test_a_whole_shape_among_the_residuals():
    found = certgrad.check(
        lookup(into_zeros, lambda table: table.shape), "v d, n:int -> n d", domain=["ids >= 0", "ids < table.shape[0]"]
    )
    assert found.verdict == "proved under hypotheses"


def test_a_size_that_is_a_wrong_residual_is_refuted():
    @jax.custom_vjp
    def mean(x):
        return jnp.sum(x) / x.shape[0]

    def backward(size, g):
        return (jnp.broadcast_to(g / size, (size, 3)),)

    mean.defvjp(lambda x: (mean(x), x.shape[0]), backward)
    assert certgrad.check(mean, "n 3 ->").verdict == "proved"
    mean.defvjp(lambda x: (mean(x), x.shape[0]), lambda size, g: (jnp.broadcast_to(g / (size + 1), (size, 3)),))
    assert certgrad.check(mean, "n 3 ->").verdict == "refuted"


def test_sizes_alone_are_asked_in_the_signature():
    with pytest.raises(DomainError, match="stands in the signature"):
        certgrad.check(lookup(by_one_hot), "v d, n:int -> n d", domain="v > 2")
