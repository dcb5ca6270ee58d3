"""Convolutional networks: with batch norm and max pooling (Equinox layers), a residual block, a block of a U-Net."""

import equinox as eqx
import jax
import jax.numpy as jnp

from examples.models import Draw, Model


def batch_norm(p, x):
    """In training: statistics of the batch. x is [batch, channels, height, width]."""
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=(0, 2, 3), keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["g"][:, None, None] + p["b"][:, None, None]


def conv(w, x, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME")


def cnn() -> Model:
    """conv → batch norm → relu → max pool → linear → cross-entropy."""
    draw = Draw()
    layers = {
        "conv": eqx.nn.Conv2d(2, 3, 3, padding=1, key=jax.random.key(1)),
        "norm": {"g": draw(3), "b": draw(3)},
        "head": eqx.nn.Linear(3 * 2 * 2, 4, key=jax.random.key(2)),
    }
    pool = eqx.nn.MaxPool2d(2, 2)

    def loss(layers, images, labels):
        h = jax.nn.relu(batch_norm(layers["norm"], jax.vmap(layers["conv"])(images)))
        h = jax.vmap(pool)(h).reshape(images.shape[0], -1)
        log_probabilities = jax.nn.log_softmax(jax.vmap(layers["head"])(h))
        return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))

    return loss, (layers, draw(3, 2, 4, 4), draw.integers(4, 3))


def resnet_block() -> Model:
    """Two convolutions with batch norm, a projected shortcut, stride 2."""
    draw = Draw()

    def loss(p, x, target):
        h = jax.nn.relu(batch_norm(p["norm1"], conv(p["conv1"], x, 2)))
        h = batch_norm(p["norm2"], conv(p["conv2"], h))
        h = jax.nn.relu(h + batch_norm(p["norm3"], conv(p["shortcut"], x, 2)))
        return jnp.mean((h - target) ** 2)

    params = {
        "conv1": draw(3, 2, 3, 3),
        "conv2": draw(3, 3, 3, 3),
        "shortcut": draw(3, 2, 1, 1),
        **{f"norm{k}": {"g": draw(3), "b": draw(3)} for k in (1, 2, 3)},
    }
    return loss, (params, draw(2, 2, 4, 4), draw(2, 3, 2, 2))


def unet_block() -> Model:
    """A block of a diffusion U-Net: group norm, silu, an embedded time, down and up by a factor of two, a skip."""
    draw = Draw()

    def group_norm(p, x, groups=2):
        n, c, h, w = x.shape
        y = x.reshape(n, groups, c // groups * h * w)
        y = (y - y.mean(axis=2, keepdims=True)) / jnp.sqrt(y.var(axis=2, keepdims=True) + 1e-5)
        return y.reshape(n, c, h, w) * p["g"][:, None, None] + p["b"][:, None, None]

    def loss(p, x, t, noise):
        frequencies = jnp.exp(-jnp.arange(2) * 2.0)
        angles = t[:, None] * frequencies
        embedded = jax.nn.silu(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1) @ p["time"])
        h = conv(p["conv1"], jax.nn.silu(group_norm(p["norm1"], x))) + embedded[:, :, None, None]
        down = conv(p["down"], h, 2)
        up = jnp.repeat(jnp.repeat(down, 2, axis=2), 2, axis=3)
        h = jnp.concatenate([h, up], axis=1)
        out = conv(p["conv2"], jax.nn.silu(group_norm(p["norm2"], h))) + x
        return jnp.mean((out - noise) ** 2)

    params = {
        "time": draw(4, 4),
        "conv1": draw(4, 4, 3, 3),
        "down": draw(4, 4, 3, 3),
        "conv2": draw(4, 8, 3, 3),
        "norm1": {"g": draw(4), "b": draw(4)},
        "norm2": {"g": draw(8), "b": draw(8)},
    }
    return loss, (params, draw(2, 4, 4, 4), draw(2), draw(2, 4, 4, 4))
