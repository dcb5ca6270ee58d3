"""References of the elementwise ops that name no function of JAX, or call it otherwise."""

import jax
import jax.numpy as jnp

from ._reference import Reference


def dropout(x, mask, *, p, mode):
    if mode == "train":
        return jnp.where(mask, x / (1 - p), 0)
    return x if mode == "identity" else x * (1 - p)


REFERENCES = {
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
