"""Weight standardisation of a conv kernel (HWIO) with a gain per output channel."""

from functools import partial

import jax
import jax.numpy as jnp


def _standardize(kernel, eps):
    axes = tuple(range(kernel.ndim - 1))
    mean = jnp.mean(kernel, axis=axes, keepdims=True)
    var = jnp.mean((kernel - mean) ** 2, axis=axes, keepdims=True)
    rstd = jax.lax.rsqrt(var + eps)
    return (kernel - mean) * rstd, rstd


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def right(params, eps=1e-4):
    w_hat, _ = _standardize(params["kernel"], eps)
    return params["gain"] * w_hat


def _fwd(params, eps):
    w_hat, rstd = _standardize(params["kernel"], eps)
    return params["gain"] * w_hat, {"w_hat": w_hat, "rstd": rstd, "gain": params["gain"]}


def _bwd(eps, res, g):
    w_hat, rstd = res["w_hat"], res["rstd"]
    axes = tuple(range(w_hat.ndim - 1))
    gh = g * res["gain"]
    m1 = jnp.mean(gh, axis=axes, keepdims=True)
    m2 = jnp.mean(gh * w_hat, axis=axes, keepdims=True)
    return ({"kernel": rstd * (gh - m1 - w_hat * m2), "gain": jnp.sum(g * w_hat, axis=axes)},)


right.defvjp(_fwd, _bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def wrong(params, eps=1e-4):
    w_hat, _ = _standardize(params["kernel"], eps)
    return params["gain"] * w_hat


def _bwd_spatial(eps, res, g):
    w_hat, rstd = res["w_hat"], res["rstd"]
    axes = tuple(range(w_hat.ndim - 1))
    spatial = tuple(range(w_hat.ndim - 2))
    gh = g * res["gain"]
    m1 = jnp.mean(gh, axis=spatial, keepdims=True)
    m2 = jnp.mean(gh * w_hat, axis=spatial, keepdims=True)
    return ({"kernel": rstd * (gh - m1 - w_hat * m2), "gain": jnp.sum(g * w_hat, axis=axes)},)


wrong.defvjp(_fwd, _bwd_spatial)
