"""Products: prefixes and suffixes that are off, zeros, masks, divisions; the right twin of each is proved."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.traps import Trap, check, declare, error, hypotheses

V = np.array([0.5, 2.0, -1.5, 3.0])
ZEROS = np.array([0.5, 0.0, -1.5, 3.0])
M = np.array([[0.5, 2.0, -1.0], [3.0, 0.0, 2.5], [1.5, -2.0, 4.0]])
NONZERO = ("x != 0",)
APART = {"x ≠ 0"}


def ones(x, axis=0, count=1):
    return jnp.ones_like(lax.slice_in_dim(x, 0, count, axis=axis))


def before(x, axis=0):
    """Exclusive products from the left."""
    return jnp.concatenate([ones(x, axis), lax.slice_in_dim(jnp.cumprod(x, axis), 0, -1, axis=axis)], axis)


def after(x, axis=0):
    """Exclusive products from the right, by turning round."""
    return jnp.flip(before(jnp.flip(x, axis), axis), axis)


def others(x, axis=0):
    return before(x, axis) * after(x, axis)


def others_in_all(x):
    return others(x, 1) * others(jnp.prod(x, axis=1, keepdims=True), 0)


def masked(x, at_own=1.0):
    return jnp.prod(jnp.where(jnp.eye(x.shape[0], dtype=bool), at_own, x[None, :]), axis=-1)


def product(derivative, adjoint=None, forward=jnp.prod, **options):
    """prod of a vector, with the products of the other entries by two functions."""
    return declare(
        "n -> ",
        lambda x: forward(x),
        lambda x, dx: jnp.sum(dx * derivative(x)),
        lambda x, seed: seed * (adjoint or derivative)(x),
        **options,
    )


RIGHT = product(masked, others)

PRODUCTS = [
    Trap("the entry itself", product(masked, lambda x: jnp.cumprod(x) * after(x)), at=(V,), right=RIGHT),
    Trap("one more entry left out", product(masked, lambda x: before(x) * jnp.concatenate(
        [after(x)[1:], ones(x)])), at=(V,)),
    Trap("not turned back", product(masked, lambda x: before(x) * before(jnp.flip(x))), at=(V,)),
    Trap("not turned round", product(masked, lambda x: before(x) * jnp.flip(before(x))), at=(V,)),
    Trap("those before only", product(masked, before), at=(V,), right=product(others)),
    Trap("all entries", product(masked, lambda x: jnp.prod(x) * jnp.ones_like(x)), at=(V,)),
    Trap("its own place 0", product(masked, lambda x: masked(x, 0.0)), at=(V,), right=product(others, masked)),
    Trap("nothing at zeros", product(masked, lambda x: jnp.where(
        x == 0, 0.0, jnp.prod(x) / jnp.where(x == 0, 1.0, x))), at=(ZEROS,), right=product(
        masked, lambda x: jnp.where(x == 0, masked(x), jnp.prod(x) / jnp.where(x == 0, 1.0, x)))),
    Trap("division", product(masked, lambda x: jnp.prod(x) / x), at=(ZEROS,), needs=APART),
    Trap("division twice", product(masked, lambda x: jnp.prod(x) / x**2), at=(V,), right=product(
        lambda x: jnp.prod(x) / x, domain=NONZERO), hypotheses=APART),
    Trap("a factor 2 once", product(
        lambda x: 2 * masked(2 * x), lambda x: masked(2 * x), lambda x: jnp.prod(2 * x)), at=(V,), right=product(
        lambda x: 2 * masked(2 * x), lambda x: 2.0 ** x.shape[0] * masked(x), lambda x: jnp.prod(2 * x))),
    Trap("a sign forgotten", product(
        lambda x: -masked(-x), lambda x: -masked(x), lambda x: jnp.prod(-x)), at=(V,), right=product(
        lambda x: -masked(-x), lambda x: -others(-x), lambda x: jnp.prod(-x))),
    Trap("a square forgotten", product(
        lambda x: 2 * jnp.prod(x) * masked(x), lambda x: 2 * masked(x), lambda x: jnp.prod(x) ** 2), at=(V,),
        right=product(lambda x: 2 * x * masked(x * x), lambda x: 2 * jnp.prod(x) * others(x),
                      lambda x: jnp.prod(x) ** 2), fine=(V / 2,)),
    Trap("relu with the gradient of x", product(
        lambda x: masked(jnp.maximum(x, 0)), forward=lambda x: jnp.prod(jnp.maximum(x, 0))), at=(-V[:1],),
        right=product(lambda x: jnp.where(x > 0, masked(jnp.maximum(x, 0)), 0),
                      forward=lambda x: jnp.prod(jnp.maximum(x, 0))), hypotheses=APART),
]  # fmt: skip


def rows(adjoint, axis=1):
    return declare(
        "n n -> n",
        lambda x: jnp.prod(x, axis),
        lambda x, dx: jnp.sum(dx * others(x, axis), axis),
        lambda x, seed: jnp.expand_dims(seed, axis) * adjoint(x),
    )


def everywhere(adjoint, keepdims=True):
    return declare(
        "n m -> 1 1" if keepdims else "n m -> ",
        lambda x: jnp.prod(x, keepdims=keepdims),
        lambda x, dx: jnp.sum(dx * others_in_all(x), keepdims=keepdims),
        lambda x, seed: seed * adjoint(x),
    )


AXES = [
    Trap("along the other axis", rows(lambda x: others(x, 0)), at=(M,), right=rows(lambda x: others(x, 1))),
    Trap("turned", rows(lambda x: others(x, 1).T), at=(M,), right=rows(lambda x: others(x, 0), 0)),
    Trap("along one axis of two", everywhere(lambda x: others(x, 1)), at=(M,), right=everywhere(others_in_all),
         fine=(M / 2,)),
    Trap("row by row", everywhere(lambda x: others(x.reshape(-1)).reshape(x.shape)[::-1], False), at=(M[:2],)),
    Trap("columns first", everywhere(lambda x: others(x.reshape(-1)).reshape(x.shape[::-1]).T, False), at=(M[:2],)),
]  # fmt: skip


def table(x, diagonal=0):
    """At [i, j], the product of the entries up to i but the j-th, for j ≤ i."""
    return jnp.tril(jnp.cumprod(jnp.where(jnp.eye(x.shape[0], dtype=bool), 1.0, x[None, :]), axis=1).T, diagonal)


def cube(x):
    """The same from an n × n × n mask."""
    i = jnp.arange(x.shape[0])
    kept = (i[None, None, :] <= i[:, None, None]) & (i[None, None, :] != i[None, :, None])
    return jnp.where(i[:, None] >= i[None, :], jnp.prod(jnp.where(kept, x, 1.0), axis=2), 0.0)


def carried(x, dx):
    """d c[t] = x[t]·d c[t−1] + dx[t]·c[t−1], step by step."""

    def step(state, row):
        c, dc = state
        x, dx = row
        return (c * x, x * dc + c * dx), x * dc + c * dx

    return lax.scan(step, (jnp.ones(()), jnp.zeros(())), (x, dx))[1]


def carried_back(x, seed, start=before):
    def step(later, row):
        x, seed, c = row
        return x * (seed + later), c * (seed + later)

    return lax.scan(step, jnp.zeros(()), (x, seed, start(x)), reverse=True)[1]


def so_far(derivative, adjoint, forward=jnp.cumprod, **options):
    return declare("n -> n", lambda x: forward(x), lambda x, dx: derivative(x, dx), adjoint, **options)


def by_division(x, seed, reverse=True):
    return lax.cumsum(seed * jnp.cumprod(x), axis=0, reverse=reverse) / x


def by_table(x, dx):
    return table(x) @ dx


def back_by_table(x, seed):
    return seed @ table(x)


def turned(rule):
    """The rule of the products from each entry on."""
    return lambda x, dx: jnp.flip(rule(jnp.flip(x), jnp.flip(dx)))


def from_each(x):
    return lax.cumprod(x, axis=0, reverse=True)


CUMULATIVE = [
    Trap("entries after it only", so_far(by_table, lambda x, s: s @ table(x, -1)), at=(V,),
         right=so_far(by_table, back_by_table)),
    Trap("all entries of the table", so_far(by_table, lambda x, s: s @ jnp.cumprod(
        jnp.where(jnp.eye(x.shape[0], dtype=bool), 1.0, x[None, :]), axis=1).T), at=(V,)),
    Trap("summed forwards", so_far(by_table, lambda x, s: by_division(x, s, reverse=False)), at=(V,),
         right=so_far(by_table, by_division, domain=NONZERO), hypotheses=APART),
    Trap("division", so_far(by_table, by_division), at=(ZEROS,), needs=APART),
    Trap("a tangent without its factor", so_far(lambda x, dx: jnp.cumprod(x) * jnp.cumsum(dx), back_by_table),
         at=(V,), right=so_far(
             lambda x, dx: jnp.cumprod(x) * jnp.cumsum(dx / x), back_by_table, domain=NONZERO), hypotheses=APART),
    Trap("the inclusive product carried", so_far(by_table, lambda x, s: carried_back(x, s, jnp.cumprod)), at=(V,),
         right=so_far(carried, carried_back)),
    Trap("not turned back", so_far(turned(by_table), lambda x, s: turned(back_by_table)(x, s)[::-1], from_each),
         at=(V,), right=so_far(turned(by_table), turned(back_by_table), from_each)),
    Trap("the rule of the other direction", so_far(turned(by_table), back_by_table, from_each), at=(V,),
         right=so_far(lambda x, dx: cube(jnp.flip(x))[::-1, ::-1] @ dx, turned(carried_back), from_each)),
]  # fmt: skip


def scanned(x):
    return lax.scan(lambda c, row: (c * row, c * row), jnp.ones(()), x)[1]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "one",
    [
        so_far(lambda x, dx: cube(x) @ dx, lambda x, s: s @ cube(x)),
        so_far(by_table, back_by_table, scanned),
        so_far(carried, back_by_table, scanned),
    ],
    ids=["a cube of masks", "the forward is a loop", "its tangent too"],
)
def test_other_ways_to_write_it(one):
    certificate = audit(one)
    assert certificate.verdict == "proved", certificate.claims


@pytest.mark.slow
def test_the_derivative_through_a_maximum_and_a_sum():
    def jvp(x, dx):
        top = jax.nn.one_hot(jnp.argmax(x, 1), x.shape[1], dtype=x.dtype)
        return jnp.sum(jnp.sum(top * dx, 1) * masked(jnp.max(x, 1))) + jnp.sum(jnp.sum(dx, 1) * masked(jnp.sum(x, 1)))

    def vjp(x, seed):
        top = jax.nn.one_hot(jnp.argmax(x, 1), x.shape[1], dtype=x.dtype)
        return seed * (others(jnp.max(x, 1))[:, None] * top + others(jnp.sum(x, 1))[:, None])

    one = declare("n m -> ", lambda x: jnp.prod(jnp.max(x, axis=1)) + jnp.prod(jnp.sum(x, axis=1)), jvp, vjp)
    certificate = audit(one)
    assert error(one, (M,)) < 1e-4
    assert certificate.verdict == "proved under hypotheses"
    assert hypotheses(certificate) == {"argmax of x[i,j] over j is unique"}


def by_jax(signature, forward):
    return declare(
        signature,
        lambda x: forward(x),
        lambda x, dx: jax.jvp(forward, (x,), (dx,))[1],
        lambda x, seed: jax.vjp(forward, x)[1](seed)[0],
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("signature", "forward"),
    [
        ("4 -> ", jnp.prod),
        ("n 4 -> n 4", lambda x: jnp.cumprod(x, axis=1)),
        ("5 -> 5", lambda x: lax.associative_scan(lax.mul, x)),
    ],
    ids=["prod", "cumprod", "associative_scan"],
)
def test_rules_of_jax_at_a_concrete_length(signature, forward):
    assert audit(by_jax(signature, forward)).verdict == "proved"


def test_an_associative_scan_is_the_product_so_far():
    one = declare("3 -> 3", lambda x: lax.associative_scan(lax.mul, x), by_table, back_by_table)
    assert audit(one).verdict == "proved"
    wrong = declare("3 -> 3", lambda x: lax.associative_scan(lax.mul, x), by_table, lambda x, s: s @ table(x, -1))
    assert audit(wrong).verdict == "refuted"


def test_the_rule_of_cumlogsumexp():
    def jvp(x, dx):
        return jnp.cumsum(jnp.exp(x) * dx) * jnp.exp(-lax.cumlogsumexp(x))

    def vjp(x, seed, reverse=True):
        return jnp.exp(x) * lax.cumsum(seed * jnp.exp(-lax.cumlogsumexp(x)), reverse=reverse)

    right, wrong = (
        declare("n -> n", lambda x: lax.cumlogsumexp(x), jvp, lambda x, s, r=reverse: vjp(x, s, r))
        for reverse in (True, False)
    )
    check(Trap("summed forwards", wrong, at=(V,), right=right))
