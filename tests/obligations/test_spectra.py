"""Eigenvalues, singular values and QR: factors that their equations determine but for signs."""

import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.test_linear_solves import own_jvp, own_vjp
from tests.obligations.traps import declare, hypotheses

SIMPLE = "the matrix a[i,j]/2 + a[j,i]/2 in row i and column j has no repeated eigenvalue"
GRAM = "(Σk a[k,i]·a[k,j]) in row i and column j"
APART = f"the matrix {GRAM} has no repeated eigenvalue"
RANK = f"determinant({GRAM}) ≠ 0"


def eigenvectors(a):
    return jnp.linalg.eigh(a)[1]


def singular_values(a):
    return lax.linalg.svd(a, compute_uv=False)


def orthogonal(a):
    return lax.linalg.qr(a, full_matrices=False)[0]


def upper(a):
    return lax.linalg.qr(a, full_matrices=False)[1]


JAXS_OWN = [
    (eigenvectors, "n n -> n n", {SIMPLE}),
    (jnp.linalg.eigvalsh, "n n -> n", {SIMPLE}),
    (singular_values, "n+m m -> m", {APART, RANK}),
    (orthogonal, "n+m m -> n+m m", {RANK}),
    (upper, "n n -> n n", {"determinant(a) ≠ 0"}),
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("f, signature, under", JAXS_OWN, ids=lambda x: getattr(x, "__name__", None))
def test_jaxs_own_rules_are_proved_and_twice_the_tangent_is_refuted(f, signature, under):
    right = audit(declare(signature, lambda a: f(a), own_jvp(f), own_vjp(f)))
    assert right.verdict == "proved under hypotheses", [c.cases for c in right.claims]
    assert hypotheses(right) == under
    jvp = own_jvp(f)
    wrong = audit(declare(signature, lambda a: f(a), lambda a, da: 2 * jvp(a, da), own_vjp(f)))
    assert wrong.verdict == "refuted"


def test_a_root_of_a_positive_definite_matrix_solves_its_equation():
    """X = V·√Λ·Vᵀ has X·dX + dX·X = dA, so that dX is (VᵀdA·V)_kl/(√λ_k + √λ_l) in the basis V."""

    def parts(a):
        w, v = jnp.linalg.eigh((a + a.T) / 2, symmetrize_input=False)
        return jnp.sqrt(w), v

    def root(a):
        s, v = parts(a)
        return (v * s) @ v.T

    def moved(under):
        def jvp(a, da):
            s, v = parts(a)
            return v @ ((v.T @ (da + da.T) @ v) / (2 * under(s))) @ v.T

        return jvp

    right, wrong = moved(lambda s: s[:, None] + s), moved(lambda s: 2 * s[:, None] * s)
    certificate = audit(declare("n n -> n n", root, right, lambda a, g: right(a, (g + g.T) / 2)))
    assert certificate.verdict == "proved under hypotheses"
    assert SIMPLE in hypotheses(certificate)
    assert "the matrix a[i,j] + a[j,i] in row i and column j is positive definite" in hypotheses(certificate)
    assert audit(declare("n n -> n n", root, wrong, lambda a, g: wrong(a, (g + g.T) / 2))).verdict == "refuted"


def test_a_product_of_the_factors_is_the_matrix():
    """V·Λ·Vᵀ and Q·R are their matrix, with orthonormal columns: not so in another order."""

    def whole(a):
        s = (a + a.T) / 2
        w, v = jnp.linalg.eigh(s, symmetrize_input=False)
        q, r = jnp.linalg.qr(a)
        return (v * w) @ v.T + v.T @ v - v @ v.T + q @ r + q.T @ q - q @ q.T

    def turned(a):
        s = (a + a.T) / 2
        w, v = jnp.linalg.eigh(s, symmetrize_input=False)
        return (v.T * w) @ v

    def moved(a, da):
        return (da + da.T) / 2

    both = declare("n n -> n n", whole, lambda a, da: moved(a, da) + da, lambda a, g: moved(a, g) + g)
    assert audit(both).verdict.startswith("proved")
    assert audit(declare("n n -> n n", turned, moved)).verdict == "refuted"
