"""Elimination with pivots: what is made of LU factors is worth what JAX computes, and wrong rules are not proved."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import fmpq
from jax import lax
from jax.scipy.linalg import lu_factor, lu_solve, solve_triangular

from certgrad import check
from tests.obligations.meaning.semantics.example import example, real
from tests.obligations.meaning.semantics.numerics import Point, compare_values, meaning


def lower(a):
    return jnp.tril(lax.linalg.lu(a)[0], -1) + jnp.eye(a.shape[0])


def upper(a):
    return jnp.triu(lax.linalg.lu(a)[0])


def inverse(factor, is_lower):
    return solve_triangular(factor, jnp.eye(factor.shape[0]), lower=is_lower)


FACTORS = {
    "A": lambda a: a,
    "Aᵀ": lambda a: a.T,
    "A⁻¹": jnp.linalg.inv,
    "P·A": lambda a: a[lax.linalg.lu(a)[2]],
    "A·P": lambda a: a[:, lax.linalg.lu(a)[2]],
    "F": lambda a: lax.linalg.lu(a)[0],
    "L": lower,
    "Lᵀ": lambda a: lower(a).T,
    "U": upper,
    "Uᵀ": lambda a: upper(a).T,
    "L⁻¹": lambda a: inverse(lower(a), True),
    "U⁻¹": lambda a: inverse(upper(a), False),
    "L⁻ᵀ": lambda a: inverse(lower(a), True).T,
    "strictly lower F": lambda a: jnp.tril(lax.linalg.lu(a)[0], -1),
    "strictly upper F": lambda a: jnp.triu(lax.linalg.lu(a)[0], 1),
}
TOGETHER = [("L", "U"), ("U⁻¹", "L⁻¹"), ("strictly lower F", "U"), ("L", "strictly upper F"), ("Uᵀ", "Lᵀ"), ("F", "F")]


def chains(count, seed=5):
    rng = random.Random(seed)
    for k in range(count):
        ends = [rng.choice(list(FACTORS)) for _ in range(rng.randint(0, 2))]
        yield [*ends[:1], *TOGETHER[k % len(TOGETHER)], *ends[1:]]


def point_of(one, n, rng):
    entries = {("s", at): fmpq(int(rng.integers(-40, 41)) * 2 + 1, 8) for at in np.ndindex(n, n)}
    return Point(one, {"n": n}, entries)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("names", [pytest.param(c, id="·".join(c)) for c in chains(18)])
def test_products(names):
    def program(a):
        total = FACTORS[names[0]](a)
        for name in names[1:]:
            total = total @ FACTORS[name](a)
        return total

    one = example("lu", program, real("s", "n n"), name="a product", largest=3)
    known, rng = meaning(one, {}), np.random.default_rng(1)
    assert sum(compare_values(known, point_of(one, n, rng)) for n in (1, 2, 3))


def rule(f, right, wrong):
    def made(bwd):
        one = jax.custom_vjp(f)
        one.defvjp(lambda *x: (f(*x), x), bwd)
        return one

    return made(right), made(wrong)


def log_det(a):
    return jnp.sum(jnp.log(jnp.abs(jnp.diagonal(lax.linalg.lu(a)[0]))))


def last_pivot(a):
    return lax.linalg.lu(a)[0][-1, -1]


def solved(a, b):
    return lu_solve(lu_factor(a), b)


def solved_back(turned):
    def bwd(saved, g):
        a, b = saved
        z = lu_solve(lu_factor(a), g, trans=turned)
        return -jnp.outer(z, solved(a, b)), z

    return bwd


def permuted(a, b):
    return b[lax.linalg.lu(a)[2]]


def permuted_back(undone):
    def bwd(saved, g):
        a, _ = saved
        order = lax.linalg.lu(a)[2]
        return jnp.zeros_like(a), g[jnp.argsort(order)] if undone else g[order]

    return bwd


RULES = {
    "log |det|": (
        rule(log_det, lambda r, g: (g * jnp.linalg.inv(r[0]).T,), lambda r, g: (g * jnp.linalg.inv(r[0]),)),
        "n n -> ",
        {"a < 0 or a > 0", "determinant(a) ≠ 0", "the matrix a has no pivot with the modulus of another candidate"},
    ),
    "lu_solve": (
        rule(solved, solved_back(1), solved_back(0)),
        "n n, n -> n",
        {"determinant(a) ≠ 0", "the matrix a has no pivot with the modulus of another candidate"},
    ),
    "rows in the order of the pivots": (
        rule(permuted, permuted_back(True), permuted_back(False)),
        "n n, n -> n",
        {"the matrix a has no pivot with the modulus of another candidate"},
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", RULES)
def test_rules(name):
    (right, wrong), signature, hypotheses = RULES[name]
    found = check(right, signature)
    assert found.verdict == "proved under hypotheses", [c.cases[0].reason for c in found.claims]
    assert hypotheses <= {*found.hypotheses, "a < 0 or a > 0"}
    assert check(wrong, signature).verdict == "refuted"


def own(bwd):
    """JAX's own LU factors, with a rule in reverse mode."""
    f = jax.custom_vjp(lambda a: lax.linalg.lu(a)[0])
    f.defvjp(lambda a: (f(a), (lax.linalg.lu(a)[0], lax.linalg.lu(a)[2])), bwd)
    return f


def factors_back(strict, permute, half=0.0):
    """The cotangent of the matrix, from those of both factors; with mistakes."""

    def bwd(saved, g):
        f, order = saved
        n = f.shape[0]
        low, up = jnp.tril(f, -1) + jnp.eye(n), jnp.triu(f)
        inner = jnp.tril(low.T @ jnp.tril(g, -1), strict) + jnp.triu(jnp.triu(g) @ up.T, half)
        x = solve_triangular(low.T, inner, lower=False)
        y = solve_triangular(up, x.T, lower=False).T
        return (jnp.zeros_like(f).at[order].add(y) if permute else y,)

    return bwd


BOTH_IN_REVERSE = {
    "right": factors_back(-1, True, 0),
    "the diagonal of L": factors_back(0, True, 0),
    "rows not in their order": factors_back(-1, False, 0),
    "no diagonal of U": factors_back(-1, True, 1),
}
"""Those with a mistake are rows of the corpus. The right one has no value at a matrix of one row that is 0, where the
factors are smooth: the whole of an audit refutes it, the calculus alone proves it where there are pivots."""


@pytest.mark.slow
def test_both_factors_in_reverse():
    assert check(own(BOTH_IN_REVERSE["right"]), "n n -> n n").verdict == "proved under hypotheses"
