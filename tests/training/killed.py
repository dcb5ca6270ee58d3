"""A run that a test kills: `python -m tests.training.killed FOLDER`. A small perceptron, by momentum."""

import sys
from functools import cache

import jax
import jax.numpy as jnp
import optax

import certgrad
from certgrad.training import MOMENTUM, from_optax, train, training_step

STEPS = 160


def loss(params, x, target):
    return jnp.mean((jnp.tanh(x @ params["W"]) @ params["V"] - target) ** 2)


def batch(step, key):
    x = jax.random.normal(key, (8, 3))
    return {"x": x, "target": jnp.sin(x[:, :1])}


@cache
def certified():
    graph = certgrad.trace(loss, {"W": "d h", "V": "h c"}, "x: n d", "target: n c")
    return training_step(graph, from_optax(optax.sgd, MOMENTUM), ["params"], monitor=True)


def run(folder):
    step = certified()
    keys = jax.random.split(jax.random.key(1))
    params = {"W": jax.random.normal(keys[0], (3, 4)), "V": jax.random.normal(keys[1], (4, 1))}
    start = step.start({"params": params}, hyperparameters={"lr": 0.01}, key=jax.random.key(7))
    schedule = optax.cosine_decay_schedule(0.01, STEPS)
    return train(step, start, batch, steps=STEPS, folder=folder, log_every=2, save_every=4, schedules={"lr": schedule})


if __name__ == "__main__":
    print(run(sys.argv[1]).resumed, flush=True)
