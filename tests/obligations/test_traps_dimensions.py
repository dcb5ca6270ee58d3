"""Rules that are right at most shapes: decisions that Python takes on dimensions, ranks, iota over several axes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations import audit
from certgrad.ops._declare import axis_of, case
from tests.obligations.traps import Trap, declare, error


def doubled_where(signature, bad, **options):
    """The identity, whose rules are off by a factor of 2 where `bad(x)` holds."""
    return declare(signature, lambda x, **_: x, lambda x, g, **_: 2.0 * g if bad(x) else g, **options)


def ones(*shape):
    return np.ones(shape)


SIZES = {
    "n == 1": ("n -> n", lambda x: x.shape[0] == 1, (1,)),
    "n == 7": ("n -> n", lambda x: x.shape[0] == 7, (7,)),
    "n != 7 is asked": ("n -> n", lambda x: not (x.shape[0] != 7), (7,)),  # noqa: SIM202
    "n in a list": ("n -> n", lambda x: x.shape[0] in [3, 7], (7,)),
    "n in a set": ("n -> n", lambda x: x.shape[0] in {7}, (7,)),
    "a dictionary by n": ("n -> n", lambda x: {7: True}.get(x.shape[0], False), (7,)),
    "n is even": ("n -> n", lambda x: x.shape[0] % 2 == 0, (2,)),
    "n is odd": ("n -> n", lambda x: x.shape[0] % 2 == 1, (3,)),
    "n is even, by halves": ("n -> n", lambda x: x.shape[0] // 2 * 2 == x.shape[0], (2,)),
    "truth of a remainder": ("n -> n", lambda x: not (x.shape[0] % 2), (2,)),
    "truth of a difference": ("n -> n", lambda x: not (x.shape[0] - 7), (7,)),
    "a half of n": ("n -> n", lambda x: x.shape[0] // 2 == 3, (6,)),
    "the shape as a tuple": ("n d -> n d", lambda x: x.shape == (3, 5), (3, 5)),
    "n == d": ("n d -> n d", lambda x: x.shape[0] == x.shape[1], (3, 3)),
    "n == d by a set": ("n d -> n d", lambda x: len(set(x.shape)) == 1, (3, 3)),
    "n == 2d": ("n d -> n d", lambda x: x.shape[0] == 2 * x.shape[1], (4, 2)),
    "n == d + 1": ("n d -> n d", lambda x: x.shape[0] == x.shape[1] + 1, (4, 3)),
    "n + d == 5": ("n d -> n d", lambda x: x.shape[0] + x.shape[1] == 5, (2, 3)),
    "n d == 6": ("n d -> n d", lambda x: x.size == 6, (2, 3)),
    "n == 1 and d != 1": ("n d -> n d", lambda x: x.shape[0] == 1 and x.shape[1] != 1, (1, 4)),
    "exactly one is 1": ("n d -> n d", lambda x: (x.shape[0] == 1) != (x.shape[1] == 1), (1, 4)),
    "n == 3 and d == 5": ("n d -> n d", lambda x: x.shape[0] == 3 and x.shape[1] == 5, (3, 5)),
    "three of them equal": ("n d k -> n d k", lambda x: x.shape[0] == x.shape[1] == x.shape[2], (2, 2, 2)),
    "two of three equal": (
        "n d k -> n d k",
        lambda x: x.shape[0] == x.shape[2] and x.shape[0] != x.shape[1],
        (2, 3, 2),
    ),
    "a symbol is not an int": ("n -> n", lambda x: isinstance(x.shape[0], int), (3,)),
}

RANKS = {
    "rank 0": ("*s -> *s", lambda x: x.ndim == 0, ()),
    "rank 1": ("*s -> *s", lambda x: x.ndim == 1, (2,)),
    "rank above 2": ("*s -> *s", lambda x: x.ndim > 2, (2, 2, 2)),
    "rank 4": ("*s -> *s", lambda x: x.ndim == 4, (1, 2, 1, 2)),
    "a square of rank 2": ("*s -> *s", lambda x: x.ndim == 2 and x.shape[0] == x.shape[1], (3, 3)),
    "rank 4 with a named axis": ("*a n *c -> *a n *c", lambda x: x.ndim == 4, (2, 2, 2, 2)),
    "the named axis comes first": ("*a n *c -> *a n *c", lambda x: x.shape[0] == 7, (7,)),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    signature, bad, shape = SIZES[name]
    wrong = doubled_where(signature, bad)
    assert error(wrong, (ones(*shape),)) > 0.1
    assert audit(wrong).verdict in ("refuted", "unproved")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", RANKS)
def test_ranks(name):
    signature, bad, shape = RANKS[name]
    wrong = doubled_where(signature, bad)
    assert error(wrong, (ones(*shape),)) > 0.1
    assert audit(wrong).verdict in ("refuted", "unproved")


def test_a_rank_that_is_never_traced_is_not_claimed():
    wrong = doubled_where("*s -> *s", lambda x: x.ndim == 6)
    certificate = audit(wrong)
    scopes = {case.scope for claim in certificate.claims for case in claim.cases}
    assert not certificate.verdict.startswith("proved") or "all shapes, any rank" not in scopes


def test_decisions_that_do_not_matter_do_not_matter():
    right = declare("n d -> n d", lambda x: x, lambda x, g: g * 1.0 if x.shape[0] == x.shape[1] else g)
    assert audit(right).verdict == "proved"


def test_rules_never_see_a_negative_axis():
    """Calls count axes from the left before a rule runs, so that the proofs do not have to look at others."""
    one = declare(
        (case("*a n *c -> *a n *c", axis=axis_of("n")),),
        lambda x, *, axis: x,
        lambda x, g, *, axis: 2.0 * g if axis < 0 else g,
    )
    for axis in (-1, -2, 0, 1):
        gradient = jax.grad(lambda x, axis=axis: jnp.sum(one(x, axis=axis)))(jnp.ones((2, 3)))
        assert (gradient == 1).all()


def sizes_as_numbers(scale):
    return declare(
        "n d -> d",
        lambda x: jnp.mean(x, axis=0),
        lambda x, dx: jnp.sum(dx, axis=0) / scale(x),
        lambda x, g: jnp.broadcast_to(g / scale(x), x.shape),
    )


NUMBERS = [
    Trap("divided by the wrong size", sizes_as_numbers(lambda x: x.shape[1]), at=(ones(3, 2),),
         right=sizes_as_numbers(lambda x: x.shape[0])),
    Trap("one off", sizes_as_numbers(lambda x: x.shape[0] + 1), at=(ones(3, 2),)),
    Trap("right only at n == d", sizes_as_numbers(lambda x: (x.shape[0] + x.shape[1]) / 2), at=(ones(3, 2),)),
    Trap("right only at n == 1", sizes_as_numbers(lambda x: x.shape[0] ** 2), at=(ones(3, 2),)),
    Trap("right only at n == 1 and n == 2",
         sizes_as_numbers(lambda x: x.shape[0] + (x.shape[0] - 1) * (x.shape[0] - 2)), at=(ones(3, 2),)),
]  # fmt: skip


def last(x):
    return lax.broadcasted_iota(x.dtype, x.shape, x.ndim - 1) if x.ndim else 1.0


def first(x):
    return lax.broadcasted_iota(x.dtype, x.shape, 0) if x.ndim else 1.0


def test_iota_over_one_of_several_axes():
    """At rank 1 the first axis is the last one."""
    wrong = declare("*s -> *s", lambda x: x * last(x), lambda x, g: g * first(x))
    assert error(wrong, (ones(3),)) < 1e-4
    assert error(wrong, (ones(2, 3),)) > 0.1
    assert audit(wrong).verdict == "refuted"
    right = declare("*s -> *s", lambda x: x * last(x), lambda x, g: g * last(x))
    assert audit(right).verdict == "proved"


def mean_of_all(divide):
    return declare(
        "*s -> ",
        lambda x: jnp.mean(x),
        lambda x, dx: jnp.sum(dx) / divide(x),
        lambda x, g: jnp.broadcast_to(g / divide(x), x.shape),
    )


def test_the_size_of_one_of_several_axes():
    wrong = mean_of_all(lambda x: x.shape[-1] if x.ndim else 1)
    assert error(wrong, (ones(4),)) < 1e-4
    assert error(wrong, (ones(3, 4),)) > 0.1
    assert not audit(wrong).verdict.startswith("proved")
    assert audit(mean_of_all(lambda x: x.size)).verdict == "proved"


def test_a_sum_over_one_of_several_axes():
    wrong = declare(
        "*s -> ",
        lambda x: jnp.sum(x) ** 2,
        lambda x, dx: 2 * jnp.sum(jnp.sum(x, axis=-1) * jnp.sum(dx, axis=-1)) if x.ndim else 2 * x * dx,
        lambda x, g: 2 * g * jnp.broadcast_to(jnp.sum(x, axis=-1, keepdims=True), x.shape) if x.ndim else 2 * g * x,
    )
    assert error(wrong, (ones(3),)) < 1e-4
    assert error(wrong, (ones(2, 3),)) > 0.1
    assert not audit(wrong).verdict.startswith("proved")


def test_a_size_less_a_number_may_be_negative():
    """√(n − 5) is no number at sizes below 5. The calculus says so, and not only who looks at a point in the end."""

    def room(x):
        return jnp.asarray(x.shape[0] - 5).astype(x.dtype)

    wrong = declare("n -> n", lambda x: x * jnp.sqrt(room(x)) * jnp.sqrt(room(x)), lambda x, g: g * room(x))
    assert np.isnan(wrong(ones(3))).all()
    certificate = audit(wrong)
    reasons = [case.reason or "" for claim in certificate.claims for case in claim.cases]
    assert certificate.verdict != "proved"
    assert not any("defect" in reason for reason in reasons)
