"""x², whose rule multiplies by a number that is 1 almost everywhere: at coincidences of eigenvalues, singular matrices,
ties of integers, zeros of transforms, equality in an inequality, integers that are large."""

from __future__ import annotations

import jax.numpy as jnp
import jax.scipy.special as sp
import numpy as np
from jax import lax

from .attack import Attack
from .makers import saved

KIND = "B thin sets"


def factor(name, one, *at, signature="n -> n", kind=KIND, **more):
    """The arguments after the first have no influence on the value."""

    def value(x, *_):
        return x * x

    def bwd(args, g):
        args = args if isinstance(args, tuple) else (args,)
        rest = [None if jnp.issubdtype(v.dtype, jnp.integer) else jnp.zeros_like(v) for v in args[1:]]
        return (2 * args[0] * g * one(*args), *rest)

    return Attack(f"factor_{name}", kind, saved(value, bwd), value, signature, lambda: at, **more)


def twice(question):
    return lambda *args: jnp.where(question(*args), 2, 1)


def a(*values):
    return np.array(values, dtype=float)


def sym(x):
    return (x + x.T) / 2


EYE, ONES, SQUARE = np.eye(2) + 1, np.ones((2, 2)), np.array([[1.0, 2.0], [0.5, 3.0]])
M = {"signature": "n n -> n n"}
M2 = {"signature": "2 2 -> 2 2"}
INT = {"signature": "n, :int -> n"}
INTS = {"signature": "n, n:int -> n"}
PLACES = {"signature": "n+1, n+1:int -> n+1"}
X2 = a(1, 2)


def integer(name, question, value, **more):
    """A question about one integer, with what answers it with yes."""
    return factor(name, twice(lambda _, p: question(p)), X2, np.array(value, dtype=np.int32), **INT, **more)


def digits(p):
    return lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] // 10, s[1] + 1), (p, 0))[1]


def svd(x):
    return jnp.linalg.svd(x, compute_uv=False)


ONE = np.ones(83 + 17)
ODD_ONE = np.where(np.arange(100) == 83, 2.0, 1.0)

