"""Twenty-five derivative rules as people write them, undeclared: what `certgrad audit FILE` of `make bench` reads."""

import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_vjp
def softplus(x):
    return jnp.logaddexp(x, 0.0)


softplus.defvjp(lambda x: (softplus(x), x), lambda x, g: (g * jax.nn.sigmoid(x),))


@jax.custom_vjp
def swish(x):
    return x * jax.nn.sigmoid(x)


def _swish_bwd(x, g):
    s = jax.nn.sigmoid(x)
    return (g * (s + x * s * (1 - s)),)


swish.defvjp(lambda x: (swish(x), x), _swish_bwd)


@jax.custom_vjp
def gelu(x):
    return 0.5 * x * (1 + lax.erf(x / jnp.sqrt(2.0)))


def _gelu_bwd(x, g):
    cdf = 0.5 * (1 + lax.erf(x / jnp.sqrt(2.0)))
    pdf = jnp.exp(-0.5 * x**2) / jnp.sqrt(2 * jnp.pi)
    return (g * (cdf + x * pdf),)


gelu.defvjp(lambda x: (gelu(x), x), _gelu_bwd)


@jax.custom_jvp
def mish(x):
    return x * jnp.tanh(jnp.logaddexp(x, 0.0))


@mish.defjvp
def _mish_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    t = jnp.tanh(jnp.logaddexp(x, 0.0))
    return x * t, dx * (t + x * (1 - t**2) * jax.nn.sigmoid(x))


@jax.custom_jvp
def squared_relu(x):
    return jnp.square(jnp.maximum(x, 0.0))


squared_relu.defjvps(lambda dx, out, x: 2 * jnp.maximum(x, 0.0) * dx)


@jax.custom_vjp
def swiglu(x, gate):
    """x · gate · σ(gate)."""
    return x * gate * jax.nn.sigmoid(gate)


def _swiglu_bwd(residuals, g):
    x, gate = residuals
    s = jax.nn.sigmoid(gate)
    return g * gate * s, g * x * (s + gate * s * (1 - s))


swiglu.defvjp(lambda x, gate: (swiglu(x, gate), (x, gate)), _swiglu_bwd)


