"""Special functions of real numbers that JAX has not, or has by approximation: what a hand-written rule is the rule of.

A package that computes a Bessel function by series, recurrences or Chebyshev forms gives it the derivative of the exact
function. `approximates=certgrad.special.kv` says so, and the rule is proved against the exact one. The names and the
arguments are those of `scipy.special`, but for `si` and `ci`. They are JAX functions and can be composed,
differentiated, jitted and mapped; values come from scipy on the host in 64 bits, so they are references and not fast.

Formulas: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov, chapters 6 to 8, 10, 13 and 15.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from math import pi, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from certgrad.errors import UsageError
from certgrad.jaxpr.solves import solves

PREFIX = "certgrad_"
"""Of the names of the primitives."""


def _on_host(name: str, dtype: Any, *args: np.ndarray) -> np.ndarray:
    import scipy.special
    from flint import arb

    given = [np.ascontiguousarray(x).view(np.float64)[..., 0] if dtype == np.float64 else np.asarray(x) for x in args]
    wide = [np.asarray(x, np.float64) for x in given]
    found: dict[str, Callable[..., Any]] = {
        "si": lambda x: scipy.special.sici(x)[0],
        "ci": lambda x: scipy.special.sici(np.abs(x))[1],
        "fresnels": lambda x: scipy.special.fresnel(x)[0],
        "fresnelc": lambda x: scipy.special.fresnel(x)[1],
        "wofz_re": lambda x, y: scipy.special.wofz(x + 1j * y).real,
        "wofz_im": lambda x, y: scipy.special.wofz(x + 1j * y).imag,
        "lambertw": np.vectorize(lambda x: float(arb(x).lambertw()), otypes=[float]),  # scipy's own is complex
    }
    run = found[name] if name in found else getattr(scipy.special, name)
    out = np.asarray(run(*wide), dtype)
    return out[..., None].view(np.uint32) if dtype == np.float64 else out


def _values(*args: Any, called: str) -> Any:
    shape, dtype = jnp.broadcast_shapes(*(x.shape for x in args)), args[-1].dtype
    # The host's thread does not know whether JAX computes in 64 bits, and may round what it is given: it gets words.
    wide = dtype == jnp.float64
    given = [lax.bitcast_convert_type(x, jnp.uint32) for x in args] if wide else args
    out = jax.ShapeDtypeStruct((*shape, 2) if wide else shape, jnp.uint32 if wide else dtype)
    found = jax.pure_callback(partial(_on_host, called, dtype), out, *given, vmap_method="broadcast_all")
    return lax.bitcast_convert_type(found, dtype) if wide else found


def _aval(*avals: Any) -> Any:
    # Under `vmap` some operands have no axes.
    return avals[-1].update(shape=jnp.broadcast_shapes(*(a.shape for a in avals)), weak_type=False)


def _primitive(name: str, several: bool = False) -> Any:
    """A function of one or `several` real numbers, elementwise over arrays of one shape and dtype."""
    made = Primitive(PREFIX + name)
    run = partial(_values, called=name)
    made.def_impl(jax.jit(run))
    made.def_abstract_eval(_aval)
    mlir.register_lowering(made, mlir.lower_fun(run, multiple_results=False))
    (batching.defbroadcasting if several else batching.defvectorized)(made)
    return made


def _moves(made: Any, *slopes: Callable[..., Any] | None) -> None:
    """Return the derivative in each argument as a function of the arguments; None where it is not known here."""

    def jvp(primals: Any, tangents: Any) -> Any:
        moving = [(slope, dx) for slope, dx in zip(slopes, tangents, strict=True) if type(dx) is not ad.Zero]
        if any(slope is None for slope, _ in moving):
            raise NotImplementedError(f"the derivative of {made.name.removeprefix(PREFIX)} by a parameter")
        out = made.bind(*primals)
        total = sum((slope(*primals) * dx for slope, dx in moving if slope is not None), jnp.zeros_like(out))
        return out, total

    ad.primitive_jvps[made] = jvp


def _bind_broadcast(made: Any, *args: Any) -> jax.Array:
    """Return a function's values at arrays of floats that are broadcast against each other."""
    dtype = jnp.result_type(*args)
    if jnp.issubdtype(dtype, jnp.integer):
        dtype = jnp.result_type(float)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise UsageError(f"{made.name.removeprefix(PREFIX)} is a function of real numbers, not of {dtype}.")
    arrays = jnp.broadcast_arrays(*(jnp.asarray(x, dtype) for x in args))
    return made.bind(*arrays)


