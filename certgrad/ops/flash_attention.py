"""Attention by tiles of keys: no array of all queries times all keys is ever made, in either direction."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op, size_of
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._stacks import matmul_stacks, swap
from certgrad.ops.scaled_dot_product import root, scores_of, weights

LARGEST_TILE = 128
"""The most keys in a tile where the caller does not say how many."""


@op(
    case("*b n d, *b t*s d, *b t*s e -> *b n e", tile=size_of("s"), is_causal=False),
    case("*b n d, *b t*s d, *b t*s e -> *b n e", tile=size_of("s"), is_causal=True),
    torch="torch.nn.functional.scaled_dot_product_attention",
    source="Dao et al. 2022; the online softmax is Milakov and Gimelshein 2018",
    magnitudes=Magnitudes(most=1 / 4),
)
def flash_attention(q, k, v, *, tile=None, is_causal=False):
    """Scaled dot product attention softmax(q kᵀ / √d) v, with the keys in tiles of `tile`; heads are leading axes.

    The number of keys is a multiple of `tile`; by default `tile` is its largest divisor up to 128. Of the queries'
    scores only those of one tile are there at a time, so that memory grows with n·tile, in the reverse pass too. With
    `is_causal` a query sees the keys up to its own place.
    """
    return _attended(q, k, v, tile, is_causal)[0]


@flash_attention.several
def _(q, k, v, *, tile=None, is_causal=False):
    if tile is None and jnp.ndim(k) > 1:
        keys = jnp.shape(k)[-2]
        tile = next(size for size in range(min(keys or 1, LARGEST_TILE), 0, -1) if keys % size == 0)
    return flash_attention.call_case(q, k, v, tile=tile, is_causal=is_causal)


@flash_attention.reference
def _(q, k, v, *, is_causal):
    return matmul_stacks(weights(q, k, is_causal), v)


def _tiles(x, tile):
    """Return the rows (.., t·s, c) as t tiles of s rows, (t, .., s, c), over which a loop can run."""
    count = x.shape[-2] // tile
    return jnp.moveaxis(jnp.reshape(x, (*x.shape[:-2], count, tile, x.shape[-1])), -3, 0)


def _joined_tiles(tiles):
    """Return tiles (t, .., s, c) as rows (.., t·s, c) again: the inverse of `_tiles`."""
    x = jnp.moveaxis(tiles, 0, -3)
    return jnp.reshape(x, (*x.shape[:-3], x.shape[-3] * x.shape[-2], x.shape[-1]))


def _places(k, tile):
    """Return the positions of the keys in each tile, one tile a row."""
    return jnp.reshape(lax.iota(int, k.shape[-2]), (k.shape[-2] // tile, tile))


def _first_rows(x):
    """Return the first row of each matrix; it is the same slice at symbolic sizes as at numbers."""
    return lax.slice_in_dim(x, 0, 1, axis=x.ndim - 2)


def _causally_masked(scores, places, is_causal, unseen=0):
    """Return scores of the keys at these positions; if `is_causal`, `unseen` where a key comes after the query."""
    if not is_causal:
        return scores
    queries = lax.broadcasted_iota(int, (scores.shape[-2], 1), 0)
    return jnp.where(places <= queries, scores, unseen)


def _attended(q, k, v, tile, is_causal):
    """Return the values; and for each query the largest score and the total Σ exp(score - largest).

    The loop over tiles of keys keeps the largest score so far, and rescales the sums when it grows. The total is kept
    rather than its logarithm, which would be rounded.
    """
    # The running maximum starts just below the scores of the first key, which every query sees: at no infinity.
    first = lax.stop_gradient(scores_of(q, _first_rows(k))) - 1

    def step(carry, row):
        largest, total, out = carry
        k, v, places = row
        scores = scores_of(q, k)
        above = jnp.max(_causally_masked(scores, places, is_causal, first), axis=-1, keepdims=True)
        new = lax.stop_gradient(jnp.maximum(largest, above))
        shrunk = jnp.exp(largest - new)
        p = _causally_masked(jnp.exp(scores - new), places, is_causal)
        return (new, shrunk * total + jnp.sum(p, axis=-1, keepdims=True), shrunk * out + matmul_stacks(p, v)), None

    nothing = (jnp.zeros_like(first), jnp.zeros_like(matmul_stacks(first, _first_rows(v))))
    tiles = (_tiles(k, tile), _tiles(v, tile), _places(k, tile))
    (largest, total, out), _ = lax.scan(step, (first, *nothing), tiles)
    return out / total, (largest, total)


@flash_attention.fwd
def _(q, k, v, *, tile, is_causal):
    out, scale = _attended(q, k, v, tile, is_causal)
    return out, (q, k, v, out, scale)


def _weights(q, k, scale, places, is_causal):
    """Return the softmax weights of the keys of one tile; `scale` is each query's largest score and total."""
    largest, total = scale
    return _causally_masked(jnp.exp(scores_of(q, k) - largest) / total, places, is_causal)


@flash_attention.jvp
def _(residuals, dq, dk, dv, *, tile, is_causal):
    q, k, v, out, scale = residuals

    def step(carry, row):
        dout, dnorm = carry
        k, v, dk, dv, places = row
        p = _weights(q, k, scale, places, is_causal)
        dp = p * (matmul_stacks(dq, swap(k)) + matmul_stacks(q, swap(dk))) / root(q)
        return (dout + matmul_stacks(dp, v) + matmul_stacks(p, dv), dnorm + jnp.sum(dp, axis=-1, keepdims=True)), None

    tiles = (*(_tiles(x, tile) for x in (k, v, dk, dv)), _places(k, tile))
    (dout, dnorm), _ = lax.scan(step, (jnp.zeros_like(out), jnp.zeros_like(scale[0])), tiles)
    return dout - dnorm * out


@flash_attention.vjp
def _(residuals, seed, *, tile, is_causal):
    q, k, v, out, scale = residuals
    mean = jnp.sum(seed * out, axis=-1, keepdims=True)

    def step(ct_q, row):
        k, v, places = row
        p = _weights(q, k, scale, places, is_causal)
        ct = p * (matmul_stacks(seed, swap(v)) - mean) / root(q)
        return ct_q + matmul_stacks(ct, k), (matmul_stacks(swap(ct), q), matmul_stacks(swap(p), seed))

    tiles = (_tiles(k, tile), _tiles(v, tile), _places(k, tile))
    ct_q, (ct_k, ct_v) = lax.scan(step, jnp.zeros_like(q), tiles)
    return ct_q, _joined_tiles(ct_k), _joined_tiles(ct_v)
