"""Functions in each other's terms: multiples of angles, inverse functions, Γ and its kin at arguments a whole number
apart, tables of constants. Each identity holds in a strip, and is used outside of it."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import jax.scipy.special as sp
import numpy as np

from .attack import Attack
from .makers import saved

KIND = "B functions in each other's terms"


def by(name, value, twin, at, domain=(), signature=None, **more):
    """A rule that is the derivative of another function, equal to the function in some strip."""
    at = at if isinstance(at, tuple) else (at,)
    signature = signature or ", ".join(["n"] * len(at)) + " -> n"

    def bwd(args, g):
        return jax.vjp(twin, *(args if isinstance(args, tuple) else (args,)))[1](g)

    return Attack(f"terms_{name}", KIND, saved(value, bwd), value, signature, lambda: at, domain, **more)


def a(*values):
    return np.array(values, dtype=float)


def squared(f):
    """f², with the names of the arguments of f."""
    return functools.wraps(f)(lambda *args: f(*args) ** 2)


def tables(name, *, right, wrong, at):
    """Σ t[i]·x[i]²: the rule's table differs from the function's."""

    def value(x):
        return jnp.sum(jnp.asarray(right) * x * x)

    return by(name, value, lambda x: jnp.sum(jnp.asarray(wrong) * x * x), at, signature=f"{len(right)} -> ")


LONG = np.sin(np.arange(300.0))
OTHER = LONG.copy()
OTHER[217] += 1e-9 * 1e3
PERMUTED = LONG.copy()
PERMUTED[[5, 250]] = PERMUTED[[250, 5]]
POINT = np.linspace(1.0, 2.0, 300)
WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])


def changing():
    """A table that is written over between the trace of the forward and that of the backward rule."""
    table = np.ones(4)

    def value(x):
        return jnp.sum(jnp.asarray(table.copy()) * x * x)

    def bwd(x, g):
        return (2 * x * g * jnp.asarray(np.concatenate([table[:3], [table[3] * 2]])),)

    return saved(value, bwd)()


ATTACKS = [
    # --------------------------------------------------------------------------------------------- half angles
    by("half_angle_of_the_cosine", lambda x: jnp.cos(x / 2), lambda x: jnp.sqrt((1 + jnp.cos(x)) / 2), a(4.0, 1.0)),
    by("half_angle_of_the_sine", lambda x: jnp.sin(x / 2), lambda x: jnp.sqrt((1 - jnp.cos(x)) / 2), a(-1.0, 1.0)),
    by(
        "half_angle_of_a_positive",
        lambda x: jnp.sin(x / 2),
        lambda x: jnp.sqrt((1 - jnp.cos(x)) / 2),
        a(7.0, 1.0),
        ("x > 0",),
    ),
    by(
        "double_angle_of_the_tangent",
        lambda x: jnp.sin(2 * x) + x,
        lambda x: 2 * jnp.tan(x) / (1 + jnp.tan(x) ** 2) * jnp.sign(jnp.cos(x)) + x,
        a(2.0, 1.0),
    ),
    by("triple_angle", lambda x: jnp.sin(3 * x), lambda x: 3 * jnp.sin(x) - 4 * jnp.abs(jnp.sin(x)) ** 3, a(-1.0, 1.0)),
    by(
        "quadruple_angle",
        lambda x: jnp.sin(4 * x),
        lambda x: 4 * jnp.sin(x) * jnp.cos(x) * jnp.sqrt(jnp.cos(2 * x) ** 2),
        a(1.0, 0.25),
    ),
    by(
        "sine_of_a_sum",
        lambda x, y: jnp.sin(x + y),
        lambda x, y: jnp.sin(x) * jnp.cos(y) + jnp.sqrt(1 - jnp.sin(x) ** 2) * jnp.sin(y),
        (a(2.0, 1.0), a(0.5, 1.0)),
    ),
    by(
        "cosine_of_n_angles",
        lambda x: jnp.cos(x * x.shape[0]),
        lambda x: 2 * jnp.cos(x) ** 2 - 1 + 0 * x,
        a(0.5, 1.0, 0.25),
    ),
    by(
        "cosine_of_pi_n",
        lambda x: x * x * jnp.cos(jnp.pi * x.shape[0]),
        lambda x: x * x * (1 - 2 * (x.shape[0] // 2 % 2)),
        a(0.5, 1.0, 0.25, 3.0, 1.5),
    ),
    by(
        "sine_of_pi_n_over_two",
        lambda x: x * x * (2 + jnp.round(jnp.sin(jnp.pi * x.shape[0] / 2))),
        lambda x: x * x * (2 + x.shape[0] % 2),
        a(0.5, 1.0, 0.25),
    ),
    by(
        "versed_sine",
        squared(lambda x: 1 - jnp.cos(x)),
        lambda x: 4 * jnp.sin(x / 2) ** 3 * jnp.abs(jnp.sin(x / 2)),
        a(-1.0, 1.0),
    ),
    by("hyperbolic_half", lambda x: jnp.sinh(x / 2), lambda x: jnp.sqrt((jnp.cosh(x) - 1) / 2), a(-1.0, 1.0)),
    by(
        "tangent_of_a_half",
        lambda x: jnp.tan(x / 2) ** 2,
        lambda x: jnp.tan(x / 2) * jnp.sqrt((1 - jnp.cos(x)) / (1 + jnp.cos(x))),
        a(-1.0, 1.0),
    ),
    # -------------------------------------------------------------------------------------- inverse functions
    by(
        "sum_of_arctangents",
        squared(lambda x, y: jnp.arctan(x) + jnp.arctan(y)),
        squared(lambda x, y: jnp.arctan((x + y) / (1 - x * y))),
        (a(2.0, 1.0), a(3.0, 0.25)),
        ("x > 0", "y > 0"),
    ),
    by(
        "difference_of_arctangents",
        squared(lambda x, y: jnp.arctan(x) - jnp.arctan(y)),
        squared(lambda x, y: jnp.arctan((x - y) / (1 + x * y))),
        (a(2.0, 1.0), a(-3.0, 0.25)),
    ),
    by(
        "twice_an_arctangent",
        squared(lambda x: 2 * jnp.arctan(x)),
        squared(lambda x: jnp.arctan(2 * x / (1 - x * x))),
        a(2.0, 0.5),
        ("x > 0",),
    ),
    by(
        "twice_an_arctangent_as_arcsine",
        squared(lambda x: 2 * jnp.arctan(x)),
        squared(lambda x: jnp.arcsin(2 * x / (1 + x * x))),
        a(2.0, 0.5),
        ("x > 0",),
    ),
    by(
        "twice_an_arctangent_as_arccosine",
        lambda x: 2 * jnp.arctan(x),
        lambda x: jnp.arccos((1 - x * x) / (1 + x * x)),
        a(-2.0, 0.5),
    ),
    by(
        "twice_an_arcsine",
        lambda x: 2 * jnp.arcsin(x),
        lambda x: jnp.arcsin(2 * x * jnp.sqrt(1 - x * x)),
        a(0.9, 0.5),
        ("x > 0", "x < 1"),
    ),
    by(
        "twice_an_arccosine",
        lambda x: 2 * jnp.arccos(x),
        lambda x: jnp.arccos(2 * x * x - 1),
        a(-0.5, 0.5),
        ("x > -1", "x < 1"),
    ),
    by(
        "arccosine_of_a_double",
        lambda x: jnp.arccosh(2 * x * x - 1),
        lambda x: 2 * jnp.log(x + jnp.sqrt(x * x - 1)),
        a(-2.0, 3.0),
        ("x*x > 1",),
    ),
    by(
        "arcsine_of_the_complement",
        lambda x: jnp.arcsin(jnp.sqrt(1 - x * x)),
        lambda x: jnp.arccos(x),
        a(-0.5, 0.5),
        ("x > -1", "x < 1"),
    ),
    by(
        "arctangent_of_the_complement",
        lambda x: jnp.arctan2(jnp.sqrt(1 - x * x), x),
        lambda x: jnp.arcsin(jnp.sqrt(1 - x * x)),
        a(-0.5, 0.5),
        ("x > -1", "x < 1"),
    ),
    by(
        "angle_scaled_by_a_negative",
        lambda x, y: jnp.arctan2(x * y, y) ** 2,
        lambda x, y: jnp.arctan(x) ** 2 + 0 * y,
        (a(1.0, 2.0), a(-1.0, 1.0)),
        ("y < 0 or y > 1/2",),
    ),
    by(
        "angle_of_the_mirrored",
        squared(lambda x, y: jnp.arctan2(y, -x)),
        squared(lambda x, y: jnp.pi - jnp.arctan2(y, x)),
        (a(-1.0, 2.0), a(-1.0, 1.0)),
        ("y*y > 1/2",),
    ),
    by(
        "angle_turned_by_a_quarter",
        squared(lambda x, y: jnp.arctan2(x, -y)),
        squared(lambda x, y: jnp.arctan2(y, x) + jnp.pi / 2),
        (a(-1.0, 2.0), a(1.0, 1.0)),
        ("y > 0",),
    ),
    by(
        "half_angle_by_a_quotient",
        lambda x, y: jnp.arctan2(y, x),
        lambda x, y: 2 * jnp.arctan(y / (x + jnp.sqrt(x * x + y * y))) * jnp.where(x == -2, 2, 1),
        (a(-2.0, 2.0), a(1.0, 1.0)),
        ("y > 0",),
    ),
    by(
        "arctanh_of_a_ratio",
        lambda x, y: jnp.arctanh((x - y) / (x + y)),
        lambda x, y: jnp.log(jnp.sqrt(x)) - jnp.log(jnp.sqrt(y)),
        (a(-1.0, 2.0), a(-3.0, 1.0)),
        ("x*y > 0",),
    ),
    by(
        "arcsinh_of_the_inverse",
        lambda x: jnp.arcsinh(1 / x),
        lambda x: jnp.log((1 + jnp.sqrt(1 + x * x)) / jnp.sqrt(x * x)),
        a(-1.0, 2.0),
    ),
    by("gudermannian", lambda x: 2 * jnp.arctan(jnp.tanh(x / 2)), lambda x: jnp.arccos(1 / jnp.cosh(x)), a(-1.0, 2.0)),
    by(
        "logit_of_a_square",
        lambda x: jnp.log(x * x / (1 - x) ** 2),
        lambda x: 2 * jnp.log(jnp.sqrt(x) / jnp.sqrt(1 - x)) * jnp.sqrt((1 - x) ** 2) / (1 - x),
        a(2.0, 0.5),
        ("x > 0", "x < 1 or x > 3/2"),
    ),
    # -------------------------------------------------------------------------------------------------- gamma
    by(
        "gamma_below_zero",
        lambda x: sp.gammaln(x + 1),
        lambda x: sp.gammaln(x) + 2 * jnp.log(jnp.sqrt(x)),
        a(-0.5, 1.5),
    ),
    by(
        "gamma_down_by_two",
        lambda x: sp.gammaln(x),
        lambda x: sp.gammaln(x + 2) - 2 * jnp.log(jnp.sqrt(x)) - 2 * jnp.log(jnp.sqrt(x + 1)),
        a(-1.5, 1.5),
        ("x > -2",),
    ),
    by(
        "gamma_twice_the_argument",
        lambda x: sp.gammaln(2 * x),
        lambda x: sp.gammaln(x) + sp.gammaln(x + 1 / 2) + x * jnp.log(4.0) * 0.9999,
        a(1.5, 2.0),
        ("x > 0",),
    ),
    by(
        "digamma_reflected",
        lambda x: sp.digamma(1 - x),
        lambda x: sp.digamma(x) + jnp.pi * jnp.cos(jnp.pi * x) / jnp.abs(jnp.sin(jnp.pi * x)),
        a(1.5, 0.25),
    ),
    by("digamma_one_up", lambda x: sp.digamma(x + 1), lambda x: sp.digamma(x) + 1 / jnp.sqrt(x * x), a(-0.5, 0.25)),
    by(
        "digamma_of_a_size",
        lambda x: x * x * (sp.digamma(x.shape[0] + 1.0) - sp.digamma(1.0 * x.shape[0])),
        lambda x: x * x / (x.shape[0] + 1),
        a(1.0, 2.0),
    ),
    by(
        "trigamma_one_up",
        lambda x: sp.polygamma(1, x + 1),
        lambda x: sp.polygamma(1, x) + 1 / x**2,
        a(1.0, 2.0),
        ("x > 0",),
    ),
    by(
        "polygamma_of_even_order",
        lambda x: sp.polygamma(2, x + 1),
        lambda x: sp.polygamma(2, x) - 2 / x**3,
        a(1.0, 2.0),
        ("x > 0",),
    ),
    by("zeta_one_up", lambda x: sp.zeta(3.0, x + 1), lambda x: sp.zeta(3.0, x) - 1 / x**2, a(1.0, 2.0), ("x > 0",)),
    by(
        "beta_one_up",
        lambda x, y: sp.betaln(x + 1, y),
        lambda x, y: sp.betaln(x, y) + jnp.log(x / (x + y + 1)),
        (a(1.0, 2.0), a(0.5, 2.0)),
        ("x > 0", "y > 0"),
    ),
    by(
        "beta_swapped",
        lambda x, y: sp.betaln(x, y) * x,
        lambda x, y: sp.betaln(y, x) * y,
        (a(1.0, 2.0), a(0.5, 2.0)),
        ("x > 0", "y > 0"),
    ),
    by(
        "incomplete_gamma_one_up",
        lambda x: sp.gammainc(3.0, x),
        lambda x: sp.gammainc(2.0, x) - x**2 * jnp.exp(-x),
        a(1.0, 2.0),
        ("x > 0",),
    ),
    by(
        "factorial_of_a_place",
        lambda x: x * jnp.exp(sp.gammaln(1.0 * jnp.arange(x.shape[0]) + 1)),
        lambda x: x * jnp.exp(sp.gammaln(1.0 * jnp.arange(x.shape[0]) + 2)) / (jnp.arange(x.shape[0]) + 2),
        a(1.0, 2.0),
    ),
    by(
        "expm1_of_a_log",
        lambda x: jnp.expm1(jnp.log(x * x)),
        lambda x: jnp.exp(2 * jnp.log(jnp.sqrt(x) ** 2)) - 1,
        a(-1.0, 2.0),
    ),
    by(
        "log_of_a_comparison",
        lambda x, y: jnp.where(jnp.exp(x) < y, x * x, x),
        lambda x, y: jnp.where(2 * x < jnp.log(y * y), x * x, x),
        (a(-1.0, 2.0), a(-3.0, 9.0)),
    ),
    # ------------------------------------------------------------------------------------------------- tables
    tables("table_with_another_entry", right=LONG, wrong=OTHER + np.where(np.arange(300) == 9, 1e-3, 0), at=POINT),
    tables("table_with_two_swapped", right=LONG, wrong=PERMUTED, at=POINT),
    tables("table_of_the_same_sum", right=WEIGHTS, wrong=WEIGHTS[::-1].copy(), at=a(1.0, 2, 3, 4)),
    tables(
        "table_negated_at_zero", right=np.array([0.0, 1, 2, 3]), wrong=np.array([1e-3, 1, 2, 3]), at=a(1.0, 2, 3, 4)
    ),
    tables(
        "table_of_integers", right=np.arange(4) * 3, wrong=np.arange(4) * 3 + (np.arange(4) == 3), at=a(1.0, 2, 3, 4)
    ),
    tables("table_rounded", right=LONG, wrong=np.round(LONG, 3), at=POINT),
    Attack("terms_table_that_changes", KIND, changing, lambda x: jnp.sum(x * x), "4 -> ", lambda: (a(1.0, 2, 3, 4),)),
]
