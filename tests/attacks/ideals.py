"""Attacks on what is declared of a function: an ideal that it approximates, or an equation that it solves."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import certgrad

from .attack import Attack
from .written import reverse

where = jnp.where
IDEALS, SOLVERS = "C ideals", "C solvers"


def cosine_by_series(x):
    return 1 - x**2 / 2 + x**4 / 24 - x**6 / 720 + x**8 / 40320


def declared_series(domain=("x > -1", "x < 1")):
    """A cosine that is one for small angles alone, and says so."""
    rule = jax.custom_jvp(cosine_by_series)
    rule.defjvp(lambda p, t: (rule(*p), -jnp.sin(p[0]) * t[0]))
    return certgrad.declare("n -> n", domain=domain, approximates=jnp.cos)(rule)


def sine_by(cosine, **more):
    def make():
        c = cosine()
        return reverse(lambda x: jnp.sin(x), lambda x, g: g * c(x))

    return make


def wrong_ideal():
    """An ideal with a rule of its own, which is wrong."""
    f = jax.custom_jvp(lambda x: jnp.exp(x))
    f.defjvp(lambda p, t: (f(*p), 3 * f(*p) * t[0]))
    return f


def stopped_ideal(x):
    return x * lax.stop_gradient(x) * x / 3


def at(*values):
    found = tuple(np.asarray(v) for v in values)
    return lambda: found


def newton(start, steps=40):
    @certgrad.solves(lambda z, x: z * z - x)
    def root(x):
        return lax.fori_loop(0, steps, lambda _, z: (z + x / z) / 2, jnp.full_like(x, start))

    return root


def root_from(other):
    """The positive root, whose rule divides by another solver's."""

    def make():
        mine, its = newton(1.0), other()
        return reverse(lambda x: mine(x), lambda x, g: g / (2 * its(x)))

    return make


def by_argument():
    @certgrad.solves(lambda z, x, start: z * z - x)
    def root(x, start):
        return lax.fori_loop(0, 40, lambda _, z: (z + x / z) / 2, jnp.full_like(x, start))

    return reverse(lambda x: root(x, 1.0), lambda x, g: g / (2 * root(x, -1.0)))


def by_residuals_closure(sign):
    @certgrad.solves(lambda z, x: z - sign * x)
    def line(x):
        return sign * x

    return line


def residual_that_stops():
    @certgrad.solves(lambda z, x: z - lax.stop_gradient(x) * x)
    def square(x):
        return x * x

    return reverse(square, lambda x, g: g * x)


def residual_of_two_pieces():
    @certgrad.solves(lambda z, x: where(z > 10, z - 3 * x, z - x))
    def solve(x):
        return where(x > 10, 3 * x, x)

    return reverse(solve, lambda x, g: g)


def residual_of_neighbours():
    @certgrad.solves(lambda z, x: z - 0.5 * jnp.roll(z, 1) - x)
    def solve(x):
        return lax.fori_loop(0, 80, lambda _, z: 0.5 * jnp.roll(z, 1) + x, x)

    def pull(x, g):
        return lax.fori_loop(0, 80, lambda _, z: 0.5 * jnp.roll(z, 1) + g, g)

    return reverse(solve, pull)


def residual_squared():
    @certgrad.solves(lambda z, x: (z - x) ** 3)
    def solve(x):
        return x * 1.0

    return reverse(solve, lambda x, g: 7 * g)


def residual_by_integers():
    @certgrad.solves(lambda z, x: z - jnp.floor(x) * x)
    def solve(x):
        return jnp.floor(x) * x

    return reverse(solve, lambda x, g: g * where(jnp.floor(x) == x, 9.0, jnp.floor(x)))


def negative():
    @certgrad.solves(lambda z, x: z * z - x)
    def root(x):
        return -lax.fori_loop(0, 40, lambda _, z: (z + x / z) / 2, jnp.full_like(x, 1.0))

    return root


def branched():
    @certgrad.solves(lambda z, x: z * z - x)
    def root(x):
        z = lax.fori_loop(0, 40, lambda _, z: (z + x / z) / 2, jnp.full_like(x, 1.0))
        return where(x > 1.5, -z, z)

    return root


ATTACKS = [
    Attack(
        "a_cosine_beyond_its_domain",
        IDEALS,
        sine_by(declared_series),
        jnp.sin,
        "n -> n",
        at([4.0]),
        declared={"approximates": jnp.sin},
    ),
    Attack(
        "a_cosine_beyond_its_domain_in_a_plain_rule", IDEALS, sine_by(declared_series), jnp.sin, "n -> n", at([4.0])
    ),
    Attack(
        "an_ideal_with_a_wrong_rule",
        IDEALS,
        lambda: reverse(jnp.exp, lambda x, g: 3 * g * jnp.exp(x)),
        jnp.exp,
        "n -> n",
        at([1.0]),
        declared={"approximates": wrong_ideal()},
    ),
    Attack(
        "an_ideal_that_stops",
        IDEALS,
        lambda: reverse(lambda x: x**3 / 3, lambda x, g: 2 * g * x * x / 3),
        lambda x: x**3 / 3,
        "n -> n",
        at([2.0]),
        declared={"approximates": stopped_ideal},
    ),
    Attack(
        "an_ideal_with_a_wrong_slope_at_a_point",
        IDEALS,
        lambda: reverse(lambda x: x**3 / 3, lambda x, g: g * where(x == 2, 5.0, x * x)),
        lambda x: x**3 / 3,
        "n -> n",
        at([2.0]),
        declared={"approximates": lambda x: x**3 / 3},
    ),
    *(
        Attack(f"a_root_from_{name}", SOLVERS, root_from(other), jnp.sqrt, "n -> n", at([2.0]), domain=("x > 0",))
        for name, other in {
            "below": lambda: newton(-1.0),
            "below_with_an_integer": lambda: newton(-1),
            "below_by_negation": lambda: negative(),
            "below_by_a_branch": lambda: branched(),
        }.items()
    ),
    Attack("a_root_from_a_start_as_argument", SOLVERS, by_argument, jnp.sqrt, "n -> n", at([2.0]), domain=("x > 0",)),
    Attack(
        "solvers_of_one_factory",
        SOLVERS,
        lambda: reverse(lambda x: x * by_residuals_closure(1.0)(x) / 2, lambda x, g: g * by_residuals_closure(-1.0)(x)),
        lambda x: x * x / 2,
        "n -> n",
        at([2.0]),
    ),
    Attack("a_residual_that_stops", SOLVERS, residual_that_stops, lambda x: x * x, "n -> n", at([2.0])),
    Attack(
        "a_residual_of_two_pieces",
        SOLVERS,
        residual_of_two_pieces,
        lambda x: where(x > 10, 3 * x, x),
        "n -> n",
        at([20.0]),
    ),
    Attack(
        "a_residual_of_neighbours",
        SOLVERS,
        residual_of_neighbours,
        lambda x: jnp.linalg.solve(jnp.eye(x.size) - 0.5 * jnp.roll(jnp.eye(x.size), 1, 0), x),
        "n -> n",
        at([1.0, 2.0, 5.0]),
    ),
    Attack("a_residual_that_is_flat", SOLVERS, residual_squared, lambda x: x * 1.0, "n -> n", at([2.0])),
    Attack(
        "a_residual_by_integers",
        SOLVERS,
        residual_by_integers,
        lambda x: where(x > 0, 2.0, 3.0) * x,
        "n -> n",
        at([2.0]),
    ),
]
