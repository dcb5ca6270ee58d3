"""Train a perceptron on a toy problem: a certified step of Adam, the tape of one evaluation, the log read back.

python examples/training.py [LOG.jsonl]
"""

import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

import certgrad
from certgrad import ops
from certgrad.graph.tape import Tape, gradients_text
from certgrad.training import ADAM, TrainingLog, render, training_step

PARAMETERS = {"W1": "d h", "b1": "h", "W2": "h c", "b2": "c"}


def loss(x, W1, b1, W2, b2, target):
    """Mean squared error of a layer of tanh and a linear one. Runs on arrays, traced, and on values of a tape."""
    return ops.mse(ops.tanh(x @ W1 + b1) @ W2 + b2, target)


def batch(key, size=64):
    """Points of a square, and whether their signs differ, as 1 and −1."""
    x = jax.random.uniform(key, (size, 2), minval=-1, maxval=1)
    return {"x": x, "target": -jnp.sign(x[:, :1] * x[:, 1:])}


def start(step, hidden=8):
    """The context before the first step, with small random weights."""
    keys = jax.random.split(jax.random.key(1))
    weights = {"W1": jax.random.normal(keys[0], (2, hidden)), "W2": jax.random.normal(keys[1], (hidden, 1)) / 4}
    biases = {"b1": jnp.zeros(hidden), "b2": jnp.zeros(1)}
    return step.start({**weights, **biases}, hyperparameters={"lr": 0.02}, key=jax.random.key(0))


def train(step, context, log, steps=300, every=50):
    """Take steps on fresh batches, and log some of them with the share of points that are told apart."""
    predict = jax.jit(lambda x, W1, b1, W2, b2: ops.tanh(x @ W1 + b1) @ W2 + b2)
    for k in range(steps + 1):
        context, key = context.split()
        data = batch(key)
        right = jnp.mean(jnp.sign(predict(data["x"], **context.parameters)) == data["target"])
        context, value = step(context, **data)
        if k % every == 0:
            log.append(context.step, value, right=right)
    return context


def main(path):
    graph = certgrad.trace(loss, "x: n d", *(f"{n}: {s}" for n, s in PARAMETERS.items()), "target: n c")
    step = training_step(graph, ADAM, list(PARAMETERS))
    print(render(step.certificate))

    log = TrainingLog(path)
    context = train(step, start(step), log)
    print(context, end="\n\n")
    print(log.read(), end="\n\n")

    tape = Tape()
    data = batch(jax.random.key(2), size=3)
    values = {name: tape.input(name, array) for name, array in {**data, **context.parameters}.items()}
    sweep = tape.backward(loss(**values))
    print(tape)
    print(gradients_text(sweep))


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    with tempfile.TemporaryDirectory() as folder:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "run.jsonl")
