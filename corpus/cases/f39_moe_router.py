"""Top-k router: dense combine weights and the Switch load-balancing loss.

``logits`` is (tokens, experts).  The fraction of tokens sent to each expert is
piecewise constant in the logits and takes no gradient.
"""

from functools import partial

import jax
import jax.numpy as jnp


def _route(logits, k):
    _, experts = logits.shape
    _, chosen = jax.lax.top_k(logits, k)
    mask = jnp.sum(jax.nn.one_hot(chosen, experts, dtype=logits.dtype), axis=1)
    gates = jax.nn.softmax(jnp.where(mask > 0, logits, -jnp.inf), axis=-1)
    probs = jax.nn.softmax(logits, axis=-1)
    load = jnp.mean(mask, axis=0) / k
    aux = experts * jnp.sum(load * jnp.mean(probs, axis=0))
    return gates, aux, probs, load


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def right(logits, k=2):
    gates, aux, _, _ = _route(logits, k)
    return gates, aux


def _fwd(logits, k):
    gates, aux, probs, load = _route(logits, k)
    return (gates, aux), (gates, probs, load)


def _softmax_pullback(p, g):
    return p * (g - jnp.sum(p * g, axis=-1, keepdims=True))


def _bwd(k, res, cts):
    gates, probs, load = res
    g_gates, g_aux = cts
    tokens, experts = probs.shape
    g_probs = jnp.broadcast_to(g_aux * experts * load / tokens, probs.shape)
    return (_softmax_pullback(gates, g_gates) + _softmax_pullback(probs, g_probs),)


right.defvjp(_fwd, _bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def wrong(logits, k=2):
    gates, aux, _, _ = _route(logits, k)
    return gates, aux


def _bwd_gates_only(k, res, cts):
    gates, _, _ = res
    g_gates, _ = cts
    return (_softmax_pullback(gates, g_gates),)


wrong.defvjp(_fwd, _bwd_gates_only)
