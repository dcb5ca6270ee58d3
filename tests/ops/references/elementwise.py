"""References of the elementwise ops that name no function of JAX, or call it otherwise."""

import jax
import jax.numpy as jnp
import numpy as np

from ._reference import Reference


def dropout(x, mask, *, p, mode):
    if mode == "train":
        return jnp.where(mask, x / (1 - p), 0)
    return x if mode == "identity" else x * (1 - p)


def halves(gate):
    """gate(a) * b of the halves a and b along the axis."""

    def function(x, *, axis):
        a, b = jnp.split(x, 2, axis)
        return gate(a) * b

    return Reference(function)


_CANCELS = "lgamma(b) - lgamma(a + b), or of digamma, cancels; JAX has a series for large b"
_LIMIT = "JAX's gradient is not the limit, which is 0 and 1"
_OVERFLOW = "exp(x) overflows in float32 before the product with it does"
_SUBNORMAL = "XLA counts a subnormal number as 0 in one place, and not in the next"
_FLUSHED = "the sigmoid of -90 is subnormal, and counts as 0 in the product"
_SLOPE = "the difference of the two Bessel functions cancels"
_SERIES = "JAX's series is no more precise in float32"
_JUMP = "x / y is rounded to an integer, where the derivative jumps"
_POLE = "the sum of argument and eps is rounded to 0"
_DIVISOR = "a subnormal divisor counts as 0"

