"""Integers and booleans, infinities, ties of a maximum."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.obligations import audit
from tests.obligations.traps import Trap, declare

where = jnp.where
A = np.array([[1.0, 2.0], [3.0, 5.0]])

INTEGERS = [
    Trap(
        "an integer argument has no cotangent; a narrow cast of it is another number",
        declare(
            "*s, *s:int -> *s",
            lambda x, k: x * k.astype(x.dtype),
            lambda x, k, g: g * k.astype(jnp.int8).astype(x.dtype),
        ),
        at=(1.0, np.array(300)),
        verdict="refuted",
        right=declare("*s, *s:int -> *s", lambda x, k: x * k.astype(x.dtype), lambda x, k, g: g * k.astype(x.dtype)),
    ),
    Trap(
        "booleans multiply like 0 and 1",
        declare("*s, *s:bool -> *s", lambda x, m: x * m, lambda x, m, g: g),
        at=(1.0, np.array(False)),
        right=declare("*s, *s:bool -> *s", lambda x, m: x * m, lambda x, m, g: where(m, g, 0.0)),
    ),
    Trap(
        "a product of booleans is an or of ands, not a count",
        declare(
            "n n, n n:bool -> n n",
            lambda x, m: x * lax.dot_general(m, m, (((1,), (0,)), ((), ()))).astype(x.dtype),
            lambda x, m, g: g * (m.astype(x.dtype) @ m.astype(x.dtype)),
        ),
        at=(A, np.ones((2, 2), bool)),
    ),
    Trap(
        "xor is not or",
        declare(
            "*s, *s:bool, *s:bool -> *s", lambda x, p, q: where(p | q, x, 0.0), lambda x, p, q, g: where(p ^ q, g, 0.0)
        ),
        at=(1.0, np.array(True), np.array(True)),
        right=declare(
            "*s, *s:bool, *s:bool -> *s",
            lambda x, p, q: where(p | q, x, 0.0),
            lambda x, p, q, g: where(~(~p & ~q), g, 0.0),
        ),
    ),
    Trap(
        "a comparison of integers: k > 0 is k >= 1",
        declare("*s, *s:int -> *s", lambda x, k: where(k > 0, x, 0.0), lambda x, k, g: where(k >= 0, g, 0.0)),
        at=(1.0, np.array(0)),
        right=declare("*s, *s:int -> *s", lambda x, k: where(k > 0, x, 0.0), lambda x, k, g: where(k > 0, g, 0.0)),
    ),
    Trap(
        "a sum of booleans counts",
        declare("*s, n:bool -> *s", lambda x, m: x * jnp.sum(m), lambda x, m, g: g * jnp.any(m)),
        at=(1.0, np.ones(3, bool)),
        right=declare(
            "*s, n:bool -> *s",
            lambda x, m: x * jnp.sum(m.astype(x.dtype)),
            lambda x, m, g: g * jnp.sum(m.astype(x.dtype)),
        ),
    ),
    Trap(
        "integer division rounds",
        declare("*s, *s:int -> *s", lambda x, k: x * (k // 2), lambda x, k, g: g * k / 2),
        at=(1.0, np.array(3)),
    ),
    Trap(
        "an even power of an integer",
        declare("*s, *s:int -> *s", lambda x, k: x * k**2, lambda x, k, g: g * jnp.abs(k) ** 3),
        at=(1.0, np.array(2)),
        right=declare("*s, *s:int -> *s", lambda x, k: x * k**2, lambda x, k, g: g * k * k),
    ),
]

INFINITIES = [
    Trap(
        "0 · ∞ in a lane",
        declare("*s -> *s", lambda x: x, lambda x, g: g * where(x > 0, 1.0, jnp.inf * 0)),
        at=(-1.0,),
        needs={"x > 0"},
        right=declare("*s -> *s", lambda x: x, lambda x, g: where(x > 0, g, g)),
    ),
    Trap(
        "an infinity that is selected",
        declare("*s -> *s", lambda x: where(x > 0, x, jnp.inf), lambda x, g: where(x > 0, g, 0.0)),
        at=(-1.0,),
        under={"x > 0"},
    ),
    Trap(
        "a large finite mask is a number",
        declare("n -> n", lambda x: jnp.maximum(x, -1e9), lambda x, g: g),
        at=([-2e9, 0.0],),
        verdict="unproved",
        right=declare("n -> n", lambda x: jnp.maximum(x, -1e9), lambda x, g: where(x > -1e9, g, 0.0)),
        hypotheses={"x ≠ −1000000000"},
    ),
]


def maximum(mask):
    return declare(
        "n -> ",
        lambda x: jnp.max(x),
        lambda x, dx: jnp.sum(mask(x) * dx),
        lambda x, g: g * mask(x),
    )


def test_ties_of_a_maximum_are_never_proved_away():
    """Each entry of a tie gets the whole cotangent: wrong, and its hypothesis must say that there is no tie."""
    certificate = audit(maximum(lambda x: (x == jnp.max(x)).astype(x.dtype)))
    assert certificate.verdict != "proved"


def test_the_maximum_of_a_row_of_infinities_is_no_number():
    """It shifts every score to ∞ or NaN: what comes of it is not compared as if it were finite."""

    def forward(x):
        z = jnp.exp(x - lax.stop_gradient(jnp.max(jnp.full_like(x, -jnp.inf))))
        return z / jnp.sum(z)

    def rule(x, d):
        p = forward(x)
        return p * (d - jnp.sum(p * d))

    assert jnp.isnan(forward(jnp.ones(2))).all()
    assert audit(declare("n -> n", forward, rule)).verdict == "unproved"


def test_a_vacuous_hypothesis_proves_nothing():
    """x_i ≠ max x for all i holds nowhere."""

    def forward(x):
        return where(x < jnp.max(x), x * x, 5 * x)

    def rule(x, dx):
        top = jnp.max(x)
        return where(x < top, 2 * x * dx, where(x > top, 5 * dx, 777 * dx))

    certificate = audit(declare("n -> n", forward, rule))
    assert not certificate.verdict.startswith("proved")
