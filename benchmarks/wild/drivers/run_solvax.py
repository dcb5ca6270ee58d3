"""Solves that are differentiated implicitly, as the docstrings show."""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import solvax  # noqa: E402
from _driver import each  # noqa: E402
from solvax.implicit import recycled_linear_solve  # noqa: E402


def operator(params, x):
    return params @ x


def direct(matvec, rhs, recycle):
    matrix = jax.vmap(matvec, in_axes=1, out_axes=1)(jnp.eye(rhs.size))
    return jnp.linalg.solve(matrix, rhs), ()


def recycled():
    a, b = jnp.array([[2.0, 0.5], [0.3, 3.0]]), jnp.ones(2)
    jax.grad(lambda a, b: jnp.sum(recycled_linear_solve(operator, a, b, direct)), (0, 1))(a, b)


def thomas():
    lower, diag, upper = jnp.ones((3, 2, 2)) * 0.1, jnp.eye(2) * jnp.ones((3, 1, 1)), jnp.ones((3, 2, 2)) * 0.2
    f = lambda d, r: jnp.sum(solvax.mixed_precision_block_thomas(lower, d, upper, r))  # noqa: E731
    jax.grad(f, (0, 1))(diag, jnp.ones((3, 2)))


each(recycled, thomas)
