"""Functions that the graph tests trace: a perceptron, and rules planted to be wrong."""

import jax
import jax.numpy as jnp

from certgrad import ops

MLP = ("x: n d", "W1: d h", "b1: h", "W2: h c", "b2: c", "target: n c")


def mlp(x, W1, b1, W2, b2, target):
    h = jnp.maximum(x @ W1 + b1, 0)
    return jnp.mean((h @ W2 + b2 - target) ** 2)


def mlp_with(activation):
    def loss(x, W1, b1, W2, b2, target):
        return ops.mse(activation(x @ W1 + b1) @ W2 + b2, target)

    return loss


@jax.custom_jvp
def wrong_jvp(x):
    return x * x


wrong_jvp.defjvp(lambda primals, tangents: (wrong_jvp(primals[0]), 3 * primals[0] * tangents[0]))


@jax.custom_jvp
def right_jvp(x):
    return x * x


right_jvp.defjvp(lambda primals, tangents: (right_jvp(primals[0]), 2 * primals[0] * tangents[0]))


def vjp_relu(backward, forward=lambda x: jnp.maximum(x, 0)):
    """relu as a custom_vjp with these rules."""

    @jax.custom_vjp
    def relu(x):
        return jnp.maximum(x, 0)

    relu.defvjp(lambda x: (forward(x), x), backward)
    return relu


right_vjp = vjp_relu(lambda x, g: (jnp.where(x > 0, g, 0),))
wrong_mask = vjp_relu(lambda x, g: (jnp.where(x < 0, g, 0),))
wrong_forward = vjp_relu(lambda x, g: (jnp.where(x > 0, g, 0),), forward=lambda x: jnp.maximum(x, 0) + 1)
scaled_op = ops.relu.with_rules(vjp=lambda x, seed: jnp.where(x > 0, 1.01 * seed, 0))


@jax.custom_jvp
def two_outputs(x, y):
    return x * y, x + y


two_outputs.defjvp(lambda p, t: (two_outputs(*p), (p[0] * t[1] + p[1] * t[0], t[0] + t[1])))


def branches(x, y):
    """Another program where the two sizes agree."""
    if x.shape[0] == y.shape[0]:
        return jnp.sum(jnp.abs(x)) + jnp.sum(y)
    return jnp.sum(x) + jnp.sum(y)
