"""The assumptions on floating-point arithmetic. A bound is proved from these alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from certgrad.jaxpr import kinds

MODEL = (
    "An addition, subtraction, multiplication or square root returns z·(1 + δ) + η, where z is the exact result of the "
    "numbers that it is given, |δ| ≤ u (half a unit in the last place of 1), and |η| ≤ the smallest normal number; "
    "η = 0 where z is a normal number or 0. Arguments and literals are normal numbers or 0.",
    "A division returns that with |δ| ≤ 2u + u²: it may be a multiplication by a rounded inverse.",
    "A sum, also in a product of matrices or a convolution, is taken in any order, in the dtype that is written or a "
    "wider one, with or without rounding its products.",
    "An operation may be evaluated in a wider dtype and not be rounded to the one that is written.",
    "A function of the table `ACCURACY` returns z·(1 + δ) + η with |δ| ≤ the number of units in the last place that "
    "stands there, sines and cosines for arguments up to 8192.",
    "Comparisons, maxima, minima, absolute values, signs and moves of entries are exact, and a literal is the number "
    "of the dtype that is nearest to the decimal that is read.",
    "The operations that run are those of the traced program: no other rewriting changes what is rounded.",
)

ACCURACY = {
    "exp": 2,
    "expm1": 4,
    "log": 2,
    "log1p": 4,
    "tanh": 8,
    "logistic": 4,
    "sin": 4,
    "cos": 4,
    "rsqrt": 4,
    "cbrt": 4,
    "erf": 8,
    "erfc": 32,
    "atan": 4,
    "asinh": 16,
    "sinh": 16,
    "cosh": 16,
    "pow": 16,
}
"""The error, in units in the last place, of functions that are not rounded correctly: assumed, tested at points."""

EXACT = kinds.RENAMES | kinds.CLIPS | kinds.ROUNDS | {"abs", "neg", "real", "sign"}
ROUNDED = {"add": 1, "add_any": 1, "sub": 1, "mul": 1, "sqrt": 1, "square": 1, "div": 2, "one_minus_square": 2}
"""Number of roundings in one operation."""
LARGEST_ANGLE = 8192.0
"""Arguments of sines and cosines beyond which nothing is assumed."""
ROUNDED_UP = 1 + 1e-12
"""A factor above the relative rounding, in float64, of a few operations on non-negative numbers."""


@dataclass(frozen=True)
class Format:
    """A float dtype in the model: `tiny` is its smallest normal number, `most` its largest."""

    name: str
    u: float
    """Half a unit in the last place of 1."""
    tiny: float
    most: float

    def gamma(self, n: Any) -> Any:
        """Return a bound on (1 + δ₁)…(1 + δₙ) − 1 with all |δᵢ| ≤ u; infinite where n·u is not below 1/2."""
        nu = np.asarray(n, np.float64) * self.u
        with np.errstate(all="ignore"):
            return np.where(nu < 0.5, nu / (1 - nu) * ROUNDED_UP, np.inf)

    def roundings(self, name: str, params: Any) -> float | None:
        """Return the bound on |δ| of an operation in units of u; None where nothing is assumed of the operation."""
        if name in EXACT:
            return 0.0
        if name in ROUNDED:
            return float(ROUNDED[name])
        if name == "integer_pow":
            return abs(int(params["y"])) + 1.0
        return 2.0 * ACCURACY[name] if name in ACCURACY else None


def format_of(dtype: Any) -> Format:
    """Return the format of a float dtype."""
    info: Any = jnp.finfo(dtype)
    return Format(str(jnp.dtype(dtype)), float(info.eps) / 2, float(info.tiny), float(info.max))
