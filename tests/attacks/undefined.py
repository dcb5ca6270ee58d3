"""A8: values that are undefined where the rule runs: at seams, at one index, at one size, behind masks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .example import custom
from .makers import square

KIND = "A8 undefined"


def wrong(name, value, bwd, at, signature="n -> n", fwd=None, **more):
    """A rule of one argument whose residual is the argument; undefined at the point."""

    def make():
        return custom(value, fwd or (lambda x: (value(x), x)), lambda x, g: (bwd(x, g),))

    return Attack(f"undefined_{name}", KIND, make, value, signature, lambda: (np.array(at),), **more)


def factor(name, one, at, **more):
    """x², with a factor that is 1 where it is defined."""
    return wrong(name, square, lambda x, g: 2 * x * g * one(x), at, **more)


def places(x):
    return jnp.arange(x.shape[0]).astype(x.dtype)


def size(x):
    return jnp.asarray(x.shape[0]).astype(x.dtype)


def ratio(y):
    return y / y


def smooth(x):
    return jnp.where(x > 0, x * x, 0.0)


NONZERO = ("x ≠ 0", "x0` ≠ 0")
POSITIVE = ("x > 0", "x0` > 0")
ATTACKS = [
    factor("quotient", ratio, [0.0, 1.0], excluded_by=NONZERO),
    factor("power_zero_of_log", lambda x: jnp.exp(jnp.log(x) * 0), [-1.0], excluded_by=POSITIVE),
    factor("place_by_place", lambda x: ratio(places(x)), [1.0, 2.0]),
    factor("place_minus_three", lambda x: ratio(places(x) - 3), [1.0] * 4, excluded_by=("i ≠ 3 for i<n",)),
    factor(
        "product_of_places",
        lambda x: ratio((places(x) - 2) * (places(x) - 5)),
        [1.0] * 6,
        excluded_by=("i ≠ 2 for i<n",),
    ),
    factor("last_place", lambda x: ratio(places(x) - size(x) + 1), [1.0, 2.0]),
    factor(
        "middle_place",
        lambda x: ratio(2 * places(x) - size(x) + 1),
        [1.0, 2.0, 3.0],
        excluded_by=("1 + 2·i ≠ n for i<n",),
    ),
    factor(
        "place_modulo",
        lambda x: ratio(jnp.mod(places(x), 3) - 2),
        [1.0, 2.0, 3.0],
        excluded_by=("2 + 3·[i > 0]·floor(i/3) ≠ i",),
    ),
    factor(
        "integer_rest",
        lambda x: ratio((jnp.arange(x.shape[0]) % 5 - 4).astype(x.dtype)),
        [1.0] * 5,
        excluded_by=("1 + i + 5·[i-5·⌊(i)/5⌋ = 0]",),
    ),
    factor("size_minus_one", lambda x: ratio(size(x) - 1), [1.0], excluded_by=("n ≠ 1",)),
    factor("size_minus_four", lambda x: ratio(size(x) - 4), [1.0] * 4, excluded_by=("n ≠ 4",)),
    factor("size_squared", lambda x: ratio(size(x) ** 2 - 49), [1.0] * 7, excluded_by=("n ≠ 7",)),
    factor(
        "half_of_size",
        lambda x: ratio(jnp.asarray(x.shape[0] // 2).astype(x.dtype)),
        [1.0],
        excluded_by=("floordiv(n, 2) ≠ 0",),
    ),
    factor(
        "rest_of_size",
        lambda x: ratio(jnp.asarray(x.shape[0] % 8 - 7).astype(x.dtype)),
        [1.0] * 7,
        excluded_by=("mod(n, 8) ≠ 7",),
    ),
    factor("log_of_size", lambda x: ratio(jnp.log(size(x))), [1.0], excluded_by=("log(n) ≠ 0",)),
    factor("root_of_size", lambda x: jnp.exp(0 * jnp.sqrt(size(x) - 2)), [1.0], excluded_by=("n ≥ 2",)),
    factor("log_of_size_less", lambda x: jnp.exp(0 * jnp.log(size(x) - 3)), [1.0] * 3, excluded_by=("n > 3",)),
    factor("reciprocal_times_zero", lambda x: 1 + 0 * (1 / (size(x) - 3)), [1.0] * 3, excluded_by=("n ≠ 3",)),
    factor("python_quotient", lambda x: 1 + 0 / (size(x) - 5), [1.0] * 5, excluded_by=("n ≠ 5",)),
    factor("variance_with_one", lambda x: ratio(jnp.var(places(x) + 1, ddof=1)), [1.0], excluded_by=("n > 1",)),
    factor("mean_of_none", lambda x: jnp.exp(0 * jnp.mean(places(x)[1:])), [1.0], excluded_by=("n ≠ 1",)),
    factor(
        "mean_of_half",
        lambda x: jnp.exp(0 * jnp.mean(places(x)[: x.shape[0] // 2])),
        [1.0],
        excluded_by=("floordiv(n, 2) ≠ 0",),
    ),
    factor("spacing", lambda x: ratio(1 / (size(x) - 1)), [1.0], excluded_by=("n ≠ 1",)),
    factor("sum_of_signs", lambda x: ratio(jnp.sum(jnp.where(places(x) % 2 == 0, 1.0, -1.0))), [1.0, 2.0]),
    factor(
        "count_above",
        lambda x: ratio(jnp.sum(places(x) > 2).astype(x.dtype)),
        [1.0, 2.0],
        excluded_by=("(Σi [i/2 > 1]) ≠ 0",),
    ),
    factor("diagonal", lambda x: jnp.mean(ratio(places(x)[:, None] - places(x)[None] + 3), 1), [1.0] * 4),
    factor("masked_by_product", lambda x: 1 + (x > 0) * 0 * jnp.log(x), [-1.0], excluded_by=POSITIVE),
    factor("masked_place", lambda x: 1 + 0 * jnp.log(jnp.where(places(x) == 1, 0.0, 1.0)), [1.0, 2.0]),
    factor(
        "zero_times_infinity",
        lambda x: 1 + 0 * jnp.where(places(x) == 2, jnp.inf, 1.0),
        [1.0] * 3,
        excluded_by=("i ≠ 2",),
    ),
    factor("infinity_less_infinity", lambda x: 1 + jnp.nan_to_num(0.0) + (jnp.inf - jnp.inf) * (places(x) == 4), [1.0]),
    factor("power_of_place", lambda x: places(x) ** -1.0 * places(x), [1.0, 2.0]),
    factor(
        "power_of_difference",
        lambda x: jnp.power(places(x) - 2.0, -1) * (places(x) - 2),
        [1.0] * 3,
        excluded_by=("i ≠ 2 for i<n",),
    ),
    factor("root_of_place", lambda x: 1 + 0 * jnp.sqrt(places(x) - 1), [1.0]),
    factor(
        "logarithm_of_cosine",
        lambda x: jnp.exp(0 * jnp.log(jnp.cos(places(x)))),
        [1.0] * 3,
        excluded_by=("cos(i) > 0 for i<n",),
    ),
    factor("arcsine_of_place", lambda x: 1 + 0 * jnp.arcsin(places(x)), [1.0] * 3, excluded_by=("i ≤ 1 for i<n",)),
    factor("gamma_of_place", lambda x: 1 + 0 * lax.digamma(-places(x)), [1.0] * 3),
    factor("polygamma", lambda x: 1 + 0 * lax.lgamma(-places(x)), [1.0] * 3),
    factor("atanh_of_place", lambda x: 1 + 0 * jnp.arctanh(places(x) - 2), [1.0] * 3),
    factor("tangent", lambda x: 1 + 0 * jnp.arccosh(places(x)), [1.0]),
    factor("in_scan", lambda x: lax.scan(lambda c, t: (c * ratio(t - 3), c), 1.0 + 0 * x[0], places(x))[0], [1.0] * 4),
    factor(
        "in_loop", lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c * ratio(i - 2.0), 1.0 + 0 * x[0]), [1.0] * 3
    ),
    factor(
        "in_masked_scan",
        lambda x: lax.scan(
            lambda c, t: (jnp.where(t > 3, c * 1.0, c), jnp.where(t == 3, 0.0, 1.0) / jnp.where(t == 3, 0.0, 1.0)),
            1.0 + 0 * x[0],
            places(x),
        )[1],
        [1.0] * 4,
    ),
    factor(
        "in_branch",
        lambda x: lax.cond(x.shape[0] - jnp.arange(1)[0] > 5, lambda: ratio(size(x) - 7), lambda: 1.0 + 0 * size(x)),
        [1.0] * 7,
        excluded_by=("n/7 ≠ 1 wherever n ≥ 6",),
    ),
    factor(
        "in_where_both",
        lambda x: jnp.where(places(x) == 1, 1.0, ratio(places(x) - 2)),
        [1.0] * 3,
        excluded_by=("i/2 ≠ 1 wherever",),
    ),
    factor(
        "max_of_masked",
        lambda x: 1 + 0 * jnp.max(jnp.where(places(x) > 2, 0.0, -jnp.inf)),
        [1.0],
        excluded_by=("(Σi [i/2 > 1]) > 0",),
    ),
    factor(
        "softmax_of_masked",
        lambda x: jnp.sum(jax.nn.softmax(jnp.where(places(x) > 2, 0.0, -jnp.inf))),
        [1.0],
        excluded_by=("(Σi [i/2 > 1]) > 0",),
    ),
    factor(
        "logsumexp_of_none",
        lambda x: 1 + 0 * jax.nn.logsumexp(jnp.where(places(x) > 2, 0.0, -jnp.inf)),
        [1.0],
        excluded_by=("(Σi [i/2 > 1]) > 0",),
    ),
    factor("filled_gather", lambda x: jnp.take(jnp.ones_like(x), 2 * jnp.arange(x.shape[0]), mode="fill"), [1.0, 2.0]),
    factor("filled_constant", lambda x: jnp.take(jnp.ones_like(x), 3, mode="fill"), [1.0, 2.0], excluded_by=("n ≥ 4",)),
    wrong("seam_of_smooth", smooth, lambda x, g: g * jnp.where(x > 0, 2 * x, 0 / x), [0.0], excluded_by=NONZERO),
    wrong(
        "seam_by_log",
        smooth,
        lambda x, g: g * jnp.where(x >= 0, 2 * jnp.exp(jnp.log(x)), 0.0) * jnp.where(x == 0, jnp.log(x) * 0 + 1, 1.0),
        [0.0],
        excluded_by=(*NONZERO, "x > 0 wherever x ≥ 0"),
    ),
    wrong(
        "seam_value",
        smooth,
        lambda x, g: g * jnp.where(x == 0, 5.0, jnp.where(x > 0, 2 * x, 0.0)),
        [0.0],
        excluded_by=NONZERO,
    ),
    wrong("seam_of_square", square, lambda x, g: g * jnp.where(x == 3, 0.0, 2 * x), [3.0]),
    wrong("seam_of_places", square, lambda x, g: g * jnp.where(x == places(x), 0.0, 2 * x), [5.0, 1.0]),
    wrong("seam_of_two", square, lambda x, g: g * jnp.where(x == x[::-1], 0.0, 2 * x), [1.0, 1.0]),
    wrong("one_entry_equal", square, lambda x, g: g * 2 * jnp.where(jnp.all(x == 1), 0.0, x), [1.0, 1.0]),
    wrong("cubic", lambda x: x * jnp.abs(x), lambda x, g: g * 2 * x * x / jnp.sqrt(x * x), [0.0], excluded_by=NONZERO),
    wrong(
        "norm_squared",
        lambda x: jnp.sum(x * x),
        lambda x, g: g * 2 * jnp.sqrt(jnp.sum(x * x)) * (x / jnp.sqrt(jnp.sum(x * x))),
        [0.0, 0.0],
        "n -> ",
        excluded_by=("^2) > 0", "^2) ≠ 0", "every element of `x0` ≠ 0"),
    ),
    wrong(
        "row_norms",
        lambda x: jnp.sum(x * x, 1),
        lambda x, g: 2 * x * g[:, None] * ratio(jnp.sum(x * x, 1))[:, None],
        [[0.0, 0.0], [1.0, 1.0]],
        "n d -> n",
        excluded_by=("^2) > 0", "^2) ≠ 0"),
    ),
    wrong(
        "domain_with_boundary",
        lambda x: x**1.5,
        lambda x, g: g * 1.5 * x / jnp.sqrt(x),
        [0.0],
        domain=("x >= 0",),
        excluded_by=POSITIVE,
    ),
    wrong(
        "closed_above",
        lambda x: (1 - x) ** 2,
        lambda x, g: -2 * g * (1 - x) ** 2 / (1 - x),
        [1.0],
        domain=("x <= 1",),
        excluded_by=("x < 1", "x ≠ 1", "x0` ≠ 1", "1 ≠ x"),
    ),
    factor(
        "sum_of_entries", lambda x: ratio(jnp.sum(x)), [1.0, -1.0], excluded_by=("(Σi x[i]) ≠ 0", "(Σi args_0[i]) ≠ 0")
    ),
    wrong(
        "sinc",
        lambda x: jnp.where(x == 0, 1.0, jnp.sin(x) / jnp.where(x == 0, 1.0, x)),
        lambda x, g: g * (jnp.cos(x) / x - jnp.sin(x) / x**2),
        [0.0],
        excluded_by=NONZERO,
    ),
    wrong(
        "geometric_mean",
        lambda x: x * x,
        lambda x, g: g * 2 * jnp.sqrt(x) * jnp.sqrt(x),
        [-1.0],
        excluded_by=("x ≥ 0", "x0` ≥ 0"),
    ),
    wrong(
        "fwd_only",
        square,
        lambda r, g: 2 * r * g,
        [1.0] * 4,
        fwd=lambda x: (x * x, x * ratio(places(x) - 3)),
        excluded_by=("i ≠ 3 for i<n",),
    ),
    wrong(
        "in_residual_of_size",
        square,
        lambda r, g: 2 * r * g,
        [1.0] * 4,
        fwd=lambda x: (x * x, x * ratio(size(x) - 4)),
        excluded_by=("n ≠ 4",),
    ),
]
