"""The kernels in plain XLA, by their public functions, at small shapes."""

import importlib

import jax
import jax.numpy as jnp
from _driver import each

KEYS = iter(jax.random.split(jax.random.PRNGKey(0), 99))


def random(*shape):
    return jax.random.normal(next(KEYS), shape)


def grad(kernel, *args, at=(0,), **options):
    function = getattr(importlib.import_module(f"ejkernel.kernels._xla.{kernel}"), kernel)

    def total(*args):
        return sum(jnp.sum(x) for x in jax.tree.leaves(function(*args, **options)) if x.dtype == jnp.float32)

    jax.grad(total, at)(*args)


def sequences(heads=2):
    return random(1, 4, heads, 3), random(1, 4, heads, 3), random(1, 4, heads, 3)


each(
    lambda: grad("fused_cross_entropy", random(2, 3, 5), jnp.ones((2, 3), int)),
    lambda: grad("fused_kl_divergence", random(2, 3, 5), random(2, 3, 5), at=(0, 1)),
    lambda: grad("mean_pooling", random(2, 4, 3)),
    lambda: grad("recurrent", *sequences(), at=(0, 1, 2)),
    lambda: grad(
        "state_space_v1", random(1, 3, 2), random(2, 4), random(1, 3, 4), random(1, 3, 4), random(2), random(1, 3, 2)
    ),
    lambda: grad(
        "state_space_v2",
        random(1, 3, 2, 4),
        random(2),
        random(1, 3, 1, 5),
        random(1, 3, 1, 5),
        random(2),
        random(1, 3, 2),
    ),
    lambda: grad("flash_attention", *sequences(), at=(0, 1, 2)),
    lambda: grad("grouped_matmulv3", random(4, 3), random(2, 3, 5), jnp.array([1, 3]), at=(0, 1)),
    lambda: grad("gated_delta_rule", *sequences(), random(1, 4, 2), random(1, 4, 2), chunk_size=2, at=(0, 1, 2)),
    lambda: grad(
        "native_sparse_attention",
        *sequences(),
        block_indices=jnp.zeros((1, 4, 2, 1), int),
        block_counts=1,
        block_size=2,
        at=(0, 1, 2),
    ),
    lambda: grad(
        "deepseek_attn",
        random(1, 4, 2, 3),
        random(1, 4, 5),
        random(5, 2, 3),
        random(5, 2, 3),
        random(1, 4, 2, 3),
        random(1, 4, 3),
        random(1, 4, 2),
        index_topk=2,
    ),
)
