"""Complex numbers: part 7 of the issue.

JAX's convention: for a real loss and z = x + iy, the cotangent of z is ∂L/∂x − i·∂L/∂y; a holomorphic function has
the cotangent g·f′(z), without a conjugate.
"""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.pairs.form import Pairs, jvps, reals, vjp, vjps

PAIRS = pairs = Pairs()


def two(*shapes, low=-1.5, high=1.5):
    """Real and imaginary parts of arrays of these shapes."""
    return reals(*(shape for shape in shapes for _ in range(2)), low=low, high=high)


ARITHMETIC = "arithmetic"


@pairs(ARITHMETIC, "n, n, n, n -> n, n", two((4,), (4,)))
def complex_product():
    """The product of complex numbers given as pairs; the rule multiplies by the conjugate."""

    def f(a, b, c, d):
        z = (a + 1j * b) * (c + 1j * d)
        return z.real, z.imag

    def back(conj):
        def bwd(saved, g):
            a, b, c, d = saved
            seed = g[0] + 1j * g[1]
            one = seed * conj(c + 1j * d)
            other = seed * conj(a + 1j * b)
            return one.real, one.imag, other.real, other.imag

        return bwd

    return vjps(f, lambda *args: (f(*args), args), back(jnp.conj), back(lambda z: z))


@pairs(ARITHMETIC, "n, n -> n, n", two((4,), low=0.5, high=1.5))
def complex_reciprocal():
    """1/z and its derivative −1/z²."""

    def f(a, b):
        w = 1 / jax.lax.complex(a, b)
        return jnp.real(w), jnp.imag(w)

    def rule(power):
        def f_jvp(primals, tangents):
            z, dz = jax.lax.complex(*primals), jax.lax.complex(*tangents)
            w = 1 / z
            dw = -(w**power) * dz
            return (w.real, w.imag), (dw.real, dw.imag)

        return f_jvp

    return jvps(f, rule(2), rule(1))


@pairs(ARITHMETIC, "n, n -> n, n", two((4,)))
def complex_exponential():
    """exp(a + ib) is eᵃ(cos b + i·sin b); the cotangent goes through the conjugate of the value."""

    def f(a, b):
        w = jnp.exp(a + 1j * b)
        return w.real, w.imag

    def fwd(a, b):
        r = jnp.exp(a)
        return (r * jnp.cos(b), r * jnp.sin(b)), (a, b)

    def right(saved, g):
        a, b = saved
        d = (g[0] + 1j * g[1]) * jnp.exp(a - 1j * b)
        return d.real, d.imag

    def wrong(saved, g):
        a, b = saved
        d = (g[0] + 1j * g[1]) * jnp.exp(a + 1j * b)
        return d.real, d.imag

    return vjps(f, fwd, right, wrong)


@pairs(ARITHMETIC, "n d, n, n -> n d, n d", reals((3, 2), (3,), (3,)))
def rotation_by_complex_phase():
    """A complex gate on real features: both parts of x·(a + ib)², with outputs as pairs."""

    def f(x, a, b):
        w = x * ((a + 1j * b) ** 2)[:, None]
        return w.real, w.imag

    def back(twice):
        def bwd(saved, g):
            x, a, b = saved
            z = a + 1j * b
            seed = g[0] + 1j * g[1]
            dx = jnp.real(seed * jnp.conj(z**2)[:, None])
            dz = jnp.sum(seed * x, 1) * (2 if twice else 1) * jnp.conj(z)
            return dx, dz.real, dz.imag

        return bwd

    return vjps(f, lambda *args: (f(*args), args), back(True), back(False))


ABSOLUTE = "abs and conj"


@pairs(ABSOLUTE, "n, n -> n", two((4,)))
def modulus():
    """|z|; the cotangents are its cosine and sine."""

    def f(a, b):
        return jnp.abs(a + 1j * b)

    def fwd(a, b):
        r = jnp.sqrt(a * a + b * b)
        return r, (a, b, r)

    def right(saved, g):
        a, b, r = saved
        return g * a / r, g * b / r

    def wrong(saved, g):
        a, b, r = saved
        return g * a / r, -g * b / r

    return vjps(f, fwd, right, wrong)


