"""Kernels and special functions."""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import lsqfitgp as lgp  # noqa: E402
from _driver import each  # noqa: E402
from lsqfitgp import _special, copula  # noqa: E402

X = jnp.array([0.3, 0.7, 1.2])


def kernel(k):
    jax.grad(lambda s: jnp.sum(k(s * X[:, None], X[None])))(1.1)


def special(f, *before):
    jax.grad(lambda x: jnp.sum(f(*before, x)))(X / 2)


each(
    lambda: kernel(lgp.Matern(nu=1.5)),
    lambda: kernel(lgp.Matern(nu=0.8)),
    lambda: kernel(lgp.Celerite()),
    lambda: kernel(lgp.Harmonic()),
    lambda: kernel(lgp.WienerIntegral()),
    lambda: kernel(lgp.Bessel(nu=1)),
    lambda: kernel(lgp.Zeta(nu=1.5)),
    lambda: kernel(lgp.Fourier(n=2)) if hasattr(lgp, "Fourier") else None,
    lambda: special(_special.expm1x),
    lambda: special(_special.ci),
    lambda: special(_special.j0),
    lambda: special(_special.expn_imag, 2) if hasattr(_special, "expn_imag") else None,
    lambda: jax.grad(lambda q: copula.gamma.ppf(q, 2.0))(0.3),
    lambda: jax.grad(lambda q: copula.invgamma.ppf(q, 2.0))(0.3),
    lambda: jax.grad(lambda q: copula.beta.ppf(q, 2.0, 3.0))(0.3),
)
