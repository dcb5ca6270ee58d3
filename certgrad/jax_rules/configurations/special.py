"""Special functions of lax: gamma, beta, Bessel and error functions."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from .._configuration import Configuration, configurations

SPECIAL: list[Configuration] = [
    *configurations("erf", lax.erf, "*s"),
    *configurations("erfc", lax.erfc, "*s"),
    *configurations("erf_inv", lax.erf_inv, "*s", kinks=[1]),
    *configurations("bessel_i0e", lax.bessel_i0e, "*s", kinks=[0]),
    *configurations("bessel_i1e", lax.bessel_i1e, "*s", kinks=[0]),
    *configurations("digamma", lax.digamma, "*s"),
    *configurations("lgamma", lax.lgamma, "*s", kinks=[0, -1]),
    *configurations("polygamma", lambda x, m: lax.polygamma(jnp.full_like(x, m), x), "*s", m=[0.0, 1.0, 2.0, 3.0]),
    *configurations("igamma", lax.igamma, "*s, *s", kinks=[(1, 0)]),
    *configurations("igammac", lax.igammac, "*s, *s", kinks=[(1, 0)]),
    *configurations(
        "regularized_incomplete_beta",
        lax.betainc,
        "*s, *s, *s",
        form="derivative in x; JAX has none in a and b",
        differentiable=["x"],
        kinks=[(1, 1, 0), (1, 1, 1)],
    ),
]