@pairs(ABSOLUTE, "n, n -> ", two((4,)))
def squared_modulus_by_conjugate():
    """Σ z·z̄ is real; the gradient is 2z."""

    def f(a, b):
        z = a + 1j * b
        return jnp.sum(jnp.real(z * jnp.conj(z)))

    def right(z, g):
        d = 2 * g * z
        return d.real, d.imag

    def wrong(z, g):
        d = 2 * g * jnp.conj(z)
        return d.real, d.imag

    return vjps(f, lambda a, b: (f(a, b), a + 1j * b), right, wrong)


@pairs(ABSOLUTE, "n, n -> n", two((4,), low=0.2))
def phase():
    """The angle of a complex number."""

    def f(a, b):
        return jnp.angle(a + 1j * b)

    def right(saved, g):
        a, b = saved
        d = g * 1j * (a + 1j * b) / (a * a + b * b)
        return d.real, d.imag

    def wrong(saved, g):
        a, b = saved
        d = g * 1j / (a + 1j * b)
        return d.real, d.imag

    return vjps(f, lambda a, b: (f(a, b), (a, b)), right, wrong)


FOURIER = "fft and its kin at any length"


@pairs(FOURIER, "n, n -> n, n", two((5,)))
def fourier_transform():
    """The adjoint of fft is n·ifft; the wrong rule forgets the length."""

    def f(a, b):
        w = jnp.fft.fft(a + 1j * b)
        return w.real, w.imag

    def back(scale):
        def bwd(_, g):
            d = jnp.fft.ifft(g[0] + 1j * g[1]) * (g[0].shape[0] if scale else 1)
            return d.real, d.imag

        return bwd

    return vjps(f, lambda a, b: (f(a, b), None), back(True), back(False))


@pairs(FOURIER, "n -> ", reals((5,)))
def spectral_power():
    """Parseval: Σ|fft x|² is n·Σx²."""

    def f(x):
        return jnp.sum(jnp.abs(jnp.fft.fft(x)) ** 2)

    def fwd(x):
        return x.shape[0] * jnp.sum(x * x), x

    return vjps(f, fwd, lambda x, g: (2 * g * x.shape[0] * x,), lambda x, g: (2 * g * x,))


@pairs(FOURIER, "n, n -> n", reals((5,), (5,)))
def circular_convolution():
    """A convolution by fft; backwards a correlation, by the conjugate spectrum."""

    def f(x, k):
        return jnp.fft.ifft(jnp.fft.fft(x) * jnp.fft.fft(k)).real

    def back(conj):
        def bwd(saved, g):
            x, k = saved
            s = jnp.fft.fft(g)
            return (
                jnp.fft.ifft(s * conj(jnp.fft.fft(k))).real,
                jnp.fft.ifft(s * conj(jnp.fft.fft(x))).real,
            )

        return bwd

    return vjps(f, lambda x, k: (f(x, k), (x, k)), back(jnp.conj), back(lambda z: z))


@pairs(FOURIER, "n -> n", reals((5,)))
def fourier_there_and_back():
    """A filter that passes everything: ifft(fft x)² is x²."""

    def f(x):
        return jnp.real(jnp.fft.ifft(jnp.fft.fft(x))) ** 2

    def fwd(x):
        return x * x, x

    return vjps(f, fwd, lambda x, g: (2 * x * g,), lambda x, g: (2 * x * jnp.roll(g[::-1], 1),))


@pairs(FOURIER, "n 8 -> n 5", reals((2, 8)))
def real_fourier_power():
    """|rfft|² of rows of length 8; the bins in the middle stand for two."""

    def f(x):
        return jnp.abs(jnp.fft.rfft(x, axis=-1)) ** 2

    def back(halved):
        def bwd(x, g):
            s = g * jnp.fft.rfft(x, axis=-1)
            weight = jnp.array([1.0, 0.5, 0.5, 0.5, 1.0]) if halved else 1.0
            return (2 * 8 * jnp.fft.irfft(s * weight, n=8, axis=-1),)

        return bwd

    return vjps(f, lambda x: (f(x), x), back(True), back(False))


