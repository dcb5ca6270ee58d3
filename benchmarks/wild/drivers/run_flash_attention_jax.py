"""Attention in blocks, as the README calls it."""

import jax
import jax.numpy as jnp
from _driver import each
from flash_attention_jax import causal_flash_attention, cosine_sim_flash_attention, flash_attention

Q, K, V = jax.random.normal(jax.random.PRNGKey(0), (3, 1, 2, 4, 3))
MASK = jnp.ones((1, 4), bool)


def grad(f, *rest):
    jax.grad(lambda q, k, v: jnp.sum(f(q, k, v, *rest)), (0, 1, 2))(Q, K, V)


each(
    lambda: grad(flash_attention, MASK),
    lambda: grad(causal_flash_attention),
    lambda: grad(cosine_sim_flash_attention, MASK),
)