def _wofz_slope(x: Any, y: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of w′(x + iy)."""
    u, v = _wofz_re_p.bind(x, y), _wofz_im_p.bind(x, y)
    return -2 * (x * u - y * v), 2 / sqrt(pi) - 2 * (x * v + y * u)


_jv_p, _yv_p, _iv_p, _kv_p = (_primitive(name, several=True) for name in ("jv", "yv", "iv", "kv"))
_erfi_p, _expi_p, _si_p, _ci_p = (_primitive(name) for name in ("erfi", "expi", "si", "ci"))
_fresnels_p, _fresnelc_p = (_primitive(name) for name in ("fresnels", "fresnelc"))
_lambertw_p, _spence_p = (_primitive(name) for name in ("lambertw", "spence"))
_wofz_re_p, _wofz_im_p = (_primitive(name, several=True) for name in ("wofz_re", "wofz_im"))
_owens_t_p, _hyp1f1_p, _hyp2f1_p = (_primitive(name, several=True) for name in ("owens_t", "hyp1f1", "hyp2f1"))

_moves(_jv_p, None, lambda v, x: (_jv_p.bind(v - 1, x) - _jv_p.bind(v + 1, x)) / 2)
_moves(_yv_p, None, lambda v, x: (_yv_p.bind(v - 1, x) - _yv_p.bind(v + 1, x)) / 2)
_moves(_iv_p, None, lambda v, x: (_iv_p.bind(v - 1, x) + _iv_p.bind(v + 1, x)) / 2)
_moves(_kv_p, None, lambda v, x: -(_kv_p.bind(v - 1, x) + _kv_p.bind(v + 1, x)) / 2)
_moves(_erfi_p, lambda x: 2 / sqrt(pi) * jnp.exp(x * x))
_moves(_expi_p, lambda x: jnp.exp(x) / x)
_moves(_si_p, lambda x: jnp.where(x == 0, 1, jnp.sin(x) / jnp.where(x == 0, 1, x)))
_moves(_ci_p, lambda x: jnp.cos(x) / x)
_moves(_fresnels_p, lambda x: jnp.sin(pi / 2 * x * x))
_moves(_fresnelc_p, lambda x: jnp.cos(pi / 2 * x * x))
_moves(_spence_p, lambda x: jnp.where(x == 1, -1, jnp.log(x) / jnp.where(x == 1, 1, 1 - x)))
_moves(_lambertw_p, lambda x: jnp.exp(-_lambertw_p.bind(x)) / (1 + _lambertw_p.bind(x)))
_moves(
    _owens_t_p,
    lambda h, a: -jnp.exp(-h * h / 2) * lax.erf(a * h / sqrt(2)) / (2 * sqrt(2 * pi)),
    lambda h, a: jnp.exp(-h * h * (1 + a * a) / 2) / (2 * pi * (1 + a * a)),
)
# w′(z) = 2i/√π − 2z·w(z), and ∂w/∂y = i·w′. DLMF 7.10.
_moves(_wofz_re_p, lambda x, y: _wofz_slope(x, y)[0], lambda x, y: -_wofz_slope(x, y)[1])
_moves(_wofz_im_p, lambda x, y: _wofz_slope(x, y)[1], lambda x, y: _wofz_slope(x, y)[0])
_moves(_hyp1f1_p, None, None, lambda a, b, x: a / b * _hyp1f1_p.bind(a + 1, b + 1, x))
_moves(_hyp2f1_p, None, None, None, lambda a, b, c, x: a * b / c * _hyp2f1_p.bind(a + 1, b + 1, c + 1, x))


def jv(v: Any, x: Any) -> jax.Array:
    """Bessel's J_v(x), of any real order; x > 0 where the order is no whole number. DLMF 10.2."""
    return _bind_broadcast(_jv_p, v, x)


def j0(x: Any) -> jax.Array:
    """Bessel's J₀(x)."""
    return jv(0, x)


def j1(x: Any) -> jax.Array:
    """Bessel's J₁(x)."""
    return jv(1, x)


def jinc(x: Any) -> jax.Array:
    """J₁(x)/x, which is 1/2 at 0."""
    x = jnp.asarray(x)
    away = jnp.where(x == 0, 1, x)
    return jnp.where(x == 0, 0.5, jv(1, away) / away)


def yv(v: Any, x: Any) -> jax.Array:
    """Bessel's function of the second kind Y_v(x), for x > 0. DLMF 10.2."""
    return _bind_broadcast(_yv_p, v, x)


def y0(x: Any) -> jax.Array:
    """Bessel's function of the second kind Y₀(x), for x > 0."""
    return yv(0, x)


def y1(x: Any) -> jax.Array:
    """Bessel's function of the second kind Y₁(x), for x > 0."""
    return yv(1, x)


def iv(v: Any, x: Any) -> jax.Array:
    """The modified Bessel function I_v(x); x > 0 where the order is no whole number. DLMF 10.25."""
    return _bind_broadcast(_iv_p, v, x)


def i0(x: Any) -> jax.Array:
    """The modified Bessel function I₀(x)."""
    return iv(0, x)


def i1(x: Any) -> jax.Array:
    """The modified Bessel function I₁(x)."""
    return iv(1, x)


def kv(v: Any, x: Any) -> jax.Array:
    """The modified Bessel function of the second kind K_v(x), for x > 0. DLMF 10.25."""
    return _bind_broadcast(_kv_p, v, x)


def k0(x: Any) -> jax.Array:
    """The modified Bessel function of the second kind K₀(x), for x > 0."""
    return kv(0, x)


def k1(x: Any) -> jax.Array:
    """The modified Bessel function of the second kind K₁(x), for x > 0."""
    return kv(1, x)


def erfi(x: Any) -> jax.Array:
    """The imaginary error function 2/√π · ∫₀ˣ exp(t²) dt. DLMF 7.5."""
    return _bind_broadcast(_erfi_p, x)


def dawsn(x: Any) -> jax.Array:
    """Dawson's integral exp(−x²) · ∫₀ˣ exp(t²) dt. DLMF 7.2."""
    return sqrt(pi) / 2 * jnp.exp(-x * x) * erfi(x)


def erfcx(x: Any) -> jax.Array:
    """exp(x²) · erfc(x)."""
    return jnp.exp(x * x) * lax.erfc(x)


def expi(x: Any) -> jax.Array:
    """The exponential integral Ei(x), for x ≠ 0. DLMF 6.2."""
    return _bind_broadcast(_expi_p, x)


def exp1(x: Any) -> jax.Array:
    """The exponential integral E₁(x) = −Ei(−x), for x > 0. DLMF 6.2."""
    return -expi(-x)


def expn(n: int, x: Any) -> jax.Array:
    """The exponential integral E_n(x) for x > 0, of a whole order from 0. DLMF 8.19.

    From E₁(x) = −Ei(−x) by n·E_{n+1}(x) = exp(−x) − x·E_n(x), which loses digits where n is large.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise UsageError(f"expn is of a whole order from 0, not of {n!r}.")
    if n == 0:
        return jnp.exp(-x) / x
    found = -expi(-x)
    for k in range(1, n):
        found = (jnp.exp(-x) - x * found) / k
    return found


def sici(x: Any) -> tuple[jax.Array, jax.Array]:
    """The sine and the cosine integral, Si(x) and Ci(|x|); Ci for x ≠ 0. DLMF 6.2."""
    return si(x), ci(x)


def si(x: Any) -> jax.Array:
    """The sine integral Si(x), the first of `sici`."""
    return _bind_broadcast(_si_p, x)


def ci(x: Any) -> jax.Array:
    """The cosine integral Ci(|x|) for x ≠ 0, the second of `sici`."""
    return _bind_broadcast(_ci_p, x)


def fresnel(x: Any) -> tuple[jax.Array, jax.Array]:
    """Fresnel's integrals of sin(πt²/2) and of cos(πt²/2) from 0 to x. DLMF 7.2."""
    return _bind_broadcast(_fresnels_p, x), _bind_broadcast(_fresnelc_p, x)


def owens_t(h: Any, a: Any) -> jax.Array:
    """Owen's T(h, a) = 1/2π · ∫₀ᵃ exp(−h²(1 + t²)/2) / (1 + t²) dt (Owen 1956)."""
    return _bind_broadcast(_owens_t_p, h, a)


def lambertw(x: Any) -> jax.Array:
    """The principal branch of Lambert's W, for x > −1/e: W·exp(W) = x. DLMF 4.13."""
    return _bind_broadcast(_lambertw_p, x)


def spence(x: Any) -> jax.Array:
    """Spence's function ∫₁ˣ log t / (1 − t) dt for x > 0, the dilogarithm of 1 − x. DLMF 25.12."""
    return _bind_broadcast(_spence_p, x)


def wofz(z: Any) -> jax.Array:
    """The Faddeeva function w(z) = exp(−z²)·erfc(−iz), complex, of complex or real numbers. DLMF 7.2."""
    z = jnp.asarray(z)
    x, y = (z.real, z.imag) if jnp.iscomplexobj(z) else (z, jnp.zeros_like(z))
    return lax.complex(voigt_k(x, y), voigt_l(x, y))


def voigt_k(x: Any, y: Any) -> jax.Array:
    """The line broadening function K(x, y) = Re w(x + iy) of Voigt profiles, Hjerting's H (Armstrong 1967)."""
    return _bind_broadcast(_wofz_re_p, x, y)


def voigt_l(x: Any, y: Any) -> jax.Array:
    """L(x, y) = Im w(x + iy), the conjugate of `voigt_k` (Armstrong 1967)."""
    return _bind_broadcast(_wofz_im_p, x, y)


def hyp1f1(a: Any, b: Any, x: Any) -> jax.Array:
    """Kummer's function ₁F₁(a; b; x), with a derivative by x alone; b is not 0, −1, −2, … DLMF 13.2."""
    return _bind_broadcast(_hyp1f1_p, a, b, x)


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> jax.Array:
    """Gauss' function ₂F₁(a, b; c; x) for x < 1, with a derivative by x alone; c is not 0, −1, −2, … DLMF 15.2."""
    return _bind_broadcast(_hyp2f1_p, a, b, c, x)


# --- of the gamma function, and inverses


def betaln(x: Any, y: Any) -> jax.Array:
    """The logarithm of |B(x, y)|. DLMF 5.12."""
    return lax.lgamma(x) + lax.lgamma(y) - lax.lgamma(x + y)


def log_gamma_difference(x: Any, y: Any) -> jax.Array:
    """The logarithm of |Γ(y)/Γ(x + y)|, `algdiv` of TOMS 708 (Didonato and Morris 1992)."""
    return lax.lgamma(y) - lax.lgamma(x + y)


def _inverse(equation: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for the elementwise solver of an equation, with the derivative by the implicit function theorem."""

    def with_implicit_derivative(solver: Callable[..., Any]) -> Callable[..., Any]:
        solution = jax.custom_jvp(solves(equation)(solver))

        @solution.defjvp
        def jvp(primals: Any, tangents: Any) -> Any:
            z = solution(*primals)
            moved = jax.jvp(lambda *args: equation(z, *args), primals, tangents)[1]
            slope = jax.jvp(lambda z: equation(z, *primals), (z,), (jnp.ones_like(z),))[1]
            return z, -moved / slope

        @wraps(solver)
        def run(*args: Any) -> Any:
            dtype = jnp.result_type(float, *args)
            return solution(*jnp.broadcast_arrays(*(jnp.asarray(x, dtype) for x in args)))

        return run

    return with_implicit_derivative


@_inverse(lambda x, a, y: lax.igamma(a, x) - y)
def gammaincinv(a: Any, y: Any) -> jax.Array:
    """The x at which the regularized incomplete gamma function P(a, x) is y, for a > 0 and 0 < y < 1. DLMF 8.2."""
    return _values(a, y, called="gammaincinv")


@_inverse(lambda x, a, y: lax.igammac(a, x) - y)
def gammainccinv(a: Any, y: Any) -> jax.Array:
    """The x at which Q(a, x) = 1 − P(a, x) is y, for a > 0 and 0 < y < 1. DLMF 8.2."""
    return _values(a, y, called="gammainccinv")


@_inverse(lambda anomaly, mean, e: anomaly - e * jnp.sin(anomaly) - mean)
def eccentric_anomaly(mean: Any, e: Any) -> jax.Array:
    """The E with E − e·sin E = M, Kepler's equation, for 0 ≤ e < 1."""
    low, high = mean - e, mean + e  # by halves, as Newton's steps stray where e is near 1
    for _ in range(60):
        middle = (low + high) / 2
        below = middle - e * jnp.sin(middle) < mean
        low, high = jnp.where(below, middle, low), jnp.where(below, high, middle)
    return (low + high) / 2


def kepler(mean: Any, e: Any) -> tuple[jax.Array, jax.Array]:
    """The sine and the cosine of the true anomaly, of a mean anomaly and an eccentricity 0 ≤ e < 1 (Murray and Dermott,
    Solar System Dynamics, 2.4).
    """
    anomaly = eccentric_anomaly(mean, e)
    distance = 1 - e * jnp.cos(anomaly)
    return jnp.sqrt(1 - e * e) * jnp.sin(anomaly) / distance, (jnp.cos(anomaly) - e) / distance
