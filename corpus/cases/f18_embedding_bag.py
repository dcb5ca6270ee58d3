"""EmbeddingBag(mode="mean"): ids are flat, ``bags`` says which bag each belongs to."""

from functools import partial

import jax
import jax.numpy as jnp


def _bag_counts(bags, num_bags):
    ones = jnp.ones(bags.shape, jnp.int32)
    return jnp.maximum(jax.ops.segment_sum(ones, bags, num_segments=num_bags), 1)


def _embedding_bag(table, ids, bags, num_bags):
    ids = jnp.clip(ids, 0, table.shape[0] - 1)
    total = jax.ops.segment_sum(table[ids], bags, num_segments=num_bags)
    return total / _bag_counts(bags, num_bags)[:, None].astype(table.dtype)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def right(table, ids, bags, num_bags):
    return _embedding_bag(table, ids, bags, num_bags)


def _fwd(table, ids, bags, num_bags):
    return _embedding_bag(table, ids, bags, num_bags), (table, ids, bags)


def _bwd(num_bags, res, g):
    table, ids, bags = res
    valid = (bags >= 0) & (bags < num_bags)
    per_bag = g / _bag_counts(bags, num_bags)[:, None].astype(g.dtype)
    rows = jnp.where(valid[:, None], per_bag[jnp.clip(bags, 0, num_bags - 1)], 0.0)
    ids = jnp.clip(ids, 0, table.shape[0] - 1)
    return jnp.zeros_like(table).at[ids].add(rows), None, None


right.defvjp(_fwd, _bwd)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def wrong(table, ids, bags, num_bags):
    return _embedding_bag(table, ids, bags, num_bags)


def _bwd_sum(num_bags, res, g):
    table, ids, bags = res
    valid = (bags >= 0) & (bags < num_bags)
    rows = jnp.where(valid[:, None], g[jnp.clip(bags, 0, num_bags - 1)], 0.0)
    ids = jnp.clip(ids, 0, table.shape[0] - 1)
    return jnp.zeros_like(table).at[ids].add(rows), None, None


wrong.defvjp(_fwd, _bwd_sum)
