"""Places on a ring, `(i + 1) % n`, at every size of the ring: they are gathered from, and the adjoint goes back."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")


def ruled(f, bwd):
    rule = jax.custom_vjp(f)
    rule.defvjp(lambda x: (f(x), x), bwd)
    return rule


def turned(x, k=1):
    n = x.shape[0]
    return x[(jnp.arange(n) + k) % n]


def pairs(x):
    """The other half of each of 2·n rows."""
    n = x.shape[0] // 2
    return x[(jnp.arange(2 * n) + n) % (2 * n)]


def mirrored(x):
    n = x.shape[0]
    return x[-jnp.arange(n) % n]


RIGHT = {
    "a neighbour": (lambda x: turned(x), lambda x, g: (turned(g, -1),), "n"),
    "of five": (lambda x: turned(x), lambda x, g: (turned(g, -1),), "5"),
    "scattered": (
        lambda x: turned(x),
        lambda x, g: (jnp.zeros_like(g).at[(jnp.arange(g.shape[0]) + 1) % g.shape[0]].add(g),),
        "n",
    ),
    "two steps": (lambda x: turned(turned(x)), lambda x, g: (turned(g, -2),), "n"),
    "a stencil": (
        lambda x: turned(x) + turned(x, -1) - 2 * x,
        lambda x, g: (turned(g) + turned(g, -1) - 2 * g,),
        "n",
    ),
    "pairs": (pairs, lambda x, g: (pairs(g),), "2*n"),
    "of each with its pair": (lambda x: jnp.sum(pairs(x) * x), lambda x, g: (2 * g * pairs(x),), "2*n d"),
    "mirrored": (mirrored, lambda x, g: (mirrored(g),), "n"),
    "seven steps": (lambda x: turned(x, 7), lambda x, g: (turned(g, -7),), "n"),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", RIGHT)
def test_right_rules(case):
    f, bwd, signature = RIGHT[case]
    assert certgrad.check(ruled(f, bwd), signature).verdict == "proved"


def by_integer(back):
    """As many steps as an integer says, of any sign and size."""
    rule = jax.custom_vjp(lambda x, i: turned(x, i))
    rule.defvjp(lambda x, i: (turned(x, i), i), lambda i, g: (turned(g, back(i)), None))
    return rule


def test_as_many_steps_as_an_integer_says():
    assert certgrad.check(by_integer(lambda i: -i), "n, :int").verdict == "proved"
    assert certgrad.check(by_integer(lambda i: 1 - i), "n, :int", sizes=None).verdict == "refuted"


WRONG = {
    "the same way": (lambda x: turned(x), lambda x, g: (turned(g),), "n"),
    "a stencil with a step too far": (
        lambda x: turned(x) + turned(x, -1) - 2 * x,
        lambda x, g: (turned(g) + turned(g, 2) - 2 * g,),
        "n",
    ),
    "not around": (mirrored, lambda x, g: (g[::-1],), "n"),
    "pairs of a neighbour": (pairs, lambda x, g: (turned(g),), "2*n"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", WRONG)
def test_wrong_rules(case):
    f, bwd, signature = WRONG[case]
    assert certgrad.check(ruled(f, bwd), signature, sizes=None).verdict == "refuted"


def test_integers_are_the_same_around_a_ring():
    same = certgrad.equal(lambda x, i: x[i % x.shape[0]], lambda x, i: jnp.take(x, i % x.shape[0], axis=0), "n, m:int")
    assert same.verdict == "proved"
    other = certgrad.equal(lambda x, i: x[i % x.shape[0]], lambda x, i: x[(i + 1) % x.shape[0]], "n, m:int")
    assert other.verdict == "refuted"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: x // 2, lambda x: x >> 1),
        (lambda x: x & 1, lambda x: x % 2),
        (lambda x: 2 * (x // 2) + x % 2, lambda x: x),
        (lambda x: (2 * x) // 2, lambda x: x),
        (abs, lambda x: jnp.maximum(x, -x)),
        (lambda x: jnp.mod(1.0 * x, 2), lambda x: x - 2 * jnp.floor(x / 2)),
    ],
)
def test_quotients_of_integers_of_any_sign(one, other):
    assert certgrad.equal(lambda x: 1.0 * one(x), lambda x: 1.0 * other(x), "n:int").verdict == "proved"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: jax.lax.div(x, jnp.full_like(x, 2)), lambda x: x >> 1),
        (lambda x: jax.lax.rem(x, jnp.full_like(x, 3)), lambda x: x % 3),
        (lambda x: jnp.floor(-x / 2), lambda x: -jnp.floor(x / 2)),
    ],
)
def test_quotients_that_differ_below_zero(one, other):
    assert certgrad.equal(lambda x: 1.0 * one(x), lambda x: 1.0 * other(x), "n:int").verdict == "refuted"
