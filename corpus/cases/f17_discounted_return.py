"""Discounted returns with episode boundaries and a trainable discount.

rewards: (T, B), dones: (T, B) bool, gamma: scalar, bootstrap: (B,)
"""

import jax
import jax.numpy as jnp
from jax import lax


def _returns(rewards, dones, gamma, bootstrap):
    if dones.dtype != jnp.bool_:
        raise TypeError("dones must be boolean")

    def step(nxt, inp):
        r, d = inp
        ret = r + gamma * jnp.where(d, 0.0, nxt)
        return ret, ret

    _, out = lax.scan(step, bootstrap, (rewards, dones), reverse=True)
    return out


@jax.custom_vjp
def right(rewards, dones, gamma, bootstrap):
    return _returns(rewards, dones, gamma, bootstrap)


def _fwd(rewards, dones, gamma, bootstrap):
    out = _returns(rewards, dones, gamma, bootstrap)
    return out, (out, dones, gamma, bootstrap)


def _bwd(res, g):
    out, dones, gamma, bootstrap = res

    def step(carry, inp):
        # carry: what flows into the return of this step from the step before it
        g_t, d_t = inp
        adj = g_t + carry
        return gamma * jnp.where(d_t, 0.0, adj), adj

    into_bootstrap, adj = lax.scan(step, jnp.zeros_like(bootstrap), (g, dones))
    following = jnp.concatenate([out[1:], bootstrap[None]], axis=0)
    ggamma = jnp.sum(adj * jnp.where(dones, 0.0, following))
    return adj, None, ggamma, into_bootstrap


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(rewards, dones, gamma, bootstrap):
    return _returns(rewards, dones, gamma, bootstrap)


def _bwd_shifted(res, g):
    out, dones, gamma, bootstrap = res

    def step(carry, inp):
        g_t, d_t = inp
        adj = g_t + gamma * jnp.where(d_t, 0.0, carry)
        return adj, adj

    last, adj = lax.scan(step, jnp.zeros_like(bootstrap), (g, dones))
    into_bootstrap = gamma * jnp.where(dones[-1], 0.0, last)
    following = jnp.concatenate([out[1:], bootstrap[None]], axis=0)
    ggamma = jnp.sum(adj * jnp.where(dones, 0.0, following))
    return adj, None, ggamma, into_bootstrap


wrong.defvjp(_fwd, _bwd_shifted)
