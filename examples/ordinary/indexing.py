"""Entries moved from place to place: gathers, slices, shifts."""

import jax
import jax.numpy as jnp

import certgrad


@certgrad.declare("v d, n:int -> n d", domain="i >= 0")
@jax.custom_vjp
def rows(table, i):
    """Rows of a table; the gradient is added up row by row."""
    return table[i]


rows.defvjp(lambda table, i: (table[i], (table, i)), lambda r, g: (jnp.zeros_like(r[0]).at[r[1]].add(g), None))


@certgrad.declare("n d, n:int -> n", domain="i >= 0")
@jax.custom_vjp
def picked(x, i):
    """One entry of each row."""
    return jnp.take_along_axis(x, i[:, None], axis=1)[:, 0]


picked.defvjp(
    lambda x, i: (picked(x, i), (x, i)), lambda r, g: (g[:, None] * jax.nn.one_hot(r[1], r[0].shape[1]), None)
)


@certgrad.declare("n d -> n d")
@jax.custom_vjp
def reversed_rows(x):
    """The rows in the other order."""
    return x[::-1]


reversed_rows.defvjp(lambda x: (x[::-1], None), lambda _, g: (g[::-1],))


@certgrad.declare("n d -> d n")
@jax.custom_vjp
def transposed(x):
    """xᵀ."""
    return x.T


transposed.defvjp(lambda x: (x.T, None), lambda _, g: (g.T,))


@certgrad.declare("n+1 -> n")
@jax.custom_vjp
def differences(x):
    """x[i + 1] − x[i]."""
    return x[1:] - x[:-1]


differences.defvjp(lambda x: (differences(x), None), lambda _, g: (jnp.pad(g, (1, 0)) - jnp.pad(g, (0, 1)),))


@certgrad.declare("n -> n+2")
@jax.custom_vjp
def padded(x):
    """A zero on either side."""
    return jnp.pad(x, 1)


padded.defvjp(lambda x: (jnp.pad(x, 1), None), lambda _, g: (g[1:-1],))


@certgrad.declare("n d, n d -> n 2*d")
@jax.custom_vjp
def beside(x, y):
    """The columns of x, then those of y."""
    return jnp.concatenate([x, y], axis=1)


beside.defvjp(lambda x, y: (beside(x, y), None), lambda _, g: tuple(jnp.split(g, 2, axis=1)))


@certgrad.declare("n 3*d -> n 3*d")
@jax.custom_vjp
def thirds_exchanged(x):
    """The columns in three parts, the last one first."""
    a, b, c = jnp.split(x, 3, axis=1)
    return jnp.concatenate([c, a, b], axis=1)


def _thirds_bwd(_, g):
    c, a, b = jnp.split(g, 3, axis=1)
    return (jnp.concatenate([a, b, c], axis=1),)


thirds_exchanged.defvjp(lambda x: (thirds_exchanged(x), None), _thirds_bwd)


@certgrad.declare("n d -> n*d")
@jax.custom_vjp
def flattened(x):
    """The rows one after another."""
    return x.reshape(-1)


flattened.defvjp(lambda x: (x.reshape(-1), x), lambda x, g: (g.reshape(x.shape),))
