"""The doubly truncated power law, whose density, distribution and quantile have derivatives of their own."""

import jax
import jax.numpy as jnp
from _driver import each
from numpyro.distributions import DoublyTruncatedPowerLaw

X = jnp.array([0.3, 0.5, 0.7])


def grad(method):
    def f(alpha, low, high, x):
        return jnp.sum(getattr(DoublyTruncatedPowerLaw(alpha, low, high), method)(x))

    jax.grad(f, (0, 1, 2, 3))(1.5, 0.1, 0.9, X)


each(lambda: grad("log_prob"), lambda: grad("cdf"), lambda: grad("icdf"))
