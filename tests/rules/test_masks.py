"""Masks that write −1e30 for −∞: a rule that does not mask its cotangents again is right up to rounding."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")

FILL = -1e30


def ruled(f: Callable, bwd: Callable) -> Any:
    rule = jax.custom_vjp(f)
    rule.defvjp(lambda *args: (f(*args), args), bwd)
    return rule


def causal(s: jax.Array, fill: float = FILL) -> jax.Array:
    i = jnp.arange(s.shape[0])
    return jax.nn.softmax(jnp.where(i[:, None] >= i, s, fill), -1)


def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    return causal(q @ k.T) @ v


def attend_bwd(residuals: tuple, g: jax.Array) -> tuple:
    q, k, v = residuals
    p, dp = causal(q @ k.T), g @ v.T
    ds = p * (dp - jnp.sum(p * dp, -1, keepdims=True))
    return ds @ k, ds.T @ q, p.T @ g


def forgets_the_sum(residuals: tuple, g: jax.Array) -> tuple:
    q, k, v = residuals
    p, dp = causal(q @ k.T), g @ v.T
    return (p * dp) @ k, (p * dp).T @ q, p.T @ g


def forgets_the_mask(residuals: tuple, g: jax.Array) -> tuple:
    q, k, v = residuals
    p, dp = jax.nn.softmax(q @ k.T, -1), g @ v.T
    ds = p * (dp - jnp.sum(p * dp, -1, keepdims=True))
    return ds @ k, ds.T @ q, p.T @ g


def test_a_mask_means_an_infinity() -> None:
    found = certgrad.check(ruled(attend, attend_bwd), "n d, n d, n d")
    assert found.verdict == "proved up to rounding"
    said = "-1e+30, where a mask chooses it, is read as −∞, beside values that are all far from it"
    assert all(said in claim.idealisations for claim in found.certificate.claims)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("bwd", [forgets_the_sum, forgets_the_mask])
def test_wrong_rules_beside_it(bwd: Callable) -> None:
    assert certgrad.check(ruled(attend, bwd), "n d, n d, n d").verdict == "refuted"


B = -1e9
OTHERWISE = {
    "where nothing is kept": (
        lambda x, m: jax.nn.softmax(jnp.where(m, x, B)),
        lambda r, g: (lambda p: (p * (g - (p * g).sum()), None))(jax.nn.softmax(jnp.where(r[1], r[0], B))),
    ),
    "made small": (
        lambda x, m: jnp.exp(jnp.where(m, x, B) * 1e-9),
        lambda r, g: (g * 1e-9 * jnp.exp(jnp.where(r[1], r[0], B) * 1e-9), None),
    ),
    "brought back": (
        lambda x, m: jnp.exp(jnp.where(m, x, B) - B),
        lambda r, g: (g * jnp.exp(jnp.where(r[1], r[0], B) - B), None),
    ),
    "returned": (lambda x, m: jnp.where(m, x, B), lambda r, g: (g, None)),
    "a divisor": (
        lambda x, m: 1 / jnp.where(m, x, -B),
        lambda r, g: (-g / jnp.where(r[1], r[0], 3.0) ** 2, None),
    ),
    "looked for": (
        lambda x, m: jnp.where(jnp.where(m, x, B) == B, 0.0, jnp.where(m, x, B)),
        lambda r, g: (g, None),
    ),
    "a finite number": (
        lambda x, m: jnp.isfinite(jnp.where(m, x, B)) * x,
        lambda r, g: (jnp.where(r[1], g, 0), None),
    ),
    "beside another infinity": (
        lambda x, m: jnp.isfinite(jnp.where(x > 1, -jnp.inf, jnp.where(m, x, B))) * x,
        lambda r, g: (jnp.where(r[1] & (r[0] < 1), g, 0), None),
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", OTHERWISE)
def test_what_is_more_than_an_infinity(case: str) -> None:
    """Wrong rules that are right where the number is an infinity."""
    assert certgrad.check(ruled(*OTHERWISE[case]), "n, n:bool").verdict in ("refuted", "unproved")


def test_a_number_that_is_no_mask() -> None:
    """`where` that clips: no rule is proved that forgets it, whatever the number is."""
    clip = ruled(lambda x: jnp.where(x > 1e9, 1e9, x), lambda r, g: (g,))
    assert certgrad.check(clip, "n").verdict in ("refuted", "unproved")
