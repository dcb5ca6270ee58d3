"""Elimination with pivots, and equations that its factors solve: rows that are not put back, signs, transposes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import lu_factor, lu_solve, solve_triangular

from .attack import Attack
from .makers import saved

KIND = "B elimination with pivots"
SWAPPED = np.array([[1.0, 2.0, 0.5], [4.0, 1.0, -1.0], [2.0, 6.0, 3.0]])
TURNED = np.array([[0.5, 3.0, 1.0], [1.0, 0.25, 4.0], [5.0, 1.0, 0.5]])
"""Its rows go round: the permutation is not its own inverse."""
B3 = np.array([1.0, -2.0, 0.5])


def by(name, value, twin, signature, *at, **more):
    """A rule that is the derivative of another function."""

    def bwd(args, g):
        return jax.vjp(twin, *(args if isinstance(args, tuple) else (args,)))[1](g)

    return Attack(f"pivots_{name}", KIND, saved(value, bwd), value, signature, lambda: at, **more)


def pulled(name, value, back, signature, *at, **more):
    return Attack(f"pivots_{name}", KIND, saved(value, back), value, signature, lambda: at, **more)


def lower(f):
    return jnp.tril(f, -1) + jnp.eye(f.shape[0], dtype=f.dtype)


def factors(a):
    f, _, p = lax.linalg.lu(a)
    return lower(f), jnp.triu(f), p


def of_l(a):
    return factors(a)[0]


def of_u(a):
    return factors(a)[1]


def both(a):
    return lax.linalg.lu(a)[0]


def rows_of(a, p):
    return a[p]


def pull_back(a, gl, gu, move):
    """The textbook's pullback of P·A = L·U, with the rows put back by `move`."""
    lo, up, p = factors(a)
    left, right = jnp.tril(lo.T @ gl, -1), jnp.triu(gu @ up.T)
    inner = solve_triangular(
        lo.T, solve_triangular(up, (left + right).T, lower=False).T, lower=False, unit_diagonal=True
    )
    return move(inner, p)


def whole(move):
    def back(a, g):
        return (pull_back(a, jnp.tril(g, -1), jnp.triu(g), move),)

    return back


def inverse_of(p):
    return jnp.argsort(p)


def solution(a, b):
    lu, piv = lu_factor(a)
    return lu_solve((lu, piv), b)


def solved_by(function):
    """The rule of A·x = b: x̄ solves with Aᵀ, and Ā = −x̄·xᵀ."""

    def back(args, g):
        a, b = args
        x = solution(a, b)
        return function(a, b, x, g)

    return back


def kron_solve(a, c, turned=False, twice=False):
    """A·X + X·Aᵀ = C, or another equation like it."""
    n = a.shape[0]
    eye = jnp.eye(n, dtype=a.dtype)
    second = a.T if turned else a
    k = jnp.kron(a, eye) + jnp.kron(eye, second)
    if twice:
        k = k + jnp.kron(eye, second)
    return jnp.linalg.solve(k, c.reshape(-1)).reshape(n, n)


def lyapunov(a, c):
    return kron_solve(a, c)


