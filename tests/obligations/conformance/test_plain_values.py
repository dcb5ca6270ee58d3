"""Calls with numbers of Python's and arrays of numpy's, which JAX hands on as they are."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import certgrad


def _relu(keeps: Callable[[Any], Any]) -> Any:
    rule = jax.custom_vjp(lambda x: jnp.maximum(x, 0))
    rule.defvjp(lambda x: (jnp.maximum(x, 0), x), lambda x, g: (jnp.where(keeps(x), g, 0.0),))
    return rule


def _squared(backward: Callable[..., Any]) -> Any:
    rule = jax.custom_vjp(lambda x: (x + 1) ** 2)
    rule.defvjp(lambda x: ((x + 1) ** 2, x), backward)
    return rule


def _adds_in_place(x: Any, g: Any) -> tuple[Any]:
    x += 1
    return (g * 2 * x,)


def _doubles_in_place(x: Any, g: Any) -> tuple[Any]:
    g *= 2
    return (g * (x + 1),)


def _selects(negated: Callable[[Any], Any]) -> Any:
    rule = jax.custom_vjp(lambda x, m: jnp.where(m, x, 2 * x))
    rule.defvjp(lambda x, m: (jnp.where(m, x, 2 * x), m), lambda m, g: (jnp.where(negated(m), 2 * g, g), None))
    return rule


def _told_weak(x: Any, g: Any) -> tuple[Any]:
    return (g * (x + 1) if x.weak_type else 2 * g * (x + 1),)


WRONG = {
    "not of a Python boolean": (_relu(lambda x: ~(x <= 0)), "*s -> *s"),
    "not of a boolean argument": (_selects(lambda m: ~m), "n, :bool -> n"),
    "an argument that is added to in place": (_squared(_adds_in_place), "n -> n"),
    "a cotangent that is doubled in place": (_squared(_doubles_in_place), "n -> n"),
    "weak types": (_squared(_told_weak), "*s -> *s"),
}
"""Rows of the corpus."""
RIGHT = {
    "jnp's not": (_relu(lambda x: jnp.logical_not(x <= 0)), "*s -> *s"),
    "jnp's not of an argument": (_selects(jnp.logical_not), "n, :bool -> n"),
    "another name": (_squared(lambda x, g: (2 * g * (x + 1),)), "n -> n"),
}
"""Rows of the corpus."""


def test_a_graph_of_such_a_rule_is_not_proved() -> None:
    rule, _ = WRONG["an argument that is added to in place"]
    assert certgrad.certify(certgrad.trace(lambda x: jnp.sum(rule(x)), "x: n")).verdict == "unproved"


def test_arrays_of_a_dtype_that_a_signature_names_are_what_the_claim_is_about() -> None:
    """With 32 bits there are no arrays of float64."""
    rule = jax.custom_vjp(lambda x, y: x * y)
    twice = lambda r: 2 if r[0].dtype != r[1].dtype else 1
    rule.defvjp(lambda x, y: (x * y, (x, y)), lambda r, g: (r[1] * g * twice(r), r[0] * g))
    assert certgrad.check(rule, "n:float32, n:float64 -> n").verdict == "unproved"


def test_many_rounds_of_a_loop_are_evaluated() -> None:
    """How often a `while` runs is a number of a thousand hypotheses, each about the one before."""

    def rounds(x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda c: c[0] < 10, lambda c: (2 * c[0] + 1, c[1] + 1.0), (x, 0.0 * x))[1]

    rule = jax.custom_vjp(rounds)
    rule.defvjp(lambda x: (rounds(x), None), lambda _, g: (0.0 * g,))
    assert certgrad.check(rule, " -> ").verdict in ("unproved", "proved under hypotheses")
