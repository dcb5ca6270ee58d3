"""Total Lennard-Jones energy of a small cluster (no cut-off, no box)."""

import jax
import jax.numpy as jnp


def _pairs(pos):
    n = pos.shape[0]
    diff = pos[:, None, :] - pos[None, :, :]
    eye = jnp.eye(n, dtype=bool)
    r2 = jnp.where(eye, 1.0, jnp.sum(diff**2, axis=-1))
    inv2 = jnp.where(eye, 0.0, 1.0 / r2)
    return diff, inv2


def _energy(pos, params):
    _, inv2 = _pairs(pos)
    s6 = (params["sigma"] ** 2 * inv2) ** 3
    return 0.5 * jnp.sum(4.0 * params["epsilon"] * (s6 * s6 - s6))


@jax.custom_vjp
def right(pos, params):
    """``params``: {"epsilon": (), "sigma": ()}."""
    return _energy(pos, params)


def _fwd(pos, params):
    return _energy(pos, params), (pos, params)


def _bwd(res, g):
    pos, params = res
    eps, sigma = params["epsilon"], params["sigma"]
    diff, inv2 = _pairs(pos)
    s6 = (sigma**2 * inv2) ** 3
    # (1/r) dphi/dr for every ordered pair
    radial = 4.0 * eps * (-12.0 * s6 * s6 + 6.0 * s6) * inv2
    gpos = g * jnp.sum(radial[..., None] * diff, axis=1)
    geps = g * 0.5 * jnp.sum(4.0 * (s6 * s6 - s6))
    gsigma = g * 0.5 * jnp.sum(4.0 * eps * (12.0 * s6 * s6 - 6.0 * s6)) / sigma
    return gpos, {"epsilon": geps, "sigma": gsigma}


right.defvjp(_fwd, _bwd)


@jax.custom_vjp
def wrong(pos, params):
    return _energy(pos, params)


def _bwd_half(res, g):
    pos, params = res
    eps, sigma = params["epsilon"], params["sigma"]
    diff, inv2 = _pairs(pos)
    s6 = (sigma**2 * inv2) ** 3
    radial = 4.0 * eps * (-12.0 * s6 * s6 + 6.0 * s6) * inv2
    gpos = g * 0.5 * jnp.sum(radial[..., None] * diff, axis=1)
    geps = g * 0.5 * jnp.sum(4.0 * (s6 * s6 - s6))
    gsigma = g * 0.5 * jnp.sum(4.0 * eps * (12.0 * s6 * s6 - 6.0 * s6)) / sigma
    return gpos, {"epsilon": geps, "sigma": gsigma}


wrong.defvjp(_fwd, _bwd_half)
