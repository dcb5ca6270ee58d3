"""Handwritten digits of scikit-learn, by a perceptron or a convolutional network and Adam of optax.

python -m examples.train.digits [mlp|cnn] [--folder RUN] [--steps 600]
"""

import sys

import jax
import jax.numpy as jnp
import optax
from sklearn.datasets import load_digits

import certgrad
from certgrad.training import ADAM, from_optax, training_step
from examples.train import told

TEST = 360
"""Images that are kept for testing."""


def weights(key, *shapes):
    """Normal weights, each scaled to its fan-in; shapes of one axis are biases, which are zero."""
    keys = jax.random.split(key, len(shapes))
    fan = [max(1, jnp.zeros(s[:-1]).size if len(s) == 2 else jnp.zeros(s[1:]).size) for s in shapes]
    return [
        jax.random.normal(k, s) * (2 / f) ** 0.5 if len(s) > 1 else jnp.zeros(s)
        for k, s, f in zip(keys, shapes, fan, strict=True)
    ]


def cross_entropy(logits, labels):
    log_probabilities = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))


def mlp(params, images):
    """64 → 64 → 10 with relu."""
    hidden = jax.nn.relu(images.reshape(-1, 64) @ params["W1"] + params["b1"])
    return hidden @ params["W2"] + params["b2"]


def cnn(params, images):
    """Two convolutions with relu, max pooling between them, a linear layer."""
    h = jax.nn.relu(jax.lax.conv(images[:, None], params["conv1"], (1, 1), "SAME"))
    h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    h = jax.nn.relu(jax.lax.conv(h, params["conv2"], (1, 1), "SAME"))
    return h.mean(axis=(2, 3)) @ params["W"] + params["b"]


NETWORKS = {
    "mlp": (mlp, {"W1": (64, 64), "b1": (64,), "W2": (64, 10), "b2": (10,)}),
    "cnn": (cnn, {"conv1": (8, 1, 3, 3), "conv2": (16, 8, 3, 3), "W": (16, 10), "b": (10,)}),
}


def main(name="mlp", steps=600):
    network, shapes = NETWORKS[name]
    digits = load_digits()
    images, labels = jnp.asarray(digits.images / 16, jnp.float32), jnp.asarray(digits.target, jnp.int32)

    def loss(params, images, labels):
        return cross_entropy(network(params, images), labels)

    def batch(step, key):
        rows = jax.random.randint(key, (64,), 0, len(images) - TEST)
        return {"images": images[rows], "labels": labels[rows]}

    predict = jax.jit(network)

    def right(context):
        params = {n: context.parameters[f"params['{n}']"] for n in shapes}
        found = predict(params, images[-TEST:]).argmax(axis=1)
        return {"right": jnp.mean(found == labels[-TEST:])}

    params = dict(zip(shapes, weights(jax.random.key(1), *shapes.values()), strict=True))
    graph = certgrad.trace(loss, params, images[:64], labels[:64])
    step = training_step(graph, from_optax(optax.adam, ADAM), ["params"], keep_gradients=False)
    start = step.start({"params": params}, hyperparameters={"lr": 3e-3}, key=jax.random.key(0))
    return told(step, start, batch, steps, metrics=right)


if __name__ == "__main__":
    main(next((a for a in sys.argv[1:2] if a in NETWORKS), "mlp"))
