import jax
import jax.numpy as jnp
from jax.scipy.special import i0e, i1e

_LOG_2PI = 1.8378770664093453


def _logpdf(x, mu, kappa):
    # log I0(k) = log i0e(k) + |k|
    return kappa * jnp.cos(x - mu) - jnp.abs(kappa) - jnp.log(i0e(kappa)) - _LOG_2PI


@jax.custom_jvp
def right(x, mu, kappa):
    """Log density of the von Mises distribution on the circle."""
    return _logpdf(x, mu, kappa)


@right.defjvp
def _right_jvp(primals, tangents):
    x, mu, kappa = primals
    dx, dmu, dkappa = tangents
    d = x - mu
    bessel_ratio = i1e(kappa) / i0e(kappa)
    out = _logpdf(x, mu, kappa)
    tan = -kappa * jnp.sin(d) * (dx - dmu) + (jnp.cos(d) - bessel_ratio) * dkappa
    return out, tan


@jax.custom_jvp
def wrong(x, mu, kappa):
    return _logpdf(x, mu, kappa)


@wrong.defjvp
def _wrong_jvp(primals, tangents):
    x, mu, kappa = primals
    dx, dmu, dkappa = tangents
    d = x - mu
    out = _logpdf(x, mu, kappa)
    dlog_i0e = i1e(kappa) / i0e(kappa)
    tan = -kappa * jnp.sin(d) * (dx - dmu) + (jnp.cos(d) - jnp.sign(kappa) - dlog_i0e) * dkappa
    return out, tan
