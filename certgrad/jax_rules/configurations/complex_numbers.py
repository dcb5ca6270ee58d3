"""Complex numbers, between real arrays."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from .._configuration import Configuration, configurations

COMPLEX: list[Configuration] = [
    *configurations("complex", lambda x, y: lax.real(lax.complex(x, y) ** 2), "*s, *s"),
    *configurations("real", lambda x, y: lax.real(lax.complex(x, y) ** 2), "*s, *s"),
    *configurations("imag", lambda x, y: lax.imag(lax.complex(x, y) ** 2), "*s, *s"),
    *configurations("conj", lambda x, y: lax.imag(lax.conj(lax.complex(x, y))), "*s, *s"),
    *configurations("jax.scipy.special.wofz", lambda x: special.wofz(lax.complex(x, x)).real, "n"),
    *configurations("fft", lambda x: jnp.fft.rfft(x).real, "n"),
]
