"""Quantised products."""

import jax
import jax.numpy as jnp
from _driver import each
from qwix._src.core import dot_general_qt

X, W = jax.random.normal(jax.random.PRNGKey(0), (2, 3, 3))


def product():
    config = dot_general_qt.DotGeneralQtConfig(lhs_qtype=jnp.int8, rhs_qtype=jnp.int8)
    f = lambda x, w: jnp.sum(dot_general_qt.dot_general_qt(x, w, (((1,), (0,)), ((), ())), config))  # noqa: E731
    jax.grad(f, (0, 1))(X, W)


each(product)
