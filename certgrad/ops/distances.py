"""Distances and similarities between all rows of two matrices."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._stacks import matmul_stacks, swap


def _pairs(x, y):
    return jnp.expand_dims(x, -2) - jnp.expand_dims(y, -3)


def _of_rows(weights, x, y):
    """Return for each row i the sum over j of weights[i, j] (x[i] - y[j])."""
    return jnp.sum(weights, axis=-1, keepdims=True) * x - matmul_stacks(weights, y)


@op("*b n d, *b m d -> *b n m", source="From the differences, which do not cancel as ‖x‖² - 2 x·y + ‖y‖² does")
def pairwise_squared_distance(x, y):
    """Squared Euclidean distances ‖x[i] - y[j]‖² of all pairs of rows."""
    d = _pairs(x, y)
    return jnp.sum(d * d, axis=-1)


@pairwise_squared_distance.jvp
def _(x, y, dx, dy):
    return 2 * jnp.sum(_pairs(x, y) * _pairs(dx, dy), axis=-1)


@pairwise_squared_distance.vjp
def _(x, y, seed):
    return 2 * _of_rows(seed, x, y), 2 * _of_rows(swap(seed), y, x)


@op(
    "*b n d, *b m d -> *b n m",
    torch="torch.cdist",
    source="torch.cdist with p = 2; where two rows are equal the rules return 0, as PyTorch",
    magnitudes=Magnitudes(most=1 / 4),
)
def cdist(x, y):
    """Euclidean distances ‖x[i] - y[j]‖ of all pairs of rows."""
    d = _pairs(x, y)
    return jnp.sqrt(jnp.sum(d * d, axis=-1))


@cdist.fwd
def _(x, y):
    d = _pairs(x, y)
    square = jnp.sum(d * d, axis=-1)
    return jnp.sqrt(square), (x, y, lax.rsqrt(jnp.where(square > 0, square, 1)))


@cdist.jvp
def _(residuals, dx, dy):
    x, y, inverse = residuals
    return jnp.sum(_pairs(x, y) * _pairs(dx, dy), axis=-1) * inverse


@cdist.vjp
def _(residuals, seed):
    x, y, inverse = residuals
    weights = seed * inverse
    return _of_rows(weights, x, y), _of_rows(swap(weights), y, x)


@op(
    "*b n d, *b m d -> *b n m",
    params={"eps": "eps > 0"},
    source="With x̂ = x / √(x·x + eps): dx̂ = (dx - x̂ (x̂·dx)) / √(x·x + eps)",
)
def cosine_similarity_matrix(x, y, *, eps=1e-12):
    """Cosines x[i]·y[j] / (√(‖x[i]‖² + eps) √(‖y[j]‖² + eps)) of all pairs of rows."""
    return matmul_stacks(_unit(x, eps)[0], swap(_unit(y, eps)[0]))


def _unit(x, eps):
    """Return the rows divided by their length sqrt(x·x + eps), and 1 over that length."""
    inverse = 1 / jnp.sqrt(jnp.sum(x * x, axis=-1, keepdims=True) + eps)
    return x * inverse, inverse


def _project(of_rows, t):
    unit, inverse = of_rows
    return inverse * (t - unit * jnp.sum(unit * t, axis=-1, keepdims=True))


@cosine_similarity_matrix.fwd
def _(x, y, *, eps):
    of_x, of_y = _unit(x, eps), _unit(y, eps)
    return matmul_stacks(of_x[0], swap(of_y[0])), (of_x, of_y)


@cosine_similarity_matrix.jvp
def _(residuals, dx, dy):
    of_x, of_y = residuals
    return matmul_stacks(_project(of_x, dx), swap(of_y[0])) + matmul_stacks(of_x[0], swap(_project(of_y, dy)))


@cosine_similarity_matrix.vjp
def _(residuals, seed):
    of_x, of_y = residuals
    return _project(of_x, matmul_stacks(seed, of_y[0])), _project(of_y, matmul_stacks(swap(seed), of_x[0]))
