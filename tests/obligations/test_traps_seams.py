"""Where pieces meet: C¹ seams need no hypothesis, all others do; corners, nested selections, ties."""

import jax.numpy as jnp

from certgrad.obligations import audit
from tests.obligations.traps import Trap, declare, hypotheses

where = jnp.where


def piecewise(forward, slope, **options):
    return declare("*s -> *s", forward, lambda x, g, **p: slope(x, **p) * g, **options)


def of_two(forward, slopes, **options):
    """Two arguments; `slopes(x, y)` gives both partial derivatives."""

    def jvp(x, y, dx, dy, **p):
        a, b = slopes(x, y, **p)
        return a * dx + b * dy

    def vjp(x, y, g, **p):
        a, b = slopes(x, y, **p)
        return a * g, b * g

    return declare("*s, *s -> *s", forward, jvp, vjp, **options)


def huber(x):
    return where(jnp.abs(x) > 1, jnp.abs(x) - 0.5, 0.5 * x * x)


ONE_VARIABLE = [
    Trap(
        "Huber's seam needs no hypothesis; a rule wrong on it alone is wrong",
        piecewise(huber, lambda x: where(x > 1, 1.0, where(x < -1, -1.0, where(x == 1, 2.0, x)))),
        at=(1.0,),
        verdict="refuted",
        right=piecewise(huber, lambda x: jnp.clip(x, -1, 1)),
    ),
    Trap(
        "a jump with equal slopes",
        piecewise(lambda x: where(x > 0, x + 1, x), lambda x: 1.0),
        at=(0.0,),
        under={"x ≠ 0"},
        right=piecewise(lambda x: where(x > 0, x + 0, x), lambda x: 1.0),
    ),
    Trap(
        "a jump at a single point",
        piecewise(lambda x: where(x == 0, 1.0, x), lambda x: 1.0),
        at=(0.0,),
        under={"x ≠ 0"},
        right=piecewise(lambda x: where(x == 0, 0.0, x), lambda x: 1.0),
    ),
    Trap(
        "the derivative of the value on the seam is not the derivative",
        piecewise(lambda x: where(x == 0, 0.0, x), lambda x: where(x == 0, 0.0, 1.0)),
        at=(0.0,),
        verdict="refuted",
        right=piecewise(lambda x: where(x == 0, 0.0, x), lambda x: 1.0),
    ),
    Trap(
        "where(x > 0, x**2, 0) is C¹",
        piecewise(lambda x: where(x > 0, x * x, 0.0), lambda x: where(x >= 0, 2 * x + where(x == 0, 1.0, 0.0), 0.0)),
        at=(0.0,),
        verdict="refuted",
        right=piecewise(lambda x: where(x > 0, x * x, 0.0), lambda x: where(x > 0, 2 * x, 0.0)),
    ),
    Trap(
        "where(x > 0, x, 0) is not",
        piecewise(lambda x: where(x > 0, x, 0.0), lambda x: where(x > 0, 1.0, 0.0)),
        at=(0.0,),
        under={"x ≠ 0"},
    ),
    Trap(
        "x |x| is C¹, and its derivative is 2 |x|",
        piecewise(lambda x: x * jnp.abs(x), lambda x: where(x == 0, 1.0, 2 * jnp.abs(x))),
        at=(0.0,),
        verdict="refuted",
        right=piecewise(lambda x: x * jnp.abs(x), lambda x: 2 * jnp.abs(x)),
    ),
    Trap(
        "three pieces, of which two meet smoothly",
        piecewise(
            lambda x: where(x > 1, 2 * x - 1, where(x > 0, x * x, -x)),
            lambda x: where(x > 1, 2.0, where(x > 0, 2 * x, -1.0)),
        ),
        at=(0.0,),
        under={"x ≠ 0"},
    ),
    Trap(
        "a seam at 1 inside the region of another",
        piecewise(
            lambda x: where(x > 0, where(x > 1, 2 * x - 1, x * x), 0.0),
            lambda x: where(x > 0, where(x == 1, 3.0, where(x > 1, 2.0, 2 * x)), 0.0),
        ),
        at=(1.0,),
        verdict="refuted",
        right=piecewise(
            lambda x: where(x > 0, where(x > 1, 2 * x - 1, x * x), 0.0),
            lambda x: where(x > 0, where(x > 1, 2.0, 2 * x), 0.0),
        ),
    ),
    Trap(
        "a square root that is steep on the seam",
        piecewise(
            lambda x: where(x > 0, jnp.sqrt(where(x > 0, x, 1.0)), 0.0),
            lambda x: where(x > 0, 0.5 / jnp.sqrt(where(x > 0, x, 1.0)), 0.0),
        ),
        at=(0.0,),
        under={"x ≠ 0"},
    ),
    Trap(
        "a seam of another function's argument",
        piecewise(lambda x: jnp.exp(jnp.abs(x)), lambda x: jnp.sign(x) * jnp.exp(jnp.abs(x))),
        at=(0.0,),
        under={"x ≠ 0"},
        right=piecewise(lambda x: jnp.exp(x * jnp.abs(x)), lambda x: 2 * jnp.abs(x) * jnp.exp(x * jnp.abs(x))),
    ),
    Trap(
        "the mask of a mask",
        piecewise(lambda x: where(where(x > 0, x, 2 * x) > 0, x, 3 * x), lambda x: where(x > 0, 1.0, 3.0)),
        at=(0.0,),
        under={"x ≠ 0"},
        right=piecewise(lambda x: where(where(x > 0, x, 2 * x) > 0, x * x, 0.0), lambda x: where(x > 0, 2 * x, 0.0)),
        hypotheses={"x ≠ 0"},  # more than it needs
    ),
]

