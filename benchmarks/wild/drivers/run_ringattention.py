"""Ring attention on a ring of one device."""

from functools import partial

import jax
import jax.numpy as jnp
from _driver import each
from jax.sharding import PartitionSpec as P
from ringattention.ringattention_inference import ring_attention_inference
from ringattention.ringattention_jax import ring_attention

MESH = jax.make_mesh((1,), ("sp",))
Q = jax.random.normal(jax.random.PRNGKey(0), (1, 4, 2, 3))
OPTIONS = {
    "causal_block_size": None,
    "deterministic": True,
    "dropout_rng": None,
    "attn_pdrop": 0.0,
    "query_chunk_size": 2,
    "key_chunk_size": 2,
    "dtype": jnp.float32,
    "policy": jax.checkpoint_policies.nothing_saveable,
    "precision": None,
    "prevent_cse": True,
}


def trained():
    bias, ids = jnp.zeros((1, 1, 1, 4)), jnp.zeros((1, 4), int)
    f = partial(ring_attention, cache_idx=None, axis_name="sp", float32_logits=True, blockwise_kwargs=OPTIONS)
    one = jax.shard_map(
        lambda q, b, i: f(q, q, q, b, i), mesh=MESH, in_specs=(P(), P(), P()), out_specs=P(), check_vma=False
    )
    jax.grad(lambda q: jnp.sum(one(q, bias, ids)))(Q)


def inferred():
    f = lambda q, m: ring_attention_inference(q, q, q, m, "sp", True)  # noqa: E731
    one = jax.shard_map(f, mesh=MESH, in_specs=(P(), P()), out_specs=P(), check_vma=False)
    one(Q, jnp.ones((1, 1, 4, 4), bool))


each(trained, inferred)
