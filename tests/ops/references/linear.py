"""References of the ops of matrices."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from ._reference import Reference


def well_conditioned(rng, shapes, keywords):
    """Square matrices with a dominating diagonal, and right-hand sides."""
    first, *others = (rng.normal(size=shape) for shape in shapes)
    return [first + 2 * np.sqrt(first.shape[-1]) * np.eye(first.shape[-1]), *others]


def positive_definite(rng, shapes, keywords):
    (a,) = well_conditioned(rng, shapes, keywords)
    return [a @ np.swapaxes(a, -1, -2) + 0.1 * rng.normal(size=a.shape)]


def triangles(rng, shapes, keywords):
    """Triangular solves of large random triangles are ill-conditioned: the entries beside the diagonal are small."""
    a, b = rng.normal(size=shapes[0]), rng.normal(size=shapes[1])
    return [a / a.shape[-1] + 2 * np.eye(a.shape[-1]), b]


def rows_of_a_table(rng, shapes, keywords):
    return [rng.integers(-1, shapes[1][0] + 1, size=shapes[0]), rng.normal(size=shapes[1])]


def cdist(x, y):
    return jnp.linalg.norm(x[..., :, None, :] - y[..., None, :, :], axis=-1)


def cosines(x, y, *, eps):
    unit = lambda x: x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True) + eps)
    return unit(x) @ jnp.swapaxes(unit(y), -1, -2)


def triangular_solve(a, b, **how):
    return solve_triangular(a, b, **how)


def einsum(x, y, *, batch, contracted):
    labels = "abcdefghijklmnop"
    b, k = labels[:batch], labels[batch : batch + contracted]
    i = labels[batch + contracted : x.ndim]
    j = labels[x.ndim : x.ndim + y.ndim - batch - contracted]
    return jnp.einsum(f"{b}{i}{k},{b}{k}{j}->{b}{i}{j}", x, y)


_SMALL = {"n": 64, "m": 64, "d": 32}

REFERENCES = {
    "bilinear": Reference(
        lambda x, w, y: jnp.einsum("...n,mnk,...k->...m", x, w, y), sizes={"n": 64, "m": 64, "k": 64}
    ),
    "cdist": Reference(
        cdist, scales={1e-30: "the squares underflow: the distance is 0, and so is the rule there"}, sizes=_SMALL
    ),
    "cholesky": Reference(arrays=positive_definite, half=False, sizes={"b": 4, "n": 64}),
    "cosine_similarity_matrix": Reference(cosines),
    "embedding": Reference(lambda indices, weight: weight.at[indices].get(mode="clip"), rows_of_a_table),
    "embedding_one_hot": Reference(lambda one_hot, weight: one_hot @ weight),
    "einsum": Reference(einsum, sizes={"*b": 16, "*i": 128, "*k": 128, "*j": 128}),
    "tensordot": Reference(
        lambda a, b, *, contracted: jnp.tensordot(a, b, contracted), sizes={"*i": 256, "*k": 256, "*j": 256}
    ),
    "gram_matrix": Reference(lambda x: x @ jnp.swapaxes(x, -1, -2)),
    "inverse": Reference(arrays=well_conditioned, half=False, sizes={"b": 4, "n": 64}),
    "kron": Reference(sizes={"n": 32, "m": 32, "p": 16, "q": 16}),
    "linear": Reference(lambda x, weight, bias: x @ weight.T + bias),
    "multi_dot": Reference(lambda *matrices: jnp.linalg.multi_dot(matrices)),
    "pairwise_squared_distance": Reference(
        lambda x, y: jnp.sum((x[..., :, None, :] - y[..., None, :, :]) ** 2, -1), sizes=_SMALL
    ),
    "quadratic_form": Reference(lambda x, a: jnp.einsum("...i,ij,...j->...", x, a, x)),
    "slogdet": Reference(lambda a: tuple(jnp.linalg.slogdet(a)), well_conditioned, half=False, sizes={"b": 4, "n": 64}),
    "solve": Reference(arrays=well_conditioned, half=False, sizes={"b": 4, "n": 64, "m": 64}),
    "triangular_solve": Reference(triangular_solve, triangles, sizes={"b": 4, "n": 64, "m": 64}),
}
