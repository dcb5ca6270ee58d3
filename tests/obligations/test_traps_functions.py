"""Identities that hold only on part of the line: roots, logarithms, powers, special functions."""

import jax
import jax.numpy as jnp
from jax import lax

from tests.obligations.traps import Trap, declare

where = jnp.where


def by(forward, slope, **options):
    return declare("*s -> *s", forward, lambda x, g, **p: slope(x, **p) * g, **options)


def of_two(forward, slopes, **options):
    def jvp(x, y, dx, dy):
        a, b = slopes(x, y)
        return a * dx + b * dy

    def vjp(x, y, g):
        a, b = slopes(x, y)
        return a * g, b * g

    return declare("*s, *s -> *s", forward, jvp, vjp, **options)


def with_forward(forward, right, wrong, domain=()):
    """A rule whose own primal output is `wrong`, and one whose is `right`; both with JAX's derivative."""

    def rule(primal):
        return declare(
            "*s -> *s",
            forward,
            lambda res, dx: jax.jvp(forward, (res,), (dx,))[1],
            lambda res, g: jax.vjp(forward, res)[1](g)[0],
            fwd=lambda x: (primal(x), x),
            domain=domain,
        )

    return rule(right), rule(wrong)


def primal_trap(name, forward, right, wrong, at, hypotheses=(), domain=(), **options):
    good, bad = with_forward(forward, right, wrong, domain)
    return Trap(name, bad, at=at, right=good, hypotheses=set(hypotheses), **options)


ROOTS_AND_LOGARITHMS = [
    Trap(
        "sqrt(x²) is |x|",
        by(lambda x: jnp.sqrt(x * x), lambda x: 1.0),
        at=(-1.0,),
        right=by(lambda x: jnp.sqrt(x * x), lambda x: jnp.sign(x)),
        hypotheses={"x ≠ 0"},
    ),
    Trap(
        "log(x²) is 2 log|x|, its derivative 2/x for both signs",
        by(lambda x: jnp.log(x * x), lambda x: 2 / jnp.abs(x)),
        at=(-1.0,),
        right=by(lambda x: jnp.log(x * x), lambda x: 2 / x),
        hypotheses={"x ≠ 0"},
    ),
    primal_trap(
        "log(x²) is 2 log x for x > 0 only",
        lambda x: jnp.log(x * x + 1 - 1),
        lambda x: jnp.log(x * x),
        lambda x: 2 * jnp.log(x),
        at=(-1.0,),
        hypotheses={"x ≠ 0"},
        fine=(2.0,),
        needs={"x > 0"},
    ),
    primal_trap(
        "sqrt(x) sqrt(x) is x for x ≥ 0 only",
        lambda x: x,
        lambda x: x,
        lambda x: jnp.sqrt(x) * jnp.sqrt(x),
        at=(-1.0,),
        needs={"x ≥ 0"},
    ),
    primal_trap(
        "(x²)^(1/4) is |x|^(1/2)",
        lambda x: (x * x) ** 0.25,
        lambda x: jnp.power(x * x, 0.25),
        lambda x: x**0.5,
        at=(-1.0,),
        fine=(-2.0,),
        hypotheses={"x ≠ 0"},
    ),
    primal_trap(
        "exp(log x) is x for x > 0 only",
        lambda x: x,
        lambda x: x,
        lambda x: jnp.exp(jnp.log(x)),
        at=(-1.0,),
        needs={"x > 0"},
    ),
    Trap(
        "cbrt(x³) is x, also for x < 0",
        by(lambda x: jnp.cbrt(x * x * x), lambda x: jnp.sign(x)),
        at=(-1.0,),
        right=by(lambda x: jnp.cbrt(x * x * x), lambda x: x * x / jnp.cbrt(x * x * x) ** 2, domain=("x != 0",)),
        hypotheses={"x ≠ 0"},
    ),
    primal_trap(
        "log(x y) is log x + log y for x, y > 0 only",
        lambda x: jnp.log(x * (x - 1)),
        lambda x: jnp.log(x * x - x),
        lambda x: jnp.log(x) + jnp.log(x - 1),
        at=(-1.0,),
        fine=(-1.0,),
        hypotheses={"x^2 > x", "x ≠ 0", "x ≠ 1"},
        needs={"x > 1"},
    ),
    primal_trap(
        "sqrt(1/x²) is 1/|x|",
        lambda x: jnp.sqrt(1 / (x * x)),
        lambda x: 1 / jnp.abs(x),
        lambda x: 1 / x,
        at=(-1.0,),
        hypotheses={"x ≠ 0"},
    ),
    primal_trap(
        "sqrt(x⁴) is x², sqrt(x⁶) is |x|³",
        lambda x: jnp.sqrt(x**6 + 0),
        lambda x: jnp.abs(x) ** 3,
        lambda x: x**3,
        at=(-1.0,),
        hypotheses={"x ≠ 0"},
        domain=("x != 0",),
    ),
    primal_trap(
        "tanh by exponentials",
        lambda x: jnp.tanh(x),
        lambda x: (jnp.exp(2 * x) - 1) / (jnp.exp(2 * x) + 1),
        lambda x: (jnp.exp(x) - 1) / (jnp.exp(x) + 1),
        at=(1.0,),
    ),
    primal_trap(
        "sin² + cos² is 1, sin + cos is not",
        lambda x: 1.0 + 0 * x,
        lambda x: jnp.sin(x) ** 2 + jnp.cos(x) ** 2,
        lambda x: jnp.sin(x) + jnp.cos(x),
        at=(1.0,),
    ),
    primal_trap(
        "sin is odd, cos is even",
        lambda x: jnp.sin(-x) + jnp.cos(-x),
        lambda x: jnp.cos(x) - jnp.sin(x),
        lambda x: jnp.sin(x) - jnp.cos(x),
        at=(1.0,),
    ),
    primal_trap("atan(tan x) is not x", lambda x: x, lambda x: x, lambda x: jnp.arctan(jnp.tan(x)), at=(2.0,)),
    primal_trap("asin(sin x) is not x", lambda x: x, lambda x: x, lambda x: jnp.arcsin(jnp.sin(x)), at=(2.0,)),
]

