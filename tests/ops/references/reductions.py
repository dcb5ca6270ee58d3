"""References of the reductions and of the softmax family."""

import jax
import jax.numpy as jnp

from ._reference import Reference


def with_entry_kept(rng, shapes, keywords):
    """Values, and a mask that keeps an entry of every row."""
    mask = rng.uniform(size=shapes[1]) > 0.4
    mask[(slice(None),) * keywords["axis"] + (0,)] = True
    return [rng.normal(size=shapes[0]), mask]


def with_some_kept(rng, shapes, keywords):
    """Values, and a mask that keeps an entry of every reduced set."""
    mask = rng.uniform(size=shapes[1]) > 0.4
    mask[tuple(0 if i in keywords["axis"] else slice(None) for i in range(mask.ndim))] = True
    return [rng.normal(size=shapes[0]), mask]


def positive_weights(rng, shapes, keywords):
    return [rng.normal(size=shapes[0]), rng.uniform(0.5, 2, size=shapes[1])]


UNDERFLOW = {1e-30: "the squares underflow: the result is 0, and so is the rule there"}
_SQUARE = "The rules compare all pairs of entries: the scans that JAX differentiates are not followed at every length."


_TREE = "JAX multiplies halves by halves, as no trace at all lengths can; the rules take two cumulative products."


REFERENCES = {
    "norm": Reference(scales=UNDERFLOW),
    "prod": Reference(slow=_TREE),
    "average": Reference(lambda x, weights, *, axis: jnp.average(x, axis, weights), positive_weights),
    "cumlogsumexp": Reference(takes_integers=False, slow=_SQUARE),
    "cummax": Reference(slow=_SQUARE),
    "cummin": Reference(slow=_SQUARE),
    "gumbel_softmax": Reference(lambda x, noise, *, tau, axis: jax.nn.softmax((x + noise) / tau, axis)),
    "masked_mean": Reference(lambda x, mask, *, axis: jnp.mean(x, axis, where=mask), with_some_kept),
    "masked_softmax": Reference(lambda x, mask, *, axis: jax.nn.softmax(x, axis, where=mask), with_entry_kept),
    "masked_sum": Reference(lambda x, mask, *, axis: jnp.sum(x, axis, where=mask)),
    "softmax_with_temperature": Reference(lambda x, *, temperature, axis: jax.nn.softmax(x / temperature, axis)),
    "softmin": Reference(lambda x, *, axis: jax.nn.softmax(-x, axis)),
    "std": Reference(lambda x, *, axis, correction: jnp.std(x, axis, correction=correction), scales=UNDERFLOW),
    "var": Reference(lambda x, *, axis, correction: jnp.var(x, axis, correction=correction)),
}
