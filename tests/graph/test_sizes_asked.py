"""Rules in a graph that are others at sizes about which they, or JAX's code for them, ask: these are left out."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

TABLE = jnp.zeros((13, 11))
ASKED = {
    "types": (lambda x: jax.typeof(x) == jax.typeof(TABLE), (13, 11)),
    "a stride": (lambda x: jnp.array_equal(0 * x[::8, 0], jnp.zeros(3)), (20, 2)),
    "the type of a stride": (lambda x: jax.typeof(x[::8, 0]) == jax.typeof(jnp.zeros(3)), (20, 2)),
    "a product": (lambda x: jnp.array_equal(0 * x.ravel(), jnp.zeros(35)), (7, 5)),
    "two questions": (
        lambda x: jax.typeof(x[0]) == jax.typeof(jnp.zeros(11)) and jax.typeof(x[:, 0]) == jax.typeof(jnp.zeros(13)),
        (13, 11),
    ),
    "a table of types": (lambda x: jax.typeof(x) in {jax.typeof(TABLE)}, (13, 11)),
    "a type in words": (lambda x: str(jax.typeof(x)).endswith("[13,11]"), (13, 11)),
    "a program in words": (lambda x: "[13,11]" in str(jax.make_jaxpr(lambda t: 2 * t)(x)), (13, 11)),
}


@pytest.mark.parametrize("name", ASKED)
def test_no_claim_is_made_at_such_sizes(name: str) -> None:
    holds, shape = ASKED[name]
    rule = jax.custom_vjp(lambda x: jnp.sum(x**2))
    rule.defvjp(lambda x: (jnp.sum(x**2), x), lambda x, g: (jnp.where(holds(x), 5, 2) * x * g,))
    assert jax.grad(rule)(jnp.ones(shape))[0, 0] == 5
    found = certgrad.certify(certgrad.trace(lambda x: rule(x), "n d"))
    n, d = shape
    excluded = {
        f"n = {n}",
        f"d = {d}",
        "-3 + 1*floordiv(n + 7, 8) = 0",
        "-35 + 1*d*n = 0",
    }
    assert found.verdict == "unproved" or any(f"not {e} " in f"{one} " for one in found.dimensions for e in excluded)
