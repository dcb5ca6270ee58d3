"""Products, gathers, scatters and attention."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import certgrad


@certgrad.declare("{w: d m, b: m}, n d -> n m")
@jax.custom_vjp
def dense(params, x):
    """x w + b."""
    return x @ params["w"] + params["b"]


def _dense_bwd(residuals, g):
    params, x = residuals
    return {"w": x.T @ g, "b": jnp.sum(g, axis=0)}, g @ params["w"].T


dense.defvjp(lambda params, x: (dense(params, x), (params, x)), _dense_bwd)


@certgrad.declare("n n, n n -> n n")
@jax.custom_vjp
def wrong_matmul(a, b):
    """The cotangent of a is transposed."""
    return a @ b


wrong_matmul.defvjp(lambda a, b: (a @ b, (a, b)), lambda r, g: (r[1] @ g.T, r[0].T @ g))


@certgrad.declare("b n d, d m -> b n m")
@jax.custom_vjp
def project(x, w):
    """With einsum."""
    return jnp.einsum("bnd,dm->bnm", x, w)


project.defvjp(
    lambda x, w: (project(x, w), (x, w)),
    lambda r, g: (jnp.einsum("bnm,dm->bnd", g, r[1]), jnp.einsum("bnd,bnm->dm", r[0], g)),
)


@certgrad.declare("v d, n:int -> n d", domain="i >= 0")
@jax.custom_vjp
def embedding(table, i):
    """Rows of a table; the gradient is scattered."""
    return table[i]


embedding.defvjp(lambda table, i: (table[i], (i, table)), lambda r, g: (jnp.zeros_like(r[1]).at[r[0]].add(g), None))


@certgrad.declare("n d, m d, m e -> n e")
@jax.custom_vjp
def attention(q, k, v):
    """softmax(q kᵀ / √d) v; the backward keeps the row sums of g·o, as flash attention does."""
    return jax.nn.softmax(q @ k.T * q.shape[-1] ** -0.5, axis=-1) @ v


def _attention_fwd(q, k, v):
    s = q @ k.T * q.shape[-1] ** -0.5
    log_total = jax.nn.logsumexp(s, axis=-1, keepdims=True)
    o = jnp.exp(s - log_total) @ v
    return o, (q, k, v, o, log_total)


def _attention_bwd(residuals, g):
    q, k, v, o, log_total = residuals
    p = jnp.exp(q @ k.T / math.sqrt(q.shape[-1]) - log_total)
    ds = p * (g @ v.T - jnp.sum(g * o, axis=-1, keepdims=True)) / math.sqrt(q.shape[-1])
    return ds @ k, ds.T @ q, p.T @ g


attention.defvjp(_attention_fwd, _attention_bwd)


@certgrad.declare("n d, m d, m e -> n e")
@jax.custom_vjp
def wrong_attention(q, k, v):
    """The normaliser of the softmax is treated as a constant."""
    s = q @ k.T
    e = jnp.exp(s)
    total = jnp.sum(e, axis=-1, keepdims=True)
    return (e / total) @ v


def _wrong_attention_bwd(residuals, g):
    q, k, v, p = residuals
    ds = p * (g @ v.T)
    return ds @ k, ds.T @ q, p.T @ g


wrong_attention.defvjp(
    lambda q, k, v: (wrong_attention(q, k, v), (q, k, v, jax.nn.softmax(q @ k.T, axis=-1))), _wrong_attention_bwd
)


@certgrad.declare("n n -> n n")
@jax.custom_vjp
def causal_softmax(s):
    """Masked with −1e9 above the diagonal."""
    mask = np.tril(np.ones(s.shape))
    return jax.nn.softmax(jnp.where(mask > 0, s, -1e9), axis=-1)


def _causal_bwd(p, g):
    mask = np.tril(np.ones(p.shape))
    return (jnp.where(mask > 0, p * (g - jnp.sum(p * g, axis=-1, keepdims=True)), 0.0),)


causal_softmax.defvjp(lambda s: (causal_softmax(s), causal_softmax(s)), _causal_bwd)


@certgrad.declare("n 2*d, n d -> n 2*d", differentiable=["x"])
@jax.custom_vjp
def rotary(x, angle):
    """Each pair (x₁, x₂) of halves turned by an angle."""
    a, b = jnp.split(x, 2, axis=1)
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.concatenate([a * c - b * s, a * s + b * c], axis=1)


rotary.defvjp(lambda x, angle: (rotary(x, angle), angle), lambda angle, g: (rotary(g, -angle), None))


@certgrad.declare("n d -> n d", static={"f": jnp.tanh})
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def recomputed(f, x):
    """f(x), its derivative made when it is needed."""
    return f(x)


recomputed.defvjp(lambda f, x: (f(x), x), lambda f, x, g: jax.vjp(f, x)[1](g))


@certgrad.declare("n, n -> n")
@jax.custom_vjp
def wrong_order(x, w):
    """The cotangents of x and w are exchanged."""
    return x * w


wrong_order.defvjp(lambda x, w: (x * w, (x, w)), lambda r, g: (g * r[0], g * r[1]))


@certgrad.declare("n d, d -> n d")
@jax.custom_vjp
def wrong_bias(x, b):
    """No gradient reaches the bias: zeros are returned."""
    return x + b


wrong_bias.defvjp(lambda x, b: (x + b, b), lambda b, g: (g, jnp.zeros_like(b)))


@certgrad.declare("n d, d -> n d")
@jax.custom_vjp
def wrong_broadcast(x, b):
    """The bias is broadcast over the rows, and the sum over them is missing."""
    return x + b


wrong_broadcast.defvjp(lambda x, b: (x + b, None), lambda _, g: (g, g[0]))
