"""How far JAX's approximations and their rules are apart: the figures of `docs/jax.md`.

`log_ndtr` is compared with the exact value and gradient (mpmath, 50 digits), the rule of `erfcx` with its formula. A
gap of an approximation is no defect of a rule: it says how far the two are from each other.

Run from anywhere: `python benchmarks/jax_gaps.py`
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
from jax.scipy import special

jax.config.update("jax_enable_x64", True)
mpmath.mp.dps = 50


def log_ndtr(x: float) -> tuple[float, float]:
    """The relative errors of the value and of the gradient."""
    exact = mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)
    slope = mpmath.npdf(x) / mpmath.ncdf(x)
    value, gradient = jax.value_and_grad(special.log_ndtr)(x)
    return tuple(float(abs(mpmath.mpf(float(a)) / b - 1)) for a, b in ((value, exact), (gradient, slope)))  # type: ignore[return-value]


def erfcx(x: float) -> float:
    """In float32: what the rule returns beside 2x·y − 2/√π at the same y."""
    value, gradient = jax.value_and_grad(special.erfcx)(jnp.float32(x))
    ideal = 2 * np.float64(x) * np.float64(value) - 2 / np.sqrt(np.pi)
    return float(abs(np.float64(gradient) - ideal))


if __name__ == "__main__":
    print("jax", jax.__version__)
    print("log_ndtr at -21: value and gradient off by {:.0e} and {:.0e}, relatively".format(*log_ndtr(-21.0)))
    print(f"erfcx at 1 in float32: rule and formula {erfcx(1.0):.1e} apart")