ELU = {"params": {"alpha": None}}
TWO = {"params": {"alpha": None, "beta": None}}


def elu(x, alpha):
    return where(x > 0, x, alpha * (jnp.exp(x) - 1))


def nested(x, y, *, alpha, beta):
    return where(where(y > 0, x, 2 * x) > 0, x, where(y > 0, alpha, beta) * (jnp.exp(x) - 1))


PARAMETERS = [
    Trap(
        "elu's kink goes away at alpha = 1 only",
        piecewise(lambda x, *, alpha: elu(x, alpha), lambda x, *, alpha: where(x > 0, 1.0, alpha * jnp.exp(x)), **ELU),
        at=(0.0,),
        numbers={"alpha": 2.0},
        under={"x ≠ 0 or alpha = 1"},
        right=piecewise(lambda x: elu(x, 1.0), lambda x: where(x > 0, 1.0, jnp.exp(x))),
    ),
    Trap(
        "two parameters, two kinks at the same place",
        piecewise(
            lambda x, *, alpha, beta: elu(x, alpha) + elu(x, beta),
            lambda x, *, alpha, beta: where(x > 0, 2.0, (alpha + beta) * jnp.exp(x)),
            **TWO,
        ),
        at=(0.0,),
        numbers={"alpha": 1.0, "beta": 2.0},
        under={"x ≠ 0 or beta/2 + alpha/2 = 1"},
    ),
    Trap(
        "a kink under a mask of another variable",
        of_two(
            nested,
            lambda x, y, *, alpha, beta: (where(x > 0, 1.0, where(y > 0, alpha, beta) * jnp.exp(x)), jnp.zeros_like(y)),
            **TWO,
        ),
        at=(0.0, 1.0),
        numbers={"alpha": 2.0, "beta": 1.0},
        under={"x ≠ 0 or alpha = 1", "x ≠ 0 or beta = 1"},
    ),
    Trap(
        "alpha = 1 on one side of y, beta = 1 on the other",
        of_two(
            lambda x, y, *, alpha, beta: where(y > 0, elu(x, alpha), elu(x, beta)) * y * y,
            lambda x, y, *, alpha, beta: (
                where(x > 0, 1.0, where(y > 0, alpha, beta) * jnp.exp(x)) * y * y,
                where(y > 0, elu(x, alpha), elu(x, beta)) * 2 * y,
            ),
            **TWO,
        ),
        at=(0.0, -1.0),
        numbers={"alpha": 1.0, "beta": 2.0},
        under={"x ≠ 0"},
    ),
]

w_below = {"params": {"w": "w < 0"}}


def wedge(x, y, *, w):
    """1 where x ≤ 0, y ≤ -w x and y ≥ w x, which for w < 0 is the origin alone."""
    return where(x > 0, 0.0, where(w * x + y > 0, 0.0, where(w * x - y > 0, 0.0, 1.0)))


