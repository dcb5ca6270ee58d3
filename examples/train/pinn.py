"""A physics-informed network solves u'' = −u, u(0) = 0, u'(0) = 1: both derivatives stand inside the loss.

python -m examples.train.pinn [--folder RUN] [--steps 2000]
"""

import jax
import jax.numpy as jnp
import optax

import certgrad
from certgrad.training import ADAM, from_optax, training_step
from examples.train import told

WIDTH = 16


def u(params, x):
    """The solution, as a network of one hidden layer."""
    return jnp.dot(jnp.tanh(x * params["w"] + params["b"]), params["v"])


def loss(params, xs):
    """The residual of the equation at the points xs, and of the conditions at 0."""
    slope = jax.grad(u, argnums=1)
    residual = jax.vmap(lambda x: jax.grad(slope, argnums=1)(params, x) + u(params, x))(xs)
    return jnp.mean(residual**2) + u(params, 0.0) ** 2 + (slope(params, 0.0) - 1) ** 2


def batch(step, key):
    return {"xs": jax.random.uniform(key, (64,), maxval=3.0)}


def apart(context):
    """The distance to sin on [0, 3]."""
    xs = jnp.linspace(0, 3, 50)
    params = {n: context.parameters[f"params['{n}']"] for n in ("w", "b", "v")}
    return {"apart": jnp.abs(jax.vmap(lambda x: u(params, x))(xs) - jnp.sin(xs)).max()}


def main(steps=2000):
    keys = jax.random.split(jax.random.key(1), 3)
    params = {n: jax.random.normal(k, (WIDTH,)) for n, k in zip(("w", "b", "v"), keys, strict=True)}
    graph = certgrad.trace(loss, {"w": "h", "b": "h", "v": "h"}, "xs: n")
    step = training_step(graph, from_optax(optax.adam, ADAM), ["params"], keep_gradients=False)
    start = step.start({"params": params}, hyperparameters={"lr": 1e-2}, key=jax.random.key(0))
    return told(step, start, batch, steps, metrics=apart)


if __name__ == "__main__":
    main()
