"""Rules that are not linear, not pure, for another argument, for another dtype; names; stop_gradient; literals."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.traps import Trap, declare, error, hypotheses

where = jnp.where
sg = lax.stop_gradient


def square(jvp=lambda x, dx: 2 * x * dx, vjp=lambda x, g: 2 * x * g, **options):
    return declare("*s -> *s", lambda x: x * x, jvp, vjp, **options)


def product(jvp=lambda x, y, dx, dy: dx * y + x * dy, vjp=lambda x, y, g: (g * y, g * x)):
    return declare("*s, *s -> *s", lambda x, y: x * y, jvp, vjp)


LINEARITY = [
    Trap("a jvp that is affine in dx", square(jvp=lambda x, dx: 2 * x * dx + 1), at=(1.0,), right=square()),
    Trap("affine where x is above 3", square(jvp=lambda x, dx: 2 * x * dx + where(x > 3, 1.0, 0.0)), at=(4.0,)),
    Trap("a jvp that is quadratic in dx", square(jvp=lambda x, dx: 2 * x * dx + dx * dx), at=(1.0,)),
    Trap("a jvp that is quadratic in dx, at x = 3 alone",
         square(jvp=lambda x, dx: where(x == 3, dx * dx, 2 * x * dx)), at=(3.0,)),
    Trap("a jvp with |dx|", square(jvp=lambda x, dx: 2 * x * jnp.abs(dx)), at=(-1.0,), seen=False),
    Trap("a jvp with max(dx, 0)", square(jvp=lambda x, dx: 2 * x * jnp.maximum(dx, 0)), at=(1.0,), seen=False),
    Trap("a rational function of two tangents",
         product(jvp=lambda x, y, dx, dy: y * dx + x * dy + dx * dx * dy / (dx * dx + dy * dy + 1)), at=(1.0, 1.0)),
    Trap("a jvp undefined at dx = 0", square(jvp=lambda x, dx: 2 * x * dx * dx / dx), verdict="unproved", seen=False),
    Trap("a vjp undefined at seed = 0", square(vjp=lambda x, g: 2 * x * g * g / g), verdict="unproved", seen=False),
    Trap("a vjp that is affine in the seed", square(vjp=lambda x, g: 2 * x * g + 1), at=(1.0,)),
    Trap("a vjp that clips its seed", square(vjp=lambda x, g: 2 * x * jnp.clip(g, -1, 1)), seen=False),
    Trap("right but for one input", square(jvp=lambda x, dx: where(x == 3, 0.0, 2 * x * dx)), at=(3.0,)),
    Trap("right but for one input, shared", square(lambda x, dx: where(x == 3, 0.0, 2 * x * dx),
         lambda x, g: where(x == 3, 0.0, 2 * x * g)), at=(3.0,)),
    Trap("the cotangents of the wrong arguments", product(vjp=lambda x, y, g: (g * x, g * y)), at=(1.0, 2.0),
         right=product()),
    Trap("a zero cotangent", product(vjp=lambda x, y, g: (g * y, jnp.zeros_like(y))), at=(1.0, 2.0)),
    Trap("the wrong tangent", product(jvp=lambda x, y, dx, dy: dy * y + x * dx), at=(1.0, 2.0)),
]  # fmt: skip


def swapped_names(forward, jvp, vjp):
    return declare("*s, *s -> *s", forward, jvp, vjp)


NAMES = [
    Trap(
        "an argument called dx",
        swapped_names(lambda x, dx: x * dx, lambda x, dx, tx, tdx: tx * tx + x * tdx, lambda x, dx, g: (g * dx, g * x)),
        at=(1.0, 2.0),
        right=swapped_names(
            lambda x, dx: x * dx, lambda x, dx, tx, tdx: tx * dx + x * tdx, lambda x, dx, g: (g * dx, g * x)
        ),
    ),
    Trap(
        "an argument called seed",
        swapped_names(lambda x, seed: x * seed, lambda x, s, tx, ts: tx * s + x * ts, lambda x, s, g: (g * g, g * x)),
        at=(1.0, 2.0),
        right=swapped_names(
            lambda x, seed: x * seed, lambda x, s, tx, ts: tx * s + x * ts, lambda x, s, g: (g * s, g * x)
        ),
    ),
    Trap(
        "time and its step",
        swapped_names(lambda t, dt: t * dt, lambda t, dt, u, v: t * v + u * u, lambda t, dt, g: (g * dt, g * t)),
        at=(1.0, 2.0),
    ),
    Trap(
        "a parameter called dx",
        declare(
            "*s -> *s",
            lambda x, *, dx: x * dx,
            lambda x, v, *, dx: v * v,
            lambda x, g, *, dx: g * dx,
            params={"dx": None},
        ),
        at=(1.0,),
        numbers={"dx": 2.0},
        right=declare("*s -> *s", lambda x, *, dx: x * dx, lambda x, v, *, dx: v * dx, params={"dx": None}),
    ),
]


STOPPED = [
    Trap(
        "a surrogate: straight through",
        declare("*s -> *s", lambda x: x + sg(x * x - x), lambda x, g: g),
        at=(2.0,),
        verdict="unproved",
        right=declare("*s -> *s", lambda x: jnp.exp(x - sg(x)) * jnp.exp(sg(x)), lambda x, g: jnp.exp(x) * g),
    ),
    Trap(
        "a step behind stop_gradient",
        declare("*s -> *s", lambda x: where(sg(jnp.floor(x)) > 0.5, 1.0, 0.0) + 0 * x, lambda x, g: 0 * g),
        at=(1.0,),
        under={"x is not an integer"},
        seen=False,
    ),
    Trap(
        "a step of a step behind stop_gradient",
        declare("*s -> *s", lambda x: jnp.floor(sg(jnp.floor(x)) + 0.5), lambda x, g: 0 * g),
        at=(1.0,),
        under={"x is not an integer", "1/2 + floor(x) is not an integer"},
        seen=False,
    ),
    Trap(
        "a shift by the wrong maximum",
        declare(
            "n -> ",
            lambda x: jnp.log(jnp.sum(jnp.exp(x - jnp.max(x)))),
            lambda x, dx: jnp.sum(jnp.exp(x) * dx) / jnp.sum(jnp.exp(x)),
            lambda x, g: g * jnp.exp(x) / jnp.sum(jnp.exp(x)),
        ),
        at=([1.0, 2.0],),
        right=declare(
            "n -> ",
            lambda x: jnp.log(jnp.sum(jnp.exp(x - jnp.max(x)))) + jnp.max(x),
            lambda x, dx: jnp.sum(jnp.exp(x) * dx) / jnp.sum(jnp.exp(x)),
            lambda x, g: g * jnp.exp(x) / jnp.sum(jnp.exp(x)),
        ),
    ),
]


def scaled(literal):
    return declare("*s -> *s", lambda x: 3.0 * x, lambda x, g: literal * g)


@pytest.mark.parametrize("literal", [3.00000001, 2.9999999999, 3.0 + 2.0**-50])
def test_literals_are_exact(literal):
    assert audit(scaled(literal)).verdict == "refuted"
    assert audit(scaled(3.0)).verdict == "proved"


def test_a_literal_shared_by_forward_and_rule():
    right = declare("*s -> *s", lambda x: 0.7978845608028654 * x, lambda x, g: 0.7978845608028654 * g)
    assert audit(right).verdict == "proved"


def test_impure_rules():
    for start in range(3):
        count = itertools.count(start)
        wrong = declare("n -> n", lambda x: x, lambda x, g, count=count: g * float(next(count)))
        assert not audit(wrong).verdict.startswith("proved")
    rng = np.random.default_rng(0)
    wrong = declare("n -> n", lambda x: x, lambda x, g: g * rng.choice([1.0, 2.0]))
    assert not audit(wrong).verdict.startswith("proved")


DTYPES = {
    "a factor in float32": lambda x, g: g * (2.0 if x.dtype == jnp.float32 else 1.0),
    "another program in float32": lambda x, g: g * g if x.dtype == jnp.float32 else g,
    "a factor outside float64": lambda x, g: g * (1.0 if x.dtype == jnp.float64 else 2.0),
    "a factor in bfloat16": lambda x, g: g * (2.0 if x.dtype == jnp.bfloat16 else 1.0),
    "another program in float16": lambda x, g: g * g if x.dtype == jnp.float16 else g,
}


@pytest.mark.parametrize("name", DTYPES)
def test_branches_on_the_dtype(name):
    wrong = declare("n -> n", lambda x: x, DTYPES[name])
    certificate = audit(wrong)
    assert not certificate.verdict.startswith("proved"), hypotheses(certificate)


def test_a_small_number_of_the_dtype_is_no_branch():
    right = declare("n -> n", lambda x: x + jnp.finfo(x.dtype).eps * 0, lambda x, g: g)
    assert audit(right).verdict == "proved"


def test_random_numbers_are_not_proved():
    def noisy(x, g):
        return g * jax.random.uniform(jax.random.key(0), ())

    assert audit(declare("n -> n", lambda x: x, noisy)).verdict in ("unproved", "refuted")


def test_the_judge_sees_right_and_wrong():
    assert error(square(), (1.5,)) < 1e-4
    assert error(square(jvp=lambda x, dx: x * dx), (1.5,)) > 1