@jax.custom_vjp
def layer_norm(x, scale, bias):
    """Over the last axis."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def _layer_norm_fwd(x, scale, bias):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    rstd = lax.rsqrt(jnp.mean((x - mean) ** 2, axis=-1, keepdims=True) + 1e-5)
    normed = (x - mean) * rstd
    return normed * scale + bias, (normed, rstd, scale)


def _layer_norm_bwd(residuals, g):
    normed, rstd, scale = residuals
    h = g * scale
    inner = h - jnp.mean(h, axis=-1, keepdims=True) - normed * jnp.mean(h * normed, axis=-1, keepdims=True)
    return rstd * inner, jnp.sum(g * normed, axis=0), jnp.sum(g, axis=0)


layer_norm.defvjp(_layer_norm_fwd, _layer_norm_bwd)


@jax.custom_vjp
def rms_norm(x, scale):
    return x * lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6) * scale


def _rms_norm_fwd(x, scale):
    rstd = lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)
    return x * rstd * scale, (x, rstd, scale)


def _rms_norm_bwd(residuals, g):
    x, rstd, scale = residuals
    h = g * scale
    return rstd * h - x * rstd**3 * jnp.mean(h * x, axis=-1, keepdims=True), jnp.sum(g * x * rstd, axis=0)


rms_norm.defvjp(_rms_norm_fwd, _rms_norm_bwd)


@jax.custom_vjp
def l2_normalize(x):
    return x * lax.rsqrt(jnp.sum(x**2, axis=-1, keepdims=True) + 1e-12)


def _l2_normalize_bwd(residuals, g):
    y, inverse = residuals
    return (inverse * (g - y * jnp.sum(g * y, axis=-1, keepdims=True)),)


def _l2_normalize_fwd(x):
    inverse = lax.rsqrt(jnp.sum(x**2, axis=-1, keepdims=True) + 1e-12)
    return x * inverse, (x * inverse, inverse)


l2_normalize.defvjp(_l2_normalize_fwd, _l2_normalize_bwd)


@jax.custom_vjp
def softmax(x):
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return e / jnp.sum(e, axis=-1, keepdims=True)


softmax.defvjp(lambda x: (softmax(x), softmax(x)), lambda y, g: (y * (g - jnp.sum(g * y, axis=-1, keepdims=True)),))


@jax.custom_vjp
def log_softmax(x):
    return x - jax.nn.logsumexp(x, axis=-1, keepdims=True)


log_softmax.defvjp(
    lambda x: (log_softmax(x), log_softmax(x)), lambda y, g: (g - jnp.exp(y) * jnp.sum(g, axis=-1, keepdims=True),)
)


@jax.custom_vjp
def mean_squared_error(prediction, target):
    return jnp.mean((prediction - target) ** 2)


def _mean_squared_error_bwd(difference, g):
    slope = 2 * g * difference / difference.size
    return slope, -slope


mean_squared_error.defvjp(lambda p, t: (mean_squared_error(p, t), p - t), _mean_squared_error_bwd)


@jax.custom_vjp
def soft_cross_entropy(logits, target):
    """-Σ target · log softmax(logits), a row."""
    return -jnp.sum(target * jax.nn.log_softmax(logits, axis=-1), axis=-1)


def _soft_cross_entropy_bwd(residuals, g):
    logits, target = residuals
    p = jax.nn.softmax(logits, axis=-1)
    g = g[:, None]
    return g * (p * jnp.sum(target, axis=-1, keepdims=True) - target), -g * jax.nn.log_softmax(logits, axis=-1)


soft_cross_entropy.defvjp(lambda z, t: (soft_cross_entropy(z, t), (z, t)), _soft_cross_entropy_bwd)


@jax.custom_vjp
def binary_cross_entropy(logits, target):
    return jnp.mean(jnp.logaddexp(logits, 0.0) - target * logits)


def _binary_cross_entropy_bwd(residuals, g):
    logits, target = residuals
    return g * (jax.nn.sigmoid(logits) - target) / logits.size, -g * logits / logits.size


binary_cross_entropy.defvjp(lambda z, t: (binary_cross_entropy(z, t), (z, t)), _binary_cross_entropy_bwd)


@jax.custom_vjp
def log_cosh(prediction, target):
    difference = prediction - target
    return jnp.sum(jnp.logaddexp(difference, -difference) - jnp.log(2.0))


def _log_cosh_bwd(difference, g):
    slope = g * jnp.tanh(difference)
    return slope, -slope


log_cosh.defvjp(lambda p, t: (log_cosh(p, t), p - t), _log_cosh_bwd)


@jax.custom_vjp
def gaussian_kl(mean, log_variance):
    """Of a diagonal Gaussian from the standard one."""
    return 0.5 * jnp.sum(jnp.exp(log_variance) + mean**2 - 1 - log_variance)


gaussian_kl.defvjp(lambda m, v: (gaussian_kl(m, v), (m, v)), lambda r, g: (g * r[0], 0.5 * g * (jnp.exp(r[1]) - 1)))


@jax.custom_vjp
def dense(x, w, b):
    return x @ w + b


dense.defvjp(lambda x, w, b: (dense(x, w, b), (x, w)), lambda r, g: (g @ r[1].T, r[0].T @ g, jnp.sum(g, axis=0)))


@jax.custom_vjp
def low_rank(x, down, up):
    return (x @ down) @ up


def _low_rank_bwd(residuals, g):
    x, h, down, up = residuals
    dh = g @ up.T
    return dh @ down.T, x.T @ dh, h.T @ g


low_rank.defvjp(lambda x, a, b: (low_rank(x, a, b), (x, x @ a, a, b)), _low_rank_bwd)


@jax.custom_vjp
def bilinear(x, w, y):
    return jnp.einsum("nd,de,ne->n", x, w, y)


def _bilinear_bwd(residuals, g):
    x, w, y = residuals
    return g[:, None] * (y @ w.T), jnp.einsum("n,nd,ne->de", g, x, y), g[:, None] * (x @ w)


bilinear.defvjp(lambda x, w, y: (bilinear(x, w, y), (x, w, y)), _bilinear_bwd)


@jax.custom_vjp
def attention(q, k, v):
    weights = jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), axis=-1)
    return weights @ v


def _attention_fwd(q, k, v):
    weights = jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), axis=-1)
    return weights @ v, (q, k, v, weights)


def _attention_bwd(residuals, g):
    q, k, v, weights = residuals
    dw = g @ v.T
    ds = weights * (dw - jnp.sum(dw * weights, axis=-1, keepdims=True)) / jnp.sqrt(q.shape[-1])
    return ds @ k, ds.T @ q, weights.T @ g


attention.defvjp(_attention_fwd, _attention_bwd)


@jax.custom_vjp
def embed(table, tokens):
    return table[tokens]


def _embed_bwd(residuals, g):
    shape, tokens = residuals
    return jnp.zeros(shape, g.dtype).at[tokens].add(g), None


embed.defvjp(lambda table, tokens: (embed(table, tokens), (table.shape, tokens)), _embed_bwd)


@jax.custom_vjp
def squared_distances(x, y):
    """Of every row of x to every row of y."""
    return jnp.sum((x[:, None] - y[None]) ** 2, axis=-1)


def _squared_distances_bwd(residuals, g):
    x, y = residuals
    difference = 2 * g[:, :, None] * (x[:, None] - y[None])
    return jnp.sum(difference, axis=1), -jnp.sum(difference, axis=0)


squared_distances.defvjp(lambda x, y: (squared_distances(x, y), (x, y)), _squared_distances_bwd)


@jax.custom_vjp
def cumulative_sum(x):
    return jnp.cumsum(x, axis=0)


cumulative_sum.defvjp(lambda x: (cumulative_sum(x), None), lambda _, g: (jnp.cumsum(g[::-1], axis=0)[::-1],))


@jax.custom_vjp
def decayed_sum(decay, x):
    """h ← decay · h + x, every h."""

    def step(h, inputs):
        a, x = inputs
        h = a * h + x
        return h, h

    return lax.scan(step, jnp.zeros_like(x[0]), (decay, x))[1]


def _decayed_sum_fwd(decay, x):
    h = decayed_sum(decay, x)
    return h, (decay, h)


def _decayed_sum_bwd(residuals, g):
    decay, h = residuals

    def step(carry, inputs):
        a, before, g = inputs
        carry = carry + g
        return a * carry, (carry * before, carry)

    before = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]])
    _, (d_decay, dx) = lax.scan(step, jnp.zeros_like(h[0]), (decay, before, g), reverse=True)
    return d_decay, dx


decayed_sum.defvjp(_decayed_sum_fwd, _decayed_sum_bwd)


@jax.custom_vjp
def rotate(x, angle):
    """Pairs of entries, halves apart, turned by an angle each."""
    a, b = jnp.split(x, 2, axis=-1)
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.concatenate([a * c - b * s, a * s + b * c], axis=-1)


def _rotate_bwd(residuals, g):
    y, angle = residuals
    c, s = jnp.cos(angle), jnp.sin(angle)
    ga, gb = jnp.split(g, 2, axis=-1)
    ya, yb = jnp.split(y, 2, axis=-1)
    return jnp.concatenate([ga * c + gb * s, gb * c - ga * s], axis=-1), gb * ya - ga * yb


def _rotate_fwd(x, angle):
    y = rotate(x, angle)
    return y, (y, angle)


rotate.defvjp(_rotate_fwd, _rotate_bwd)
