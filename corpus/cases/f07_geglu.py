import jax
import jax.numpy as jnp

C0 = 0.7978845608028654  # sqrt(2 / pi)
C1 = 0.044715


def _gelu(x):
    return 0.5 * x * (1.0 + jnp.tanh(C0 * (x + C1 * x**3)))


def _geglu(h):
    value, gate = jnp.split(h, 2, axis=-1)
    return value * _gelu(gate)


@jax.custom_vjp
def right(h):
    """GEGLU: first half of the last axis times gelu_tanh(second half)."""
    return _geglu(h)


def _fwd(h):
    return _geglu(h), h


def _bwd(h, g):
    value, gate = jnp.split(h, 2, axis=-1)
    t = jnp.tanh(C0 * (gate + C1 * gate**3))
    act = 0.5 * gate * (1.0 + t)
    dact = 0.5 * (1.0 + t) + 0.5 * gate * (1.0 - t * t) * C0 * (1.0 + 3.0 * C1 * gate**2)
    return (jnp.concatenate([g * act, g * value * dact], axis=-1),)


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(h):
    return _geglu(h)


def _bwd_old(h, g):
    value, gate = jnp.split(h, 2, axis=-1)
    t = jnp.tanh(C0 * (gate + C1 * gate**3))
    act = 0.5 * gate * (1.0 + t)
    dact = 0.5 * (1.0 + t) + 0.5 * gate * (1.0 - t * t) * C0 * (1.0 + C1 * gate**2)
    return (jnp.concatenate([g * act, g * value * dact], axis=-1),)


wrong.defvjp(_fwd, _bwd_old)
