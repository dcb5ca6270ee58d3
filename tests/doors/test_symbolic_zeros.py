"""A rule that is wrong where a cotangent is a symbolic zero, or where an input is not perturbed, at every door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad.obligations.certificate import PROOFS
from tests.doors import zeros
from tests.doors.doors import Example, verdict_through

Use = Callable[[Callable[..., Any]], Callable[..., Any]]


def first(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.square(rule(x)[0])


def second_in_a_comparison(rule: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        a, b = rule(x)
        return jnp.where(b > 1, a, 2 * a)

    return run


def second_stopped(rule: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        a, b = rule(x)
        return a * (1 + jnp.floor(jax.lax.stop_gradient(b) * 0))

    return run


def in_a_scan(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jax.lax.scan(lambda c, _: (c + rule(c * x)[0], None), jnp.sum(x), None, length=2)[0]


def in_a_carry(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The second output is handed on, to no use: JAX may make its cotangent an array of zeros, or drop it."""
    return lambda x: jax.lax.scan(lambda c, _: (rule(c[0] * x), None), (jnp.sum(x), 0.0 * jnp.sum(x)), None, length=2)[
        0
    ][0]


def in_a_vmap(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(jax.vmap(lambda row: rule(row)[0])(x))


def in_jit(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jax.jit(rule)(x)[0]


def in_remat(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jax.checkpoint(lambda y: rule(y)[0])(x)


def in_a_branch(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jax.lax.cond(jnp.sum(x) > 0, lambda y: rule(y)[0], jnp.sum, x)


def w_held(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(rule(x, jax.lax.stop_gradient(jnp.ones_like(x))))


def w_held_in_a_scan(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(jax.lax.scan(lambda c, row: (rule(c, row), None), x, jnp.ones((2, *x.shape)))[0])


def both_move(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, w: jnp.sum(rule(x, w))


OF_TWO = "n -> , "
PRODUCT = "n, n -> n"
X, XW = ("x: n",), ("x: n", "w: n")
PLAIN = {"moments": zeros.both_moments, "spread": zeros.both_moments, "product": jnp.multiply, "pushed": jnp.multiply}
USES: dict[tuple[str, Use], tuple[str, ...]] = {
    ("moments", first): X,
    ("moments", second_in_a_comparison): X,
    ("moments", second_stopped): X,
    ("moments", in_a_scan): X,
    ("moments", in_a_carry): X,
    ("moments", in_a_vmap): ("x: m n",),
    ("moments", in_jit): X,
    ("moments", in_remat): X,
    ("moments", in_a_branch): X,
    ("spread", first): X,
    ("spread", in_remat): X,
    ("product", w_held): X,
    ("product", w_held_in_a_scan): X,
    ("product", both_move): XW,
    ("pushed", w_held): X,
    ("pushed", both_move): XW,
}


def example(rule: str, use: Use, prefix: str = "") -> Example:
    signature = OF_TWO if rule in ("moments", "spread") else PRODUCT
    return Example(zeros, prefix + rule, PLAIN[rule], signature, use, USES[rule, use])
