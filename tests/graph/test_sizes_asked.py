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


OF_SEVERAL = {
    "of three, two equal": (
        lambda x, y: jnp.where(jnp.array_equal(0 * x[:, 0, 0], 0 * x[0, :, 0]), x.shape[0] - x.shape[2], 0),
        (5, 5, 3),
        "not m = n",
    ),
    "twice another": (
        lambda x, y: jnp.array_equal(0 * x[:, 0, 0], 0 * jnp.concatenate([y, y])),
        (34, 1, 1),
        "not n = 2*m",
    ),
    "a square": (
        lambda x, y: jnp.array_equal(0 * x[:, 0, 0], 0 * jnp.outer(y, y).ravel()),
        (49, 1, 1),
        "not -1*m^2 + 1*n = 0",
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", OF_SEVERAL)
def test_nor_where_sizes_of_several_axes_say_so(name: str) -> None:
    """JAX's code compares them; where all are equal, or 1, nothing is wrong."""
    holds, _, excluded = OF_SEVERAL[name]
    rule = jax.custom_vjp(lambda x, y: jnp.sum(x**2) + jnp.sum(y))
    rule.defvjp(
        lambda x, y: (jnp.sum(x**2) + jnp.sum(y), (x, y)),
        lambda r, g: (2 * r[0] * g + holds(*r) * r[0] * g, g * jnp.ones_like(r[1])),
    )
    shape, other = ("n m k", "d") if name == "of three, two equal" else ("n a b", "m")
    found = certgrad.certify(certgrad.trace(lambda x, y: rule(x, y), shape, other))
    assert found.verdict in ("unproved", "refuted") or any(excluded in one for one in found.dimensions)


@pytest.mark.one_in(7)
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