@pairs(FOURIER, "n m -> n m", reals((3, 4)))
def two_dimensional_low_pass():
    """A mask on the 2-d spectrum is a symmetric linear map if the mask is even."""

    def masked(x, even):
        i = jnp.arange(x.shape[0])[:, None]
        keep = (i == 0) if even else (i == 1)
        return jnp.fft.ifft2(jnp.where(keep, jnp.fft.fft2(x), 0)).real

    def f(x):
        return masked(x, True)

    return vjps(f, lambda x: (f(x), None), lambda _, g: (masked(g, True),), lambda _, g: (masked(g, False),))


@pairs(FOURIER, "n -> n", reals((5,)))
def shift_by_phases():
    """A shift by one place as a phase in the spectrum; back with the opposite phase."""

    def shifted(x, sign):
        n = x.shape[0]
        w = jnp.exp(sign * 2j * jnp.pi * jnp.arange(n) / n)
        return jnp.fft.ifft(jnp.fft.fft(x) * w).real

    def f(x):
        return shifted(x, -1)

    return vjps(
        f,
        lambda x: (jnp.roll(x, 1), None),
        lambda _, g: (jnp.roll(g, -1),),
        lambda _, g: (jnp.roll(g, 1),),
    )


SOLVE = "complex solve and slogdet"


def systems(rng):
    return (np.eye(3) * 2 + 0.3 * rng.normal(size=(3, 3)), 0.3 * rng.normal(size=(3, 3)), *rng.normal(size=(2, 3)))


@pairs(SOLVE, "n n, n n, n, n -> n, n", systems)
def complex_solve():
    """(A + iB)z = c + id, backwards by the conjugate transpose; the wrong rule has the transpose alone."""

    def f(a, b, c, d):
        z = jnp.linalg.solve(a + 1j * b, c + 1j * d)
        return z.real, z.imag

    def back(turn):
        def bwd(saved, g):
            a, b, c, d = saved
            m = a + 1j * b
            z = jnp.linalg.solve(m, c + 1j * d)
            y = jnp.linalg.solve(turn(m), g[0] + 1j * g[1])
            dm = -jnp.outer(y, jnp.conj(z))
            return dm.real, dm.imag, y.real, y.imag

        return bwd

    return vjps(f, lambda *args: (f(*args), args), back(lambda m: m.conj().T), back(lambda m: m.T))


@pairs(SOLVE, "n n, n n -> ", lambda r: systems(r)[:2])
def complex_log_abs_det():
    """log |det(A + iB)|."""

    def f(a, b):
        return jnp.linalg.slogdet(a + 1j * b)[1]

    def back(conj):
        def bwd(saved, g):
            a, b = saved
            d = g * conj(jnp.linalg.inv(a + 1j * b)).T
            return d.real, d.imag

        return bwd

    return vjps(f, lambda a, b: (f(a, b), (a, b)), back(jnp.conj), back(lambda z: z))


CONVENTION = "JAX's conventions"


def complexes(*shapes):
    def draw(rng):
        return tuple(rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in shapes)

    return draw


@pairs(CONVENTION, "n:complex64, n:complex64 -> n:complex64", complexes((4,), (4,)))
def complex_arrays_product():
    """Complex arguments and outputs: JAX's cotangents of a holomorphic function have no conjugate."""

    def f(z, w):
        return z * w

    return vjps(
        f,
        lambda z, w: (z * w, (z, w)),
        lambda saved, g: (g * saved[1], g * saved[0]),
        lambda saved, g: (g * jnp.conj(saved[1]), g * jnp.conj(saved[0])),
    )


@pairs(CONVENTION, "n:complex64 -> n", complexes((4,)))
def complex_arrays_abs():
    """|z| of a complex array: the cotangent is g·z̄/|z|."""

    def f(z):
        return jnp.abs(z)

    def fwd(z):
        return f(z), z

    right = vjp(f, fwd, lambda z, g: (g * jnp.conj(z) / jnp.abs(z),))
    return right, vjp(f, fwd, lambda z, g: (g * z / jnp.abs(z),))
