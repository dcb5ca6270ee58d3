"""Quadratic programs, as the README differentiates them."""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import qpax  # noqa: E402
from _driver import each  # noqa: E402

Q, q = jnp.diag(jnp.array([2.0, 3.0])), jnp.array([1.0, -1.0])
A, b = jnp.zeros((0, 2)), jnp.zeros(0)
G, h = -jnp.eye(2), jnp.zeros(2)

each(
    lambda: jax.grad(lambda q: jnp.sum(qpax.solve_qp_primal(Q, q, A, b, G, h, solver_tol=1e-4, target_kappa=1e-3)))(q),
    lambda: jax.grad(
        lambda q: jnp.sum(qpax.solve_qp_elastic_primal(Q, q, G, h, 1.0, solver_tol=1e-4, target_kappa=1e-3))
    )(q),
)
