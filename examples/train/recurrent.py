"""A recurrent network over `jax.lax.scan` learns to add up what it has seen, by Adam; proved for every length.

python -m examples.train.recurrent [--folder RUN] [--steps 600]
"""

import jax
import jax.numpy as jnp

import certgrad
from certgrad.training import ADAM, EarlyStop, training_step
from examples.train import told

WIDTH, LENGTH = 16, 12


def loss(params, xs, target):
    """xs is [time, batch, 1]; target is the running sum of each row, squashed."""

    def cell(h, x):
        h = jnp.tanh(x @ params["W"] + h @ params["U"] + params["b"])
        return h, h

    start = jnp.zeros((xs.shape[1], params["U"].shape[0]), xs.dtype)
    _, hs = jax.lax.scan(cell, start, xs)
    return jnp.mean((hs @ params["out"] - target) ** 2)


def batch(step, key):
    xs = jax.random.uniform(key, (LENGTH, 32, 1), minval=-1, maxval=1)
    return {"xs": xs, "target": jnp.tanh(jnp.cumsum(xs, axis=0))}


def main(steps=600):
    keys = jax.random.split(jax.random.key(1), 3)
    params = {
        "W": jax.random.normal(keys[0], (1, WIDTH)),
        "U": jax.random.normal(keys[1], (WIDTH, WIDTH)) * 0.2,
        "b": jnp.zeros(WIDTH),
        "out": jax.random.normal(keys[2], (WIDTH, 1)) * 0.2,
    }
    shapes = {"W": "d h", "U": "h h", "b": "h", "out": "h c"}
    graph = certgrad.trace(loss, shapes, "xs: t n d", "target: t n c")
    step = training_step(graph, ADAM, ["params"], keep_gradients=False)
    start = step.start({"params": params}, hyperparameters={"lr": 5e-3}, key=jax.random.key(0))
    return told(step, start, batch, steps, stop=EarlyStop(patience=10))


if __name__ == "__main__":
    main()
