"""Determinants, eigenvalues, singular values and triangular factors: signs, order, symmetry, rank."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular

from .attack import Attack
from .makers import saved

KIND = "B factorisations"


def one(name, value, bwd, signature, *at, **more):
    return Attack(f"matrix_{name}", KIND, saved(value, bwd), value, signature, lambda: at, **more)


def by(name, value, twin, signature, *at, **more):
    """A rule that is the derivative of another function, which is equal at first sight."""

    def bwd(args, g):
        return jax.vjp(twin, *(args if isinstance(args, tuple) else (args,)))[1](g)

    return one(name, value, bwd, signature, *at, **more)


def det(a):
    return jnp.linalg.det(a)


def eye(a):
    return jnp.eye(a.shape[-1], dtype=a.dtype)


def sym(a):
    return (a + a.T) / 2


TWO = np.array([[2.0, 1.0], [0.5, 3.0]])
THREE = np.array([[2.0, 1.0, 0.5], [0.25, 3.0, -1.0], [0.5, -0.75, 1.5]])
FOUR = np.array([[2.0, 1.0, 0.5, 0], [0.25, 3.0, -1.0, 1], [0.5, -0.75, 1.5, 0.5], [1, 0, 0.25, 2.5]])
WIDE = np.array([[2.0, 1.0, 0.5], [0.25, 3.0, -1.0]])
TURN = np.array([[1.0, 2.0], [-2.0, 1.0]])


def eigen_back(vectors_too=False, gap=lambda d: 1 / d):
    """The textbook's backward of `eigh`, with another treatment of the gaps."""

    def bwd(a, g):
        w, v = jnp.linalg.eigh(a)
        d = w[None, :] - w[:, None]
        f = jnp.where(jnp.eye(a.shape[0], dtype=bool), 0, gap(jnp.where(d == 0, 1, d)))
        inner = f * (v.T @ (g @ (v * jnp.exp(w))))
        return (v @ (inner + inner.T) @ v.T,)

    return bwd


def exponential(a):
    w, v = jnp.linalg.eigh(a)
    return (v * jnp.exp(w)) @ v.T


def exponential_back(a, g):
    """Divided differences of exp, that are 0 where two eigenvalues are equal."""
    w, v = jnp.linalg.eigh(a)
    d = w[:, None] - w[None, :]
    e = jnp.exp(w)
    same = jnp.eye(a.shape[0], dtype=bool)
    f = jnp.where(same, e[:, None], jnp.where(d == 0, 0, (e[:, None] - e[None, :]) / jnp.where(d == 0, 1, d)))
    return (v @ (f * (v.T @ sym(g) @ v)) @ v.T,)


def reversed_rows(a):
    return det(a[::-1])


def largest(a):
    return jnp.linalg.eigvalsh(a)[-1]


def largest_back(a, g):
    """The eigenvector of the largest modulus."""
    w, v = jnp.linalg.eigh(a)
    k = jnp.argmax(jnp.abs(w))
    u = jnp.take(v, k, axis=1)
    return (g * u[:, None] * u[None, :],)


def polar(a):
    u, _, vt = jnp.linalg.svd(a, full_matrices=False)
    return u @ vt


def nuclear(a):
    return jnp.sum(jnp.linalg.svd(a, compute_uv=False))


def nuclear_back(a, g):
    """(A·Aᵀ)^(−½)·A by an inverse of A, as for square matrices with a positive determinant and eigenvalues."""
    return (g * jnp.linalg.inv(a).T * jnp.sum(jnp.diag(a)) / a.shape[0],)


def q_of(a):
    return jnp.linalg.qr(a)[0]


def r_of(a):
    return jnp.linalg.qr(a)[1]


def cholesky_logdet(a):
    return 2 * jnp.sum(jnp.log(jnp.diag(jnp.linalg.cholesky(a))))


POSITIVE = np.array([[2.0, 0.5], [0.25, 1.5]])

