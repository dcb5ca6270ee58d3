"""Index sets: order, parity, padding, windows, row-major order, masks, empty ranges; each wrong by one place."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.traps import Trap, declare, hypotheses

where, arange = jnp.where, jnp.arange
V = np.array([1.0, -2.0, 3.0, 0.5])
A = np.array([[1.0, 2.0, -1.0], [3.0, 5.0, 0.5]])
S = np.array([[1.0, 2.0], [3.0, 5.0]])


def linear(signature, f, back, tangent=None):
    """A linear forward, the JVP (its own by default), and a VJP."""
    return declare(signature, lambda x: f(x), lambda x, dx: (tangent or f)(dx), lambda x, g: back(g))


def identity(factor):
    """x, with a JVP that has another factor."""
    return declare("n -> n", lambda x: x, lambda x, dx: dx * factor(x))


def pad(g, low, high, interior=0):
    return lax.pad(g, jnp.zeros((), g.dtype), [(low, high, interior)])


def turned(g):
    return jnp.flip(g, 0)


def sums_of_sums(count):
    return declare(
        "n -> ",
        lambda x: jnp.sum(lax.cumsum(x)),
        lambda x, dx: jnp.sum(lax.cumsum(dx)),
        lambda x, g: g * count(x.shape[0]).astype(x.dtype),
    )


ORDER = [
    Trap(
        "cumsum's adjoint runs forwards",
        linear("n -> n", lax.cumsum, lax.cumsum),
        at=(V,),
        right=linear("n -> n", lax.cumsum, lambda g: lax.cumsum(g, reverse=True)),
    ),
    Trap(
        "cumsum without the entry itself",
        linear("n -> n", lax.cumsum, lambda g: lax.cumsum(g, reverse=True) - g),
        at=(V,),
        right=linear("n -> n", lax.cumsum, lambda g: turned(lax.cumsum(turned(g)))),
    ),
    Trap(
        "a flip rolled by one",
        linear("n -> n", turned, lambda g: turned(jnp.concatenate([g[1:], g[:1]]))),
        at=(V,),
        right=linear("n -> n", turned, turned),
    ),
    Trap(
        "how often an entry counts in sums of sums",
        sums_of_sums(lambda n: n - 1 - arange(n)),
        at=(V,),
        right=sums_of_sums(lambda n: n - arange(n)),
    ),
]

PARITY = [
    Trap(
        "the other half of a strided slice",
        linear("2*n -> n", lambda x: x[::2], lambda g: pad(g, 1, 0, 1)),
        at=(V,),
        right=linear("2*n -> n", lambda x: x[::2], lambda g: pad(g, 0, 1, 1)),
    ),
    Trap(
        "negative padding undone one place off",
        linear("n+1 -> 2*n-1", lambda x: pad(x, -1, -1, 1), lambda g: pad(g, 2, 0)[::2]),
        at=(V,),
        right=linear("n+1 -> 2*n-1", lambda x: pad(x, -1, -1, 1), lambda g: pad(g, 1, 1)[::2]),
    ),
    Trap(
        "a middle entry, at odd sizes only",
        identity(lambda x: where(2 * arange(x.shape[0]) == x.shape[0] - 1, 2.0, 1.0)),
        at=(V[:3],),
        right=declare(
            "2*n -> 2*n",
            lambda x: x,
            lambda x, dx: dx * where(2 * arange(x.shape[0]) == x.shape[0] - 1, 2.0, 1.0),
        ),
        fine=(V,),
    ),
    Trap(
        "an entry at a quarter, where 4 divides",
        identity(lambda x: where(4 * arange(x.shape[0]) == x.shape[0], 2.0, 1.0)),
        at=(V,),
    ),
]


def alternating(x, d):
    """Σ over even places of one times odd places of the other: no place is both."""
    return jnp.sum(pad(x, 0, 1, 1) * turned(pad(d, 0, 1, 1)))


def shifted(x, d):
    """What the sum would be if 2i = 2n − 1 were i = n."""
    return 2 * jnp.sum(jnp.concatenate([x[:1] * 0, x[1:]]) * jnp.concatenate([d[:1] * 0, turned(d)])[: x.shape[0]])


def odd_and_even(jvp):
    return declare("n -> ", lambda x: alternating(x, x), jvp, lambda x, g: 0 * x)


NOWHERE = [
    Trap(
        "even is odd",
        odd_and_even(shifted),
        at=(V,),
        right=odd_and_even(lambda x, dx: 0 * jnp.sum(dx)),
    )
]

SIZES = [
    Trap(
        "one more at size 1",
        identity(lambda x: where((arange(x.shape[0]) == x.shape[0] - 1) & (arange(x.shape[0]) == 0), 2.0, 1.0)),
        at=(V[:1],),
    ),
    Trap(
        "nothing left of size 1",
        identity(lambda x: where(jnp.asarray(x.shape[0] - 1) >= 1, 1.0, 2.0)),
        at=(V[:1],),
    ),
    Trap(
        "half of size 1",
        identity(lambda x: where(jnp.asarray(x.shape[0] // 2) >= 1, 1.0, 2.0)),
        at=(V[:1],),
    ),
    Trap(
        "a fixed place in an array of size 1",
        declare("n -> ", lambda x: x[1], lambda x, dx: dx[1], lambda x, g: jnp.zeros_like(x).at[1].set(g)),
        at=(V[:1],),
        seen=False,
    ),
    Trap(
        "divided by the index",
        identity(lambda x: arange(x.shape[0]) / arange(x.shape[0])),
        at=(V,),
        right=identity(lambda x: (arange(x.shape[0]) + 1.0) / (arange(x.shape[0]) + 1.0)),
    ),
    Trap(
        "a place past the end promised away",
        declare(
            "n -> n",
            lambda x: x.at[arange(x.shape[0]) + 1].get(mode="promise_in_bounds"),
            lambda x, dx: dx.at[arange(x.shape[0]) + 1].get(mode="promise_in_bounds"),
            lambda x, g: jnp.zeros_like(x).at[arange(x.shape[0]) + 1].add(g, mode="promise_in_bounds"),
        ),
        verdict="unproved",
        seen=False,
    ),
]


def lane(x, dx):
    """x/x where the index is positive, 5 at 0: clearing the denominator must not lose that lane."""
    m = arange(x.shape[0]) >= 1
    return where(m, x / where(m, x, 0.0), 5.0) * dx


LANES = [
    Trap("a lane of the indices lost with a denominator", declare("n -> n", lambda x: x, lane), at=(V,)),
    Trap(
        "a logarithm in some places only",
        declare(
            "n -> n+2",
            lambda x: jnp.log(pad(x, 1, 1)),
            lambda x, dx: pad(dx, 1, 1) / pad(x, 1, 1),
            lambda x, g: (g / pad(x, 1, 1))[1:-1],
            domain="x > 0",
        ),
        at=(abs(V),),
    ),
]


def windows(x, low, high):
    return lax.reduce_window(x, 0.0, lax.add, (3,), (1,), ((low, high),))


def conv(x, k, layout=("NCW", "OIW", "NCW"), **how):
    how = {"window_strides": (1,), "padding": ((0, 0),), **how}
    return lax.conv_general_dilated(x, k, **how, dimension_numbers=layout)


def convolution(back, signature="b c h+2, o c 3 -> b o h", **how):
    def kernel(x, g):
        return conv(x, g, ("CNW", "IOW", "CNW"), batch_group_count=how.get("feature_group_count", 1))

    return declare(
        signature,
        lambda x, k: conv(x, k, **how),
        lambda x, k, dx, dk: conv(dx, k, **how) + conv(x, dk, **how),
        lambda x, k, g: (back(x, k, g), kernel(x, g)),
    )


X, K = np.arange(10.0).reshape(1, 2, 5) / 7, np.arange(12.0).reshape(2, 2, 3) / 5 - 1

WINDOWS = [
    Trap(
        "a window on the wrong side",
        linear("n -> n", lambda x: windows(x, 0, 2), lambda g: windows(g, 0, 2)),
        at=(V,),
        right=linear("n -> n", lambda x: windows(x, 0, 2), lambda g: windows(g, 2, 0)),
    ),
    Trap(
        "every entry in three windows",
        declare(
            "n+2 -> ",
            lambda x: jnp.sum(windows(x, 0, 0)),
            lambda x, dx: jnp.sum(windows(dx, 0, 0)),
            lambda x, g: 3 * g * jnp.ones_like(x),
        ),
        at=(V,),
        right=declare(
            "n+2 -> ",
            lambda x: jnp.sum(windows(x, 0, 0)),
            lambda x, dx: jnp.sum(windows(dx, 0, 0)),
            lambda x, g: g * windows(jnp.ones_like(x[2:]), 2, 2),
        ),
    ),
    Trap(
        "a convolution's kernel not turned round",
        convolution(lambda x, k, g: conv(g, k.transpose(1, 0, 2), padding=((2, 2),))),
        at=(X, K),
        right=convolution(lambda x, k, g: conv(g, jnp.flip(k.transpose(1, 0, 2), 2), padding=((2, 2),))),
    ),
    Trap(
        "a convolution's features not exchanged",
        convolution(lambda x, k, g: conv(g, jnp.flip(k, 2), padding=((2, 2),)), "b c h+2, c c 3 -> b c h"),
        at=(X, K),
    ),
    Trap(
        "a convolution's padding one place off",
        convolution(lambda x, k, g: conv(g, jnp.flip(k.transpose(1, 0, 2), 2), padding=((3, 1),))),
        at=(X, K),
    ),
]


def flattened(tangent, back):
    return declare("n d -> n*d", lambda x: x.reshape(-1), lambda x, dx: tangent(dx).reshape(-1), back)


def off_diagonal(x):
    return where(arange(x.shape[1]) != arange(x.shape[0])[:, None], x, 0.0)


ROW_MAJOR = [
    Trap(
        "a reshape for a transpose",
        linear("n d -> d n", lambda x: x.T, lambda g: g.T, lambda dx: dx.reshape(dx.shape[1], dx.shape[0])),
        at=(A,),
        right=linear("n d -> d n", lambda x: x.T, lambda g: g.T),
    ),
    Trap(
        "undone in the other order",
        flattened(lambda dx: dx, lambda x, g: g.reshape(x.shape[1], x.shape[0]).T),
        at=(A,),
        right=flattened(lambda dx: dx, lambda x, g: g.reshape(x.shape)),
    ),
    Trap(
        "entries from the rest of the row",
        flattened(lambda dx: dx + jnp.sum(off_diagonal(dx), 1, keepdims=True), lambda x, g: g.reshape(x.shape)),
        at=(A,),
    ),
    Trap(
        "pairs are halves",
        linear("2*n -> n 2", lambda x: x.reshape(-1, 2), lambda g: g.T.reshape(-1)),
        at=(V,),
        right=linear("2*n -> n 2", lambda x: x.reshape(-1, 2), lambda g: g.reshape(-1)),
    ),
    Trap(
        "tiled for repeated",
        linear("n -> 3*n", lambda x: jnp.tile(x, 3), lambda g: g.reshape(-1, 3).sum(1)),
        at=(V,),
        right=linear("n -> 3*n", lambda x: jnp.tile(x, 3), lambda g: g.reshape(3, -1).sum(0)),
    ),
]


def below(x, by=0):
    return arange(x.shape[0])[:, None] >= arange(x.shape[0])[None, :] + by


def masked(by):
    return declare(
        "n n -> n n",
        lambda x: where(below(x), x * x, 0.0),
        lambda x, dx: where(below(x, by), 2 * x * dx, 0.0),
    )


MASKS = [
    Trap("a mask without the diagonal", masked(1), at=(S,), right=masked(0)),
    Trap("a mask with one diagonal more", masked(-1), at=(S,)),
]


@pytest.mark.parametrize(
    "dtype",
    [jnp.int8, jnp.uint8, jnp.uint32],
)
def test_integers_that_wrap_are_not_read_as_exact(dtype):
    def numbered(x):
        return (lax.iota(dtype, x.shape[0]) - np.ones((), dtype)).astype(x.dtype)

    wrong = declare("n -> n", lambda x: x * numbered(x), lambda x, dx: dx * (arange(x.shape[0]) - 1).astype(x.dtype))
    assert not audit(wrong).verdict.startswith("proved")


def test_a_condition_at_some_indices_is_listed():
    def f(x):
        return where(arange(x.shape[0]) >= 1, jnp.log(x), 0.0)

    rule = declare("n -> n", f, lambda x, dx: where(arange(x.shape[0]) >= 1, dx / x, 0.0))
    certificate = audit(rule)
    assert certificate.verdict == "proved under hypotheses"
    assert "x[i] > 0 wherever i ≥ 1" in hypotheses(certificate)
