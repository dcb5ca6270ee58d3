"""Real Fourier transforms there and back at lengths that are left open: even ones have a last frequency of its own."""

import jax
import jax.numpy as jnp
import pytest

import certgrad


def there_and_back(x):
    return jnp.fft.irfft(jnp.fft.rfft(x), x.shape[-1])


def power(inner):
    """Σ |x̂|², in which the frequencies but the first and, of an even length, the last count `inner` times."""

    def total(x):
        spectrum = jnp.fft.rfft(x)
        k = jnp.arange(spectrum.shape[-1])
        weight = jnp.where((k == 0) | (2 * k == x.shape[-1]), 1.0, inner)
        return jnp.sum(weight * (spectrum.real**2 + spectrum.imag**2))

    return total


def times_length(x):
    return jnp.asarray(x.shape[-1], x.dtype) * x


def low_pass(x):
    """All but the last frequency, at lengths that are even."""
    spectrum = jnp.fft.rfft(x)
    k = jnp.arange(spectrum.shape[-1])
    return jnp.fft.irfft(jnp.where(2 * k == x.shape[-1], 0.0, spectrum), x.shape[-1])


def half_pass(x):
    spectrum = jnp.fft.rfft(x)
    k = jnp.arange(spectrum.shape[-1])
    return jnp.fft.irfft(jnp.where(2 * k == x.shape[-1], spectrum / 2, spectrum), x.shape[-1])


RULES = {
    "there and back": (there_and_back, lambda x, g: (g,), "b n", "proved"),
    "twice that": (there_and_back, lambda x, g: (2 * g,), "b n", "refuted"),
    "without the mean": (there_and_back, lambda x, g: (g - jnp.mean(g, -1, keepdims=True),), "b n", "refuted"),
    "Parseval": (power(2.0), lambda x, g: (2 * g * times_length(x),), "n", "proved"),
    "Parseval, of half of it": (power(1.0), lambda x, g: (g * times_length(x),), "n", "refuted"),
    "Parseval, without the length": (power(2.0), lambda x, g: (2 * g * x,), "n", "refuted"),
    "a filter": (low_pass, lambda x, g: (low_pass(g),), "n", "proved"),
    "a filter that is forgotten": (low_pass, lambda x, g: (g,), "n", "refuted"),
    "half of a filter": (low_pass, lambda x, g: (half_pass(g),), "n", "refuted"),
}


@pytest.mark.parametrize("name", RULES)
def test_of_even_and_odd_lengths(name: str) -> None:
    f, bwd, signature, verdict = RULES[name]
    rule = jax.custom_vjp(lambda x: f(x))
    rule.defvjp(lambda x: (f(x), x), bwd)
    report = certgrad.check(rule, signature)
    assert report.verdict == verdict, report
    assert verdict == "refuted" or report.claims[0].cases[0].scope == "all shapes"
