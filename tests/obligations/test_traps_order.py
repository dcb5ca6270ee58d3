"""Maxima, windows, arguments of maxima, sorting: ties, wrong masks, wrong windows; the right twin of each is proved."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.traps import Trap, declare, hypotheses

A = np.array([[0.5, 2.0, -1.0], [3.0, 1.0, 2.5]])
V = np.array([0.5, 2.0, -1.0, 3.0])
NEGATIVE = np.array([[1.0, -1.0], [-3.0, -2.0]])
IMAGE_PADDING = ((0, 0), (1, 1), (1, 1), (0, 0))
TIED = np.array([[2.0, 2.0, -1.0], [3.0, 1.0, 2.5]])
ROWS = "argmax of x[i,j] over j is unique"
DIFFERENT = "x[i] differ over i"
WINDOW = "argmax of x[j] over j with 2i-1 ≤ j ≤ 2i+1 is unique for i<n"


def by_jax(signature, forward, derivative=None, adjoint=None):
    """JAX's own rules; those of `derivative` and `adjoint` in place of the forward's, where given."""
    f = derivative or forward
    g = adjoint or f
    return declare(
        signature,
        lambda x: forward(x),
        lambda x, dx: jax.jvp(f, (x,), (dx,))[1],
        lambda x, seed: jax.vjp(g, x)[1](seed)[0],
    )


def masked(mask, jvp_mask=None):
    """max along rows, with a mask for its derivative."""
    of_jvp = jvp_mask or mask
    return declare(
        "n m -> n",
        lambda x: jnp.max(x, axis=1),
        lambda x, dx: jnp.sum(of_jvp(x) * dx, axis=1),
        lambda x, seed: mask(x) * seed[:, None],
    )


def top(x):
    return jnp.max(x, axis=1, keepdims=True)


def counted(x):
    mask = (x == top(x)).astype(x.dtype)
    return mask / jnp.sum(mask, axis=1, keepdims=True)


def pool(low, high, size=3, stride=2, fold=lax.max, empty=-jnp.inf):
    return lambda x: lax.reduce_window(x, empty, fold, (size,), (stride,), ((low, high),))


def zero_padded(x):
    return lax.reduce_window(jnp.pad(x, 1), -jnp.inf, lax.max, (3,), (2,), ((0, 0),))


def one_hot_argmax(x):
    return jax.nn.one_hot(jnp.argmax(x, axis=1), x.shape[1], dtype=x.dtype)


RIGHT = by_jax("n m -> n", lambda x: jnp.max(x, axis=1))
POOL = by_jax("2*n -> n", pool(1, 1))

MAXIMA = [
    Trap("all but the greatest", masked(lambda x: x < top(x)), at=(A,), right=RIGHT, hypotheses={ROWS}),
    Trap("none: strictly greater", masked(lambda x: x > top(x)), at=(A,)),
    Trap("not smaller", masked(lambda x: x <= top(x)), at=(A,), right=masked(lambda x: x >= top(x)), hypotheses={ROWS}),
    Trap("the least", masked(lambda x: x == jnp.min(x, axis=1, keepdims=True)), at=(A,)),
    Trap("twice", masked(lambda x: 2.0 * (x == top(x))), at=(A,)),
    Trap("the count in the JVP only", masked(lambda x: x == top(x), counted), at=(TIED,), right=masked(counted),
         hypotheses={ROWS}, fine=(A,)),
    Trap("the mean", by_jax("n m -> n", lambda x: jnp.max(x, axis=1), lambda x: jnp.mean(x, axis=1)), at=(A,)),
    Trap("along the other axis", declare(
        "n n -> n", lambda x: jnp.max(x, axis=1),
        lambda x, dx: jnp.sum((x == jnp.max(x, axis=0)) * dx, axis=1),
        lambda x, seed: (x == jnp.max(x, axis=0)) * seed[:, None]), at=(np.array([[2.0, 1.0], [3.0, 0.5]]),)),
    Trap("the argument of the least", masked(
        lambda x: jax.nn.one_hot(jnp.argmin(x, axis=1), x.shape[1], dtype=x.dtype)), at=(A,),
        right=masked(one_hot_argmax), hypotheses={ROWS}),
    Trap("the entry at the argument of the maximum", by_jax(
        "n -> n", lambda x: x * x[jnp.argmax(x)], lambda x: x * lax.stop_gradient(x[jnp.argmax(x)])), at=(V,),
        right=by_jax("n -> n", lambda x: x * x[jnp.argmax(x)], lambda x: x * jnp.max(x)),
        hypotheses={"argmax of x[i] over i is unique"}),
    Trap("a place as a number jumps where it changes", by_jax(
        "n -> ", lambda x: jnp.argmax(x).astype(x.dtype) * jnp.sum(x), lambda x: jnp.sum(x * jnp.max(x))), at=(V,),
        right=by_jax("n -> ", lambda x: jnp.argmax(x).astype(x.dtype) * jnp.sum(x)),
        hypotheses={"argmax of x[i] over i is unique"}),
    Trap("a maximum of maxima", by_jax(
        "n m -> ", lambda x: jnp.max(jnp.max(x, axis=1) ** 2), lambda x: jnp.max(x) ** 2), at=(NEGATIVE,),
        right=by_jax("n m -> ", lambda x: jnp.max(jnp.max(x, axis=1) ** 2)),
        hypotheses={ROWS, "argmax of maxj(x[i,j])^2 over i is unique"}),
]  # fmt: skip

WINDOWS = [
    Trap("one to the left", by_jax("2*n -> n", pool(1, 1), pool(2, 0)), at=(V,), right=POOL, hypotheses={WINDOW}),
    Trap(
        "windows of three for windows of two",
        by_jax("2*n -> n", pool(0, 0, 2), pool(1, 1)),
        at=(np.array([0.5, 2.0, -1.0, 1.0]),),
    ),
    Trap("scattered to another window", by_jax("2*n -> n", pool(1, 1), None, pool(2, 0)), at=(V,)),
    Trap("the least of each window", by_jax("2*n -> n", pool(1, 1), pool(1, 1, 3, 2, lax.min, jnp.inf)), at=(V,)),
    Trap("the average", by_jax("2*n -> n", pool(1, 1), lambda x: pool(1, 1, 3, 2, lax.add, 0.0)(x) / 3), at=(V,)),
    Trap("padding with 0 wins", by_jax("2*n -> n", zero_padded, pool(1, 1)), at=(-np.abs(V),)),
    Trap("padding with 0 in the rule", by_jax("2*n -> n", pool(1, 1), zero_padded), at=(-np.abs(V),)),
]


def earlier(x):
    """Entries up to the diagonal; −∞ beyond it."""
    return jnp.where(jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[0])[None, :], x, -jnp.inf)


def earlier_or_zero(x):
    return jnp.where(jnp.isfinite(earlier(x)), x, 0.0)


def three_least(x):
    return jnp.sort(x)[:3]


ORDERED = [
    Trap("sorted the other way", by_jax("n -> n", jnp.sort, lambda x: -jnp.sort(-x)), at=(V,),
         right=by_jax("n -> n", lambda x: jnp.sort(x)), hypotheses={DIFFERENT}),
    Trap("not sorted back", by_jax("n -> n", lambda x: jnp.sort(x), None, lambda x: x), at=(V,),
         right=by_jax("n -> n", lambda x: x[jnp.argsort(x)], jnp.sort), hypotheses={DIFFERENT}),
    Trap("the least for the greatest", by_jax("n+3 -> 3", lambda x: lax.top_k(x, 3)[0], three_least), at=(V,),
         right=by_jax("n+3 -> 3", lambda x: lax.top_k(x, 3)[0], lambda x: -jnp.sort(-x)[:3]), hypotheses={DIFFERENT}),
    Trap("places as numbers", by_jax("n -> n", lambda x: x * jnp.argsort(x).astype(x.dtype), lambda x: x * x), at=(V,),
         right=by_jax("n -> n", lambda x: x * jnp.argsort(x).astype(x.dtype)), hypotheses={DIFFERENT}),
    Trap("entries of a relu tie on an open set", by_jax("n -> n", lambda x: jnp.sort(jax.nn.relu(x)), jnp.sort),
         at=(V,), right=by_jax("n -> n", lambda x: jnp.sort(jax.nn.relu(x))),
         hypotheses={"x ≠ 0", "x[i]·[x[i] > 0] differ over i"}, fine=(V[1::2],)),
]  # fmt: skip


def doubled_where(tied, forward, adjoint, signature):
    """The right rule of a forward, doubled where the number of ties is positive."""
    return declare(
        signature,
        lambda x: forward(x),
        lambda x, dx: jax.jvp(forward, (x,), (dx,))[1] * jnp.where(tied(x) > 0, 2.0, 1.0),
        lambda x, seed: adjoint(x, seed) * jnp.where(tied(x) > 0, 2.0, 1.0),
    )


def rowwise(x):
    return jnp.max(x, axis=1)


def ties(x):
    """How many entries more than one in each row are the greatest."""
    return jnp.sum((x == top(x)) * 1.0, axis=1) - 1.0


ELSEWHERE = [
    Trap("a tie in a row that the forward does not look at", doubled_where(
        lambda x: ties(x)[-1], lambda x: rowwise(x)[:-1],
        lambda x, seed: jax.vjp(lambda x: rowwise(x)[:-1], x)[1](seed)[0], "n+1 m -> n"), at=(TIED[::-1],)),
    Trap("a tie in a column", doubled_where(
        lambda x: jnp.sum((x == jnp.max(x, axis=0)) * 1.0) - x.shape[1], rowwise,
        lambda x, seed: jax.vjp(rowwise, x)[1](seed)[0], "n m -> n"),
        at=(np.array([[1.0, 2.0], [1.0, 3.0]]),),
        right=doubled_where(lambda x: jnp.sum(ties(x)), rowwise,
                            lambda x, seed: jax.vjp(rowwise, x)[1](seed)[0], "n m -> n"), hypotheses={ROWS}),
    Trap("a tie across windows", doubled_where(
        lambda x: jnp.sum((x[1:] == x[:-1]) * 1.0), pool(0, 0, 2),
        lambda x, seed: jax.vjp(pool(0, 0, 2), x)[1](seed)[0], "2*n -> n"), at=(np.array([1.0, 2.0, 2.0, 3.0]),)),
    Trap("the argument of the greatest tangent", declare(
        "n m -> n", rowwise, lambda x, dx: jnp.max(dx, axis=1), lambda x, seed: jax.vjp(rowwise, x)[1](seed)[0]),
        at=(A,)),
    Trap("the first place alone", declare(
        "n -> n", lambda x: jnp.sort(x), lambda x, dx: jax.jvp(jnp.sort, (x,), (dx,))[1].at[0].set(dx[0]),
        lambda x, seed: jax.vjp(jnp.sort, x)[1](seed)[0]), at=(V,)),
]  # fmt: skip
SQUARE = np.array([[-0.5, 2.0], [-3.0, -1.0]])
MASKS = [
    Trap("a mask of 0 for one of −∞", by_jax(
        "n n -> n", lambda x: jnp.max(earlier(x), axis=1), lambda x: jnp.max(earlier_or_zero(x), axis=1)),
        at=(SQUARE,), right=by_jax("n n -> n", lambda x: jnp.max(earlier(x), axis=1)),
        hypotheses={"argmax of x[i,j] over j with j ≤ i is unique"}),
    Trap("no mask", by_jax("n n -> n", lambda x: jnp.max(earlier(x), axis=1), lambda x: jnp.max(x, axis=1)),
         at=(SQUARE,)),
    Trap("exp of a mask that depends on the input jumps at its edge", by_jax(
        "n -> n", lambda x: jnp.exp(jnp.where(x > 1, x, -jnp.inf)), jnp.exp), at=(V,),
        right=by_jax("n -> n", lambda x: jnp.exp(jnp.where(x > 1, x, -jnp.inf))), hypotheses={"x ≠ 1"}),
    Trap("−∞ squared is no −∞", by_jax(
        "n -> n", lambda x: jnp.maximum(0.0 * x - jnp.square(jnp.where(x > 1, x, -jnp.inf)), x), jnp.square),
        at=(V,)),
]  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("signature", "forward", "expected"),
    [
        ("b 2*h 2*w c -> b h w c",
         lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), IMAGE_PADDING),
         {"argmax of x[i,a,b,j] over a,b with 2k-1 ≤ a ≤ 2k+1, 2l-1 ≤ b ≤ 2l+1 is unique for k<h, l<w"}),
        ("2*n -> n", pool(1, 1, 3, 2, lax.min, jnp.inf),
         {"argmin of x[j] over j with 2i-1 ≤ j ≤ 2i+1 is unique for i<n"}),
        ("n m k -> m", lambda x: jnp.max(x, axis=(0, 2)), {"argmax of x[j,i,k] over j,k is unique"}),
        ("n m -> n", lambda x: jnp.max(jnp.exp(x) * 2 + x, axis=1),
         {"argmax of x[i,j] + 2·exp(x[i,j]) over j is unique"}),
        ("n m -> n", lambda x: jnp.max(x, axis=1) - jnp.min(x, axis=1),
         {ROWS, "argmin of x[i,j] over j is unique"}),
        ("n -> n", lambda x: jnp.maximum(x, x), set()),
        ("n m -> ", lambda x: jnp.sum(jax.nn.logsumexp(x, axis=1)), set()),
        ("n -> n", lambda x: jnp.where(x < jnp.max(x), x, 5 * x), {"argmax of x[i] over i is unique"}),
    ],
)  # fmt: skip
def test_the_rules_of_jax(signature, forward, expected):
    certificate = audit(by_jax(signature, forward))
    assert certificate.verdict.startswith("proved")
    assert hypotheses(certificate) == expected
    adjoint = next(c for c in certificate.claims if c.kind == "vjp_is_adjoint")
    assert not adjoint.hypotheses


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("signature", "forward"),
    [
        ("n -> ", lambda x: jnp.max(jnp.concatenate([x, x]))),
        ("n -> n+4", pool(3, 3, 3, 1)),
        ("n -> 2*n", lambda x: jnp.sort(jnp.concatenate([x, x]))),
    ],
    ids=["a tensor with itself", "windows of padding alone", "twice the same entries"],
)
def test_what_ties_everywhere_or_may_be_empty_is_not_proved(signature, forward):
    assert not audit(by_jax(signature, forward)).verdict.startswith("proved")


def test_ties_on_an_open_set_are_said_to_be():
    """Entries of a relu tie at 0 on an open set; those of a tensor only on one of measure zero."""
    for forward, negligible in ((lambda x: x, True), (jax.nn.relu, False)):
        certificate = audit(by_jax("n m -> n", lambda x, f=forward: jnp.max(f(x), axis=1)))
        (tie,) = [h for c in certificate.claims for h in c.hypotheses if "argmax" in h.text]
        assert tie.negligible is negligible
        assert tie.prose.endswith("over j is attained only once")


def attention(q, k, v):
    return jax.nn.softmax(earlier(q @ k.T)) @ v


def masked_softmax(x, mask):
    return jax.nn.softmax(jnp.where(mask, x, -jnp.inf))


def test_causal_attention_with_an_infinite_mask():
    """Proved without a hypothesis: every row keeps its own entry."""

    def jvp(q, k, v, dq, dk, dv):
        return jax.jvp(attention, (q, k, v), (dq, dk, dv))[1]

    def vjp(q, k, v, seed):
        return jax.vjp(attention, q, k, v)[1](seed)

    certificate = audit(declare("n d, n d, n e -> n e", lambda q, k, v: attention(q, k, v), jvp, vjp))
    assert certificate.verdict == "proved"


def test_a_mask_that_is_an_input_needs_an_entry_that_is_kept():
    def jvp(x, mask, dx):
        return jax.jvp(lambda x: masked_softmax(x, mask), (x,), (dx,))[1]

    def vjp(x, mask, seed):
        return jax.vjp(lambda x: masked_softmax(x, mask), x)[1](seed)[0]

    certificate = audit(declare("n m, n m:bool -> n m", lambda x, mask: masked_softmax(x, mask), jvp, vjp))
    assert certificate.verdict == "proved under hypotheses"
    assert hypotheses(certificate) == {"(Σj [mask[i,j] > 0]) > 0"}


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "forward",
    [
        lambda x: jnp.exp(-earlier(x)),
        lambda x: jnp.exp(jnp.square(earlier(x))),
        lambda x: jnp.exp(earlier(x) - earlier(x)),
        lambda x: earlier(x) * 0.0,
        earlier,
        lambda x: jax.nn.softmax(jnp.where(jnp.eye(x.shape[0], k=1, dtype=bool), x, -jnp.inf)),
    ],
    ids=["∞", "its square", "∞ − ∞", "0·∞", "as it is", "a row with nothing kept"],
)
def test_other_uses_of_infinities_are_not_proved(forward):
    assert not audit(by_jax("n n -> n n", forward)).verdict.startswith("proved")
