"""Examples of the primitives that solve matrix equations."""

from __future__ import annotations

import jax.numpy as jnp

from tests.obligations.semantics.example import Example, example, real

S = real("s", "n n")
X = real("x", "n")
M = real("a", "n m")
N = real("b", "m n")


def solve(name, program, *arguments):
    return example("custom_linear_solve", program, *arguments, name=name, largest=3)


LINEAR_ALGEBRA: list[Example] = [
    solve("", lambda a, b: jnp.linalg.solve(a, b), S, M),
    solve("a vector", lambda a, x: jnp.linalg.solve(a, x), S, X),
    solve("a batch", lambda a, b: jnp.linalg.solve(a[None] + b[:, :, None], b[..., None]), S, N),
    solve("transposed", lambda a, b: jnp.linalg.solve(a.T, b) @ b.T @ jnp.linalg.solve(a, b), S, M),
    solve("a sum", lambda a, b: (a + a.T) @ jnp.linalg.solve(a + 2 * a.T, b), S, M),
    solve("undone", lambda a, b: a @ jnp.linalg.solve(3 * a, b), S, M),
    solve("twice", lambda a, b: jnp.linalg.solve(a, jnp.linalg.solve(a.T, a @ b)), S, M),
    solve("a Gram matrix", lambda a, b: jnp.linalg.solve(b @ a, b @ a @ b), M, N),
]
