"""Transformers: an attention block, GPT-2, a LLaMA block."""

import jax
import jax.numpy as jnp
import numpy as np

from examples.models import Draw, Model


def layer_norm(p, x):
    mean = x.mean(axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * p["g"] + p["b"]


def attention(p, x, heads):
    """Causal self-attention with `heads` heads."""
    length, width = x.shape
    q, k, v = jnp.split(x @ p["qkv"] + p["qkv_b"], 3, axis=-1)
    q, k, v = (t.reshape(length, heads, width // heads) for t in (q, k, v))
    scores = jnp.einsum("ihd,jhd->hij", q, k) / np.sqrt(width // heads)
    mask = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    mixed = jnp.einsum("hij,jhd->ihd", weights, v).reshape(length, width)
    return mixed @ p["out"] + p["out_b"]


def block(p, x, heads):
    x = x + attention(p["attention"], layer_norm(p["norm1"], x), heads)
    h = jax.nn.gelu(layer_norm(p["norm2"], x) @ p["up"] + p["up_b"])
    return x + h @ p["down"] + p["down_b"]


def gpt(params, tokens, heads):
    """The loss of predicting each next token."""
    x = params["tokens"][tokens[:-1]] + params["positions"]
    for layer in params["layers"]:
        x = block(layer, x, heads)
    logits = layer_norm(params["norm"], x) @ params["tokens"].T
    log_probabilities = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(log_probabilities, tokens[1:, None], axis=-1))


def gpt_parameters(make, vocabulary, length, width, layers):
    """The parameters, each made by `make(*shape)`."""

    def norm():
        return {"g": make(width), "b": make(width)}

    def layer():
        return {
            "attention": {
                "qkv": make(width, 3 * width),
                "qkv_b": make(3 * width),
                "out": make(width, width),
                "out_b": make(width),
            },
            "norm1": norm(),
            "norm2": norm(),
            "up": make(width, 4 * width),
            "up_b": make(4 * width),
            "down": make(4 * width, width),
            "down_b": make(width),
        }

    return {
        "tokens": make(vocabulary, width),
        "positions": make(length, width),
        "layers": [layer() for _ in range(layers)],
        "norm": norm(),
    }


def attention_block() -> Model:
    """One pre-norm block: causal attention and a feed-forward layer."""
    draw = Draw()
    params = gpt_parameters(draw, 1, 1, 8, 1)["layers"][0]
    return lambda p, x, target: jnp.mean((block(p, x, 2) - target) ** 2), (params, draw(5, 8), draw(5, 8))


def gpt2() -> Model:
    """GPT-2 with 12 layers, narrow: the sizes at which its gradient is compared."""
    draw = Draw()
    params = gpt_parameters(draw, 17, 6, 12, 12)
    return lambda params, tokens: gpt(params, tokens, 3), (params, draw.integers(17, 7))


def gpt2_in_full() -> Model:
    """GPT-2 with 12 layers at its own sizes: shapes alone."""

    def make(*shape):
        return jax.ShapeDtypeStruct(shape, np.float32)

    params = gpt_parameters(make, 50257, 1024, 768, 12)
    return lambda params, tokens: gpt(params, tokens, 12), (params, jax.ShapeDtypeStruct((1025,), np.int32))


def llama_block() -> Model:
    """RMSNorm, rotary embedding, grouped queries, SwiGLU."""
    draw, length, width, heads, groups = Draw(), 5, 16, 4, 2
    size = width // heads

    def rms_norm(g, x):
        return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * g

    def rotary(x):
        frequencies = 10000.0 ** (-jnp.arange(0, size, 2) / size)
        angles = jnp.arange(length)[:, None] * frequencies
        sin, cos = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
        a, b = x[..., ::2], x[..., 1::2]
        return jnp.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)

    def loss(p, x, target):
        h = rms_norm(p["norm1"], x)
        q = rotary((h @ p["q"]).reshape(length, heads, size)).reshape(length, groups, heads // groups, size)
        k = rotary((h @ p["k"]).reshape(length, groups, size))
        v = (h @ p["v"]).reshape(length, groups, size)
        scores = jnp.einsum("igrd,jgd->grij", q, k) / np.sqrt(size)
        weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9))
        x = x + jnp.einsum("grij,jgd->igrd", weights, v).reshape(length, width) @ p["out"]
        h = rms_norm(p["norm2"], x)
        x = x + (jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]
        return jnp.mean((x - target) ** 2)

    params = {
        "norm1": draw(width),
        "norm2": draw(width),
        "q": draw(width, width),
        "k": draw(width, groups * size),
        "v": draw(width, groups * size),
        "out": draw(width, width),
        "gate": draw(width, 24),
        "up": draw(width, 24),
        "down": draw(24, width),
    }
    return loss, (params, draw(length, width), draw(length, width))