ATTACKS = [
    # ------------------------------------------------------------------------------------------- determinants
    by("determinant_of_the_negative", lambda a: det(-a), det, "n n -> ", THREE),
    by("determinant_of_the_negative_odd", lambda a: det(-a), lambda a: -det(a), "n n -> ", TWO),
    by("determinant_of_twice", lambda a: det(2 * a), lambda a: 4 * det(a), "n n -> ", THREE),
    by("determinant_of_rows_reversed", reversed_rows, lambda a: -det(a), "n n -> ", FOUR),
    by("determinant_of_rows_rolled", lambda a: det(jnp.roll(a, 1, 0)), lambda a: -det(a), "n n -> ", THREE),
    by("determinant_of_both_reversed", lambda a: det(a[::-1]) * det(a), lambda a: det(a) ** 2, "n n -> ", TWO),
    by("determinant_by_the_diagonal", det, lambda a: jnp.prod(jnp.diag(a)), "n n -> ", TWO),
    by("determinant_of_a_sum", lambda a, b: det(a + b), lambda a, b: det(a) + det(b), "n n, n n -> ", TWO, TURN),
    by("determinant_of_factors", lambda a: det(a @ a.T), lambda a: det(a.T @ a), "n m -> ", WIDE),
    by(
        "determinant_one_plus",
        lambda a: det(eye(a) + a.T @ a),
        lambda a: det(2 * jnp.eye(a.shape[0]) + a @ a.T),
        "n m -> ",
        WIDE,
    ),
    by(
        "determinant_scaled_identity",
        lambda a: det(2 * eye(a) + a.T @ a),
        lambda a: det(2 * jnp.eye(a.shape[0]) + a @ a.T),
        "n m -> ",
        WIDE,
    ),
    by(
        "determinant_rank_one",
        lambda a, u, v: det(a + u[:, None] * v),
        lambda a, u, v: det(a) * (1 + u @ jnp.linalg.inv(a) @ v),
        "n n, n, n -> ",
        TWO,
        np.array([1.0, 2.0]),
        np.array([0.5, -1.0]),
    ),
    by(
        "determinant_rank_one_singular",
        lambda u, v: det(u[:, None] * v + 0 * jnp.eye(u.shape[0])),
        lambda u, v: 0 * jnp.sum(u * v),
        "n, n -> ",
        np.array([1.5]),
        np.array([0.5]),
    ),
    by(
        "determinant_two_rank_ones",
        lambda u, v: det(jnp.eye(u.shape[0]) + u[:, None] * v + v[:, None] * u),
        lambda u, v: 1 + 2 * u @ v + (u @ v) ** 2,
        "n, n -> ",
        np.array([1.0, 2.0]),
        np.array([0.5, -1.0]),
    ),
    by(
        "logarithm_of_a_determinant",
        lambda a: jnp.linalg.slogdet(a)[1],
        lambda a: 2 * jnp.log(jnp.sqrt(det(a))),
        "n n -> ",
        TWO[::-1].copy(),
    ),
    by(
        "logarithm_of_determinants",
        lambda a, b: jnp.linalg.slogdet(a @ b)[1] ** 2,
        lambda a, b: (jnp.linalg.slogdet(a)[1] - jnp.linalg.slogdet(b)[1]) ** 2,
        "n n, n n -> ",
        TWO,
        TURN,
    ),
    by("sign_of_a_determinant", lambda a: jnp.linalg.slogdet(a)[0] * det(a), det, "n n -> ", TWO[::-1].copy()),
    by("determinant_of_a_skew_matrix", lambda a: det(a - a.T), lambda a: 0 * jnp.sum(a), "n n -> ", TWO),
    by(
        "determinant_of_a_minor",
        lambda a: det(a[1:, 1:]),
        lambda a: det(a) * jnp.linalg.inv(a)[-1, -1],
        "n+1 n+1 -> ",
        TWO,
    ),
    by("determinant_by_cholesky", cholesky_logdet, lambda a: jnp.log(det(a)), "n n -> ", POSITIVE),
    by(
        "determinant_of_a_triangle",
        lambda a: det(jnp.triu(a)),
        lambda a: jnp.prod(jnp.diag(a)) * a[0, -1] / a[0, -1],
        "n n -> ",
        np.diag([1.0, 2.0]),
    ),
    by(
        "determinant_of_a_shifted_triangle",
        lambda a: det(jnp.triu(a, -1)),
        lambda a: jnp.prod(jnp.diag(a)),
        "n n -> ",
        TWO,
    ),
    # ---------------------------------------------------------------------------------------------- inverses
    by(
        "inverse_of_a_sum",
        lambda a: jnp.linalg.inv(eye(a) + a) @ a,
        lambda a: a @ jnp.linalg.inv(eye(a) + a.T),
        "n n -> n n",
        TWO,
    ),
    by(
        "inverse_pushed_through",
        lambda a: jnp.linalg.inv(eye(a) + a.T @ a) @ a.T,
        lambda a: a.T @ jnp.linalg.inv(2 * jnp.eye(a.shape[0]) + a @ a.T),
        "n m -> m n",
        WIDE,
    ),
    by(
        "inverse_of_rows_reversed",
        lambda a: jnp.linalg.inv(a[::-1]),
        lambda a: jnp.linalg.inv(a)[::-1],
        "n n -> n n",
        TWO,
    ),
    by(
        "inverse_of_a_block",
        lambda a: jnp.linalg.inv(a)[:-1, :-1],
        lambda a: jnp.linalg.inv(a[:-1, :-1]),
        "n+1 n+1 -> n n",
        THREE,
    ),
    by(
        "inverse_of_a_product_swapped",
        lambda a, b: jnp.linalg.solve(a @ b, b),
        lambda a, b: jnp.linalg.solve(b @ a, b),
        "n n, n n -> n n",
        TWO,
        TURN,
    ),
    by(
        "inverse_of_the_transposed",
        lambda a, b: jnp.linalg.solve(a.T, b),
        lambda a, b: jnp.linalg.solve(a, b),
        "n n, n -> n",
        TWO,
        np.array([1.0, 2.0]),
    ),
    by("power_minus_two", lambda a: jnp.linalg.matrix_power(a, -2), lambda a: jnp.linalg.inv(a * a), "n n -> n n", TWO),
    by(
        "woodbury_in_one_row",
        lambda a, u: jnp.linalg.inv(a + u[:, None] * u),
        lambda a, u: (
            jnp.linalg.inv(a)
            - (jnp.linalg.inv(a) @ u)[:, None] * (jnp.linalg.inv(a) @ u) / (1 + u @ jnp.linalg.inv(a) @ u)
        ),
        "n n, n -> n n",
        TWO,
        np.array([1.0, 2.0]),
    ),
    # ------------------------------------------------------------------------------------------- eigenvalues
    Attack(
        "matrix_exponential_with_equal_eigenvalues",
        KIND,
        saved(exponential, exponential_back),
        lambda a: jax.scipy.linalg.expm(sym(a)),
        "n n -> n n",
        lambda: (np.eye(2),),
    ),
    one("exponential_by_vectors_alone", exponential, eigen_back(), "n n -> n n", sym(TWO)),
    one("eigenvalue_of_the_largest_modulus", largest, largest_back, "n n -> ", np.diag([1.0, -2.0, 0.5])),
    by(
        "largest_eigenvalue_of_the_negative",
        lambda a: jnp.linalg.eigvalsh(-a)[0],
        lambda a: -jnp.linalg.eigvalsh(a)[0],
        "n n -> ",
        sym(TWO),
    ),
    by(
        "eigenvalues_of_a_square",
        lambda a: jnp.linalg.eigvalsh(sym(a) @ sym(a)),
        lambda a: jnp.linalg.eigvalsh(a) ** 2,
        "n n -> n",
        np.diag([-2.0, 1.0]),
    ),
    by(
        "eigenvalues_by_the_diagonal",
        lambda a: jnp.linalg.eigvalsh(jnp.diag(a)),
        lambda a: a,
        "n -> n",
        np.array([2.0, 1.0]),
    ),
    by(
        "sum_of_moduli_of_eigenvalues",
        lambda a: jnp.sum(jnp.abs(jnp.linalg.eigvalsh(a))),
        lambda a: jnp.trace(a),
        "n n -> ",
        np.diag([-2.0, 1.0]),
    ),
    by(
        "eigenvalues_and_singular_values",
        lambda a: jnp.sum(jnp.linalg.svd(a, compute_uv=False) ** 3),
        lambda a: jnp.sum(jnp.linalg.eigvalsh(a) ** 3),
        "n n -> ",
        np.diag([-2.0, 1.0]),
    ),
    by(
        "logarithm_by_eigenvalues",
        lambda a: jnp.sum(jnp.log(jnp.abs(jnp.linalg.eigvalsh(a)))),
        lambda a: jnp.log(jnp.abs(det(a))),
        "n n -> ",
        TWO,
    ),
    by(
        "vectors_of_columns_and_rows",
        lambda a: jnp.sum(jnp.linalg.eigh(a)[1] ** 4),
        lambda a: jnp.sum(a - a),
        "n n -> ",
        sym(TWO),
    ),
    # -------------------------------------------------------------------------------------- singular values
    by("nuclear_norm_by_the_trace", nuclear, lambda a: jnp.trace(a), "n n -> ", np.diag([2.0, -1.0])),
    one("nuclear_norm_by_an_inverse", nuclear, nuclear_back, "n n -> ", TWO),
    one("nuclear_norm_of_transposed_factors", nuclear, lambda a, g: (g * polar(a).T,), "n n -> ", TWO),
    by(
        "polar_factor_as_constant",
        lambda a: jnp.trace(a.T @ polar(a)),
        lambda a: jnp.sum(a * lax.stop_gradient(polar(a).T)),
        "n n -> ",
        TWO,
    ),
    by(
        "projection_on_columns",
        lambda a, x: a @ (jnp.linalg.pinv(a) @ x),
        lambda a, x: x + 0 * a @ a.T @ x,
        "n m, n -> n",
        WIDE.T.copy(),
        np.array([1.0, 2.0, 3.0]),
    ),
    by(
        "pseudo_inverse_one_sided",
        lambda a: jnp.linalg.pinv(a),
        lambda a: jnp.linalg.inv(a.T @ a) @ a.T,
        "n m -> m n",
        WIDE,
    ),
    by(
        "smallest_singular_value",
        lambda a: jnp.linalg.svd(a, compute_uv=False)[-1],
        lambda a: jnp.linalg.svd(a, compute_uv=False)[0],
        "n m -> ",
        WIDE,
    ),
    by(
        "singular_values_of_a_diagonal",
        lambda a: jnp.linalg.svd(jnp.diag(a), compute_uv=False),
        lambda a: jnp.abs(a),
        "n -> n",
        np.array([1.0, 2.0]),
    ),
    # ----------------------------------------------------------------------------------------- other factors
    by(
        "triangular_factor_by_cholesky",
        r_of,
        lambda a: jnp.linalg.cholesky(a.T @ a).T,
        "n m -> m m",
        np.array([[1.0, 2.0], [0.5, 1.0], [2.0, -1.0]]),
    ),
    by("orthogonal_factor_kept", lambda a: q_of(a).T @ a, lambda a: r_of(a.T).T, "n n -> n n", TWO),
    by(
        "projector_of_factors",
        lambda a: q_of(a) @ q_of(a).T,
        lambda a: 0 * a @ a.T + jnp.eye(a.shape[0]),
        "n m -> n n",
        WIDE.T.copy(),
    ),
    by(
        "cholesky_of_what_is_not_symmetric",
        lambda a: jnp.linalg.cholesky(a),
        lambda a: jnp.linalg.cholesky(a, symmetrize_input=False),
        "n n -> n n",
        POSITIVE,
    ),
    by(
        "cholesky_of_a_scaled",
        lambda a, c: jnp.linalg.cholesky(c * c * a),
        lambda a, c: c * jnp.linalg.cholesky(a),
        "n n,  -> n n",
        POSITIVE,
        np.array(-2.0),
    ),
    by(
        "triangle_taken_for_full",
        lambda a, b: solve_triangular(a, b, lower=True),
        lambda a, b: solve_triangular(a, b, lower=True, unit_diagonal=True),
        "n n, n -> n",
        np.array([[2.0, 0], [1, 1.0]]),
        np.array([1.0, 2.0]),
    ),
]
