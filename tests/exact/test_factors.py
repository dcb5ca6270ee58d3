"""Factors of matrices and solutions of equations: right rules agree, wrong ones differ."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad import exact


def _rule(function: Callable, bwd: Callable) -> Any:
    """A rule whose residuals are its argument and its value."""
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *args: (function(*args), (args, function(*args))), bwd)
    return rule


def _eigh(a: Any) -> Any:
    return jnp.linalg.eigh(a)


def _eigh_bwd(of_gap: Callable) -> Callable:
    def bwd(saved: Any, g: Any) -> Any:
        (_, (w, v)), (gw, gv) = saved, g
        gaps = w[None, :] - w[:, None]
        f = jnp.where(gaps == 0, 0.0, of_gap(jnp.where(gaps == 0, 1.0, gaps)))
        back = v @ (jnp.diag(gw) + f * (v.T @ gv)) @ v.T
        return ((back + back.T) / 2,)

    return bwd


def _values(a: Any) -> Any:
    return jnp.linalg.svd(a, compute_uv=False)


def _values_bwd(transposed: bool) -> Callable:
    def bwd(saved: Any, g: Any) -> Any:
        u, _, vt = jnp.linalg.svd(saved[0][0], full_matrices=False)
        return ((u * g) @ (vt.T if transposed else vt),)

    return bwd


def _solver(equation: Callable) -> Callable:
    return certgrad.solves(equation)(lambda m: jax.lax.fori_loop(0, 60, lambda _, z: m - 0.5 * jnp.sin(z), m))


IMPLICIT = _solver(lambda z, m: z + 0.5 * jnp.sin(z) - m)
AFFINE = certgrad.solves(lambda z, a, b: a.T @ (a @ z) + z - b)(lambda a, b: jnp.linalg.solve(a.T @ a + 1.0, b))


def _ridge_bwd(sign: float) -> Callable:
    def bwd(saved: Any, g: Any) -> Any:
        ((a, _), x) = saved
        u = AFFINE(a, g)
        return sign * (jnp.outer(a @ u, x) + jnp.outer(a @ x, u)), u

    return bwd


CASES: dict[str, tuple[Any, Any, str]] = {
    "eigenvalues and vectors": (
        _rule(_eigh, _eigh_bwd(lambda gap: 1 / gap)),
        _rule(_eigh, _eigh_bwd(lambda gap: 1 / (gap + 1e-3))),
        "n n -> n, n n",
    ),
    "singular values": (_rule(_values, _values_bwd(False)), _rule(_values, _values_bwd(True)), "3 2 -> 2"),
    "a solution of an equation": (
        _rule(lambda m: IMPLICIT(m), lambda saved, g: (g / (1 + 0.5 * jnp.cos(saved[1])),)),
        _rule(lambda m: IMPLICIT(m), lambda saved, g: (g / (1 + 0.5 * jnp.cos(saved[0][0])),)),
        "n -> n",
    ),
    "a solution of an affine equation": (
        _rule(lambda a, b: AFFINE(a, b), _ridge_bwd(-1.0)),
        _rule(lambda a, b: AFFINE(a, b), _ridge_bwd(1.0)),
        "m n, n -> n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_right_and_wrong(name: str) -> None:
    right, wrong, signature = CASES[name]
    found = exact.check(right, signature)
    assert found.verdict == "agrees", found.reason
    assert found.bound <= -80
    assert exact.check(wrong, signature).verdict == "differs"


def test_both_signs_of_vectors_are_met() -> None:
    rule = _rule(_eigh, _eigh_bwd(lambda gap: 1 / gap))
    bwd = _eigh_bwd(lambda gap: 1 / gap)
    rule.defvjp(
        lambda a: (_eigh(a), ((a,), _eigh(a))),
        lambda saved, g: tuple(jnp.where(saved[1][1][0, 0] < 0, 2.0, 1.0) * x for x in bwd(saved, g)),
    )
    assert exact.check(rule, "2 2 -> 2, 2 2").verdict == "differs"


def test_what_rests_on_the_matrix_itself_stays_open() -> None:
    """Factors are drawn apart from their matrix: that A·V is V·diag(λ) is not seen."""

    def f(a: Any) -> Any:
        w, v = jnp.linalg.eigh(a + a.T)
        return jnp.sum((a + a.T) @ v - v * w)

    found = exact.check(_rule(f, lambda saved, g: (0 * saved[0][0] * g,)), "2 2 -> ")
    assert found.verdict == "undecided"
    assert "not by the laws" in found.reason


def test_comparisons_in_an_equation_are_made_at_its_solution() -> None:
    """−3 ≤ z is true of drawn unknowns, and false of the solution."""
    bent = certgrad.solves(lambda z, m: jnp.where(z > -3, z, 2 * z + 3) - m)(lambda m: m)
    rule = _rule(lambda m: bent(m - 20), lambda saved, g: (g,))
    assert exact.check(rule, "n -> n").verdict == "differs"
