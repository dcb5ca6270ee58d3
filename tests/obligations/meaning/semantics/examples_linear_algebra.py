"""Examples of the primitives that solve matrix equations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.obligations.meaning.semantics.example import Example, example, real

S = real("s", "n n")
X = real("x", "n")
M = real("a", "n m")
N = real("b", "m n")


def triangular(a, b, **options):
    return lax.linalg.triangular_solve(a, b, **options)


def gram(a):
    return a @ a.T


def eigenvectors(a):
    w, v = jnp.linalg.eigh(a)
    return w + jnp.outer(w, w) * v


def eigenvectors_undone(a):
    w, v = jnp.linalg.eigh(a)
    return (v * jnp.exp(w)) @ v.T + v.T @ v


def singular_vectors_undone(a):
    u, s, v = jnp.linalg.svd(a)
    return (u * s) @ v @ a.T


def orthogonal_undone(a):
    q, r = jnp.linalg.qr(a)
    return jnp.linalg.solve(r, q.T @ a) @ q


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
    example("triangular_solve", lambda a, b: triangular(a, b, left_side=True, lower=True) + jnp.tril(a) @ b, S, M),
    example(
        "triangular_solve",
        lambda a, b: triangular(a, b, left_side=False, lower=False) + b @ jnp.triu(a, 1),
        S,
        N,
        name="upper on the right",
    ),
    example(
        "triangular_solve",
        lambda a, b, unit, transposed: triangular(a, b, left_side=True, unit_diagonal=unit, transpose_a=transposed),
        S,
        M,
        name="unit and transposed",
        unit=(True, False),
        transposed=(True, False),
    ),
    example(
        "triangular_solve",
        lambda a, b: jnp.tril(a) @ triangular(a, b, left_side=True, lower=True),
        S,
        M,
        name="undone",
    ),
    example("lu", lambda a: lax.linalg.lu(a)[0], S, largest=3),
    example("lu", lambda a: a[lax.linalg.lu(a)[2]] * lax.linalg.lu(a)[0], S, name="rows in order", largest=3),
    example(
        "lu_pivots_to_permutation",
        lambda a: a[:, lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(a)[1], a.shape[0])],
        S,
        largest=3,
    ),
    example("cholesky", lambda a: jnp.linalg.cholesky(gram(a) + jnp.eye(a.shape[0])), S, largest=2),
    example("cholesky", lambda a: gram(jnp.linalg.cholesky(gram(a))), S, name="undone"),
    example(
        "cholesky",
        lambda a: lax.linalg.cholesky(a + 9 * jnp.eye(a.shape[0]), symmetrize_input=False),
        S,
        name="of what is not symmetric",
        derivative=False,  # JAX's rule assumes a symmetric matrix
    ),
    example(
        "cholesky",
        lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(gram(a)), True), b),
        S,
        M,
        name="its inverse twice",
    ),
    example(
        "cholesky",
        lambda a: jnp.linalg.solve(gram(a), jnp.linalg.cholesky(gram(a))),
        S,
        name="undone from the left",
        largest=2,
    ),
    example("eigh", eigenvectors, S, largest=2),
    example("eigh", eigenvectors_undone, S, name="undone", largest=2),
    example("svd", lambda a: tuple(jnp.linalg.svd(a, full_matrices=False)), S, largest=2),
    example("svd", singular_vectors_undone, S, name="undone", largest=2),
    example("svd", lambda a: tuple(lax.linalg.svd(a, full_matrices=False)), real("a", "2 3"), name="wide"),
    example("qr", lambda a: tuple(jnp.linalg.qr(a)), S, largest=2),
    example("qr", orthogonal_undone, S, name="undone", largest=2),
    example("qr", lambda a: tuple(lax.linalg.qr(a, full_matrices=False)), real("a", "3 2"), name="tall"),
    example("jax.numpy.linalg.slogdet", lambda a: tuple(jnp.linalg.slogdet(a)), S),
    example("jax.numpy.linalg.det", lambda a: jnp.linalg.det(a), S),
]
