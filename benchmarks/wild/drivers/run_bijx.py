"""Derivatives along curves of a group, and ordinary differential equations."""

import bijx
import jax
import jax.numpy as jnp
from _driver import each
from bijx import lie, solvers

GENERATOR = jnp.array([[0.0, 1.0], [-1.0, 0.0]])


def curve():
    lie.curve_grad(lambda u: jnp.sum(u * u[0]), GENERATOR)(jnp.eye(2))


def gradient():
    lie.grad(lambda u: jnp.sum(u * u[0]), algebra=GENERATOR[None])(jnp.eye(2))


def ode():
    f = lambda y0: jnp.sum(solvers.odeint_rk4(lambda t, y: -y, y0, 1.0, step_size=0.5))  # noqa: E731
    jax.grad(f)(jnp.ones(2))


each(curve, gradient, ode, lambda: bijx)
