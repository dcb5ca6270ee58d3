"""Complex numbers, between real arrays."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from .._configuration import Configuration, configurations, forms

COMPLEX: list[Configuration] = [
    *configurations("complex", lambda x, y: lax.real(lax.complex(x, y) ** 2), "*s, *s"),
    *configurations("real", lambda x, y: lax.real(lax.complex(x, y) ** 2), "*s, *s"),
    *configurations("imag", lambda x, y: lax.imag(lax.complex(x, y) ** 2), "*s, *s"),
    *configurations("conj", lambda x, y: lax.imag(lax.conj(lax.complex(x, y))), "*s, *s"),
    *configurations("jax.scipy.special.wofz", lambda x: special.wofz(lax.complex(x, x)).real, "n"),
    *forms(
        "fft",
        ("of any length", "n", lambda x: jnp.fft.fft(x).real),
        ("the inverse, of any length", "n, n", lambda x, y: jnp.fft.ifft(lax.complex(x, y)).imag),
        ("of real numbers, an even length", "m 4", lambda x: jnp.fft.rfft(x).real),
        ("of real numbers, an odd length", "m 5", lambda x: jnp.fft.rfft(x).imag),
        ("to real numbers", "m 3, m 3", lambda x, y: jnp.fft.irfft(lax.complex(x, y))),
    ),
]
