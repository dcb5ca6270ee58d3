"""Examples of primitives of complex numbers, between real arrays."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from certgrad.jaxpr.complex_numbers import pi
from tests.obligations.meaning.semantics.example import Example, example, real

X = real("x", "n")
Y = real("y", "n")

COMPLEX: list[Example] = [
    example("complex", lambda x, y: lax.real(lax.complex(x, y) ** 2), X, Y),
    example("real", lambda x, y: lax.real(lax.complex(x, y) ** 2), X, Y),
    example("imag", lambda x, y: lax.imag(lax.complex(x, y) ** 2), X, Y),
    example("conj", lambda x, y: lax.imag(lax.conj(lax.complex(x, y)) * y), X, Y),
    example("fft", lambda x: jnp.fft.fft(x).real, X, largest=4),
    example("fft", lambda x: jnp.fft.rfft(x).imag, X, name="real", largest=4),
    example("certgrad_pi", lambda x: jnp.sin(pi(x.dtype) * x), X),
]
