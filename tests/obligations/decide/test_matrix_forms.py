"""Inverses and determinants in other forms: products, updates of rank one; and systems with bands."""

import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.test_linear_solves import own_jvp, own_vjp
from tests.obligations.traps import declare

det, inverse, solve = jnp.linalg.det, jnp.linalg.inv, jnp.linalg.solve


def of_product(flip):
    """d det(A·B) where A alone moves is det A·det B·tr(A⁻¹·dA)."""

    def jvp(a, b, da, db):
        moved = inverse(b.T if flip else b) @ db
        return det(a) * det(b) * (jnp.trace(inverse(a) @ da) + jnp.trace(moved))

    def vjp(a, b, g):
        scale = g * det(a) * det(b)
        return scale * inverse(a).T, scale * inverse(b.T if flip else b).T

    return declare("n n, n n -> ", lambda a, b: det(a @ b), jvp, vjp)


def of_update(sign):
    """(D + u·uᵀ)⁻¹·b for D = diag(e), e = exp(d), by Sherman and Morrison."""

    def solved(e, u, b):
        return b / e - u / e * jnp.dot(u / e, b) / (1 + sign * jnp.dot(u, u / e))

    def jvp(d, u, b, dd, du, db):
        e = jnp.exp(d)
        x = solved(e, u, b)
        return solved(e, u, db - e * dd * x - du * jnp.dot(u, x) - u * jnp.dot(du, x))

    def vjp(d, u, b, g):
        e = jnp.exp(d)
        x, z = solved(e, u, b), solved(e, u, g)
        return -z * e * x, -z * jnp.dot(u, x) - x * jnp.dot(u, z), z

    def forward(d, u, b):
        return solve(jnp.diag(jnp.exp(d)) + jnp.outer(u, u), b)

    return declare("n, n, n -> n", forward, jvp, vjp)


def of_bands(swapped):
    """T·x = b: backwards the bands of Tᵀ, which are those of T moved by one place."""

    def forward(low, mid, high, b):
        return lax.linalg.tridiagonal_solve(low, mid, high, b)

    def vjp(low, mid, high, b, g):
        zero, x = jnp.zeros_like(mid[:1]), forward(low, mid, high, b)
        after, before = jnp.concatenate([low[1:], zero]), jnp.concatenate([zero, high[:-1]])
        z = forward(*((high, mid, low) if swapped else (before, mid, after)), g)
        under = -jnp.concatenate([zero, jnp.sum(z[1:] * x[:-1], 1)])
        over = -jnp.concatenate([jnp.sum(z[:-1] * x[1:], 1), zero])
        return under, -jnp.sum(z * x, 1), over, z

    return declare("n, n, n, n m -> n m", forward, own_jvp(forward), vjp)


SLOW = [pytest.param(pair, marks=pytest.mark.slow) for pair in (of_product, of_bands)]


@pytest.mark.parametrize("pair", [of_update, *SLOW])
def test_right_and_wrong(pair):
    right, wrong = (pair(1), pair(-1)) if pair is of_update else (pair(False), pair(True))
    assert audit(right).verdict == "proved under hypotheses"
    assert audit(wrong).verdict == "refuted"


@pytest.mark.slow
def test_jaxs_own_rule_of_bands():
    def forward(low, mid, high, b):
        return lax.linalg.tridiagonal_solve(low, mid, high, b)

    rule = declare("n, n, n, n m -> n m", forward, own_jvp(forward), own_vjp(forward))
    assert audit(rule).verdict == "proved under hypotheses"
