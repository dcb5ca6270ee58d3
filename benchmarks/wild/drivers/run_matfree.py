"""Decompositions with adjoints of their own, and functions of matrices."""

import jax
import jax.numpy as jnp
from _driver import each
from matfree import decomp

A = jnp.array([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 4.0]])
V = jnp.ones(3)


def grad(made):
    def f(a, v):
        return sum(jnp.sum(x) for x in jax.tree.leaves(made(lambda x, p: p @ x, v, a)))

    jax.grad(f, (0, 1))(A, V)


each(
    lambda: grad(decomp.hessenberg(2, reortho="full")),
    lambda: grad(decomp.tridiag_sym(2, reortho="none")),
    lambda: grad(decomp.tridiag_sym(2, reortho="full")),
)
