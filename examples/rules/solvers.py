"""Rules around solvers: what `certgrad.solves` declares of each stands among the hypotheses of its proof."""

import jax
import jax.numpy as jnp
from jax import lax

import certgrad


@certgrad.solves(lambda anomaly, e, m: anomaly - e * jnp.sin(anomaly) - m)
@jax.jit
def newton(e, m):
    """Kepler's equation, by Newton's method until the largest step is small."""

    def step(state):
        x, _ = state
        change = (x - e * jnp.sin(x) - m) / (1 - e * jnp.cos(x))
        return x - change, jnp.max(jnp.abs(change))

    return lax.while_loop(lambda state: state[1] > 1e-6, step, (m, jnp.max(jnp.abs(m)) + 1))[0]


def _kepler_fwd(e, m):
    anomaly = newton(e, m)
    return anomaly, (e, anomaly)


@certgrad.declare("n, n -> n", domain=["e > 0", "e < 1"])
@jax.custom_vjp
def kepler(e, m):
    """The eccentric anomaly at eccentricity e and mean anomaly m."""
    return newton(e, m)


def _kepler_bwd(residuals, g):
    e, anomaly = residuals
    scaled = g / (1 - e * jnp.cos(anomaly))
    return scaled * jnp.sin(anomaly), scaled


kepler.defvjp(_kepler_fwd, _kepler_bwd)


@certgrad.declare("n, n -> n", domain=["e > 0", "e < 1"])
@jax.custom_vjp
def wrong_kepler(e, m):
    """Differentiates the last Newton step only, as if the anomaly before it were constant."""
    return newton(e, m)


wrong_kepler.defvjp(_kepler_fwd, lambda residuals, g: (g * jnp.sin(residuals[1]), g))


def _layer(z, w, x):
    return jnp.tanh(w @ z + x)


@certgrad.solves(lambda z, w, x: z - _layer(z, w, x))
@jax.jit
def iterated(w, x):
    """The fixed point of a layer, by iteration."""
    return lax.fori_loop(0, 100, lambda _, z: _layer(z, w, x), jnp.zeros_like(x))


@certgrad.solves(lambda u, w, z, g: u - g - w.T @ ((1 - z**2) * u))
@jax.jit
def adjoint(w, z, g):
    """The fixed point of the layer's linear part, transposed."""
    return lax.fori_loop(0, 100, lambda _, u: g + w.T @ ((1 - z**2) * u), g)


def _equilibrium_fwd(w, x):
    z = iterated(w, x)
    return z, (w, z)


@certgrad.declare("d d, d -> d")
@jax.custom_vjp
def equilibrium(w, x):
    """A deep equilibrium layer: z = tanh(W z + x). Its memory does not grow with the number of iterations."""
    return iterated(w, x)


def _equilibrium_bwd(residuals, g):
    w, z = residuals
    u = (1 - z**2) * adjoint(w, z, g)
    return jnp.outer(u, z), u


equilibrium.defvjp(_equilibrium_fwd, _equilibrium_bwd)


def _normal(a, x):
    return a.T @ (a @ x) + x


@certgrad.solves(lambda x, a, b: _normal(a, x) - b)
@jax.jit
def conjugate_gradients(a, b):
    """(AᵀA + 1) x = b. What multiplies is symmetric and positive definite for every A."""

    def step(state):
        x, r, p = state
        image = _normal(a, p)
        size = (r @ r) / (p @ image)
        left = r - size * image
        return x + size * p, left, left + (left @ left) / (r @ r) * p

    return lax.while_loop(lambda state: state[1] @ state[1] > 1e-12, step, (jnp.zeros_like(b), b, b))[0]


def _ridge_fwd(a, b):
    x = conjugate_gradients(a, b)
    return x, (a, x)


@certgrad.declare("m n, n -> n")
@jax.custom_vjp
def ridge(a, b):
    """The solution of (AᵀA + 1) x = b."""
    return conjugate_gradients(a, b)


def _ridge_bwd(residuals, g):
    a, x = residuals
    back = conjugate_gradients(a, g)
    return -jnp.outer(a @ back, x) - jnp.outer(a @ x, back), back


ridge.defvjp(_ridge_fwd, _ridge_bwd)


@certgrad.declare("m n, n -> n")
@jax.custom_vjp
def wrong_ridge(a, b):
    """The sign of the cotangent of A is lost."""
    return conjugate_gradients(a, b)


def _wrong_ridge_bwd(residuals, g):
    a, x = residuals
    back = conjugate_gradients(a, g)
    return jnp.outer(a @ back, x) + jnp.outer(a @ x, back), back


wrong_ridge.defvjp(_ridge_fwd, _wrong_ridge_bwd)
