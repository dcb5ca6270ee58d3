"""A neural ODE by Runge-Kutta steps, a physics-informed network with a nested derivative, a graph network."""

import jax
import jax.numpy as jnp

from examples.models import Draw, Model


def neural_ode() -> Model:
    """Four steps of the classical Runge-Kutta method over scan."""
    draw = Draw()

    def field(p, y):
        return jnp.tanh(y @ p["W1"] + p["b"]) @ p["W2"]

    def loss(p, y, target, dt):
        def step(y, _):
            k1 = field(p, y)
            k2 = field(p, y + dt / 2 * k1)
            k3 = field(p, y + dt / 2 * k2)
            k4 = field(p, y + dt * k3)
            return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        y, _ = jax.lax.scan(step, y, None, length=4)
        return jnp.mean((y - target) ** 2)

    return loss, ({"W1": draw(2, 6), "b": draw(6), "W2": draw(6, 2)}, draw(3, 2), draw(3, 2), draw())


def pinn() -> Model:
    """The residual of u'' + u = 0, with both derivatives taken inside the loss."""
    draw = Draw()

    def u(p, x):
        return jnp.dot(jnp.tanh(x * p["w"] + p["b"]), p["v"])

    def loss(p, xs):
        second = jax.grad(jax.grad(u, argnums=1), argnums=1)
        residual = jax.vmap(lambda x: second(p, x) + u(p, x))(xs)
        return jnp.mean(residual**2) + (u(p, 0.0) - 1) ** 2

    return loss, ({"w": draw(5), "b": draw(5), "v": draw(5)}, draw(7))


def gcn() -> Model:
    """Two graph convolutions over a weighted adjacency matrix with self-loops (Kipf and Welling 2017)."""
    draw = Draw()

    def loss(p, adjacency, x, labels):
        linked = jnp.exp(adjacency) + jnp.eye(adjacency.shape[0])
        degree = linked.sum(axis=1)
        normal = linked / jnp.sqrt(degree)[:, None] / jnp.sqrt(degree)[None, :]
        h = jax.nn.relu(normal @ x @ p["W1"])
        log_probabilities = jax.nn.log_softmax(normal @ h @ p["W2"])
        return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))

    return loss, ({"W1": draw(3, 5), "W2": draw(5, 2)}, draw(4, 4), draw(4, 3), draw.integers(2, 4))
