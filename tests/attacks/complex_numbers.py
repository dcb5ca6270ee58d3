"""Complex numbers inside rules of real arrays: branches, conjugates, transforms of odd and of even length."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .makers import saved

KIND = "B complex numbers"


def one(name, value, bwd, signature, *at, **more):
    """A rule that saves its arguments."""
    return Attack(f"complex_{name}", KIND, saved(value, bwd), value, signature, lambda: at, **more)


def by(name, value, twin, signature, *at, **more):
    """A rule that is the derivative of another function, which is equal at first sight."""

    def bwd(args, g):
        return jax.vjp(twin, *(args if isinstance(args, tuple) else (args,)))[1](g)

    return one(name, value, bwd, signature, *at, **more)


def z(x, y):
    return lax.complex(x, y)


def pair(*values):
    return tuple(np.array(v) for v in values)


# ---------------------------------------------------------------------------------------------------- branches

LEFT = pair([-1.0, 2.0], [0.5, -0.25])
TWO = pair([-1.0, 2.0], [0.5, -0.25], [-1.5, 1.0], [1.0, 0.5])


def angle_of_product(a, b, c, d):
    return jnp.angle(z(a, b) * z(c, d)) ** 2


def sum_of_angles(a, b, c, d):
    return (jnp.angle(z(a, b)) + jnp.angle(z(c, d))) ** 2


def power_of_root(a, b):
    return jnp.real(jnp.sqrt(z(a, b) ** 2))


# ---------------------------------------------------------------------------------------------------- transforms

ODD, EVEN = np.array([1.0, -0.5, 2.0]), np.array([1.0, -0.5, 2.0, 0.25])
LONG = np.linspace(-1, 1.5, 7) ** 2


def energy(x):
    """The sum of |x̂|² over the half that a real transform keeps."""
    return jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 2)


def energy_without_nyquist(x, g):
    """Right for an odd number of entries."""
    return (g * (x.shape[0] * x + jnp.sum(x)),)


def energy_with_nyquist(x, g):
    """Right for an even number of entries."""
    n = x.shape[0]
    signs = 1.0 - 2.0 * (jnp.arange(n) % 2)
    return (g * (n * x + jnp.sum(x) + jnp.sum(signs * x) * signs),)


def convolved(x, w):
    return jnp.real(jnp.fft.ifft(jnp.fft.fft(x) * jnp.fft.fft(w)))


def convolved_back(args, g):
    """The filter without its conjugate: right for one that is even."""
    x, w = args
    gs, xs, ws = map(jnp.fft.fft, (g, x, w))
    return jnp.real(jnp.fft.ifft(gs * ws)), jnp.real(jnp.fft.ifft(gs * jnp.conj(xs)))


def correlated(args, g):
    x, w = args
    gs, xs, ws = map(jnp.fft.fft, (g, x, w))
    return jnp.real(jnp.fft.ifft(gs * jnp.conj(ws))), jnp.real(jnp.fft.ifft(jnp.conj(gs) * xs))


def twice_transformed(x):
    return jnp.real(jnp.fft.fft(jnp.fft.fft(x)))


def wave(x, times):
    """Σ cos(2π·times·k/n), 0 unless n divides times."""
    n = x.shape[0]
    return jnp.sum(jnp.cos(2 * jnp.pi * times * jnp.arange(n) / n))


def fifteen():
    return len("abcdefghij") + len("klmno")


def scaled_by_a_wave(x, g):
    n = x.shape[0]
    spectrum = jnp.real(jnp.fft.fft(jnp.ones_like(x)))
    return (2 * x * g * (1 + jnp.where(jnp.arange(n) == fifteen() % n, spectrum, 0).sum() * (n > 1)),)


def synthesised(a, b):
    return jnp.fft.irfft(z(a, b), 2 * (a.shape[0] - 1))


def synthesised_back(args, g):
    """The first and the last frequency have no mirror image."""
    _a, _ = args
    spectrum = jnp.fft.rfft(g) / g.shape[0] * 2
    return jnp.real(spectrum), jnp.imag(spectrum)


def grid(x):
    return jnp.real(jnp.fft.fft2(x)) * jnp.imag(jnp.fft.fft2(x))


SQUARE = np.array([[1.0, 2.0], [-1.0, 0.5]])

ATTACKS = [
    by("angle_of_a_product", angle_of_product, sum_of_angles, "n, n, n, n -> n", *TWO),
    by(
        "logarithm_of_a_square",
        lambda a, b: jnp.imag(jnp.log(z(a, b) ** 2)) ** 2,
        lambda a, b: (2 * jnp.imag(jnp.log(z(a, b)))) ** 2,
        "n, n -> n",
        *LEFT,
    ),
    by("root_of_a_square", power_of_root, lambda a, b: a + 0 * b, "n, n -> n", *LEFT),
    by(
        "root_of_a_product",
        lambda a, b, c, d: jnp.real(jnp.sqrt(z(a, b) * z(c, d))),
        lambda a, b, c, d: jnp.real(jnp.sqrt(z(a, b)) * jnp.sqrt(z(c, d))),
        "n, n, n, n -> n",
        *TWO,
    ),
    by(
        "root_of_the_negative",
        lambda a, b: jnp.real(jnp.sqrt(-z(a, b))),
        lambda a, b: jnp.real(1j * jnp.sqrt(z(a, b))),
        "n, n -> n",
        *LEFT,
    ),
    by(
        "power_three_halves",
        lambda a, b: jnp.real((z(a, b) ** 3) ** 0.5),
        lambda a, b: jnp.real(z(a, b) ** 1.5),
        "n, n -> n",
        *LEFT,
    ),
    by(
        "exponential_of_a_logarithm",
        lambda a, b: jnp.imag(jnp.log(jnp.exp(z(a, b)))) ** 2,
        lambda a, b: b**2 + 0 * a,
        "n, n -> n",
        *pair([1.0], [4.0]),
    ),
    by(
        "quotient_of_angles",
        lambda a, b: jnp.angle(1 / z(a, b)) * jnp.angle(z(a, b) ** 2),
        lambda a, b: -2 * jnp.angle(z(a, b)) ** 2,
        "n, n -> n",
        *LEFT,
    ),
    one("modulus_without_conjugate", lambda a, b: a * a + b * b, lambda s, g: _square(s, g), "n, n -> n", *LEFT),
    one("cube_with_conjugate", lambda a, b: jnp.real(z(a, b) ** 3), lambda s, g: _cube(s, g), "n, n -> n", *LEFT),
    one("holomorphic_imaginary", lambda a, b: jnp.imag(z(a, b) ** 2), lambda s, g: _imag(s, g), "n, n -> n", *LEFT),
    one("modulus_at_the_axis", lambda a, b: jnp.abs(z(a, b)), lambda s, g: _modulus(s, g), "n, n -> n", *LEFT),
    one("energy_without_nyquist", energy, energy_without_nyquist, "n -> ", EVEN),
    one("energy_with_nyquist", energy, energy_with_nyquist, "n -> ", ODD),
    one("convolution_without_conjugate", convolved, convolved_back, "n, n -> n", ODD, LONG[:3]),
    one("convolution_reversed", convolved, correlated, "n, n -> n", LONG[:5], np.arange(5.0)),
    one("twice_transformed_flipped", twice_transformed, lambda x, g: (x.shape[0] * g[::-1],), "n -> n", ODD),
    one("twice_transformed_kept", twice_transformed, lambda x, g: (x.shape[0] * g,), "n -> n", ODD),
    one(
        "shift_undone_by_itself",
        lambda x: jnp.fft.fftshift(x) * jnp.arange(x.shape[0]),
        lambda x, g: (jnp.fft.fftshift(g * jnp.arange(g.shape[0])),),
        "n -> n",
        ODD,
    ),
    one(
        "shift_undone_the_other_way",
        lambda x: jnp.sin(jnp.fft.ifftshift(x)),
        lambda x, g: (jnp.fft.ifftshift(g) * jnp.cos(x),),
        "n -> n",
        LONG,
    ),
    one("a_wave_that_vanishes", lambda x: x * x, scaled_by_a_wave, "n -> n", LONG[:5]),
    one(
        "wave_of_three", lambda x: x * x, lambda x, g: (2 * x * g * (1 + wave(x, 3) * (x[:1] == x[0])),), "n -> n", ODD
    ),
    one("synthesis_with_mirrors", synthesised, synthesised_back, "n+1, n+1 -> 2*n", ODD, ODD[::-1].copy()),
    one(
        "transform_for_its_inverse",
        lambda x: jnp.imag(jnp.fft.fft(x)),
        lambda x, g: (jnp.imag(jnp.fft.ifft(g)) * x.shape[0],),
        "n -> n",
        ODD,
    ),
    one(
        "sines_that_vanish_at_two",
        lambda x: jnp.imag(jnp.fft.fft(x)) + x * x,
        lambda x, g: (2 * x * g,),
        "n -> n",
        ODD,
    ),
    one(
        "orthonormal_one_way",
        lambda x: jnp.real(jnp.fft.fft(x, norm="ortho")),
        lambda x, g: (
            jnp.real(jnp.fft.ifft(g)) * x.shape[0] / jnp.sqrt(1.0 * x.shape[0]) * jnp.sqrt(x.shape[0] / 3.0),
        ),
        "n -> n",
        EVEN,
    ),
    one(
        "axes_of_a_square",
        lambda x: jnp.real(jnp.fft.fft(x, axis=0)) ** 2,
        lambda x, g: (2 * jnp.real(jnp.fft.fft(jnp.real(jnp.fft.fft(x, axis=0)) * g, axis=1)),),
        "n m -> n m",
        SQUARE,
    ),
    one(
        "padded_spectrum",
        lambda x: jnp.real(jnp.fft.fft(x, 2 * x.shape[0])),
        lambda x, g: (jnp.real(jnp.fft.fft(g))[::2],),
        "n -> 2*n",
        ODD,
    ),
    one(
        "filter_of_its_real_part",
        lambda x: jnp.sum(jnp.real(jnp.fft.fft(x)) ** 2),
        lambda x, g: (g * (x.shape[0] * (x + x[::-1])),),
        "n -> ",
        ODD,
    ),
    one(
        "phase_at_the_cut",
        lambda a: jnp.angle(z(a, 0 * a)) + a * a,
        lambda a, g: (
            2 * a * g * (1 + jnp.where(jnp.angle(z(a[0], 0 * a[0])) == jnp.angle(jnp.conj(z(a, 0 * a))), 0, 1)),
        ),
        "n -> n",
        np.array([-1.0, 2.0]),
    ),
]


def _square(saved_values, g):
    a, b = saved_values
    d = 2 * z(a, b) * g
    return jnp.real(d), -jnp.imag(d)


def _cube(saved_values, g):
    d = 3 * z(*saved_values) ** 2 * g
    return jnp.real(d), jnp.imag(d)


def _imag(saved_values, g):
    d = 2 * z(*saved_values) * g
    return jnp.imag(d), -jnp.real(d)


def _modulus(saved_values, g):
    w = z(*saved_values)
    d = g * w / jnp.abs(w)
    return jnp.real(d), jnp.real(d) * jnp.tan(jnp.abs(jnp.angle(w)))
