"""Constant arrays whose entries differ: every entry counts, at its own place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad

WEIGHTS = np.array([1.0, 2.0, -4.0])
MATRIX = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
ORDER = np.array([2, 0, 0])


def rule(forward, backward):
    function = jax.custom_vjp(forward)
    function.defvjp(lambda x: (forward(x), x), backward)
    return function


RULES = {
    "weights of entries": (
        lambda x: jnp.sum(WEIGHTS * x**2, -1),
        lambda x, g: (2 * g[:, None] * WEIGHTS * x,),
        lambda x, g: (2 * g[:, None] * np.array([1.0, 2.0, -3.0]) * x,),
    ),
    "a matrix": (lambda x: x @ MATRIX, lambda _, g: (g @ MATRIX.T,), lambda _, g: (g @ MATRIX,)),
    "coefficients of a polynomial": (
        lambda x: jnp.polyval(jnp.asarray(WEIGHTS), x),
        lambda x, g: (g * (2 * x + 2),),
        lambda x, g: (g * (2 * x + 1),),
    ),
    "places to read, one of them twice": (
        lambda x: x[:, jnp.asarray(ORDER)],
        lambda x, g: (jnp.zeros_like(x).at[:, jnp.asarray(ORDER)].add(g),),
        lambda x, g: (jnp.zeros_like(x).at[:, jnp.asarray(ORDER)].set(g),),
    ),
    "a progression": (
        lambda x: x * np.linspace(1.0, 64.0, 127)[None, :3],
        lambda x, g: (g * np.array([1.0, 1.5, 2.0]),),
        lambda x, g: (g * np.array([1.0, 1.5, 2.5]),),
    ),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", RULES)
def test_every_entry_counts(name):
    forward, right, wrong = RULES[name]
    assert certgrad.check(rule(forward, right), "n 3").verdict == "proved"
    assert certgrad.check(rule(forward, wrong), "n 3").verdict in ("refuted", "unproved")


LARGE = np.random.default_rng(0).standard_normal((12, 12))
SYMMETRIC = LARGE + LARGE.T
SKEW = LARGE - LARGE.T

LARGE_TABLES = {
    "of weights": (
        lambda x: jnp.sum(x[:, None] / LARGE, -1),
        lambda x, g: (jnp.sum(g[:, :, None] / LARGE, 1),),
        lambda x, g: (jnp.sum(g[:, :, None] * LARGE, 1),),
    ),
    "transposed, with its sign": (
        lambda x: x - x @ LARGE,
        lambda x, g: (g + g @ -LARGE.T,),
        lambda x, g: (g + g @ -LARGE,),
    ),
    "symmetric": (
        lambda x: x @ SYMMETRIC,
        lambda x, g: (g @ SYMMETRIC,),
        lambda x, g: (-g @ SYMMETRIC,),
    ),
    "skew": (
        lambda x: x @ SKEW,
        lambda x, g: (-g @ SKEW,),
        lambda x, g: (g @ SKEW,),
    ),
    "of bits": (
        lambda x: jnp.sum(jnp.where(LARGE > 0, x[:, None], 2 * x[:, None]), -1),
        lambda x, g: (jnp.sum(g[:, :, None] * jnp.where(LARGE > 0, 1.0, 2.0), 1),),
        lambda x, g: (jnp.sum(g[:, :, None] * jnp.where(LARGE < 0, 1.0, 2.0), 1),),
    ),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", LARGE_TABLES)
def test_a_large_table_stands_by_its_name(name):
    forward, right, wrong = LARGE_TABLES[name]
    assert certgrad.check(rule(forward, right), "n 12").verdict == "proved"
    assert certgrad.check(rule(forward, wrong), "n 12").verdict == "refuted"


def test_nothing_else_is_known_of_a_large_table():
    """That its entries sum to 100 is: the rule that uses it is right, and not proved."""
    table = np.arange(100.0) % 7 + 1e-3 * np.arange(100.0) ** 2
    total = float(np.sum(table))
    report = certgrad.check(rule(lambda x: jnp.sum(x * table), lambda x, g: (g * total * jnp.ones(()),)), " -> ")
    assert report.verdict == "unproved"
