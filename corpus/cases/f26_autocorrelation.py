"""Biased autocorrelation r[k] = sum_t x[t] x[t+k] through a zero-padded FFT."""

import functools

import jax
import jax.numpy as jnp


def _spectrum(x):
    return jnp.fft.rfft(x, n=2 * x.shape[-1])


def _acf(x, max_lag):
    if not 1 <= max_lag <= x.shape[-1]:
        raise ValueError("max_lag must lie in [1, len(x)]")
    power = jnp.abs(_spectrum(x)) ** 2
    return jnp.fft.irfft(power, n=2 * x.shape[-1])[..., :max_lag]


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def right(x, max_lag):
    return _acf(x, max_lag)


def acf_fwd(x, max_lag):
    return _acf(x, max_lag), x


def acf_bwd(max_lag, x, g):
    n = x.shape[-1]
    lags = jnp.fft.rfft(g, n=2 * n)
    # d r[k] / d x[t] = x[t + k] + x[t - k]
    gx = jnp.fft.irfft(_spectrum(x) * (lags + jnp.conj(lags)), n=2 * n)
    return (gx[..., :n],)


right.defvjp(acf_fwd, acf_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def wrong(x, max_lag):
    return _acf(x, max_lag)


def acf_bwd_wrong(max_lag, x, g):
    n = x.shape[-1]
    lags = jnp.fft.rfft(g, n=2 * n)
    gx = jnp.fft.irfft(2.0 * _spectrum(x) * lags, n=2 * n)
    return (gx[..., :n],)


wrong.defvjp(acf_fwd, acf_bwd_wrong)
