"""Layers: products of arrays, normalisations, gates."""

import jax
import jax.numpy as jnp

import certgrad


@certgrad.declare("n d, d m, m -> n m")
@jax.custom_vjp
def linear(x, w, b):
    """x w + b."""
    return x @ w + b


linear.defvjp(lambda x, w, b: (linear(x, w, b), (x, w)), lambda r, g: (g @ r[1].T, r[0].T @ g, jnp.sum(g, axis=0)))


@certgrad.declare("n d, d r, r m -> n m")
@jax.custom_vjp
def low_rank(x, a, b):
    """x a b, from the left, so that the product of a and b is never made."""
    return (x @ a) @ b


def _low_rank_bwd(residuals, g):
    x, a, b = residuals
    h = g @ b.T
    return h @ a.T, x.T @ h, (x @ a).T @ g


low_rank.defvjp(lambda x, a, b: (low_rank(x, a, b), (x, a, b)), _low_rank_bwd)


@certgrad.declare("n d, d e, n e -> n")
@jax.custom_vjp
def bilinear(x, a, y):
    """xᵀ a y, row by row."""
    return jnp.einsum("nd,de,ne->n", x, a, y)


def _bilinear_bwd(residuals, g):
    x, a, y = residuals
    return (
        jnp.einsum("n,de,ne->nd", g, a, y),
        jnp.einsum("n,nd,ne->de", g, x, y),
        jnp.einsum("n,nd,de->ne", g, x, a),
    )


bilinear.defvjp(lambda x, a, y: (bilinear(x, a, y), (x, a, y)), _bilinear_bwd)


@certgrad.declare("b n d, b m d -> b n m")
@jax.custom_vjp
def scores(q, k):
    """q kᵀ, batch by batch."""
    return jnp.einsum("bnd,bmd->bnm", q, k)


scores.defvjp(
    lambda q, k: (scores(q, k), (q, k)),
    lambda r, g: (jnp.einsum("bnm,bmd->bnd", g, r[1]), jnp.einsum("bnm,bnd->bmd", g, r[0])),
)


@certgrad.declare("n, m -> n m")
@jax.custom_vjp
def outer(x, y):
    """x yᵀ."""
    return x[:, None] * y[None, :]


outer.defvjp(lambda x, y: (outer(x, y), (x, y)), lambda r, g: (g @ r[1], g.T @ r[0]))


@certgrad.declare("n d, n d, n d -> n d")
@jax.custom_vjp
def modulate(x, scale, shift):
    """x · (1 + scale) + shift."""
    return x * (1 + scale) + shift


modulate.defvjp(
    lambda x, scale, shift: (modulate(x, scale, shift), (x, scale)), lambda r, g: (g * (1 + r[1]), g * r[0], g)
)


@certgrad.declare("n d -> n d")
@jax.custom_vjp
def layer_norm(x):
    """(x − mean) / √(variance + ε), along the last axis."""
    centred = x - jnp.mean(x, axis=1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, axis=1, keepdims=True) + 1e-5)


def _layer_norm_fwd(x):
    centred = x - jnp.mean(x, axis=1, keepdims=True)
    deviation = jnp.sqrt(jnp.mean(centred**2, axis=1, keepdims=True) + 1e-5)
    return centred / deviation, (centred / deviation, deviation)


def _layer_norm_bwd(residuals, g):
    y, deviation = residuals
    along = jnp.mean(g * y, axis=1, keepdims=True)
    return ((g - jnp.mean(g, axis=1, keepdims=True) - y * along) / deviation,)


layer_norm.defvjp(_layer_norm_fwd, _layer_norm_bwd)


@certgrad.declare("n d, d -> n d")
@jax.custom_vjp
def rms_norm(x, w):
    """x / √(mean x² + ε) · w."""
    return x / jnp.sqrt(jnp.mean(x**2, axis=1, keepdims=True) + 1e-6) * w


def _rms_norm_fwd(x, w):
    r = jnp.sqrt(jnp.mean(x**2, axis=1, keepdims=True) + 1e-6)
    return x / r * w, (x, r, w)


def _rms_norm_bwd(residuals, g):
    x, r, w = residuals
    h = g * w
    return h / r - x * jnp.mean(h * x, axis=1, keepdims=True) / r**3, jnp.sum(g * x / r, axis=0)


rms_norm.defvjp(_rms_norm_fwd, _rms_norm_bwd)


@certgrad.declare("n d, n d -> n d")
@jax.custom_vjp
def gated(x, gate):
    """x · sigmoid(gate)."""
    return x * jax.nn.sigmoid(gate)


def _gated_fwd(x, gate):
    s = jax.nn.sigmoid(gate)
    return x * s, (x, s)


gated.defvjp(_gated_fwd, lambda r, g: (g * r[1], g * r[0] * r[1] * (1 - r[1])))


@certgrad.declare("n d, d -> n")
@jax.custom_jvp
def perceptron(x, w):
    """tanh(x w)."""
    return jnp.tanh(x @ w)


@perceptron.defjvp
def _perceptron_jvp(primals, tangents):
    (x, w), (dx, dw) = primals, tangents
    y = jnp.tanh(x @ w)
    return y, (1 - y**2) * (dx @ w + x @ dw)
