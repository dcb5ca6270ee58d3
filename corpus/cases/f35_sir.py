"""Discrete SIR epidemic (forward Euler) with a hand-written adjoint.

``params`` holds the scalar rates "beta" and "gamma"; ``init`` is (S, I, R) as
fractions of the population.  Returns the trajectory, shape (steps, 3).
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax


def _trajectory(params, init, steps, dt):
    beta, gamma = params["beta"], params["gamma"]

    def step(state, _):
        s, i, r = state
        infected = dt * beta * s * i
        recovered = dt * gamma * i
        new = jnp.stack([s - infected, i + infected - recovered, r + recovered])
        return new, new

    return lax.scan(step, init, None, length=steps)[1]


def _adjoint(params, init, states, g, dt):
    """``states[t]`` is where step t is linearised."""
    beta, gamma = params["beta"], params["gamma"]

    def back(carry, inp):
        lam, gbeta, ggamma = carry
        (s, i, _), g_t = inp
        a_s, a_i, a_r = lam + g_t
        inf = dt * (a_i - a_s)
        rec = dt * (a_r - a_i)
        lam = jnp.stack([a_s + inf * beta * i, a_i + inf * beta * s + rec * gamma, a_r])
        return (lam, gbeta + inf * s * i, ggamma + rec * i), None

    zero = jnp.zeros_like(init)
    (ginit, gbeta, ggamma), _ = lax.scan(back, (zero, zero[0], zero[0]), (states, g), reverse=True)
    return {"beta": gbeta, "gamma": ggamma}, ginit


def _fwd(params, init, steps, dt):
    out = _trajectory(params, init, steps, dt)
    return out, (params, init, out)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def right(params, init, steps, dt=0.1):
    return _trajectory(params, init, steps, dt)


def _right_bwd(steps, dt, res, g):
    params, init, out = res
    before = jnp.concatenate([init[None], out[:-1]], axis=0)
    return _adjoint(params, init, before, g, dt)


right.defvjp(_fwd, _right_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def wrong(params, init, steps, dt=0.1):
    return _trajectory(params, init, steps, dt)


def _wrong_bwd(steps, dt, res, g):
    params, init, out = res
    return _adjoint(params, init, out, g, dt)


wrong.defvjp(_fwd, _wrong_bwd)