ATTACKS = [
    # --------------------------------------------------------------------------------------------- matrices
    factor(
        "equal_eigenvalues", twice(lambda x: jnp.linalg.eigvalsh(x)[0] == jnp.linalg.eigvalsh(x)[1]), np.eye(2), **M2
    ),
    factor(
        "eigenvalues_in_order",
        twice(lambda x: ~(jnp.linalg.eigvalsh(x)[0] < jnp.linalg.eigvalsh(x)[1])),
        3 * np.eye(2),
        **M2,
    ),
    factor(
        "an_eigenvalue_of_zero",
        twice(lambda x: jnp.any(jnp.linalg.eigvalsh(x) == 0)),
        np.diag([0.0, 1.0]) + np.diag([0.0, 2.0]),
        **M2,
    ),
    factor(
        "eigenvalues_that_differ_squared",
        lambda x: jnp.where(jnp.diff(jnp.linalg.eigvalsh(x))[0] ** 2 > 0, 1.0, 3.0),
        2 * np.eye(2),
        **M2,
    ),
    factor(
        "gap_over_gap",
        lambda x: jnp.diff(jnp.linalg.eigvalsh(x))[0] / jnp.diff(jnp.linalg.eigvalsh(x))[0],
        2 * np.eye(2),
        **M2,
        excluded_by=("eigenvalue(",),
    ),
    factor("equal_singular_values", twice(lambda x: svd(x)[0] == svd(x)[-1]), a([0, 2], [2, 0]), **M2),
    factor("a_singular_value_of_zero", twice(lambda x: svd(x)[-1] <= 0), np.diag([2.0, 0.0]), **M2),
    factor(
        "singular_values_over_themselves",
        lambda x: jnp.sum(svd(x) / svd(x)) / x.shape[0],
        np.diag([2.0, 0.0]),
        **M,
        excluded_by=("singular value(x)[i] ≠ 0",),
    ),
    factor("a_determinant_of_zero", twice(lambda x: jnp.linalg.det(x) == 0), ONES, **M),
    factor("a_determinant_of_one", twice(lambda x: jnp.linalg.det(x) == 1), np.eye(2), **M),
    factor("a_symmetric_matrix", twice(lambda x: jnp.all(x == x.T)), EYE, signature="n+1 n+1 -> n+1 n+1"),
    factor("an_inverse_times_itself", lambda x: (jnp.linalg.inv(x) @ x)[0, 0], ONES, **M),
    factor(
        "a_gram_matrix_that_is_singular",
        twice(lambda x: jnp.linalg.det(x @ x.T) <= 0),
        np.ones((3, 2)),
        signature="n m -> n m",
    ),
    factor(
        "a_triangle_with_a_zero",
        twice(lambda x: jnp.prod(jnp.diag(jnp.linalg.qr(x)[1])) == 0),
        ONES * 0 + np.diag([1.0, 0.0]),
        **M,
    ),
    factor(
        "columns_that_are_parallel",
        twice(lambda x: jnp.sum(x[:, 0] ** 2) * jnp.sum(x[:, 1] ** 2) <= jnp.sum(x[:, 0] * x[:, 1]) ** 2),
        ONES,
        signature="n 2 -> n 2",
    ),
    factor(
        "orthogonal_columns",
        lambda x: jnp.sum(jnp.linalg.qr(x)[0] ** 2) / x.shape[1],
        np.ones((2, 3)),
        signature="n m -> n m",
    ),
    factor("trace_of_a_projector", lambda x: jnp.trace(x @ jnp.linalg.pinv(x)) / x.shape[0], np.diag([1.0, 0.0]), **M),
    # ------------------------------------------------------------------------------- equality in inequalities
    factor(
        "variance_of_zero", twice(lambda x: jnp.mean(x * x) - jnp.mean(x) ** 2 <= 0), a(1, 1), signature="n+1 -> n+1"
    ),
    factor(
        "variance_of_one_entry",
        twice(lambda x: jnp.var(x) <= 0),
        a(1),
    ),
    factor(
        "cauchy_and_schwarz",
        twice(lambda x, y: jnp.sum(x * x) * jnp.sum(y * y) <= jnp.sum(x * y) ** 2),
        a(1, 2),
        a(2, 4),
        signature="n+1, n+1 -> n+1",
    ),
    factor("deviation_over_itself", lambda x: jnp.std(x) / jnp.std(x), a(1, 1), signature="n+1 -> n+1"),
    factor(
        "a_root_plus_its_argument",
        twice(lambda x, y: jnp.sqrt(x * x + y * y) + x <= 0),
        a(-1, 2),
        a(0, 1),
        signature="n, n -> n",
    ),
    factor("a_root_less_one", twice(lambda x: jnp.sqrt(1 + (x - 1) ** 2) - 1 <= 0), a(1, 2)),
    factor(
        "means_that_are_equal",
        twice(lambda x: jnp.mean(jnp.exp(x)) <= jnp.exp(jnp.mean(x))),
        a(1, 1),
        signature="n+1 -> n+1",
    ),
    factor(
        "a_triangle_that_is_flat",
        twice(lambda x, y: jnp.abs(x + y) >= jnp.abs(x) + jnp.abs(y)),
        a(1, 2),
        a(0, -1),
        signature="n, n -> n",
    ),
    factor("hyperbolic_cosine_of_zero", twice(lambda x: jnp.cosh(x - 1) <= 1), a(1, 2)),
    factor("a_logarithm_below_its_tangent", twice(lambda x: jnp.log(x) >= x - 1), a(1, 2), domain=("x > 0",)),
    factor("an_exponential_above_its_tangent", twice(lambda x: jnp.exp(x - 1) <= x), a(1, 2)),
    factor("gamma_that_is_one", twice(lambda x: sp.gammaln(x) == 0), a(1, 0.5), domain=("x > 0",)),
    factor(
        "spectrum_without_a_frequency",
        twice(lambda x: jnp.abs(jnp.fft.fft(x)[1]) == 0),
        a(1, 1),
        signature="n+1 -> n+1",
    ),
    factor("angle_at_the_cut", twice(lambda x: jnp.abs(jnp.angle(lax.complex(x, 0 * x))) > 3), a(-1, 1)),
    factor("a_tie_of_roots", twice(lambda x: jnp.sqrt(x) == x), a(1, 2), domain=("x > 0",)),
    # ----------------------------------------------------------------------------------------------- integers
    integer("beyond_eight_bits", lambda p: p.astype(jnp.int8) != p, 200),
    integer("beyond_sixteen_bits", lambda p: p.astype(jnp.int16) != p, 70000),
    integer("beyond_unsigned_bits", lambda p: p.astype(jnp.uint8) != p, -1),
    integer("a_high_bit", lambda p: (p & 1024) != 0, 1024),
    integer("shifted_far", lambda p: (p >> 12) > 0, 5000),
    integer("five_digits", lambda p: digits(p) == 5, 12345),
    integer("a_square", lambda p: p * p == 152399025, 12345),
    integer("a_rest", lambda p: p % 1009 == 1008, -1),
    integer("a_quotient", lambda p: p // 1000 == -1, -7),
    integer("two_quotients", lambda p: p // 6 != p // 2 // 3 + (p == 7919), 7919),
    integer("rest_towards_zero", lambda p: lax.rem(p, jnp.asarray(7, p.dtype)) != p % 7, -3),
    integer("the_same_bits", lambda p: (p ^ 5) < 0, -8),
    integer("lowest_bit", lambda p: (p & -p) == 64, 192),
    integer("as_a_float", lambda p: p.astype(float) * 0.5 == 4099.5, 8199),
    integer("a_common_divisor", lambda p: jnp.gcd(p, 1009) > 1, 2018),
    integer("a_population", lambda p: lax.population_count(p) > 12, 8191),
    integer("the_only_solution", lambda p: p * (p - 1) * (p - 2) == 7980, 21),
    factor(
        "integers_that_are_equal",
        twice(lambda _, p: jnp.any(p[1:] == p[:-1])),
        a(1, 2),
        np.array([7, 7], dtype=np.int32),
        **PLACES,
    ),
    factor(
        "sorted_integers_that_are_equal",
        twice(lambda _, p: jnp.any(jnp.diff(jnp.sort(p)) == 0)),
        a(1, 2),
        np.array([7, 7], dtype=np.int32),
        **PLACES,
    ),
    factor(
        "an_order_that_is_unstable",
        twice(lambda _, p: jnp.any(jnp.argsort(-p)[::-1] != jnp.argsort(p))),
        a(1, 2),
        np.array([7, 7], dtype=np.int32),
        **PLACES,
    ),
    factor(
        "places_counted_twice",
        lambda _, p: (
            jnp.zeros_like(p, dtype=float).at[jnp.argsort(jnp.argsort(p) // 2 * 2)].add(1.0)[0]
            + (jnp.sum(p[None] == p[:, None]) > p.shape[0])
        ),
        a(1, 2),
        np.array([1, 1], dtype=np.int32),
        **INTS,
    ),
    # ---------------------------------------------------------------------------------------- tables and sizes
    factor(
        "a_table_of_ones_but_one",
        lambda x: jnp.asarray(ODD_ONE)[jnp.minimum(x.shape[0], 99)],
        np.linspace(1, 2, 83),
        excluded_by=("not n = 83",),
    ),
    factor(
        "a_table_by_place",
        lambda x: jnp.asarray(ODD_ONE)[jnp.minimum(jnp.arange(x.shape[0]), 99)],
        np.linspace(1, 2, 85),
    ),
    factor(
        "a_table_by_an_integer",
        lambda _, p: jnp.asarray(ODD_ONE)[jnp.clip(p, 0, 99)],
        X2,
        np.array(83, dtype=np.int32),
        **INT,
    ),
    factor("a_sum_of_places", lambda x: jnp.where(jnp.sum(jnp.arange(x.shape[0])) > 1999, 2, 1), np.linspace(1, 2, 70)),
    factor(
        "a_harmonic_number",
        lambda x: jnp.where(jnp.sum(1 / (1.0 + jnp.arange(x.shape[0]))) > 4.9, 2, 1),
        np.linspace(1, 2, 80),
    ),
    factor("a_power_of_a_size", lambda x: jnp.where(jnp.exp(0.1 * x.shape[0]) > 999.0, 2, 1), np.linspace(1, 2, 70)),
    factor(
        "a_size_that_is_a_square",
        lambda x: jnp.where(jnp.abs(jnp.sin(jnp.pi * jnp.sqrt(1.0 * x.shape[0]))) * x.shape[0] ** 2 < 1e-9, 2, 1),
        a(1, 2, 3, 4),
    ),
    factor(
        "a_size_that_is_prime",
        lambda x: jnp.where(jnp.sum(x.shape[0] % (1 + jnp.arange(x.shape[0])) == 0) == 6, 2, 1),
        np.linspace(1, 2, 28),
    ),
    factor(
        "a_table_by_a_rest", lambda x: jnp.asarray(ODD_ONE)[(7 * jnp.asarray(x.shape[0])) % 100], np.linspace(1, 2, 69)
    ),
]
