"""References of the elementwise ops that name no function of JAX, or call it otherwise."""

import jax
import jax.numpy as jnp

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


REFERENCES = {
    "axpy": Reference(lambda x, y, *, a: a * x + y),
    "cube": Reference(lambda x: x**3),
    "exp10": Reference(lambda x: 10.0**x),
    "frac": Reference(lambda x: x - jnp.trunc(x)),
    "geglu": halves(lambda a: jax.nn.gelu(a, approximate=False)),
    "hard_shrink": Reference(lambda x, *, lambd: jnp.where(jnp.abs(x) > lambd, x, 0)),
    "multiply_add": Reference(lambda x, y, z: x * y + z),
    "polygamma": Reference(lambda x, *, n: jax.scipy.special.polygamma(n, x), derivatives=0),
    "ndtr": Reference(takes_integers=False),
    "digamma": Reference(derivatives=1),
    "gammainc": Reference(derivatives=1),
    "gammaincc": Reference(derivatives=1),
    "quick_gelu": Reference(lambda x: x * jax.nn.sigmoid(1.702 * x)),
    "reglu": halves(jax.nn.relu),
    "soft_shrink": Reference(lambda x, *, lambd: jnp.sign(x) * jax.nn.relu(jnp.abs(x) - lambd)),
    "squared_difference": Reference(lambda x, y: (x - y) ** 2),
    "squared_relu": Reference(lambda x: jax.nn.relu(x) ** 2),
    "swiglu": halves(jax.nn.silu),
    "tanh_shrink": Reference(lambda x: x - jnp.tanh(x)),
    "threshold": Reference(lambda x, *, threshold, value: jnp.where(x > threshold, x, value)),
    "apply_mask": Reference(lambda x, mask: jnp.where(mask, x, 0)),
    "clamp": Reference(lambda x, *, lo, hi: jnp.clip(x, lo, hi)),
    "constant": Reference(lambda x, *, c: jnp.full_like(x, c), takes_integers=False),  # full_like would round
    "dropout": Reference(dropout),
    "gelu_erf": Reference(lambda x: jax.nn.gelu(x, approximate=False)),
    "gelu_tanh": Reference(lambda x: jax.nn.gelu(x, approximate=True)),
    "glu": Reference(takes_integers=False),
    "integer_pow": Reference(lambda x, *, n: jax.lax.integer_pow(x, n)),
    "inverse_pow": Reference(lambda x, *, n: jax.lax.integer_pow(x, -n), takes_integers=False),
    "lerp": Reference(lambda x, y, weight: x + weight * (y - x)),
    "prelu": Reference(lambda x, slope: jnp.where(x > 0, x, slope * x)),
    "rsqrt": Reference(takes_integers=False),
    "safe_div": Reference(lambda x, y, *, eps: x / (y + eps)),
    "safe_inv": Reference(lambda x, *, eps: 1 / (x + eps)),
    "safe_log": Reference(lambda x, *, eps: jnp.log(x + eps)),
    "scale": Reference(lambda x, *, c: c * x),
    "sigmoid": Reference(takes_integers=False),
    "silu": Reference(takes_integers=False),
    "smooth_abs": Reference(lambda x, *, eps: jnp.sqrt(x * x + eps)),
    "softcap": Reference(lambda x, *, cap: cap * jnp.tanh(x / cap)),
}
