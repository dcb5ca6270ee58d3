"""Sums that go on, and sums without their last term: where rows are cut into groups of given sizes."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad


def grouped(starts, below):
    """Σ over the rows of each group of x·w, by `ragged_dot`; backwards by a mask of rows from the ends of groups."""

    def f(x, w, sizes):
        return lax.ragged_dot(x, w, sizes)

    def bwd(saved, g):
        x, w, sizes = saved
        ends, i = jnp.cumsum(sizes), jnp.arange(x.shape[0])[None]
        member = ((i >= starts(ends, sizes)[:, None]) & below(i, ends[:, None])).astype(g.dtype)
        return lax.ragged_dot(g, jnp.swapaxes(w, 1, 2), sizes), jnp.einsum("gm,mk,mn->gkn", member, x, g), None

    rule = jax.custom_vjp(f)
    rule.defvjp(lambda *args: (f(*args), args), bwd)
    return rule


def _less_sizes(ends, sizes):
    return ends - sizes


def _of_the_next(ends, sizes):
    return ends - jnp.roll(sizes, -1)


SIGNATURE = "m k, 2 k n, 2:int -> m n"


def test_groups_of_rows_by_the_ends_less_the_sizes() -> None:
    assert certgrad.check(grouped(_less_sizes, lambda i, e: i < e), SIGNATURE, domain="sizes >= 0").verdict == "proved"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("starts", "below"),
    [(_of_the_next, lambda i, e: i < e), (_less_sizes, lambda i, e: i <= e)],
    ids=["the size of the next group", "one row too many"],
)
def test_other_groups_of_rows_are_refuted(starts, below) -> None:
    assert certgrad.check(grouped(starts, below), SIGNATURE, domain="sizes >= 0").verdict == "refuted"


def partial(last):
    """yₖ = (Σ_{v≤k} x_v − x_last(k))², where what is taken away is the last term, or the one after, past the end."""

    def f(x):
        k = jnp.arange(x.shape[0])
        return (jnp.cumsum(x) - x[k]) ** 2

    def bwd(x, g):
        k = jnp.arange(x.shape[0])
        s = 2 * g * (jnp.cumsum(x) - x[last(k, x.shape[0])])
        return (jnp.cumsum(s[::-1])[::-1] - s,)

    rule = jax.custom_vjp(f)
    rule.defvjp(lambda x: (f(x), x), bwd)
    return rule


def test_a_partial_sum_without_its_last_term() -> None:
    assert certgrad.check(partial(lambda k, n: k), "n -> n").verdict == "proved"
    assert certgrad.check(partial(lambda k, n: jnp.minimum(k + 1, n - 1)), "n -> n").verdict == "refuted"
