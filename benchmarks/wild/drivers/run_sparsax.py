"""Sparse solves and determinants, by the equations that SuiteSparse solves.

The package keeps what calls a solver in tables that it fills at the first call. Here the calls are made once, before,
and each is marked with its equation.
"""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import sparsax  # noqa: E402
from _driver import each  # noqa: E402

import certgrad  # noqa: E402

I, J = jnp.array([0, 1, 2, 0], "int32"), jnp.array([0, 1, 2, 1], "int32")
A, B = jnp.array([2.0, 3.0, 4.0, 0.5]), jnp.ones(3)


def matrix(i, j, a, n):
    """The matrix of entries by rows and columns."""
    return jnp.einsum("kr,kc,k->rc", jax.nn.one_hot(i, n, dtype=a.dtype), jax.nn.one_hot(j, n, dtype=a.dtype), a)


def symmetric(i, j, a, n):
    """The symmetric matrix whose entries on and above the diagonal are given; those below are ignored."""
    return matrix(i, j, jnp.where(i <= j, a, 0.0), n) + matrix(j, i, jnp.where(i < j, a, 0.0), n)


def at_once(table):
    """A function that takes the call of a mode from a table that nobody changes."""
    return lambda i, j, a, b, mode: table[mode](i, j, a, b)


solved = certgrad.solves(lambda x, i, j, a, b: symmetric(i, j, a, b.shape[0]) @ x - b)
by_lu = certgrad.solves(lambda x, i, j, a, b: matrix(i, j, a, b.shape[0]) @ x - b)
by_lu_transposed = certgrad.solves(lambda x, i, j, a, b: matrix(i, j, a, b.shape[0]).T @ x - b)
sparsax._solve_ffi = at_once((solved(sparsax._make_solve_dispatch(sparsax.MODE_A)),))
sparsax._lu_solve_ffi = at_once((by_lu(sparsax._make_lu_dispatch(0)), by_lu_transposed(sparsax._make_lu_dispatch(1))))
sparsax._logdet_ffi = certgrad.solves(lambda x, i, j, a, n: x - jnp.linalg.slogdet(symmetric(i, j, a, n))[1])(
    sparsax._logdet_ffi
)
sparsax._selinv_ffi = certgrad.solves(lambda x, i, j, a, n: x - jnp.linalg.inv(symmetric(i, j, a, n))[i, j])(
    sparsax._selinv_ffi
)

each(
    lambda: jax.grad(lambda a, b: jnp.sum(sparsax.solve(I, J, a, b)), (0, 1))(A, B),
    lambda: jax.grad(lambda a, b: jnp.sum(sparsax.lu_solve(I, J, a, b)), (0, 1))(A, B),
    lambda: jax.grad(lambda a: sparsax.logdet(I, J, a, 3))(A),
)
