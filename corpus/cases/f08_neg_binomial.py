"""Negative binomial log pmf in the (mean, size) parametrisation, for RNA counts."""

import jax
import jax.numpy as jnp
from jax.scipy.special import digamma, gammaln


def nb_logpmf(k, mu, r):
    if not jnp.issubdtype(jnp.result_type(k), jnp.integer):
        raise TypeError("counts must be integers")
    k = jnp.asarray(k).astype(jnp.result_type(mu, r))
    return (
        gammaln(k + r)
        - gammaln(r)
        - gammaln(k + 1.0)
        + r * (jnp.log(r) - jnp.log(r + mu))
        + k * (jnp.log(mu) - jnp.log(r + mu))
    )


@jax.custom_jvp
def right(k, mu, r):
    return nb_logpmf(k, mu, r)


@right.defjvp
def right_jvp(primals, tangents):
    k, mu, r = primals
    _, dmu, dr = tangents
    kf = jnp.asarray(k).astype(jnp.result_type(mu, r))
    s_mu = kf / mu - (kf + r) / (r + mu)
    s_r = digamma(kf + r) - digamma(r) + jnp.log(r) - jnp.log(r + mu) + 1.0 - (kf + r) / (r + mu)
    return nb_logpmf(k, mu, r), s_mu * dmu + s_r * dr


@jax.custom_jvp
def wrong(k, mu, r):
    return nb_logpmf(k, mu, r)


@wrong.defjvp
def wrong_jvp(primals, tangents):
    k, mu, r = primals
    _, dmu, dr = tangents
    kf = jnp.asarray(k).astype(jnp.result_type(mu, r))
    s_mu = kf / mu - (kf + r) / (r + mu)
    s_r = digamma(kf + r) - digamma(r) + jnp.log(r) - jnp.log(r + mu) - (kf + r) / (r + mu)
    return nb_logpmf(k, mu, r), s_mu * dmu + s_r * dr