TWO_VARIABLES = [
    Trap(
        "relu of a sum",
        of_two(lambda x, y: jnp.maximum(x + y, 0), lambda x, y: (where(x + y > 0, 1.0, 0.0),) * 2),
        at=(1.0, -1.0),
        under={"x + y ≠ 0"},
    ),
    Trap(
        "max(x, x) has no tie; max(x, y) has",
        declare("*s -> *s", lambda x: jnp.maximum(x, x), lambda x, g: 0.5 * g),
        at=(1.0,),
        right=declare("*s -> *s", lambda x: jnp.maximum(x, x), lambda x, g: g),
    ),
    Trap(
        "max(x, y) shares its ties by convention only",
        of_two(
            lambda x, y: jnp.maximum(x, y),
            lambda x, y: (where(x > y, 1.0, where(x == y, 0.5, 0.0)), where(x < y, 1.0, where(x == y, 0.5, 0.0))),
        ),
        at=(1.0, 1.0),
        under={"x ≠ y"},
    ),
    Trap(
        "max(x, y) + min(x, y) is x + y",
        of_two(lambda x, y: jnp.maximum(x, y) + jnp.minimum(x, y), lambda x, y: (where(x == y, 0.0, 1.0), 1.0)),
        at=(1.0, 1.0),
        verdict="refuted",
        right=of_two(lambda x, y: jnp.maximum(x, y) + jnp.minimum(x, y), lambda x, y: (1.0, 1.0)),
    ),
    Trap(
        "a sliver between three lines that is a point",
        of_two(
            lambda x, y, *, w: wedge(x, y, w=w) * x,
            lambda x, y, *, w: (wedge(x, y, w=w), jnp.zeros_like(y)),
            **w_below,
        ),
        at=(0.0, 0.0),
        numbers={"w": -1.0},
        needs={"y + w·x ≠ 0 or x ≠ 0", "w·x ≠ y or x ≠ 0"},
        right=of_two(lambda x, y, *, w: wedge(x, y, w=w) * x, lambda x, y, *, w: (jnp.zeros_like(x),) * 2, **w_below),
        hypotheses={"y + w·x ≠ 0 or x ≠ 0", "w·x ≠ y or x ≠ 0"},  # more than it needs
    ),
    Trap(
        "the sign of a quotient beside the sign of its numerator",
        of_two(
            lambda x, y: where(x > 0, x * jnp.sign(y), 0.0) + where(x / y > 0, 0.0, x),
            lambda x, y: (where(x > 0, jnp.sign(y), 0.0) + where(x / y > 0, 0.0, 1.0), jnp.zeros_like(y)),
        ),
        at=(0.0, -1.0),
        needs={"x ≠ 0", "y ≠ 0"},
    ),
    Trap(
        "a product of two kinks that cancels each",
        of_two(
            lambda x, y: jnp.maximum(x, 0) * jnp.maximum(y, 0),
            lambda x, y: (where(x > 0, jnp.maximum(y, 0), 0.0), where(y > 0, jnp.maximum(x, 0), 0.0)),
        ),
        at=(0.0, 1.0),
        under={"x ≠ 0", "y ≠ 0"},
    ),
]


def constant_but_for_jumps(condition):
    return declare(
        "n -> n",
        lambda x: where(condition(x), 1.0, 0.0) + 0 * x,
        lambda x, dx: 0 * dx,
        lambda x, g: 0 * g,
    )


def relu_sum(x):
    return jnp.sum(jnp.maximum(x, 0))


UNDER_BINDERS = [
    Trap(
        "a threshold on a sum of pieces",
        constant_but_for_jumps(lambda x: relu_sum(x) > 1),
        at=([0.5, 0.5],),
        under={"(Σi x[i]·[x[i] > 0]) ≠ 1", "x ≠ 0"},
        seen=False,
    ),
    Trap(
        "an entry against a sum of pieces",
        constant_but_for_jumps(lambda x: x > 2 * relu_sum(x) - 1),
        at=([0.5, 0.25],),
        under={"x[i] ≠ 2·(Σj x[j]·[x[j] > 0]) − 1", "x ≠ 0"},
        seen=False,
    ),
    Trap(
        "a threshold on a maximum of steps",
        constant_but_for_jumps(lambda x: jnp.max(where(x > 0, 1.0, 0.0)) > 0.5),
        at=([0.0, -1.0],),
        under={"x ≠ 0"},
        seen=False,
    ),
    Trap(
        "a count of steps jumps with its steps alone",
        constant_but_for_jumps(lambda x: jnp.sum(where(x > 0, 1.0, 0.0)) > 0.5),
        at=([0.0, -1.0],),
        under={"x ≠ 0"},
        seen=False,
    ),
]


def test_a_product_has_the_signs_of_its_factors():
    """x² > 1 is |x| > 1."""

    def fwd(x):
        return where(x * x > 1, where(jnp.abs(x) > 1, 1.0, 3.0), 1.0) + 0 * x, x

    one = declare("*s -> *s", lambda x: 1.0 + 0 * x, lambda x, g: 0 * g, fwd=fwd)
    assert audit(one).verdict == "proved"


def test_where_infinite_entries_begin_there_is_no_derivative():
    """`where(x < 0, -inf, -x)` jumps at 0, where it is kept: the rule is proved for x > 0, and not for x ≥ 0."""
    supported = declare("*s -> *s", lambda x: jnp.where(x < 0, -jnp.inf, -x), lambda x, dx: -dx, lambda x, g: -g)
    certificate = audit(supported)
    assert certificate.verdict == "proved under hypotheses"
    assert "x > 0" in hypotheses(certificate)
