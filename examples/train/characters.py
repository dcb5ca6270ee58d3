"""A character transformer: one block of GPT-2 learns to continue a text, by AdamW of optax and a schedule.

python -m examples.train.characters [--folder RUN] [--steps 600]
"""

import jax
import jax.numpy as jnp
import optax

import certgrad
from certgrad.training import ADAMW, from_optax, training_step
from examples.models.transformers import gpt, gpt_parameters
from examples.train import told

TEXT = (
    "a rule is proved for every shape and every input in its domain. a proof is not a test: a test looks at some "
    "points, and a proof at all of them. what is proved is what runs, and what runs is what is proved. "
) * 4
LENGTH, WIDTH, HEADS = 16, 32, 2


def main(steps=600):
    alphabet = sorted(set(TEXT))
    text = jnp.asarray([alphabet.index(c) for c in TEXT], jnp.int32)
    keys = iter(jax.random.split(jax.random.key(1), 64))

    def make(*shape):
        return jax.random.normal(next(keys), shape) * 0.1

    def loss(params, rows):
        return jnp.mean(jax.vmap(lambda row: gpt(params, row, HEADS))(rows))

    def batch(step, key):
        first = jax.random.randint(key, (16,), 0, len(text) - LENGTH)
        return {"rows": text[first[:, None] + jnp.arange(LENGTH + 1)]}

    params = gpt_parameters(make, len(alphabet), LENGTH, WIDTH, 1)
    graph = certgrad.trace(loss, params, batch(0, jax.random.key(0))["rows"])
    step = training_step(graph, from_optax(optax.adamw, ADAMW), ["params"], keep_gradients=False)
    start = step.start({"params": params}, hyperparameters={"lr": 3e-3}, key=jax.random.key(0))
    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 50, steps)
    return told(step, start, batch, steps, schedules={"lr": schedule})


if __name__ == "__main__":
    main()
