"""Non-causal linear attention with the elu(x) + 1 feature map (Katharopoulos 2020)."""

from functools import partial

import jax
import jax.numpy as jnp


def _phi(x):
    return jnp.where(x > 0, x + 1.0, jnp.exp(jnp.minimum(x, 0.0)))


def _dphi(x):
    return jnp.where(x > 0, 1.0, jnp.exp(jnp.minimum(x, 0.0)))


def _attend(q, k, v, eps):
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise ValueError("leading dimensions differ")
    fq, fk = _phi(q), _phi(k)
    kv = jnp.einsum("...sd,...se->...de", fk, v)
    z = jnp.sum(fk, axis=-2)
    den = jnp.einsum("...td,...d->...t", fq, z) + eps
    out = jnp.einsum("...td,...de->...te", fq, kv) / den[..., None]
    return out, (q, k, v, kv, z, den, out)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def right(q, k, v, eps=1e-6):
    return _attend(q, k, v, eps)[0]


def _bwd(eps, res, g):
    q, k, v, kv, z, den, out = res
    fq, fk = _phi(q), _phi(k)
    g_num = g / den[..., None]
    g_den = -jnp.sum(g_num * out, axis=-1)
    g_fq = jnp.einsum("...te,...de->...td", g_num, kv) + g_den[..., None] * z[..., None, :]
    g_kv = jnp.einsum("...td,...te->...de", fq, g_num)
    g_z = jnp.einsum("...td,...t->...d", fq, g_den)
    g_fk = jnp.einsum("...se,...de->...sd", v, g_kv) + g_z[..., None, :]
    g_v = jnp.einsum("...sd,...de->...se", fk, g_kv)
    return g_fq * _dphi(q), g_fk * _dphi(k), g_v


right.defvjp(_attend, _bwd)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def wrong(q, k, v, eps=1e-6):
    return _attend(q, k, v, eps)[0]


def _bwd_no_key_norm(eps, res, g):
    q, k, v, kv, z, den, out = res
    fq, fk = _phi(q), _phi(k)
    g_num = g / den[..., None]
    g_den = -jnp.sum(g_num * out, axis=-1)
    g_fq = jnp.einsum("...te,...de->...td", g_num, kv) + g_den[..., None] * z[..., None, :]
    g_kv = jnp.einsum("...td,...te->...de", fq, g_num)
    g_fk = jnp.einsum("...se,...de->...sd", v, g_kv)
    g_v = jnp.einsum("...sd,...de->...se", fk, g_kv)
    return g_fq * _dphi(q), g_fk * _dphi(k), g_v


wrong.defvjp(_attend, _bwd_no_key_norm)
