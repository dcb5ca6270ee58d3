"""References of composed ops, in plain JAX."""

import jax
import jax.numpy as jnp
from jax import lax

from ._reference import Reference
from .blocks import HEADS, attention

LAYERS = HEADS | {"m": 64, "f": 256, "v": 512}
IMAGES = {"n": 4, "c": 16, "o": 16, "h": 32, "w": 32}
STEPS = {"t": 32, "b": 16, "d": 64, "h": 64}


def mlp(x, weight_1, bias_1, weight_2, bias_2):
    return jax.nn.relu(x @ weight_1.T + bias_1) @ weight_2.T + bias_2


def mlp_mse(x, weight_1, bias_1, weight_2, bias_2, target):
    return jnp.mean((mlp(x, weight_1, bias_1, weight_2, bias_2) - target) ** 2)


def cross_entropy(logits, labels):
    """The mean over the rows with a label."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.maximum(labels, 0)[..., None], -1)[..., 0]
    kept = labels >= 0
    return -jnp.sum(jnp.where(kept, chosen, 0)) / jnp.maximum(jnp.sum(kept), 1)


def softmax_classifier(x, weight, bias, labels):
    return cross_entropy(x @ weight.T + bias, labels)


def heads(q, k, v, w_o, is_causal):
    return jnp.einsum("bhne,hec->bnc", attention(q, k, v, is_causal=is_causal), w_o)


def dot_product_attention(query, key, value, *, is_causal=False):
    """That of jax.nn takes its softmax in float32."""
    q, k, v = (jnp.swapaxes(x, 1, 2) for x in (query, key, value))
    return jnp.swapaxes(attention(q, k, v, is_causal=is_causal), 1, 2)


def self_attention(x, w_q, w_k, w_v, w_o, *, is_causal=False):
    return heads(*(jnp.einsum("bnc,hcd->bhnd", x, w) for w in (w_q, w_k, w_v)), w_o, is_causal)


def cross_attention(x, memory, w_q, w_k, w_v, w_o):
    k, v = (jnp.einsum("bnc,hcd->bhnd", memory, w) for w in (w_k, w_v))
    return heads(jnp.einsum("bnc,hcd->bhnd", x, w_q), k, v, w_o, False)


def norm(x, gamma, beta):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-5) * gamma + beta


def feed_forward(x, weight_1, bias_1, weight_2, bias_2, *, activation="relu"):
    return getattr(jax.nn, activation)(x @ weight_1.T + bias_1) @ weight_2.T + bias_2


def post_norm_attention(x, *rest, is_causal=False):
    return norm(x + self_attention(x, *rest[:4], is_causal=is_causal), *rest[4:])


def post_norm_feed_forward(x, *rest):
    return norm(x + feed_forward(x, *rest[:4]), *rest[4:])


def post_norm_block(x, *rest, is_causal=False):
    return post_norm_feed_forward(post_norm_attention(x, *rest[:6], is_causal=is_causal), *rest[6:])


def pre_norm_attention(x, *rest, is_causal=False):
    return x + self_attention(norm(x, *rest[4:]), *rest[:4], is_causal=is_causal)


def pre_norm_feed_forward(x, *rest):
    return x + feed_forward(norm(x, *rest[4:]), *rest[:4], activation="gelu")


def pre_norm_block(x, *rest, is_causal=False):
    return pre_norm_feed_forward(pre_norm_attention(x, *rest[:6], is_causal=is_causal), *rest[6:])


def language_model_loss(tokens, labels, table, positions, *rest):
    *block, gamma, beta = rest
    x = pre_norm_block(table[tokens] + positions, *block, is_causal=True)
    return cross_entropy(norm(x, gamma, beta) @ table.T, labels)


def elman_step(x, h, w_x, w_h, b):
    return jnp.tanh(x @ w_x.T + h @ w_h.T + b)


def gru_step(x, h, w_ih, w_hh, b_ih, b_hh):
    of_x, of_h = jnp.split(x @ w_ih.T + b_ih, 3, -1), jnp.split(h @ w_hh.T + b_hh, 3, -1)
    r, z = jax.nn.sigmoid(of_x[0] + of_h[0]), jax.nn.sigmoid(of_x[1] + of_h[1])
    return (1 - z) * jnp.tanh(of_x[2] + r * of_h[2]) + z * h


def lstm_step(x, h, c, w_ih, w_hh, b_ih, b_hh):
    i, f, g, o = jnp.split(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def over_time(step):
    """The states after each step."""

    def run(x, h, *weights):
        def body(h, row):
            h = step(row, h, *weights)
            return h, h

        return lax.scan(body, h, x)[1]

    return run


def lstm(x, h, c, *weights):
    def body(state, row):
        state = lstm_step(row, *state, *weights)
        return state, state[0]

    (_, c), states = lax.scan(body, (h, c), x)
    return states, c


def convolved(x, kernel, gamma, beta):
    y = lax.conv_general_dilated(x, kernel, (1, 1), "SAME")
    centred = y - jnp.mean(y, (0, 2, 3), keepdims=True)
    normal = centred / jnp.sqrt(jnp.mean(centred**2, (0, 2, 3), keepdims=True) + 1e-5)
    return normal * gamma[:, None, None] + beta[:, None, None]


def conv_norm_relu_pool(x, *rest):
    window = (1, 1, 2, 2)
    return lax.reduce_window(jax.nn.relu(convolved(x, *rest)), -jnp.inf, lax.max, window, window, "VALID")


def residual_block(x, *rest):
    return jax.nn.relu(x + convolved(jax.nn.relu(convolved(x, *rest[:3])), *rest[3:]))


def with_labels(rng, shapes, keywords):
    x, weight, bias, labels = shapes
    return [*(rng.normal(size=s) for s in (x, weight, bias)), rng.integers(-1, weight[0], size=labels)]


def with_tokens(rng, shapes, keywords):
    tokens, labels, *rest = shapes
    rows = rest[0][0]
    arrays = [rng.normal(size=s) for s in rest]
    return [rng.integers(0, rows, size=tokens), rng.integers(-1, rows, size=labels), *arrays]


REFERENCES = {
    "conv_norm_relu_pool": Reference(conv_norm_relu_pool, sizes=IMAGES),
    "dot_product_attention": Reference(dot_product_attention, sizes=LAYERS),
    "elman_two_steps": Reference(lambda x, y, h, *w: elman_step(y, elman_step(x, h, *w), *w)),
    "feed_forward": Reference(feed_forward, sizes=LAYERS),
    "gru": Reference(over_time(gru_step), sizes=STEPS),
    "language_model_loss": Reference(language_model_loss, with_tokens, sizes=LAYERS),
    "lstm": Reference(lstm, sizes=STEPS),
    "mlp": Reference(mlp),
    "mlp_mse": Reference(mlp_mse),
    "multi_head_cross_attention": Reference(cross_attention, sizes=LAYERS | {"f": 64}),
    "multi_head_self_attention": Reference(self_attention, sizes=LAYERS),
    "post_norm_attention": Reference(post_norm_attention, sizes=LAYERS),
    "post_norm_block": Reference(post_norm_block, sizes=LAYERS),
    "post_norm_feed_forward": Reference(post_norm_feed_forward, sizes=LAYERS),
    "pre_norm_attention": Reference(pre_norm_attention, sizes=LAYERS),
    "pre_norm_block": Reference(pre_norm_block, sizes=LAYERS),
    "pre_norm_feed_forward": Reference(pre_norm_feed_forward, sizes=LAYERS),
    "residual_block": Reference(residual_block, sizes=IMAGES),
    "rnn": Reference(over_time(elman_step), sizes=STEPS),
    "softmax_classifier": Reference(softmax_classifier, with_labels),
}
