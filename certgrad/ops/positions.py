"""Positions, brought into attention."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._magnitudes import Magnitudes


@op(
    "*b n 2*d, n d, n d -> *b n 2*d",
    source="Su et al. 2021, on the two halves of a vector, as in LLaMA and GPT-NeoX",
    magnitudes=Magnitudes(most=1 / 4),
)
def rotary_embedding(x, cos, sin):
    """Rotary position embedding: each pair (x[i], x[i + d]) rotated by the angle with that cosine and sine."""
    return _rotated(x, cos, sin)


def _rotated(x, cos, sin):
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


@rotary_embedding.jvp
def _(x, cos, sin, dx, dcos, dsin):
    return _rotated(dx, cos, sin) + _rotated(x, dcos, dsin)


@rotary_embedding.vjp
def _(x, cos, sin, seed):
    first, second = jnp.split(x, 2, axis=-1)
    ct_first, ct_second = jnp.split(seed, 2, axis=-1)
    batch = tuple(range(x.ndim - 2))
    ct_cos = jnp.sum(ct_first * first + ct_second * second, axis=batch)
    return _rotated(seed, cos, -sin), ct_cos, jnp.sum(ct_second * first - ct_first * second, axis=batch)
