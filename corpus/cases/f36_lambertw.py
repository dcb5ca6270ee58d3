"""Principal branch of the Lambert W function for real x > -1/e."""

import jax
import jax.numpy as jnp
from jax import lax


def _halley(x):
    x = jnp.asarray(x)
    start = jnp.log1p(x)

    def body(_, w):
        ew = jnp.exp(w)
        f = w * ew - x
        w1 = w + 1.0
        return w - f / (ew * w1 - 0.5 * (w + 2.0) * f / w1)

    return lax.fori_loop(0, 20, body, start)


@jax.custom_jvp
def right(x):
    return _halley(x)


@right.defjvp
def _implicit(primals, tangents):
    (x,), (dx,) = primals, tangents
    w = _halley(x)
    # w e^w = x  =>  (1 + w) e^w dw = dx
    return w, dx / ((1.0 + w) * jnp.exp(w))


@jax.custom_jvp
def wrong(x):
    return _halley(x)


@wrong.defjvp
def _textbook(primals, tangents):
    (x,), (dx,) = primals, tangents
    w = _halley(x)
    return w, dx * w / (x * (1.0 + w))