ATTACKS = [
    pulled("rows_that_stay", both, whole(lambda x, p: x), "n n -> n n", SWAPPED),
    pulled("rows_moved_once_more", both, whole(lambda x, p: x[p]), "n n -> n n", TURNED),
    pulled("columns_for_rows", both, whole(lambda x, p: x[inverse_of(p)].T), "n n -> n n", TURNED),
    pulled("columns_moved", both, whole(lambda x, p: x[:, inverse_of(p)]), "n n -> n n", TURNED),
    pulled(
        "lower_with_its_diagonal",
        both,
        lambda a, g: (pull_back(a, jnp.tril(g), jnp.triu(g, 1), lambda x, p: x[inverse_of(p)]),),
        "n n -> n n",
        TURNED,
    ),
    by("lower_for_upper", of_u, of_l, "n n -> n n", SWAPPED),
    by("upper_of_the_transpose", of_u, lambda a: of_u(a.T), "n n -> n n", SWAPPED),
    by(
        "upper_of_the_rows_in_order",
        of_u,
        lambda a: of_u(a[::-1]),
        "n n -> n n",
        np.array([[1.0, 2.0], [-1.0, 3.0]]),
        excluded_by=("pivot",),
    ),
    by("product_without_the_permutation", lambda a: of_l(a) @ of_u(a), lambda a: a, "n n -> n n", SWAPPED),
    by(
        "product_by_the_inverse_permutation",
        lambda a: of_l(a) @ of_u(a),
        lambda a: a[inverse_of(factors(a)[2])],
        "n n -> n n",
        TURNED,
    ),
    by("put_back_by_the_permutation", lambda a: (of_l(a) @ of_u(a))[factors(a)[2]], lambda a: a, "n n -> n n", TURNED),
    by(
        "product_of_the_diagonal", lambda a: jnp.prod(jnp.diagonal(of_u(a))), jnp.linalg.det, "n n -> ", SWAPPED[:2, :2]
    ),
    by(
        "determinant_by_the_diagonal",
        jnp.linalg.det,
        lambda a: jnp.prod(jnp.diagonal(of_u(a))),
        "n n -> ",
        SWAPPED[:2, :2],
    ),
    by(
        "modulus_of_the_determinant",
        lambda a: jnp.prod(jnp.abs(jnp.diagonal(of_u(a)))),
        jnp.linalg.det,
        "n n -> ",
        np.array([[1.0, 2.0], [4.0, 1.0]]),
    ),
    by(
        "logarithm_of_the_diagonal",
        lambda a: jnp.sum(jnp.log(jnp.abs(jnp.diagonal(a)))),
        lambda a: jnp.sum(jnp.log(jnp.abs(jnp.diagonal(of_u(a))))),
        "n n -> ",
        SWAPPED,
    ),
    by("determinant_of_order_two", jnp.linalg.det, lambda a: of_u(a)[0, 0] * of_u(a)[1, 1], "2 2 -> ", SWAPPED[:2, :2]),
    by(
        "sign_of_the_first_pivot",
        jnp.linalg.det,
        lambda a: jnp.where(factors(a)[2][0] == 0, 1.0, -1.0) * jnp.prod(jnp.diagonal(of_u(a))),
        "n n -> ",
        TURNED,
    ),
    by(
        "inverse_without_the_permutation",
        jnp.linalg.inv,
        lambda a: jnp.linalg.inv(of_u(a)) @ jnp.linalg.inv(of_l(a)),
        "n n -> n n",
        SWAPPED,
    ),
    by(
        "inverse_with_rows_moved",
        jnp.linalg.inv,
        lambda a: (jnp.linalg.inv(of_u(a)) @ jnp.linalg.inv(of_l(a)))[factors(a)[2]],
        "n n -> n n",
        TURNED,
    ),
    by(
        "inverse_with_columns_moved_back",
        jnp.linalg.inv,
        lambda a: (jnp.linalg.inv(of_u(a)) @ jnp.linalg.inv(of_l(a)))[:, factors(a)[2]],
        "n n -> n n",
        TURNED,
    ),
    by(
        "inverse_the_other_way_round",
        lambda a: jnp.linalg.inv(of_u(a)) @ jnp.linalg.inv(of_l(a)),
        lambda a: jnp.linalg.inv(of_l(a)) @ jnp.linalg.inv(of_u(a)),
        "n n -> n n",
        SWAPPED,
    ),
    by("trace_of_the_product", lambda a: jnp.trace(of_l(a) @ of_u(a)), jnp.trace, "n n -> ", SWAPPED),
    by("trace_the_other_way_round", lambda a: jnp.sum(jnp.diagonal(of_u(a))), jnp.trace, "n n -> ", SWAPPED),
    by("the_first_pivot_is_the_first_entry", lambda a: of_u(a)[0, 0], lambda a: a[0, 0], "n n -> ", SWAPPED),
    by(
        "the_first_pivot_is_the_largest",
        lambda a: of_u(a)[0, 0],
        lambda a: jnp.max(a[:, 0]),
        "n n -> ",
        np.array([[1.0, 2.0], [-4.0, 1.0]]),
        excluded_by=("is unique", "pivot"),
    ),
    by(
        "the_first_row_of_pivots",
        lambda a: of_u(a)[0],
        lambda a: a[jnp.argmax(a[:, 0])],
        "n n -> n",
        np.array([[1.0, 2.0], [-4.0, 1.0]]),
        excluded_by=("pivot",),
    ),
    by(
        "rows_by_interchanges", lambda a: a[lax.linalg.lu(a)[1]], lambda a: a[lax.linalg.lu(a)[2]], "n n -> n n", TURNED
    ),
    by("permutation_of_the_permutation", lambda a: a[factors(a)[2]][factors(a)[2]], lambda a: a, "n n -> n n", TURNED),
    pulled(
        "solved_with_the_matrix",
        solution,
        solved_by(lambda a, b, x, g: (-jnp.outer(solution(a, g), x), solution(a, g))),
        "n n, n -> n",
        SWAPPED,
        B3,
    ),
    pulled(
        "solved_and_turned",
        solution,
        solved_by(lambda a, b, x, g: (-jnp.outer(x, solution(a.T, g)), solution(a.T, g))),
        "n n, n -> n",
        SWAPPED,
        B3,
    ),
    pulled(
        "solved_by_another_right_side",
        solution,
        solved_by(lambda a, b, x, g: (-jnp.outer(solution(a.T, g), b), solution(a.T, g))),
        "n n, n -> n",
        SWAPPED,
        B3,
    ),
    pulled(
        "solved_without_rows",
        solution,
        solved_by(lambda a, b, x, g: (-jnp.outer(solution(a.T, g), x), solution(a.T, g[factors(a)[2]]))),
        "n n, n -> n",
        SWAPPED,
        B3,
    ),
    by(
        "lyapunov_turned",
        lyapunov,
        lambda a, c: kron_solve(a, c, turned=True),
        "2 2, 2 2 -> 2 2",
        SWAPPED[:2, :2] + 3 * np.eye(2),
        TURNED[:2, :2],
    ),
    by(
        "lyapunov_twice",
        lyapunov,
        lambda a, c: kron_solve(a, c, twice=True),
        "2 2, 2 2 -> 2 2",
        SWAPPED[:2, :2] + 3 * np.eye(2),
        TURNED[:2, :2],
    ),
    by(
        "lyapunov_symmetric",
        lyapunov,
        lambda a, c: (kron_solve(a, c) + kron_solve(a, c).T) / 2,
        "2 2, 2 2 -> 2 2",
        SWAPPED[:2, :2] + 3 * np.eye(2),
        TURNED[:2, :2],
    ),
]
