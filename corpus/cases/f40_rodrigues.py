"""Rotate points by an axis-angle vector (Rodrigues), safe at the identity."""

import jax
import jax.numpy as jnp

SMALL = 1e-2  # on theta^2


def _coeffs(a):
    """sin(t)/t and (1 - cos(t))/t^2 with a = t^2."""
    small = a < SMALL
    safe = jnp.where(small, 1.0, a)
    t = jnp.sqrt(safe)
    A = jnp.where(small, 1 - a / 6 + a**2 / 120 - a**3 / 5040 + a**4 / 362880, jnp.sin(t) / t)
    B = jnp.where(small, 0.5 - a / 24 + a**2 / 720 - a**3 / 40320 + a**4 / 3628800, 2 * jnp.sin(0.5 * t) ** 2 / safe)
    return A, B


def _coeff_slopes(a, A, B):
    """Derivatives of the two coefficients with respect to a."""
    small = a < SMALL
    safe = jnp.where(small, 1.0, a)
    dA = jnp.where(small, -1 / 6 + a / 60 - a**2 / 1680 + a**3 / 90720, (jnp.cos(jnp.sqrt(safe)) - A) / (2 * safe))
    dB = jnp.where(small, -1 / 24 + a / 360 - a**2 / 13440 + a**3 / 907200, (0.5 * A - B) / safe)
    return dA, dB


def _rotate(omega, points):
    A, B = _coeffs(jnp.sum(omega * omega))
    c1 = jnp.cross(omega, points)
    c2 = jnp.cross(omega, c1)
    return points + A * c1 + B * c2


def _pullback(omega, points, g, A, B, dA, dB):
    def dot(u, v):
        return jnp.sum(u * v, axis=-1, keepdims=True)

    c1 = jnp.cross(omega, points)
    c2 = jnp.cross(omega, c1)
    h1 = jnp.cross(omega, g)
    g_points = g - A * h1 + B * jnp.cross(omega, h1)
    direct = A * jnp.cross(points, g) + B * (
        dot(omega, points) * g + dot(g, omega) * points - 2 * dot(g, points) * omega
    )
    g_a = dA * jnp.sum(g * c1) + dB * jnp.sum(g * c2)
    g_omega = jnp.sum(direct.reshape(-1, 3), axis=0) + 2 * g_a * omega
    return g_omega, g_points


@jax.custom_vjp
def right(omega, points):
    """omega: (3,), points: (..., 3)."""
    return _rotate(omega, points)


def _fwd(omega, points):
    return _rotate(omega, points), (omega, points)


def _bwd(res, g):
    omega, points = res
    a = jnp.sum(omega * omega)
    A, B = _coeffs(a)
    dA, dB = _coeff_slopes(a, A, B)
    return _pullback(omega, points, g, A, B, dA, dB)


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(omega, points):
    return _rotate(omega, points)


def _bwd_unsafe(res, g):
    omega, points = res
    a = jnp.sum(omega * omega)
    A, B = _coeffs(a)
    dA = (jnp.cos(jnp.sqrt(a)) - A) / (2 * a)
    dB = (0.5 * A - B) / a
    return _pullback(omega, points, g, A, B, dA, dB)


wrong.defvjp(_fwd, _bwd_unsafe)
