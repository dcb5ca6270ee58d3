"""Symmetric contrastive loss of CLIP with a learned log temperature."""

import jax
import jax.numpy as jnp


def _clip_loss(image, text, log_scale):
    logits = jnp.exp(log_scale) * (image @ text.T)
    rows = jax.nn.log_softmax(logits, axis=1)
    cols = jax.nn.log_softmax(logits, axis=0)
    loss = -0.5 * jnp.mean(jnp.diagonal(rows) + jnp.diagonal(cols))
    return loss, {"logits": logits, "rows": rows, "cols": cols}


@jax.custom_vjp
def right(image, text, log_scale):
    return _clip_loss(image, text, log_scale)[0]


def _fwd(image, text, log_scale):
    loss, saved = _clip_loss(image, text, log_scale)
    saved.update(image=image, text=text, log_scale=log_scale)
    return loss, saved


def _bwd(saved, g):
    image, text = saved["image"], saved["text"]
    n = image.shape[0]
    d = jnp.exp(saved["rows"]) + jnp.exp(saved["cols"]) - 2.0 * jnp.eye(n, dtype=image.dtype)
    d = d * (0.5 * g / n)
    scale = jnp.exp(saved["log_scale"])
    return scale * (d @ text), scale * (d.T @ image), jnp.sum(d * saved["logits"])


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(image, text, log_scale):
    return _clip_loss(image, text, log_scale)[0]


def _bwd_scale(saved, g):
    image, text = saved["image"], saved["text"]
    n = image.shape[0]
    d = jnp.exp(saved["rows"]) + jnp.exp(saved["cols"]) - 2.0 * jnp.eye(n, dtype=image.dtype)
    d = d * (0.5 * g / n)
    scale = jnp.exp(saved["log_scale"])
    return scale * (d @ text), scale * (d.T @ image), jnp.sum(d * (image @ text.T))


wrong.defvjp(_fwd, _bwd_scale)
