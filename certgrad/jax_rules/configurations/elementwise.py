"""Arithmetic, powers, exponentials, logarithms, trigonometric and hyperbolic functions: one entry at a time."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from .._configuration import Configuration, configurations

SMOOTH = "asinh atan cos cosh exp exp2 expm1 logistic neg sin sinh square tan tanh".split()

ELEMENTWISE: list[Configuration] = [
    *(c for name in SMOOTH for c in configurations(name, getattr(lax, name), "*s")),
    *configurations("abs", lax.abs, "*s", kinks=[0]),
    *configurations("acos", lax.acos, "*s", kinks=[1]),
    *configurations("acosh", lax.acosh, "*s", kinks=[1]),
    *configurations("asin", lax.asin, "*s", kinks=[1]),
    *configurations("atanh", lax.atanh, "*s", kinks=[1]),
    *configurations("cbrt", lax.cbrt, "*s", kinks=[0]),
    *configurations("ceil", lax.ceil, "*s", kinks=[0]),
    *configurations("floor", lax.floor, "*s", kinks=[0]),
    *configurations("log", lax.log, "*s", kinks=[0, -1]),
    *configurations("log1p", lax.log1p, "*s", kinks=[-1, -2]),
    *configurations(
        "round", lambda x, method: lax.round(x, method), "*s", kinks=[0.5], method=list(lax.RoundingMethod)
    ),
    *configurations("rsqrt", lax.rsqrt, "*s", kinks=[0]),
    *configurations("sign", lax.sign, "*s", kinks=[0]),
    *configurations("sqrt", lax.sqrt, "*s", kinks=[0, -1]),
    *configurations("add", lax.add, "*s, *s"),
    *configurations("sub", lax.sub, "*s, *s"),
    *configurations("mul", lax.mul, "*s, *s"),
    *configurations("div", lax.div, "*s, *s", kinks=[(1, 0)]),
    *configurations("rem", lax.rem, "*s, *s", kinks=[(4, 2), (0, 2), (1, 0)]),
    *configurations("atan2", lax.atan2, "*s, *s", kinks=[(0, 0), (0, -1)]),
    *configurations("max", lax.max, "*s, *s", kinks=[(1, 1)]),
    *configurations("min", lax.min, "*s, *s", kinks=[(1, 1)]),
    *configurations("pow", lax.pow, "*s, *s", kinks=[(0, 2), (0, 1), (0, 0), (-1, 2)]),
    *configurations(
        "pow", lambda x, y: lax.pow(x, y), "*s", form="a number as the exponent", y=[3.0, 0.5, -1.5], kinks=[0]
    ),
    *configurations("integer_pow", lambda x, y: lax.integer_pow(x, y), "*s", y=[-2, -1, 0, 1, 2, 3, 5]),
    *configurations("clamp", lambda x, low, high: lax.clamp(low, x, high), "*s", low=[-1.0], high=[2.0], kinks=[-1, 2]),
    *configurations(
        "clamp", lax.clamp, "*s, *s, *s", domain="min < max", form="bounds as arrays", kinks=[(0, 0, 1), (0, 1, 1)]
    ),
    *configurations("select_n", lambda which, x, y: lax.select_n(which, x, y), "*s:bool, *s, *s"),
    *configurations(
        "select_n",
        lambda which, x, y, z: lax.select_n(which, x, y, z),
        "*s:int, *s, *s, *s",
        domain=("which >= 0", "which <= 2"),
        form="three",
    ),
    *configurations("log2", jnp.log2, "*s"),
    *configurations("one_minus_square", lambda x, y: lax.tanh(x) * y, "*s, *s"),
    *configurations("polynomial", lambda x, a, b: jnp.polyval(jnp.stack([a, b, a * b]), x), "*s, *s, *s"),
]
