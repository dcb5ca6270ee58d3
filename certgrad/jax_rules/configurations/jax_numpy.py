"""Functions of jax.numpy: those with a custom rule, and others with kinks or hidden branches."""

from __future__ import annotations

import jax.numpy as jnp
from jax._src.numpy import lax_numpy
from jax.scipy.special import i1

from .._configuration import Configuration, configurations

ELEMENTWISE: list[Configuration] = [
    *configurations("jax.lax.logaddexp", lambda x, y: jnp.logaddexp(x, y), "*s, *s", kinks=[(1, 1)]),
    *configurations("jax.lax.logaddexp2", lambda x, y: jnp.logaddexp2(x, y), "*s, *s", kinks=[(1, 1)]),
    *configurations("jax.numpy.i0", jnp.i0, "*s", kinks=[0]),
    *(
        c
        for c in configurations("jax.numpy.i1_maclaurin", i1, "*s", form="jax.scipy.special.i1")
        if hasattr(lax_numpy, "_i1_maclaurin")  # some versions of JAX do not have it
    ),
    *configurations("jax.numpy.frexp", lambda x: jnp.frexp(x)[0], "*s", form="the mantissa"),
    *configurations("jax.numpy.sinc", jnp.sinc, "*s", kinks=[0]),
    *configurations("jax.numpy.sinc_maclaurin", jnp.sinc, "*s", form="jax.numpy.sinc"),
    *configurations("jax.numpy.clip", jnp.clip, "*s, *s, *s", domain="min < max", kinks=[(0, 0, 1), (0, 1, 1)]),
    *configurations("jax.numpy.hypot", jnp.hypot, "*s, *s", kinks=[(0, 0), (1, 0)]),
    *configurations("jax.numpy.power", jnp.power, "*s, *s", kinks=[(0, 2), (0, 1), (0, 0)]),
    *configurations("jax.numpy.float_power", jnp.float_power, "*s, *s"),
    *configurations("jax.numpy.fmod", jnp.fmod, "*s, *s"),
    *configurations("jax.numpy.remainder", jnp.remainder, "*s, *s"),
    *configurations("jax.numpy.floor_divide", jnp.floor_divide, "*s, *s"),
    *configurations("jax.numpy.copysign", jnp.copysign, "*s, *s", kinks=[(0, 1)]),
    *configurations("jax.numpy.heaviside", jnp.heaviside, "*s, *s", kinks=[(0, 1)]),
    *configurations("jax.numpy.absolute", jnp.absolute, "*s", kinks=[0]),
    *configurations("jax.numpy.fabs", jnp.fabs, "*s", kinks=[0]),
    *configurations("jax.numpy.trunc", jnp.trunc, "*s"),
    *configurations("jax.numpy.modf", lambda x: jnp.modf(x), "*s"),
    *configurations("jax.numpy.log10", jnp.log10, "*s"),
    *configurations("jax.numpy.deg2rad", jnp.deg2rad, "*s"),
    *configurations("jax.numpy.rad2deg", jnp.rad2deg, "*s"),
    *configurations("jax.numpy.where", lambda keep, x, y: jnp.where(keep, x, y), "*s:bool, *s, *s"),
]

REDUCTIONS: list[Configuration] = [
    *configurations("jax.numpy.mean", lambda x, axis: jnp.mean(x, axis), "n m", axis=[0, 1, None]),
    *configurations("jax.numpy.var", lambda x, axis: jnp.var(x, axis), "n m", axis=[0, 1]),
    *configurations("jax.numpy.var", lambda x: jnp.var(x, 0, ddof=1), "n+1 m", form="ddof=1"),
    *configurations(
        "jax.numpy.std", lambda x, axis: jnp.std(x, axis), "n+1 m+1", axis=[0, 1], kinks=[([[1.0, 1.0], [1.0, 1.0]],)]
    ),
    *configurations("jax.numpy.max", lambda x, axis: jnp.max(x, axis), "n m", axis=[0, 1], kinks=[([[1.0], [1.0]],)]),
    *configurations("jax.numpy.nansum", lambda x: jnp.nansum(x, 0), "n m"),
    *configurations(
        "jax.numpy.linalg.norm",
        lambda x, ord: jnp.linalg.norm(x, ord, axis=1),
        "n m",
        ord=[1, 2, float("inf")],
        kinks=[([[0.0, 0.0]],)],
    ),
    *configurations(
        "jax.numpy.linalg.vector_norm", lambda x, ord: jnp.linalg.vector_norm(x, axis=1, ord=ord), "n m", ord=[3]
    ),
    *configurations("jax.numpy.cross", lambda x, y: jnp.cross(x, y), "n 3, n 3"),
    *configurations("jax.numpy.trace", lambda a: jnp.trace(a), "n n"),
    *configurations("jax.numpy.diff", lambda x: jnp.diff(x), "n+1"),
    *configurations("jax.numpy.trapezoid", lambda x: jnp.trapezoid(x), "n+1"),
    *configurations("jax.numpy.kron", lambda a, b: jnp.kron(a, b), "n m, p q"),
]

LINEAR_ALGEBRA: list[Configuration] = [
    *configurations("jax.numpy.linalg.det", lambda a: jnp.linalg.det(a), "n n"),
    *configurations("jax.numpy.linalg.det_2x2", lambda a: jnp.linalg.det(a), "2 2"),
    *configurations("jax.numpy.linalg.det_3x3", lambda a: jnp.linalg.det(a), "3 3"),
    *configurations("jax.numpy.linalg.slogdet_lu", lambda a: tuple(jnp.linalg.slogdet(a, method="lu")), "n n"),
    *configurations("jax.numpy.linalg.slogdet_qr", lambda a: tuple(jnp.linalg.slogdet(a, method="qr")), "n n"),
    *configurations("jax.numpy.linalg.slogdet_small", lambda a: tuple(jnp.linalg.slogdet(a)), "2 2", form="2 × 2"),
    *configurations("jax.numpy.linalg.inv", lambda a: jnp.linalg.inv(a), "n n"),
    *configurations("jax.numpy.linalg.pinv", lambda a: jnp.linalg.pinv(a), "n+m m"),
]

NUMPY: list[Configuration] = [*ELEMENTWISE, *REDUCTIONS, *LINEAR_ALGEBRA]
