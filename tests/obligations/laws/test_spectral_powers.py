"""Functions of eigenvalues alone, whose derivatives are powers of the matrix: V·Λ^p·Vᵀ = A^p."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

DISTINCT = "has no repeated eigenvalue"


def symmetric(a):
    return (a + a.T) / 2


def values(a):
    return jnp.linalg.eigvalsh(symmetric(a))


def rule(function, backward):
    f = jax.custom_vjp(function)
    f.defvjp(lambda a: (function(a), a), backward)
    return f


RIGHT = {
    "cubes": (lambda a: jnp.sum(values(a) ** 3), lambda a, g: (3 * g * symmetric(a) @ symmetric(a),)),
}
WRONG = {
    "not made symmetric": (RIGHT["cubes"][0], lambda a, g: (3 * g * symmetric(a) @ a,)),
    "one power too few": (RIGHT["cubes"][0], lambda a, g: (3 * g * symmetric(a),)),
}
"""Rows of the corpus."""


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    found = certgrad.check(rule(*RIGHT[name]), "n n ->")
    assert found.verdict == "proved under hypotheses"
    assert any(DISTINCT in h.text for claim in found.certificate.claims for h in claim.hypotheses)
    assert all(case.scope == "all shapes" for claim in found.claims for case in claim.cases)
