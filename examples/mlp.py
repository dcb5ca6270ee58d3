"""A two-layer perceptron with relu and mean squared error, in plain jax.numpy.

    certgrad graph examples/mlp.py:loss --spec "x: n d" --spec "W1: d h" --spec "b1: h" \
        --spec "W2: h c" --spec "b2: c" --spec "target: n c"
"""

import jax.numpy as jnp


def predict(x, W1, b1, W2, b2):
    """The network: a linear layer, relu, a linear layer."""
    hidden = jnp.maximum(x @ W1 + b1, 0)
    return hidden @ W2 + b2


def loss(x, W1, b1, W2, b2, target):
    """Mean squared error of the network."""
    return jnp.mean((predict(x, W1, b1, W2, b2) - target) ** 2)