REFERENCES = {
    "axpy": Reference(lambda x, y, *, a: a * x + y),
    "cube": Reference(lambda x: x**3),
    "exp10": Reference(lambda x: 10.0**x),
    "frac": Reference(lambda x: x - jnp.trunc(x)),
    "geglu": halves(lambda a: jax.nn.gelu(a, approximate=False)),
    "hard_shrink": Reference(lambda x, *, lambd: jnp.where(jnp.abs(x) > lambd, x, 0)),
    "multiply_add": Reference(lambda x, y, z: x * y + z),
    "polygamma": Reference(lambda x, *, n: jax.scipy.special.polygamma(n, x), derivatives=0),
    "atan2": Reference(alike=dict.fromkeys((-1e-20, 1e-20, -1e-40, 1e-40), "the squares underflow, in JAX's rule too")),
    "beta": Reference(
        ulps=(1024, 1024),
        apart=dict.fromkeys((1e-20, 0.001, 20.0, 90.0, 1e4), _CANCELS),
    ),
    "betaln": Reference(ulps=(1024, 1024), apart={1e4: _CANCELS}),
    "cbrt": Reference(apart=dict.fromkeys((-1e-40, 1e-40), _SUBNORMAL)),
    "celu": Reference(apart={-90.0: "JAX differentiates expm1 as its value plus 1, which is 0"}),
    "i0": Reference(
        apart={-90.0: _OVERFLOW, 90.0: _OVERFLOW}
        | dict.fromkeys((-1e-20, 0.0, 1e-20), "JAX differentiates abs, and says 1 at 0")
    ),
    "i1": Reference(apart={-90.0: _OVERFLOW, 90.0: _OVERFLOW}),
    "i0e": Reference(apart=dict.fromkeys((-1e4, -90.0, -20.0, 20.0, 90.0, 1e4), _SLOPE)),
    "i1e": Reference(apart=dict.fromkeys((-1e4, -90.0, -20.0, -2.5, 2.5, 20.0, 90.0, 1e4), _SLOPE)),
    "logaddexp": Reference(apart={np.inf: _LIMIT}),
    "logaddexp2": Reference(apart={np.inf: _LIMIT}),
    "ndtr": Reference(takes_integers=False, half=False),
    "pow": Reference(
        apart={1e-40: "0 log(0) is infinite where the subnormal base counts as 0"},
        alike={1e-20: "the rounding of y - 1 is multiplied by log(x)"},
    ),
    "rel_entr": Reference(alike={1e-40: _SUBNORMAL}),
    "remainder": Reference(
        apart=dict.fromkeys((-1e-40, 1e-40), _SUBNORMAL),
        alike=dict.fromkeys((-0.3, -0.001, 0.001, 0.3), _JUMP),
    ),
    "fmod": Reference(alike=dict.fromkeys((-0.3, -0.001, 0.001, 0.3), _JUMP)),
    "tanh": Reference(ulps=(4, 64)),
    "sinh": Reference(ulps=(8, 8)),
    "cosh": Reference(ulps=(8, 8)),
    "digamma": Reference(derivatives=1, ulps=(8, 8)),
    "div": Reference(alike={-1e-40: _DIVISOR}),
    "exp2": Reference(ulps=(32, 32)),
    "gamma": Reference(ulps=(16, 16)),
    "gammainc": Reference(derivatives=1, ulps=(32, 32), alike=dict.fromkeys((90.0, 1e4), _SERIES)),
    "gammaincc": Reference(derivatives=1, ulps=(32, 32), alike=dict.fromkeys((90.0, 1e4), _SERIES)),
    "heaviside": Reference(alike={1e-40: _SUBNORMAL}),
    "lgamma": Reference(alike=dict.fromkeys((-2.5, 1.0), "log|Γ| is near to a root, and small")),
    "mish": Reference(alike={-90.0: _FLUSHED}),
    "quick_gelu": Reference(lambda x: x * jax.nn.sigmoid(1.702 * x), ulps=(16, 64)),
    "reglu": halves(jax.nn.relu),
    "soft_shrink": Reference(lambda x, *, lambd: jnp.sign(x) * jax.nn.relu(jnp.abs(x) - lambd)),
    "squared_difference": Reference(lambda x, y: (x - y) ** 2),
    "squared_relu": Reference(lambda x: jax.nn.relu(x) ** 2),
    "swiglu": halves(jax.nn.silu),
    "tanh_shrink": Reference(
        lambda x: x - jnp.tanh(x),
        apart=dict.fromkeys((-1e-20, 1e-20), "the reference's 1 - tanh' cancels"),
        alike=dict.fromkeys((-0.3, -1e-3, 1e-3, 0.3), "x - tanh(x) cancels"),
    ),
    "threshold": Reference(lambda x, *, threshold, value: jnp.where(x > threshold, x, value)),
    "apply_mask": Reference(lambda x, mask: jnp.where(mask, x, 0)),
    "clamp": Reference(lambda x, *, lo, hi: jnp.clip(x, lo, hi)),
    "constant": Reference(lambda x, *, c: jnp.full_like(x, c), takes_integers=False),  # full_like would round
    "dropout": Reference(dropout),
    "gelu_erf": Reference(lambda x: jax.nn.gelu(x, approximate=False), ulps=(4, 64)),
    "gelu_tanh": Reference(lambda x: jax.nn.gelu(x, approximate=True), ulps=(4, 64), alike={-2.5: "1 + tanh cancels"}),
    "glu": Reference(takes_integers=False),
    "integer_pow": Reference(lambda x, *, n: jax.lax.integer_pow(x, n)),
    "inverse_pow": Reference(lambda x, *, n: jax.lax.integer_pow(x, -n), takes_integers=False),
    "lerp": Reference(
        lambda x, y, weight: x + weight * (y - x), alike=dict.fromkeys((-0.3, 1.0), "x + weight * (y - x) cancels")
    ),
    "prelu": Reference(lambda x, slope: jnp.where(x > 0, x, slope * x)),
    "rsqrt": Reference(takes_integers=False),
    "safe_div": Reference(lambda x, y, *, eps: x / (y + eps), alike={-0.3: _POLE}),
    "safe_inv": Reference(lambda x, *, eps: 1 / (x + eps), alike={-0.3: _POLE}),
    "safe_log": Reference(lambda x, *, eps: jnp.log(x + eps)),
    "scale": Reference(lambda x, *, c: c * x),
    "sigmoid": Reference(takes_integers=False, alike={20.0: "1 - y is 0 where y is rounded to 1"}),
    "silu": Reference(takes_integers=False, alike={-90.0: _FLUSHED}),
    "smooth_abs": Reference(lambda x, *, eps: jnp.sqrt(x * x + eps)),
    "softcap": Reference(
        lambda x, *, cap: cap * jnp.tanh(x / cap),
        apart=dict.fromkeys((-20.0, 20.0), "1 - tanh² of the rounded tanh cancels"),
    ),
}