POWERS = [
    Trap(
        "(x^a)^b is not x^(ab) for x < 0",
        by(lambda x: (x**2) ** 0.5, lambda x: 1.0),
        at=(-2.0,),
        right=by(lambda x: (x**2) ** 0.5, lambda x: where(x > 0, 1.0, -1.0)),
        hypotheses={"x ≠ 0"},
    ),
    Trap(
        "(x^a)^b with symbolic exponents, x > 0",
        by(lambda x, *, a: (x * x) ** a, lambda x, *, a: 2 * a * x ** (2 * a - 1), params={"a": None}),
        at=(-2.0,),
        numbers={"a": 0.7},
        right=by(
            lambda x, *, a: (x * x) ** a,
            lambda x, *, a: 2 * a * (x * x) ** a / x,
            params={"a": None},
            domain=("x != 0",),
        ),
        hypotheses={"x ≠ 0"},
    ),
    Trap(
        "a fractional power of a product needs the signs of both",
        of_two(lambda x, y: (x * y) ** 0.5, lambda x, y: (0.5 * x**-0.5 * y**0.5, 0.5 * x**0.5 * y**-0.5)),
        at=(-1.0, -2.0),
        right=of_two(lambda x, y: (x * y) ** 0.5, lambda x, y: (0.5 * y * (x * y) ** -0.5, 0.5 * x * (x * y) ** -0.5)),
        hypotheses={"x·y > 0"},
    ),
    Trap(
        "x^y with x > 0, and a log that forgets it",
        of_two(lambda x, y: x**y, lambda x, y: (y * x ** (y - 1), x**y * jnp.log(jnp.abs(x) + 1))),
        at=(2.0, 3.0),
        right=of_two(lambda x, y: x**y, lambda x, y: (y * x ** (y - 1), x**y * jnp.log(x))),
        hypotheses={"x > 0"},
    ),
    Trap(
        "x**-2 is even, x**-3 is not",
        by(lambda x: x**-2, lambda x: -2 / jnp.abs(x) ** 3),
        at=(-1.0,),
        right=by(lambda x: x**-2, lambda x: -2 * x**-3),
        hypotheses={"x ≠ 0"},
    ),
    Trap(
        "x**0 is 1",
        by(lambda x: x**0 * x, lambda x: where(x == 0, 0.0, 1.0)),
        at=(0.0,),
        verdict="refuted",
        right=by(lambda x: x**0 * x, lambda x: 1.0),
    ),
    Trap(
        "3x²",
        by(lambda x: x**3, lambda x: 3 * x * jnp.abs(x)),
        at=(-1.0,),
        right=by(lambda x: x**3, lambda x: 3 * x * x),
    ),
]

SPECIAL = [
    Trap(
        "erf's constant is 2/sqrt(pi)",
        by(lambda x: lax.erf(x), lambda x: 1.12837916709551 * jnp.exp(-x * x)),
        seen=False,
        right=by(lambda x: lax.erf(x), lambda x: 2 / jnp.sqrt(4 * jnp.arctan(1.0)) * jnp.exp(-x * x)),
        fine=(0.3,),
    ),
    Trap(
        "lgamma at negative x: log|Γ|",
        by(lambda x: lax.lgamma(x), lambda x: lax.digamma(jnp.abs(x))),
        at=(-0.5,),
        right=by(lambda x: lax.lgamma(x), lambda x: lax.digamma(x)),
        hypotheses={"x is not 0, −1, −2, …"},
    ),
    Trap("floor jumps", by(lambda x: jnp.floor(x), lambda x: 0 * x), at=(1.0,), under={"x is not an integer"}),
    Trap(
        "round jumps at halves",
        by(lambda x: jnp.round(x), lambda x: 0 * x),
        at=(0.5,),
        under={"x − 1/2 is not an integer"},
    ),
    Trap(
        "x - floor(x) is not smooth either",
        by(lambda x: x - jnp.floor(x), lambda x: 1.0),
        at=(1.0,),
        under={"x is not an integer"},
    ),
    Trap(
        "tan at its poles",
        by(lambda x: jnp.tan(x), lambda x: 1 - jnp.tan(x) ** 2),
        at=(1.0,),
        right=by(lambda x: jnp.tan(x), lambda x: 1 + jnp.tan(x) ** 2),
        hypotheses={"cos(x) ≠ 0"},
    ),
    Trap(
        "acosh at 1",
        by(lambda x: jnp.arccosh(x), lambda x: 1 / jnp.sqrt(x * x + 1)),
        at=(2.0,),
        right=by(lambda x: jnp.arccosh(x), lambda x: 1 / (jnp.sqrt(x - 1) * jnp.sqrt(x + 1))),
        hypotheses={"x > 1"},
    ),
    Trap(
        "atan2 behind the origin",
        of_two(lambda y, x: jnp.arctan2(y, x), lambda y, x: (-x / (x * x + y * y), y / (x * x + y * y))),
        at=(1.0, 2.0),
        right=of_two(lambda y, x: jnp.arctan2(y, x), lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y))),
        hypotheses={"x^2 + y^2 ≠ 0", "y ≠ 0 or x > 0"},
    ),
]
