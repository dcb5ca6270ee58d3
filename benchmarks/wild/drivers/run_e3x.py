"""Safe norms, switching functions and radial bases, as the documentation calls them."""

import e3x
import jax
import jax.numpy as jnp
from _driver import each

R = jnp.array([[0.3, 0.4, 0.5], [1.0, 2.0, 2.0]])
X = jnp.linspace(0.1, 0.9, 4)


def grad(f, x):
    return jax.grad(lambda y: jnp.sum(f(y)))(x)


each(
    lambda: grad(lambda r: e3x.ops.norm(r, axis=-1), R),
    lambda: grad(lambda r: e3x.ops.norm(r, axis=-1, keepdims=True), R),
    lambda: grad(e3x.nn.smooth_switch, X),
    lambda: grad(lambda x: e3x.nn.basic_bernstein(x, num=4, limit=1.0), X),
)
