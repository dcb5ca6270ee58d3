"""Models of other libraries: a classifier and a GRU of Equinox, a vision transformer of Flax, Adam of optax."""

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from examples.models import Draw, Model


def classifier() -> Model:
    """`eqx.nn.MLP` with gelu under `jax.vmap`, cross-entropy of optax."""
    model = eqx.nn.MLP(4, 3, 8, 2, activation=jax.nn.gelu, key=jax.random.key(0))

    def loss(model, x, labels):
        logits = jax.vmap(model)(x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    draw = Draw()
    return loss, (model, draw(5, 4), draw.integers(3, 5))


def gru() -> Model:
    draw = Draw()
    cell = eqx.nn.GRUCell(3, 4, key=jax.random.key(0))

    def loss(cell, xs, target):
        h, _ = jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(4), xs)
        return jnp.sum((h - target) ** 2)

    return loss, (cell, draw(6, 3), draw(4))


class VisionTransformer(nn.Module):
    """Patches by a strided convolution, one encoder block, mean, head (Flax)."""

    @nn.compact
    def __call__(self, image):
        x = nn.Conv(8, (4, 4), strides=(4, 4))(image)
        x = x.reshape(-1, 8)
        x = x + self.param("positions", nn.initializers.normal(), x.shape)
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x))
        x = x + nn.Dense(8)(nn.gelu(nn.Dense(16)(nn.LayerNorm()(x))))
        return nn.Dense(3)(x.mean(axis=0))


def vit() -> Model:
    draw, model = Draw(), VisionTransformer()
    image = draw(8, 8, 2)
    params = model.init(jax.random.key(0), image)

    def loss(params, image, label):
        return -jax.nn.log_softmax(model.apply(params, image))[label]

    return loss, (params, image, draw.integers(3))


def adam_step() -> Model:
    """The sum of squares of the parameters after optax's update: differentiated through parameters and gradient."""
    draw = Draw()
    optimizer = optax.adam(1e-2)
    params = {"W": draw(3, 2), "b": draw(2)}
    state = optimizer.init(params)

    def loss(params, gradient):
        updates, _ = optimizer.update(gradient, state, params)
        return sum(jnp.sum(x**2) for x in jax.tree.leaves(optax.apply_updates(params, updates)))

    return loss, (params, {"W": draw(3, 2), "b": draw(2)})
